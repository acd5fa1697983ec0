"""Draw the picture of the README from a real run: the first chart of the report, as a file.

``make picture`` runs it.
"""

import re
import sys
from pathlib import Path

import compactlab
from compactlab.reports.charts.palette import COLOURS, strategy_colours
from compactlab.reports.charts.scatter import scatter
from compactlab.reports.comparison import comparisons

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "picture.svg")
HEAD = '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" '
PAPER = '<rect width="100%" height="100%" fill="#ffffff"/>'

# Enough to show what there is, few enough to read; `compactlab run` has all of them.
SHOWN = (
    "keep_all",
    "keep_none",
    "random_keep",
    "oracle",
    "sliding_window",
    "pair_safe_window",
    "turn_slice",
    "token_budget",
    "clear_tool_results",
    "clear_tool_results(clear_at_least=20000)",
    "observation_masking",
    "observation_masking(polling=10)",
    "openclaw",
    "claude_code",
    "codex",
    "gemini_cli",
)
results = compactlab.run(strategies=SHOWN)
drawn = scatter(comparisons(results)[0], strategy_colours(results), "picture")
# In a page the colours are the reader's, light or dark; in a file they are fixed.
drawn = re.sub(r"var\(--(\w+)\)", lambda found: COLOURS[found[1]][0], drawn)
head, rest = drawn.replace("<svg ", HEAD, 1).split(">", 1)
OUT.write_text(f"{head}>{PAPER}{rest}\n", encoding="utf-8")
print(f"wrote {OUT}")
