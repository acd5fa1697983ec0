"""Summarisers by name: built in, from an installed package, or from a file."""

from __future__ import annotations

from functools import cache, partial

from compactlab.sim.core.registry import ClassRegistry, with_source
from compactlab.sim.core.spec import parse_spec
from compactlab.sim.experiment.foreign import ForeignSummarizer
from compactlab.sim.replay.summarize import Summarizer

DEFAULT = "calibrated"

_PLACES = {
    "lexrank": "extractive:Lexrank",
    "centroid": "extractive:Centroid",
    "lead": "extractive:Lead",
    "tail": "extractive:Tail",
    "salience": "extractive:Salience",
    "checklist": "checklist:Checklist",
    "lossy": "lossy:Lossy",
    "calibrated": "calibrated:Calibrated",
    "llm": "llm:Llm",
    "oracle": "controls:Oracle",
    "random": "extractive:Random",
    "junk": "controls:Junk",
    "empty": "controls:Empty",
    "inflating": "controls:Inflating",
    "failed": "controls:Failed",
}
# Imported on request: numpy takes a tenth of a second, which `--help` does not need.
SUMMARIZERS: ClassRegistry[Summarizer] = ClassRegistry(
    "summarizers",
    "summariser",
    {name: f"compactlab.strategies.summarizers.{place}" for name, place in _PLACES.items()},
    Summarizer,
)


# Longer than any summary: a matched control is as long as the summary it is compared with.
_ANY_LENGTH = 1_000_000


def controls() -> tuple[Summarizer, ...]:
    """Return the controls for any summariser: lower bound, random, upper bound."""
    names = (f"junk(tokens={_ANY_LENGTH})", f"random(tokens={_ANY_LENGTH})", "oracle")
    return tuple(map(find_summarizer, names))


def find_summarizer(text: str = DEFAULT, source: bytes | None = None) -> Summarizer:
    """Build the summariser of a spec.

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
    """Build the summariser of a spec without loading foreign code.

    A separate process describes foreign code, and others run it.
    """
    foreign = SUMMARIZERS.is_foreign(parse_spec(text)[0])
    return with_source(text, _asked) if foreign else find_summarizer(text)


@cache
def _asked(text: str, source: bytes | None) -> ForeignSummarizer:
    return ForeignSummarizer.known(parse_spec(text)[0], partial(find_summarizer, text, source))


def forget() -> None:
    """Forget descriptions of foreign code, whose imports may have changed."""
    _asked.cache_clear()
