"""A compaction in plain text."""

from __future__ import annotations

from collections.abc import Iterator

from compactlab.reports.text import clean, shorten
from compactlab.reports.views.piece import Piece
from compactlab.reports.views.view import Pair, View

_WIDTH = 116
_INDENT = 14
# Lines of what a strategy wrote that are shown, of its beginning.
_LINES = 12


def in_lines(view: View) -> Iterator[str]:
    """Tell a compaction line by line: what it comes to, and what became of the messages.

    Parameters
    ----------
    view
        The compaction.

    Yields
    ------
    str
        Lines without line breaks, and without anything that moves a terminal's cursor.
    """
    for sentence in view.words:
        yield from _wrapped(sentence, 2, _WIDTH)
    yield ""
    for pair in view.pairs:
        yield from _pair(pair)


def _pair(pair: Pair) -> Iterator[str]:
    for piece in pair.left:
        yield _headed(piece)
        yield from _said(piece)
    for piece in pair.right:
        if pair.fate in ("shortened", "changed"):
            yield f"{'':<{_INDENT}}to {piece.size}{_quoted(piece)}"
        else:
            yield _headed(piece)
            yield from _said(piece)


def _headed(piece: Piece) -> str:
    return f"  {piece.deed:<{_INDENT - 3}} {piece.title}, {piece.size}"


def _quoted(piece: Piece) -> str:
    return f": {shorten(clean(piece.text), _WIDTH // 2)}" if piece.text else ""


def _said(piece: Piece) -> Iterator[str]:
    room = _WIDTH - _INDENT
    if piece.text and piece.fate == "written":
        lines = [line for text in piece.text.split("\n") for line in _wrapped(text, _INDENT)]
        yield from lines[:_LINES]
        if len(lines) > _LINES:
            yield f"{'':<{_INDENT}}..."
    elif piece.text:
        yield f"{'':<{_INDENT}}{shorten(clean(piece.text), room)}"
    for fact in piece.missed:
        yield from _wrapped(f"lost: {fact.said} ({fact.told})", _INDENT)
    if piece.others:
        yield from _wrapped(f"{'also' if piece.missed else 'lost:'} {piece.others}", _INDENT)


def _wrapped(text: str, indent: int, width: int = _WIDTH) -> list[str]:
    import textwrap

    return textwrap.wrap(
        text, width, initial_indent=" " * indent, subsequent_indent=" " * indent
    ) or [""]
