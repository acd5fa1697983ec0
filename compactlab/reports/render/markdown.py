"""Write a report as GitHub's Markdown, for pull requests and notes.

External names are in code spans, which contain no links, images, mentions or HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compactlab.reports.render.document import (
    Block,
    Cell,
    Code,
    Document,
    Folded,
    Heading,
    Items,
    Sentences,
    Table,
    Terms,
    in_text,
    with_names,
)
from compactlab.reports.render.text import code


def write(document: Document) -> str:
    """Write a report without charts, which only pages show."""
    return "\n".join(_blocks(document.blocks))


def _blocks(blocks: Iterable[Block]) -> Iterator[str]:
    for number, block in enumerate(in_text(blocks)):
        if number:
            yield ""
        yield from _lines(block)


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            yield f"{'#' * block.level} {with_names(block.text, code)}"
        case Sentences():
            yield from _sentences(block)
        case Items():
            yield from _items(block)
        case Table():
            yield from _table(block)
        case Terms():
            yield from (f"- {with_names(f'{term}: {text}', code)}" for term, text in block.pairs)
        case Code():
            yield from ("```", *block.lines, "```")
        case Folded():
            yield from ("<details>", f"<summary>{with_names(block.title, code)}</summary>", "")
            yield from (*_blocks(block.blocks), "", "</details>")


def _sentences(block: Sentences) -> Iterator[str]:
    for sentence in block.lines:
        text = with_names(sentence.text, code)
        text = f"**{text}**" if sentence.tone == "strong" else text
        yield f"- {text}" if block.bullets else text


def _items(block: Items) -> Iterator[str]:
    for number, (first, *others) in enumerate(block.items, 1):
        yield f"{number}. {with_names(first.text, code)}"
        yield from (f"   - {with_names(each.text, code)}" for each in others)


def _table(table: Table) -> Iterator[str]:
    yield _row(with_names(column.heading, code) for column in table.columns)
    yield _row(":--" if column.words else "--:" for column in table.columns)
    for row in table.rows:
        yield _row(_cell(cell) for cell in row.cells)


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return with_names(cell, code)
    return f"{with_names(cell.text, code)} {cell.aside}".rstrip()


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
