"""What summarisers that quote share: units, budget, and writing down with exact sources."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from compactlab.sim.message import Part
from compactlab.sim.summarize import SummaryRequest
from compactlab.summarizers.cosines import Cosines, Vector
from compactlab.summarizers.scripted_writer import ScriptedWriter
from compactlab.summarizers.units import Unit, distinct, promising, quoted, units_of

# A model does not fill its budget: the eleven summaries in recorded sessions of Claude Code and
# pi (2025-11 to 2026-03) have 1,300 to 5,540 tokens, median 3,900.
SHORTEST, USUAL, LONGEST = 1300, 3900, 5540

_SAME = 0.7  # cosine above which a unit only says again what is chosen already


@dataclass(frozen=True)
class Sized(ScriptedWriter):
    """A summariser that aims at a length.

    Parameters
    ----------
    tokens
        The length; a request for less gets less.
    """

    tokens: int = USUAL

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError("tokens must be at least 1")


@dataclass(frozen=True)
class Extractive(ScriptedWriter):
    """Quotes sentences and lines in their original order, within the budget.

    Units are the sentences and lines of what was said and of what tools returned, and each call
    of a tool as ``name(arguments…)``; thinking is left out, as providers drop it too. The same
    unit twice counts once, where it came first.

    Lines of the previous summary are units like all others and keep their sources. A line that
    was copied here has one source, the span that it was copied from: the n-th source of a part
    belongs to its n-th line. Lines of unknown origin (a summary of another make, a truncated
    result) stand in parts of their own, with all the sources of the part that they came from.
    What has no source (a heading, a label) is left out: it says nothing of the conversation.

    Parameters
    ----------
    units
        At most that many units are weighed: of more, those are taken that are long, have
        identifiers in them, and stand near the beginning or the end.
    tokens
        Length that is aimed at; a request for less gets less.
    """

    units: int = 1000
    tokens: int = USUAL

    def __post_init__(self) -> None:
        if self.units < 1 or self.tokens < 1:
            raise ValueError("units and tokens must be at least 1")

    @abstractmethod
    def choose(
        self, units: Sequence[Unit], budget: int, count: Callable[[str], int]
    ) -> Iterable[int]:
        """Choose units by their numbers, best first.

        Parameters
        ----------
        units
            What there is to choose from, in order.
        budget
            Tokens that they may have together, each with a line break after it.
        count
            Counts the tokens of a text as the model does.
        """

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Summarise; see :meth:`compactlab.sim.summarize.Summarizer.summarize`."""
        units = promising(distinct(units_of(request)), self.units)
        budget = min(request.max_tokens, self.tokens)
        return written(units, self.choose(units, budget, count), budget, count)


def written(
    units: Sequence[Unit], chosen: Iterable[int], budget: int, count: Callable[[str], int]
) -> tuple[Part, ...]:
    """Write the chosen units in their order, without the last chosen that do not fit."""
    kept = list(chosen)
    parts = quoted([units[index] for index in sorted(kept)])
    # Tokens of lines need not add up to tokens of the whole: the whole decides.
    while kept and sum(count(part.text) for part in parts) > budget:
        kept.pop()
        parts = quoted([units[index] for index in sorted(kept)])
    return parts


def filling(
    ranked: Iterable[int], units: Sequence[Unit], budget: int, count: Callable[[str], int]
) -> Iterator[int]:
    """Yield units in the order of their rank, and pass over what does not fit any more."""
    for index in ranked:
        if budget <= 0:
            return
        if (tokens := count(units[index].text + "\n")) <= budget:
            yield index
            budget -= tokens


def best_first(
    scores: Vector,
    units: Sequence[Unit],
    budget: int,
    count: Callable[[str], int],
    cosines: Cosines,
) -> list[int]:
    """Take the best units; pass over what does not fit and what says the same again.

    Parameters
    ----------
    scores
        Of the units, rounded; of two that are alike the earlier comes first.
    units, budget, count
        As in :meth:`Extractive.choose`.
    cosines
        Between the units.
    """
    said = np.zeros(len(units), np.bool_)

    def unsaid() -> Iterator[int]:
        for index in np.argsort(-scores, kind="stable").tolist():
            if not said[index]:
                yield index

    chosen: list[int] = []
    for index in filling(unsaid(), units, budget, count):
        chosen.append(index)
        said |= np.round(cosines.of(index), 9) > _SAME
    return chosen
