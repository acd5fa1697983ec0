"""Differences by column: in how many runs, and by how much, as a note about a change lists them."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.figures.differences import Difference, change


@dataclass
class _Column:
    """What differs in one column of a table."""

    runs: set[str] = field(default_factory=set)
    values: int = 0
    amounts: list[float] = field(default_factory=list)
    """The smallest and the largest so far; a fall is less than a rise."""
    shares: list[float] = field(default_factory=list)
    others: int = 0
    example: str = ""

    def add(self, difference: Difference) -> None:
        self.runs |= {difference.run} - {""}
        self.values += len(difference.values)
        for _, was, now in difference.values:
            if not (_is_number(was) and _is_number(now)):
                self.others += 1
                self.example = self.example or change(was, now, width=40)
                continue
            self.amounts = _ends(self.amounts, now - was)
            if was:
                self.shares = _ends(self.shares, (now - was) / abs(was))

    def __str__(self) -> str:
        parts = []
        if self.runs:
            parts.append(_count(len(self.runs), "run"))
        if self.values:
            parts.append(_count(self.values, "value"))
        if self.amounts:
            percent = _between(self.shares, _percent)
            parts.append(_between(self.amounts, _signed) + (f" ({percent})" if percent else ""))
        if self.others:
            parts.append(f"{self.others:,} without an amount, such as {self.example}")
        return ", ".join(parts)


class Amounts:
    """Counts differences by table and column."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], _Column] = {}

    def add(self, difference: Difference) -> None:
        self._columns.setdefault((difference.table, difference.what), _Column()).add(difference)

    def lines(self) -> Iterator[str]:
        for (table, what), column in self._columns.items():
            yield ": ".join(filter(None, (table, what, str(column))))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _ends(ends: list[float], amount: float) -> list[float]:
    return [min([*ends, amount]), max([*ends, amount])]


def _between(ends: list[float], written: Callable[[float], str]) -> str:
    return " to ".join(dict.fromkeys(map(written, ends)))


def _percent(share: float) -> str:
    return f"{100 * share:+,.0f} %" if abs(share) >= 10 else f"{100 * share:+.3g} %"


def _signed(amount: float) -> str:
    return f"{amount:+,}" if isinstance(amount, int) else f"{amount:+,.6g}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
