"""A table on a terminal that leaves out what there is no room for, and says so."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

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
