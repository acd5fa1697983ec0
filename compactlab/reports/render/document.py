"""A report as a value, before rendering: headings, sentences, tables, charts and code.

A report module makes a :class:`Document` from an analysis; ``terminal``, ``markdown``, ``html`` and
``json`` in this folder only render it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from compactlab.reports.render.text import NONE, clean

# An external name in a sentence is enclosed in two characters that no cleaned text contains. So a
# sentence is a plain string, and each writer escapes names itself.
_OPEN, _CLOSE = "\x02", "\x03"
_NAME = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")

# The tone of a sentence, row or heading; writers render it as far as they can.
Tone = Literal["", "strong", "quiet", "important", "good", "bad", "doubtful"]


def name(text: str) -> str:
    """Mark an external text as a name: a label, id, file or error."""
    return f"{_OPEN}{clean(text)}{_CLOSE}"


def with_names(sentence: str, write: Callable[[str], str] = str) -> str:
    """A sentence with its names converted by ``write``; unchanged without it.

    Examples
    --------
    >>> with_names(f"{name('a|b')} is cheaper", "<{}>".format)
    '<a|b> is cheaper'
    """
    return _NAME.sub(lambda match: write(match[1]), sentence)


@dataclass(frozen=True)
class Heading:
    """A title; with an anchor, it is listed in a page's contents by its label."""

    text: str
    level: int = 3
    anchor: str = ""
    label: str = ""


@dataclass(frozen=True)
class Sentence:
    """A sentence, or a line."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Sentences:
    """Related sentences: bullets if the format has them, else a paragraph."""

    lines: tuple[Sentence, ...]
    bullets: bool = True


@dataclass(frozen=True)
class Items:
    """Items of several lines each: the first names the item, the others describe it."""

    items: tuple[tuple[Sentence, ...], ...]
    numbered: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table: of figures, or of left-aligned words."""

    title: str
    words: bool = False
    rank: int = 0  # high ranks are dropped first where space is scarce; 0 never is
    group: str = ""  # the heading that it shares with its neighbours
    key: str = ""  # the key of its meaning
    better: str = "lower"  # or "higher": the first value when a reader sorts
    meaning: str = ""  # its meaning in one line; "" if the title says it

    @property
    def heading(self) -> str:
        """The title with its group, in one line."""
        return " ".join(f"{self.group} {self.title}".split())


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str = NONE
    exact: str = ""  # the value in full
    value: int | float | None = None  # the sort key; None comes last
    best: bool = False  # whether no usable strategy has a better one, as displayed
    aside: str = ""  # in small print


@dataclass(frozen=True)
class Key:
    """A swatch with its meaning: before the first cell of a row, or below a chart."""

    colour: str
    pattern: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row of a table: cells, or strings as plain text.

    Its roles, such as "reference", follow its first cell.
    """

    cells: tuple[Cell | str, ...]
    tone: Tone = ""
    key: Key | None = None
    roles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table; headings of a stacked one may wrap between words."""

    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    stacked: bool = False
    ordered: str = ""  # the key of the column that sorts the rows

    @cached_property  # used for every row
    def sortable(self) -> bool:
        """Whether a reader may sort its rows."""
        return any(isinstance(c, Cell) and c.value is not None for r in self.rows for c in r.cells)


@dataclass(frozen=True)
class Chart:
    """A drawing with its title and legend; only pages show its markup."""

    title: str
    markup: str
    caption: str = ""
    kind: str = ""
    keys: tuple[Key, ...] = ()
    narrow: str = ""  # another drawing, for small screens
    anchor: str = ""  # its address on the page
    values: str = ""  # what it shows, as CSV


@dataclass(frozen=True)
class Code:
    """Lines that are shown verbatim."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """Terms with their meanings or values; those of a chart have its keys."""

    pairs: tuple[tuple[str, str], ...]
    keys: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Custom:
    """A block for pages only, rendered from its data by its own template."""

    template: str
    data: object


@dataclass(frozen=True)
class Folded:
    """Blocks that are collapsed where the format can do that.

    With an anchor it is a part of a page, with a one-line description.
    """

    title: str
    blocks: tuple[Block, ...]
    anchor: str = ""
    about: str = ""


Block = Heading | Sentences | Items | Table | Chart | Code | Terms | Custom | Folded


@dataclass(frozen=True)
class Document:
    """A report: its blocks in reading order."""

    blocks: tuple[Block, ...]
    data: Callable[[], object] = dict  # the data of its JSON, computed on demand
    width: int | None = None  # the maximum width on a terminal
    dense: bool = False  # whether a terminal omits blank lines
    contents: bool = True  # whether a page begins with a table of contents


def in_text(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of a text format: no drawings, and no empty groups of sentences."""
    for block in blocks:
        empty = isinstance(block, Sentences) and not block.lines
        if not empty and not isinstance(block, Chart | Custom):
            yield block


def sentences(texts: Iterable[str], tone: Tone = "", *, bullets: bool = True) -> Sentences:
    """Sentences of one tone; empty ones are left out."""
    return Sentences(tuple(Sentence(text, tone) for text in texts if text), bullets)


def rows(lines: Iterable[Sequence[Cell | str]]) -> tuple[TableRow, ...]:
    """Plain rows of cells."""
    return tuple(TableRow(tuple(cells)) for cells in lines)
