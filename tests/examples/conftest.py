"""The scripts of ``examples/`` are imported as they import each other: by their names."""

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path += [str(EXAMPLES), str(EXAMPLES / "peers"), str(EXAMPLES / "real_programs")]
