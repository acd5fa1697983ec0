"""Summarisers by name."""

from __future__ import annotations

import importlib

from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.spec import build, parse_spec
from compactlab.sim.replay.summarize import Summarizer

DEFAULT = "calibrated"

# Name to module and class. They are imported when they are asked for: numpy takes a tenth of a
# second, which `--help` need not wait for.
SUMMARIZERS = {
    "lexrank": ("quoting", "Lexrank"),
    "centroid": ("quoting", "Centroid"),
    "lead": ("quoting", "Lead"),
    "tail": ("quoting", "Tail"),
    "salience": ("quoting", "Salience"),
    "checklist": ("checklist", "Checklist"),
    "lossy": ("lossy", "Lossy"),
    "calibrated": ("calibrated", "Calibrated"),
    "oracle": ("controls", "Oracle"),
    "random": ("quoting", "Random"),
    "empty": ("controls", "Empty"),
    "inflating": ("controls", "Inflating"),
    "failed": ("controls", "Failed"),
}


def find_summarizer(text: str = DEFAULT) -> Summarizer:
    """Build the summariser that a spec names."""
    name, arguments = parse_spec(text)
    return build(find_class(name), arguments)


def find_class(name: str) -> type[Summarizer]:
    """Find the class of a summariser."""
    if name not in SUMMARIZERS:
        raise UsageError(unknown("summariser", name, SUMMARIZERS))
    module, cls = SUMMARIZERS[name]
    loaded: type[Summarizer] = getattr(
        importlib.import_module(f"compactlab.strategies.summarizers.{module}"), cls
    )
    return loaded
