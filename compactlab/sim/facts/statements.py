"""Splits a text into statements (sentences, list items, table cells) and their segments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from compactlab.sim.facts.patterns import NO, POSSESSIVE, PRONOUNS, YES
from compactlab.sim.facts.quantities import WORDS, Token, cleaned, tokens

Tokens = tuple[Token, ...]


@dataclass(frozen=True)
class Segment:
    """A piece of a sentence."""

    tokens: Tokens
    joint: str = ""  # the punctuation mark or conjunction before it
    strong: bool = False  # whether its subject continues only by a pronoun
    aside: bool = False  # whether it is in brackets

    @cached_property
    def words(self) -> str:
        """The segment as plain words."""
        return " ".join(token.low for token in self.tokens)

    @property
    def first(self) -> str:
        """The first word."""
        return self.tokens[0].low


@dataclass(frozen=True)
class Statement:
    """A sentence, a list item or a cell of a table."""

    segments: tuple[Segment, ...]
    context: Tokens = ()  # headings and items above it, or the headers of its row and column
    asks: bool = False
    row: bool = False  # whether it is a cell, which its context names


_STRUCK = re.compile(r"~~([^~\n]+)~~")
_HEADING = re.compile(r"\s*#+\s+(.*)|\s*\*\*([^*]+)\*\*:?\s*\Z")
_ITEM = re.compile(r"(\s*)(?:[-*\u2022+]|\d{1,2}[.)])\s+(.*)")
_TICK = re.compile(r"\[([ xX])\]\s+(.*)")
_ROW = re.compile(r"\s*\|(.*?)\|?\s*\Z|\s*\S.* \| .+ \| ")
_RULE = re.compile(r"[\s|:-]+\Z")
_ANY = re.compile(r"[^\s_]")  # part of a token
_BLANKS = re.compile(r"(?<=\S)\s+")
_LEADER = re.compile(r" \.{2,} (?=\S)| ?\.{5,} ?(?=\S)")  # "rent ..... 900 EUR"
_ENDS = re.compile(r"[.!?:;|)\]\"]\s*\Z")
_VALUES = re.compile(r"\w[^,|:;]{0,30}(?:,[^,|:;]{0,30}){2,}\Z")  # between commas
_LABEL = re.compile(r"\s*[A-Z]\w*:\s")  # a record a line
_OPEN = re.compile(r"(?:[:=,(]|->|\b(?:is|are|to|of|the|a|in|on|at|for|and|or|with))\s*\Z", re.I)


NARROWEST = 28  # characters of the longest line of a text that may have been wrapped


def unwrapped(text: str) -> str:
    r"""Join the lines of paragraphs and items that were cut to fit a width, and runs of blanks.

    Examples
    --------
    >>> unwrapped("- The nightly copy is kept by  Mr Okafor in\n  Kassel\n- no more")
    '- The nightly copy is kept by Mr Okafor in Kassel\n- no more'
    """
    lines = [_BLANKS.sub(" ", line).rstrip() for line in text.expandtabs(4).splitlines()]
    plain = [" " in line.strip() and not _set_apart(line) for line in lines]
    width = max((len(line) for line, ok in zip(lines, plain, strict=True) if ok), default=0)
    done: list[str] = []
    for index, line in enumerate(lines):
        cut = index and plain[index - 1] and line and not (_set_apart(line) or _ITEM.match(line))
        cut = cut and not (_LABEL.match(line) and _LABEL.match(lines[index - 1]))
        if cut and len(lines[index - 1]) + len(line.split()[0]) >= width >= NARROWEST:
            done[-1] += f" {line.strip()}"
        else:
            done.append(line)
    return "\n".join(done)


def _set_apart(line: str) -> bool:
    return (_ROW.match(line) or _HEADING.match(line)) is not None


@dataclass(frozen=True)
class Passage:
    """A list item, a row of a table or a piece of a paragraph, which is split when asked for."""

    said: str
    above: tuple[str, ...] = ()  # the headings and items above it, or the header of its table
    row: bool = False

    @property
    def tells(self) -> bool:
        """Whether it has a statement."""
        texts = _cells(self.said)[1:] if self.row else [self.said]
        return any(_ANY.search(cleaned(text)) for text in texts)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Its statements."""
        return tuple(self._cells() if self.row else sentences(tokens(self.said), self._context))

    @property
    def _context(self) -> Tokens:
        return tuple(token for text in self.above for token in tokens(text))

    def _cells(self) -> Iterator[Statement]:
        cells = [tokens(cell) for cell in _cells(self.said)]
        heads = [*map(tokens, self.above), *[()] * len(cells)]
        for index, cell in enumerate(cells):
            if index and cell:
                others = [
                    n
                    for n in range(1, len(cells))
                    if n != index and not any(t.typed for t in cells[n])
                ]
                named = (token for n in others for token in heads[n] + cells[n])
                above = heads[0] + cells[0] + tuple(named) + heads[index]
                yield Statement((Segment(cell),), above, row=True)
                if cells[0]:
                    yield Statement((Segment(cells[0]),), cell + heads[0], row=True)


def passages(text: str) -> list[Passage]:
    """Split a text into passages that have a statement."""
    rows = "\n".join(_tabled(text.split("\n")))
    text = _STRUCK.sub(r"(formerly \1),", unwrapped(rows))
    every = _Layout(_LEADER.sub(": ", text)).passages()
    return [passage for passage in every if passage.tells]


@dataclass
class _Layout:
    """Parses lines with the headings above them."""

    text: str
    heading: tuple[str, ...] = ()
    above: list[tuple[int, str]] = field(default_factory=list)  # items by indentation
    head: tuple[str, ...] = ()  # header of a table

    def passages(self) -> Iterator[Passage]:
        lines = self.text.split("\n")
        paragraph: list[str] = []
        for index, line in enumerate(lines):
            behind = lines[index + 1] if index + 1 < len(lines) else ""
            special = _ROW.match(line) or _ITEM.match(line) or _HEADING.match(line)
            if special or not line.strip():
                yield from self._paragraph(paragraph)
                paragraph = []
            if not line.strip():
                self.above, self.head = [], ()
            elif _ROW.match(line) and line.count("|") > 1:
                yield from self._row(line, behind)
            elif item := _ITEM.match(line):
                self.head = ()
                yield self._item(len(item[1].expandtabs(4)), item[2])
            elif heading := _HEADING.match(line):
                self.heading = (heading[1] or heading[2],)
                self.above = []
                yield Passage(*self.heading)
            else:
                if (
                    paragraph
                    and (_ENDS.search(paragraph[-1]) or _begins(line))
                    and not (_OPEN.search(paragraph[-1]))
                ):
                    yield from self._paragraph(paragraph)
                    paragraph = []
                paragraph.append(line)
                if len(line.split()) <= 8 and not line.rstrip().endswith((".", "!", "?")):
                    nearest = next((each for each in lines[index + 1 :] if each.strip()), "")
                    records = _records(lines, index)
                    if records or _ITEM.match(nearest) or _ROW.match(nearest):
                        self.heading = (line,)
                    if records:
                        paragraph = []
        yield from self._paragraph(paragraph)

    def _paragraph(self, lines: list[str]) -> Iterator[Passage]:
        if lines:
            yield Passage(" ".join(lines), self.heading)

    def _item(self, depth: int, text: str) -> Passage:
        while self.above and self.above[-1][0] >= depth:
            self.above.pop()
        done = _TICK.match(text)
        if done:
            text = f"{done[2]}: {'done' if done[1].strip() else 'open, not done'}"
        context = self.heading + tuple(item for _, item in self.above)
        self.above.append((depth, text))
        return Passage(text, context)

    def _row(self, line: str, behind: str) -> Iterator[Passage]:
        if _RULE.match(line):
            return
        if _ROW.match(behind) and _RULE.match(behind):
            self.head = tuple(_cells(line))
        else:
            yield Passage(line, self.head, row=True)


def _tabled(lines: list[str]) -> Iterator[str]:
    """Write lines of values between commas, under a line of names, as rows of a table."""
    for commas, group in groupby(lines, lambda line: _VALUES.match(line) and line.count(",")):
        rows = list(group)
        if commas and len(rows) > 2 and not any(map(str.isdigit, rows[0])):
            rows = [f"| {line.replace(',', ' | ')} |" for line in rows]
            rows.insert(1, "|---|")
        yield from rows


def _cells(line: str) -> list[str]:
    return line.strip().strip("|").split("|")


def _records(lines: list[str], index: int) -> bool:
    """Whether a line with a colon at its end is above two or more lines that stand alone."""
    behind = lines[index + 1 : index + 3]
    return lines[index].endswith(":") and len(behind) == 2 and all(map(_begins, behind))


def _begins(line: str) -> bool:
    return line[:1].isupper() or line[:1].isdigit() or ":" in line[:30] or "=" in line[:30]


# Most tokens of a sentence: longer ones are data. After half of them, a semicolon ends the
# sentence, so that none ends between a key and its value.
LONGEST = 120
_SHORTENED = frozenset(WORDS["shortened"].split())
_EMPTY = frozenset(WORDS["empty"].split())


def sentences(said: Tokens, context: Tokens) -> Iterator[Statement]:
    """Split tokens into sentences."""
    start = 0
    for index, token in enumerate(said):
        last = index + 1 == len(said)
        spaced = last or said[index + 1].start > token.end or said[index + 1].raw in "\"')]*"
        ends = token.kind == "mark" and token.raw in ".!?…。" and (spaced or token.raw == "。")
        if ends and token.raw == "." and index:
            front = said[index - 1]
            initial = len(front.raw) == 1 and front.raw.isupper() and not last
            initial = (
                initial and said[index + 1].kind == "name" and said[index + 1].low not in _EMPTY
            )
            ends = not (initial or front.low in _SHORTENED) and (last or not _numbers(said, index))
        if ends and token.raw in "…" and not last:
            ends = said[index + 1].raw[:1].isupper()
        length = index - start
        ends = ends or length >= LONGEST or (token.raw == ";" and 2 * length >= LONGEST)
        if ends or last:
            if index >= start:
                piece = said[start : index + 1]
                yield Statement(segments(piece), context, token.raw == "?")
            start = index + 1


def _numbers(said: Tokens, index: int) -> bool:
    """Whether a full stop is behind the number of an item: "these: 1. fetch, 2. build"."""
    number, behind = said[index - 1], said[index + 1]
    apart = index < 2 or said[index - 2].kind == "mark"
    return apart and number.kind == "number" and len(number.raw) < 3 and behind.raw[:1].islower()


_STRONG = frozenset({";", "but", "while", "whereas", "aber", "mais", "pero", "ma", "sondern"})
_WEAK = frozenset(WORDS["joints"].split())


def segments(said: Tokens) -> tuple[Segment, ...]:
    """Split a sentence at commas, brackets and conjunctions."""
    found: list[Segment] = []
    piece: list[Token] = []
    joint, strong, depth = "", False, 0
    for index, token in enumerate(said):
        word = token.low
        cut = (word in _STRONG or word in _WEAK) and not (token.tied or token.ties)
        if token.raw == "-" and token.start and index:
            cut = said[index - 1].end < token.start
        if (
            cut
            and token.raw in "-\u2013\u2014]"
            and not found
            and all(t.kind != "word" for t in piece)
        ):
            cut = False  # a name with its description
        if not cut:
            if token.kind != "mark" or token.raw not in ".!?\"'*":
                piece.append(token)
            continue
        if piece:
            found.append(Segment(tuple(piece), joint, strong, depth > 0))
            joint, strong = "", False
        depth = max(0, depth + (word == "(") - (word == ")"))
        piece = []
        joint = f"{joint} {word}".strip()
        strong = strong or word in _STRONG
    if piece:
        found.append(Segment(tuple(piece), joint, strong, depth > 0))
    return tuple(found)


def answer_in(statement: Statement | None) -> str:
    """Return the answer at the start of a statement."""
    if statement is None:
        return ""
    first = next((t for s in statement.segments for t in s.tokens if t.kind != "mark"), None)
    word = first.low if first else ""
    return word if word in YES | NO else ""


def answers(statement: Statement) -> bool:
    """Whether a statement may be the answer to a question before it: "A: 8123", "8123"."""
    first = statement.segments[0].words
    short = len(first.split()) <= 4 and first.split()[0] not in PRONOUNS
    return not statement.asks and (short or re.match(r"a :|answer\b", first) is not None)


def goes_on(statement: Statement) -> bool:
    """Whether the subject of a sentence is in the previous one."""
    first = statement.segments[0].first if statement.segments else ""
    return first in PRONOUNS - POSSESSIVE or first in ("also", "not")
