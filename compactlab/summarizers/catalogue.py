"""Summarisers by name."""

from __future__ import annotations

from compactlab.sim.errors import UsageError, unknown
from compactlab.sim.spec import build, parse_spec
from compactlab.sim.summarize import Summarizer

DEFAULT = "lexrank"
SUMMARIZERS = ("lexrank",)


def find_summarizer(text: str = DEFAULT) -> Summarizer:
    """Build the summariser that a spec names.

    Raises
    ------
    UsageError
        If the name is unknown, or an argument does not fit.
    """
    name, arguments = parse_spec(text)
    if name not in SUMMARIZERS:
        raise UsageError(unknown("summariser", name, SUMMARIZERS))
    # numpy takes a tenth of a second to import, which `--help` need not wait for.
    from compactlab.summarizers.lexrank import Lexrank

    return build(Lexrank, arguments)
