"""An audit on a terminal: three questions, each with its table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from compactlab.reports.audit.causes import (
    WHY_HEADS,
    WHY_MEANING,
    WHY_RANKS,
    cause_rows,
    headline,
    remarks,
)
from compactlab.reports.audit.columns import (
    CHURN_HEADS,
    CHURN_MEANING,
    CHURN_RANKS,
    MEANING,
    REBUILDS,
    SIZES,
    Column,
    Line,
    Miss,
    churn_rows,
    line,
    totals,
    worst,
)
from compactlab.reports.audit.ledger import Entry, Ledger
from compactlab.reports.render.setting import open_console
from compactlab.reports.render.text import clean, counted, dollars, shorten

if TYPE_CHECKING:
    from rich.console import Console


# A table on a terminal that leaves out what there is no room for, and says so.

_GAP = 2


@dataclass(frozen=True)
class Grid:
    """A table.

    Parameters
    ----------
    heads
        The headings, some of two lines.
    rows
        What stands in it.
    ranks
        Of each column, when it goes: the highest first, those of 0 never.
    left
        Numbers of the columns of words.
    bold
        Numbers of the rows that stand out.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    ranks: Sequence[int]
    left: Collection[int] = (0,)
    bold: Collection[int] = ()

    def draw(self, console: Console) -> None:
        """Write it, with a line between it and all else."""
        from rich.text import Text

        shown = self._shown(console.width)
        console.print()
        console.print(self._set(shown))
        console.print()
        out = [head for number, head in enumerate(self.heads) if number not in shown]
        if out:
            told = f"Too narrow for: {', '.join(head.replace(chr(10), ' ') for head in out)}."
            console.print(Text(told, style="dim"), soft_wrap=not console.is_terminal)

    def _shown(self, room: int) -> list[int]:
        """The columns for which there is room."""
        shown = list(range(len(self.heads)))
        while sum(map(self._width, shown)) - _GAP > room:
            last = max(shown, key=lambda number: (self.ranks[number], number))
            if not self.ranks[last]:
                break
            shown.remove(last)
        return shown

    def _width(self, number: int) -> int:
        cells = [*self.heads[number].split("\n"), *(row[number] for row in self.rows)]
        return max(map(len, cells)) + _GAP

    def _set(self, shown: Sequence[int]) -> object:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        # Between two columns this box has a space of its own.
        grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        depth = max(self.heads[number].count("\n") for number in shown)
        for number in shown:
            head = self.heads[number]
            title = Text("\n" * (depth - head.count("\n")) + head)
            grid.add_column(title, justify="left" if number in self.left else "right")
        for number, row in enumerate(self.rows):
            cells = [Text(row[column]) for column in shown]
            grid.add_row(*cells, style="bold" if number in self.bold else "")
        return grid


# An audit on a terminal: three questions, each with its table.

# Sessions that have a row of their own; the dearest.
SESSIONS = 12
_NAME = 32


def audit_table(ledger: Ledger, most: int) -> str:
    """Write what was audited, for people.

    Parameters
    ----------
    ledger
        What was audited.
    most
        How many of the calls that are furthest off are told.

    Returns
    -------
    str
        Plain text; with colours, and fitted to the width, if standard output is a terminal.
    """
    console = open_console()
    with console.capture() as capture:
        first, *others = headline(ledger.entries)
        _say(console, first, style="bold")
        _say(console, *others)
        _say(console, *remarks(ledger), style="dim")
        _predicted(console, ledger)
        _worst(console, worst(ledger.entries, most))
        _why(console, ledger.entries)
        _churn(console, ledger)
    return "\n".join(each.rstrip() for each in capture.get().splitlines()).strip("\n")


def _predicted(console: Console, ledger: Ledger) -> None:
    _head(console, "What would we have predicted?")
    shown = [line(entry) for entry in ledger.dearest[:SESSIONS]]
    lines = [*shown, *totals(ledger)]
    for columns in (SIZES, REBUILDS):
        _columns(console, lines, columns)
    if (more := len(ledger.entries) - SESSIONS) > 0:
        _say(console, f"The {SESSIONS} dearest; {counted(more, 'session')} more in --json.")
    _say(console, *MEANING, style="dim")


def _columns(console: Console, lines: Sequence[Line], columns: Sequence[Column]) -> None:
    names = [shorten(clean(each.label), _NAME) for each in lines]
    rows = [
        [name, *(column.cell(each) for column in columns)]
        for name, each in zip(names, lines, strict=True)
    ]
    heads = ["session", *(f"{each.group}\n{each.title}".strip() for each in columns)]
    ranks = [0, *(each.rank for each in columns)]
    bold = [number for number, each in enumerate(lines) if each.total]
    Grid(heads, rows, ranks, bold=bold).draw(console)


def _worst(console: Console, misses: Sequence[Miss]) -> None:
    if not misses:
        return
    console.print()
    _say(console, f"The {counted(len(misses), 'call')} furthest off", style="bold")
    for number, miss in enumerate(misses, 1):
        first, *others = told(miss)
        _say(console, f"{number:>3}  {first}")
        _say(console, *(f"     {each}" for each in others), style="dim")


def told(miss: Miss) -> Iterator[str]:
    """A call that was not as expected, in a few lines."""
    exchange, forecast = miss.finding.forecast.exchange, miss.finding.forecast
    tokens = f"{abs(miss.tokens):,} tokens {'fewer' if miss.tokens > 0 else 'more'} were read"
    money = ""
    if miss.dollars is not None:
        money = f"${dollars(abs(miss.dollars))} {'more' if miss.dollars > 0 else 'less'}: "
    model = clean(forecast.model.name)
    yield f"{money}{tokens} than expected, of a prompt of {exchange.usage.prompt:,} ({model})"
    yield f"expected: {forecast.read:,} read; {miss.expected}"
    yield f"recorded: {miss.finding.read:,} read; {miss.happened}"
    yield f"{moment(exchange.time)}, call {miss.number}, answer {clean(exchange.answer.id)}"
    yield clean(miss.entry.file)


def moment(time: float) -> str:
    """A time in seconds since 1970, as it is written."""
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC" if time else "undated"
    except (ValueError, OverflowError, OSError):
        return "undated"


def _why(console: Console, entries: Sequence[Entry]) -> None:
    _head(console, "Why did it happen?")
    last = len(WHY_HEADS) - 1
    Grid(WHY_HEADS, cause_rows(entries), WHY_RANKS, left={0, last}).draw(console)
    _say(console, WHY_MEANING, style="dim")


def _churn(console: Console, ledger: Ledger) -> None:
    alone = len(ledger.clients) == 1
    _head(console, f"How much {'does this client' if alone else 'do these clients'} churn?")
    Grid(CHURN_HEADS, list(churn_rows(ledger)), CHURN_RANKS, left={0, 1}).draw(console)
    _say(console, CHURN_MEANING, style="dim")


def _head(console: Console, title: str) -> None:
    console.print()
    _say(console, title, style="bold underline")


def _say(console: Console, *sentences: str, style: str = "") -> None:
    from rich.text import Text

    for sentence in sentences:
        console.print(Text(sentence, style=style), soft_wrap=not console.is_terminal)
