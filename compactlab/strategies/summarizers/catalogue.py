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
    "llm": ("llm", "Llm"),
    "oracle": ("controls", "Oracle"),
    "random": ("quoting", "Random"),
    "junk": ("controls", "Junk"),
    "empty": ("controls", "Empty"),
    "inflating": ("controls", "Inflating"),
    "failed": ("controls", "Failed"),
}


# Longer than any summary: a matched control is as long as what it is compared with.
_ANY_LENGTH = 1_000_000


def controls() -> tuple[Summarizer, ...]:
    """The null summarisers that stand beside every other one: the floor, chance, the ceiling."""
    names = (f"junk(tokens={_ANY_LENGTH})", f"random(tokens={_ANY_LENGTH})", "oracle")
    return tuple(map(find_summarizer, names))


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
