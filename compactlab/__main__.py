"""The command line: ``compactlab`` or ``python -m compactlab``."""

from __future__ import annotations

import sys
from contextlib import suppress

from compactlab.cli.disclosing import complain
from compactlab.cli.group import cli
from compactlab.sim.errors import CompactlabError


def main() -> None:
    """Run the command line; errors that are the user's to mend end with exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        # What a transcript holds must not end a command because a terminal cannot show it.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    try:
        cli(prog_name="compactlab")
    except CompactlabError as error:
        complain(error)
        sys.exit(2)
    except OSError as error:
        # Say standard output, on a full disk. Code 1 would be a verdict of a gate.
        with suppress(OSError):
            complain(error)
        sys.exit(2)


if __name__ == "__main__":
    main()
