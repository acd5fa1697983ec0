"""Write a report for a terminal, in its width and colours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from compactlab.reports.render.document import (
    Block,
    Cell,
    Code,
    Column,
    Document,
    Folded,
    Heading,
    Items,
    Sentences,
    Table,
    Terms,
    Tone,
    in_text,
    with_names,
)
from compactlab.reports.render.text import clean

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

# The width if the output is not a terminal: enough for every column.
_UNBOUNDED = 400
# Blanks between two columns, wide and tight, and the minimum width of the first column if tight. A
# longer word of a name widens it, up to a maximum.
_WIDE, _TIGHT = 3, 2
_NAME, _WORD = 24, 40
# Where a name may wrap: after a blank, a comma and a bracket.
_PIECES = re.compile(r"[^\s(,]*[(,]*\s*")
_INDENT = 4
_STYLES: dict[Tone, str] = {
    "": "",
    "strong": "bold",
    "quiet": "dim",
    "important": "bold",
    "good": "green",
    "bad": "bold red",
    "doubtful": "yellow",
}
_ARROWS = ("↓", "↑")


def write(document: Document) -> str:
    """Write a report."""
    console = _console(document.width)
    # Without a width of its own, a sentence is not wrapped, so that it can be searched for.
    whole = document.width is None and not _has_width(console)
    from rich.text import Text

    with console.capture() as capture:
        for number, block in enumerate(_flat(document.blocks)):
            if number and not document.dense:
                console.print()
            for part in _parts(block, console.width):
                console.print(part, soft_wrap=whole and isinstance(part, Text))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n")


def _console(width: int | None) -> Console:
    """A console with the terminal's width, or the needed width without a terminal."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if not _has_width(console) and "COLUMNS" not in os.environ:
        console.width = _UNBOUNDED
    console.width = min(console.width, width or console.width)
    return console


def _has_width(console: Console) -> bool:
    """Whether the output is a terminal: FORCE_COLOR gives colours to a pipe, and no width."""
    return console.is_terminal and (not os.environ.get("FORCE_COLOR") or console.file.isatty())


def _flat(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, with nothing collapsed."""
    for block in in_text(blocks):
        if isinstance(block, Folded):
            yield Heading(block.title)
            yield from _flat(block.blocks)
        else:
            yield block


def _parts(block: Block, room: int) -> Iterator[RenderableType]:
    match block:
        case Heading():
            yield _text(block.text, "bold")
        case Sentences():
            yield from (_text(each.text, _STYLES[each.tone]) for each in block.lines)
        case Items():
            yield from _items(block)
        case Code():
            yield from map(_text, block.lines)
        case Terms():
            yield from (_text(f"{term}: {text}") for term, text in block.pairs)
        case Table():
            yield from _table(block, room)


def _items(block: Items) -> Iterator[Text]:
    for number, (first, *others) in enumerate(block.items, 1):
        mark = f"{number:>3}  " if block.numbered else ""
        yield _text(f"{mark}{first.text}", _STYLES[first.tone])
        indent = " " * (len(mark) or _INDENT)
        yield from (_text(f"{indent}{each.text}", _STYLES[each.tone]) for each in others)


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(clean(with_names(text)), style=style)


# One engine for all tables: it leaves out columns that do not fit, and says so.


def _table(table: Table, room: int) -> Iterator[RenderableType]:
    every = list(range(len(table.columns)))
    gap = _WIDE if _total(table, every, _WIDE) <= room else _TIGHT
    shown, left_out = _fitting(table, room)
    others = sum(_width(table, number) + gap for number in shown if number)
    yield _grid(table, shown, gap, max(room - others, _width(table, 0)))
    if left_out:
        yield _text("")
        titles = ", ".join(_title(table.columns[number]) for number in left_out)
        yield _text(f"Too narrow for: {titles}.", _STYLES["quiet"])


def _fitting(table: Table, room: int) -> tuple[list[int], list[int]]:
    """The indices of the columns that fit, and of the others."""
    shown, left_out = list(range(len(table.columns))), []
    while _total(table, shown, _TIGHT) > room:
        last = max(shown, key=lambda number: (table.columns[number].rank, number))
        if not table.columns[last].rank:
            break
        shown.remove(last)
        left_out.append(last)
    return shown, left_out


def _total(table: Table, shown: list[int], gap: int) -> int:
    return sum(_width(table, number) + gap for number in shown) - gap


def _width(table: Table, number: int) -> int:
    """The minimum width that shows every figure whole, and names on few lines."""
    from rich.cells import cell_len

    cells = [_shown(row.cells[number]) for row in table.rows]
    head = max(map(cell_len, _heading(table, number)))
    widest = max(head, *map(cell_len, cells), 0)
    if number:
        return max(min(widest, _NAME), head) if table.columns[number].words else widest
    words = [len(piece.rstrip()) for cell in cells for piece in _PIECES.findall(cell)]
    return min(widest, max([_NAME, *(min(size, _WORD) for size in words)]))


def _broken(text: str, width: int) -> str:
    """A name wrapped to a width between its words; a wider word is cut.

    Examples
    --------
    >>> _broken("one_strategy(share=0.5, keep=20) + two", 20).split(chr(10))
    ['one_strategy(', 'share=0.5, keep=20)', '+ two']
    """
    lines = [""]
    for piece in filter(None, _PIECES.findall(text)):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return "\n".join(line.rstrip() for line in lines)


def _grid(table: Table, shown: list[int], gap: int, width: int) -> RenderableType:
    """Lay out the shown columns, names within a width."""
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    # This box adds one space between columns.
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0))
    # If columns can be left out, the shown ones are not cut.
    fitted = any(column.rank for column in table.columns)
    heads = {number: _heading(table, number) for number in shown}
    depth = max(map(len, heads.values()))
    for number, head in heads.items():
        words = table.columns[number].words
        title = Text("\n").join(map(_text, [*[""] * (depth - len(head)), *head]))
        side: Literal["left", "right"] = "left" if words else "right"
        whole = not number or (fitted and not words)
        grid.add_column(title, justify=side, overflow="fold", no_wrap=whole)
    for row in table.rows:
        texts = {number: _shown(row.cells[number]) for number in shown}
        texts[0] = _broken(texts[0], width)
        cells = (Text("\n").join(map(_text, text.split("\n"))) for text in texts.values())
        grid.add_row(*cells, style=_STYLES[row.tone])
    return grid


def _shown(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return with_names(cell)
    return f"{with_names(cell.text)} {cell.aside}".rstrip()


def _title(column: Column) -> str:
    return " ".join(word for word in column.heading.split() if word not in _ARROWS)


def _heading(table: Table, number: int) -> list[str]:
    """The lines of a heading: short for a stacked table, with arrows next to the word before."""
    column = table.columns[number]
    lines = with_names(column.title).split(" " if table.stacked and not column.words else "\n")
    if len(lines) > 1 and lines[-1] in _ARROWS:
        lines[-2:] = [" ".join(lines[-2:])]
    return [column.group, *lines] if column.group else lines
