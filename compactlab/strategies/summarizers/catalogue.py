"""Summarisers by name: built in, from an installed package, or from a file."""

from __future__ import annotations

from functools import cache, partial

from compactlab.sim.core.loading import with_source
from compactlab.sim.core.registry import ClassRegistry
from compactlab.sim.core.spec import parse_spec
from compactlab.sim.experiment.foreign import ForeignSummarizer
from compactlab.sim.replay.summarize import Summarizer

DEFAULT = "calibrated"

_PLACES = {
    "lexrank": "quoting:Lexrank",
    "centroid": "quoting:Centroid",
    "lead": "quoting:Lead",
    "tail": "quoting:Tail",
    "salience": "quoting:Salience",
    "checklist": "checklist:Checklist",
    "lossy": "lossy:Lossy",
    "calibrated": "calibrated:Calibrated",
    "llm": "llm:Llm",
    "oracle": "controls:Oracle",
    "random": "quoting:Random",
    "junk": "controls:Junk",
    "empty": "controls:Empty",
    "inflating": "controls:Inflating",
    "failed": "controls:Failed",
}
# They are imported when they are asked for: numpy takes a tenth of a second, which `--help` need
# not wait for.
SUMMARIZERS: ClassRegistry[Summarizer] = ClassRegistry(
    "summarizers",
    "summariser",
    {name: f"compactlab.strategies.summarizers.{place}" for name, place in _PLACES.items()},
    Summarizer,
)


# Longer than any summary: a matched control is as long as what it is compared with.
_ANY_LENGTH = 1_000_000


def controls() -> tuple[Summarizer, ...]:
    """The null summarisers that stand beside every other one: the floor, chance, the ceiling."""
    names = (f"junk(tokens={_ANY_LENGTH})", f"random(tokens={_ANY_LENGTH})", "oracle")
    return tuple(map(find_summarizer, names))


def find_summarizer(text: str = DEFAULT, source: bytes | None = None) -> Summarizer:
    """Build the summariser that a spec names.

    Parameters
    ----------
    text
        A spec, ``lexrank(tokens=2000)``; its name may be that of a class,
        ``path/to/file.py:Class`` or ``module:Class``, or one that an installed package brings.
    source
        The content of the file, where that was read before.

    Raises
    ------
    UsageError
        If a name is unknown, or an argument does not fit.
    """
    return SUMMARIZERS.build(text, source)


def known_summarizer(text: str) -> Summarizer:
    """The summariser that a text names, without loading code that is not ours.

    Of such code a process of its own says what it is, and others will run it.
    """
    foreign = SUMMARIZERS.is_foreign(parse_spec(text)[0])
    return with_source(text, _asked) if foreign else find_summarizer(text)


@cache
def _asked(text: str, source: bytes | None) -> ForeignSummarizer:
    return ForeignSummarizer.known(parse_spec(text)[0], partial(find_summarizer, text, source))


def forget() -> None:
    """Ask code that is not ours again what it is: what it imports may have changed meanwhile."""
    _asked.cache_clear()
