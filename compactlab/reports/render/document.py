"""A report as a value, before it is written: headings, sentences, tables, charts and code.

A report module makes a :class:`Document` of an analysis; ``terminal``, ``markdown``, ``html`` and
``json`` beside this one write it, each in its own way, and compute nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from compactlab.reports.render.text import NONE, clean

# A name that comes from outside stands in a sentence between two signs that no cleaned text holds,
# so a sentence is a plain string, and what makes names harmless is left to each writer.
_OPEN, _CLOSE = "\x02", "\x03"
_NAME = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")

# How a sentence, a row or a heading is meant; a writer shows it as far as it can.
Tone = Literal["", "strong", "quiet", "important", "good", "bad", "doubtful"]


def name(text: str) -> str:
    """Mark what comes from outside as a name: a label, an id, a file, an error's text."""
    return f"{_OPEN}{clean(text)}{_CLOSE}"


def with_names(sentence: str, write: Callable[[str], str] = str) -> str:
    """A sentence with its names as a writer writes them; without one, as they are.

    Examples
    --------
    >>> with_names(f"{name('a|b')} is cheaper", "<{}>".format)
    '<a|b> is cheaper'
    """
    return _NAME.sub(lambda match: write(match[1]), sentence)


@dataclass(frozen=True)
class Heading:
    """The title of what follows; one with an anchor is named in a page's contents, by its label."""

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
    """Sentences that belong together: as bullets where there are such, or as a paragraph."""

    lines: tuple[Sentence, ...]
    bullets: bool = True


@dataclass(frozen=True)
class Items:
    """Things of which each takes some lines: the first is what it is, the others are about it."""

    items: tuple[tuple[Sentence, ...], ...]
    numbered: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table: of figures, or of words, which stand to the left."""

    title: str
    words: bool = False
    rank: int = 0  # where room is scarce, columns with a high one go first; those of 0 never
    group: str = ""  # what it belongs to, with its neighbours
    key: str = ""  # under which name its meaning is found
    better: str = "lower"  # or "higher": what comes first when a reader sorts
    meaning: str = ""  # what it shows, in a line; "" if the title says it

    @property
    def heading(self) -> str:
        """The title with what it belongs to, in a line."""
        return " ".join(f"{self.group} {self.title}".split())


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str = NONE
    exact: str = ""  # in full
    value: int | float | None = None  # what rows are sorted by; None comes last
    best: bool = False  # whether no usable strategy has a better one, as far as one reads it
    aside: str = ""  # in small print


@dataclass(frozen=True)
class Key:
    """A swatch: before the first cell of a row or below a chart, with what it means."""

    colour: str
    pattern: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row of a table: its cells, of which a plain string is a text and no more.

    Its roles, such as "reference", stand behind its first cell.
    """

    cells: tuple[Cell | str, ...]
    tone: Tone = ""
    key: Key | None = None
    roles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table; headings of a stacked one may be broken between words."""

    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    stacked: bool = False
    ordered: str = ""  # the key of the column by which the rows are in order

    @cached_property  # asked for in every row
    def sortable(self) -> bool:
        """Whether a reader may put its rows in another order."""
        return any(isinstance(c, Cell) and c.value is not None for r in self.rows for c in r.cells)


@dataclass(frozen=True)
class Chart:
    """A drawing in markup of our own, which only a page can show; with its title and legend."""

    title: str
    markup: str
    caption: str = ""
    kind: str = ""
    keys: tuple[Key, ...] = ()
    narrow: str = ""  # another drawing, for small screens


@dataclass(frozen=True)
class Code:
    """Lines that are shown as they are."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """Terms, each with what it means or holds."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Custom:
    """What only a page shows, by a template of its own that is given the data."""

    template: str
    data: object


@dataclass(frozen=True)
class Folded:
    """What is only seen when somebody unfolds it, where that can be done.

    One with an anchor is a part of a page, which says in a line what it answers.
    """

    title: str
    blocks: tuple[Block, ...]
    anchor: str = ""
    about: str = ""


Block = Heading | Sentences | Items | Table | Chart | Code | Terms | Custom | Folded


@dataclass(frozen=True)
class Document:
    """A report: its blocks in the order in which they are read."""

    blocks: tuple[Block, ...]
    data: Callable[[], object] = dict  # what its JSON holds, made when it is asked for
    width: int | None = None  # the most columns that it takes on a terminal
    dense: bool = False  # whether a terminal has no room for blank lines
    contents: bool = True  # whether a page begins with the names of its parts


def in_text(blocks: Iterable[Block]) -> Iterator[Block]:
    """What a text shows: no drawings, and no sentences where there are none."""
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
