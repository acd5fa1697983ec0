"""Lead and tail: quote the oldest, or the newest; what needs no ranking at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from compactlab.sim.message import Part
from compactlab.sim.summarize import SummaryRequest
from compactlab.summarizers.extractive import Sized, written
from compactlab.summarizers.units import Unit, distinct, units_of


@dataclass(frozen=True)
class Lead(Sized):
    """Quote the oldest sentences and lines until the budget is spent, and never another.

    What units are and how they are written down, see
    :class:`~compactlab.summarizers.extractive.Extractive`. What the first summary says stays for
    ever, as the lines of the summary before are the oldest.

    Parameters
    ----------
    tokens
        Length that is aimed at; a request for less gets less.
    """

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Summarise; see :meth:`compactlab.sim.summarize.Summarizer.summarize`."""
        budget = min(request.max_tokens, self.tokens)
        units = list(_until_full(distinct(units_of(request)), budget, count))
        return written(units, range(len(units)), budget, count)


@dataclass(frozen=True)
class Tail(Sized):
    """Quote the newest sentences and lines until the budget is spent.

    Parameters
    ----------
    tokens
        Length that is aimed at; a request for less gets less.
    """

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Summarise; see :meth:`compactlab.sim.summarize.Summarizer.summarize`."""
        budget = min(request.max_tokens, self.tokens)
        newest = distinct(reversed(list(units_of(request))))
        units = list(_until_full(newest, budget, count))[::-1]
        return written(units, reversed(range(len(units))), budget, count)


def _until_full(units: Iterable[Unit], budget: int, count: Callable[[str], int]) -> Iterator[Unit]:
    """Yield units up to the first that does not fit."""
    for unit in units:
        budget -= count(unit.text + "\n")
        if budget < 0:
            return
        yield unit
