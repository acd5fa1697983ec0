"""OpenClaw's check of a summary, and how a summary is cut so that it passes (2026.9.6).

A summary must have five headings, the latest request and the identifiers of the last messages. When
the program cuts a summary to its length, it inserts the last two itself, so a summary with the
headings passes. A summary that fails is requested again; if that fails, too, nothing is compacted.
Exact against vectors (``openclaw_quality_2026.9.6``). Simplified: stop words of a request are a
short English list of our own.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from compactlab.sim.core.tokens import utf16_length
from compactlab.strategies.mechanisms.joined import ending
from compactlab.strategies.mechanisms.text import BLANKS, as_json, head

# Literals of the original, from its outputs.
HEADINGS = (
    "## Decisions",
    "## Open TODOs",
    "## Constraints/Rules",
    "## Pending user asks",
    "## Exact identifiers",
)
_ASKS, _IDENTIFIERS = 3, 4  # headings whose contents are protected
MOST_CHARS = 16_000  # of a summary with all that is appended
CUT_OFF = "\n\n[Compaction summary truncated to fit budget]"
EARLIER_CUT = "\n\n[Earlier compaction context truncated to fit budget]\n\n"
_CONTEXT, _BLOCK = "Latest user request context:", "## Latest user request context"
_NONE = re.compile(r"(?:none|none captured|no pending asks)[.!]?", re.IGNORECASE)
_SHARE = 0.25  # of what is free, for a protected section's own content
_MOST_IDENTIFIERS, _MOST_WORDS, _SEVERAL = 12, 12, 3
# Characters of a request that are shown in a summary.
ASK_CHARS, OPEN_ASK_CHARS = 2000, 800

_DECIMAL = r"(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+\.[eE][+-]?\d+|\d+\.?[eE][+-]\d+"
_POWER = r"(?![A-Fa-f0-9]{8,}(?![A-Fa-f0-9]))\d+\.?[eE]\d+"
_UNIT = r"(?:(?=[A-Za-z]+(?![A-Za-z0-9]))(?=[A-Za-z]*[G-Zg-z])[A-Za-z]+)?(?![A-Za-z0-9])"
_NAMED = re.compile(
    r"(?P<place>https?://\S+"
    r"|(?<![A-Za-z0-9._-])/[\w.-]{2,}(?:/[\w.-]+)+"
    r"|[A-Za-z]:\\[\w\\.-]+"
    r"|(?<![A-Za-z0-9._-])[A-Za-z0-9._-]+\.[A-Za-z0-9._/-]+:\d{1,5})"
    rf"|(?:{_DECIMAL}|{_POWER}){_UNIT}"
    r"|(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*(?:[A-Fa-f0-9]{8}|\d{6}))(?P<id>[A-Za-z0-9_-]+)",
    re.ASCII,
)
_HEX = re.compile(r"[A-Fa-f0-9]{8,}")
_EMPTY_WORDS = re.compile(
    "an?|the|this|that|these|those|i|me|my|we|our|your?|he|she|it|they|them|is|are|was|were|be|been|"
    "have|has|had|do|does|did|will|would|could|should|can|may|might|in|on|at|to|for|of|with|by|"
    "from|about|into|and|or|but|if|then|because|as|while|when|where|what|which|who|how|why|just|"
    "now|please|help|find|show|get|tell|give"
)


def identifiers(text: str) -> list[str]:
    """Return up to twelve addresses, paths, ids and hashes: ``extractOpaqueIdentifiers``."""
    found = (match["place"] or match["id"] or "" for match in _NAMED.finditer(text))
    bare = (each.strip(BLANKS).lstrip("(\"'`[{<").rstrip(")]\"'`,;:.!?<>") for each in found)
    same = (each.upper() if _HEX.fullmatch(each) else each for each in bare)
    return list(dict.fromkeys(each for each in same if len(each) >= 4))[:_MOST_IDENTIFIERS]


def _names(summary: str, identifier: str) -> bool:
    if _HEX.fullmatch(identifier):
        return identifier.upper() in summary.upper()
    return identifier in summary


def shown_ask(ask: str, most: int = ASK_CHARS, note: str = "split-turn ask context") -> str:
    """Cut a request to the length at which it is shown, in its middle."""
    ask = ask.strip(BLANKS)
    if utf16_length(ask) <= most:
        return ask
    note = f"\n[... {note} truncated ...]\n"
    room = most - len(note)
    rest = ending(ask, (room + 1) // 2)
    rest = rest[1:] if "\udc00" <= rest[:1] <= "\udfff" else rest  # no half of a character
    return f"{_front(ask, room // 2)}{note}{rest}"


@dataclass(frozen=True)
class Facts:
    """The facts that a summary must contain."""

    identifiers: Sequence[str] = ()
    ask: str = ""  # the latest request
    retained: bool = False  # whether the kept part of a turn has it
    unresolved: str = ""  # a request that goes on after the compaction

    @property
    def shown(self) -> str:
        """The latest request, as it is shown."""
        return shown_ask(self.ask)


def _words(text: str) -> list[str]:
    """Return the words of a text, each once."""
    plain = unicodedata.normalize("NFKC", text).lower()
    return list(dict.fromkeys(re.findall(r"[^\W_]+", plain)))


def reflects(summary: str, ask: str) -> bool:
    """Whether a summary has two words of a request (one of a short one, none of an empty one)."""
    words = _words(ask)
    telling = [word for word in words if len(word) > 1 and not _EMPTY_WORDS.fullmatch(word)]
    long = [word for word in telling if len(word) > 2 and not word.isdigit()]
    words = (long or telling or words)[:_MOST_WORDS]
    if not words:
        return True
    known = set(_words(summary))
    return sum(word in known for word in words) >= (2 if len(words) >= _SEVERAL else 1)


def _lines(text: str) -> list[str]:
    return [line for raw in text.splitlines() if (line := raw.strip(BLANKS))]


def _pending(summary: str) -> str:
    """Return the section on pending requests."""
    _, found, rest = _at_heading(summary, HEADINGS[_ASKS])
    rest = re.split(r"^##[ \t]+\S.*$", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return rest.strip(BLANKS) if found else ""


def _at_heading(text: str, heading: str) -> tuple[str, bool, str]:
    parts = re.split(rf"^{re.escape(heading)}[ \t]*$", text, maxsplit=1, flags=re.MULTILINE)
    return parts[0], len(parts) > 1, parts[-1]


def _first_pending(summary: str) -> str:
    return next(iter(_lines(_pending(summary))), "")


def audit(
    summary: str, body: str, written: Iterable[str], facts: Facts, prefix: str | None = None
) -> list[str]:
    """Return the faults of a summary: ``auditSummaryQuality``.

    Parameters
    ----------
    summary, body
        The whole of it, and the part that a model wrote, as it will be stored.
    written
        What the model wrote, before it was cut.
    facts
        What must be there.
    prefix
        The summary of the first part of a turn, if the latest request is in it.
    """
    reasons, lines, texts = list[str](), set(_lines(body)), [_lines(text) for text in written]
    for heading in HEADINGS:
        if heading not in lines:
            reasons.append(f"missing_section:{heading}")
        if any(text.count(heading) > 1 for text in texts):
            reasons.append(f"duplicate_section:{heading}")
    missing = [each for each in facts.identifiers if not _names(summary, each)]
    if missing:
        reasons.append(f"missing_identifiers:{','.join(missing[:3])}")
    if facts.unresolved:
        if _first_pending(body) != f"{_CONTEXT} {as_json(facts.unresolved)}":
            reasons.append("latest_user_ask_not_foregrounded")
    elif not reflects(summary, facts.ask):
        reasons.append("latest_user_ask_not_reflected")
    if prefix is not None and _marks_pending(prefix, facts):
        reasons.append("retained_turn_ask_marked_pending")
    return reasons


def _marks_pending(prefix: str, facts: Facts) -> bool:
    if facts.unresolved:
        first = _first_pending(prefix)
        return bool(first) and not _NONE.fullmatch(first)
    return bool(_words(facts.ask)) and reflects(_pending(prefix), facts.ask)


# A summary is cut in pieces: spans of the written text, and the program's own words.


def _front(text: str, units: int) -> str:
    """Return the beginning of a text, cut to a number of code units; no character is split."""
    begins = head(text, units)
    whole = begins != text[: len(begins)]
    return begins[:-1] if whole else begins


@dataclass(frozen=True)
class Cuts:
    """Pieces of a text, in order: spans of it, and other words."""

    of: str
    pieces: tuple[str | tuple[int, int], ...] = ()

    @cached_property
    def text(self) -> str:
        """The pieces, joined."""
        return "".join(p if isinstance(p, str) else self.of[p[0] : p[1]] for p in self.pieces)

    @property
    def size(self) -> int:
        """Its length in UTF-16 code units."""
        return utf16_length(self.text)

    def head(self, units: int) -> Cuts:
        """Return the beginning."""
        left, kept = len(_front(self.text, units)), list[str | tuple[int, int]]()
        for piece in self.pieces:
            if isinstance(piece, str):
                kept.append(piece[: max(left, 0)])
                left -= len(piece)
            else:
                kept.append((piece[0], min(piece[1], piece[0] + max(left, 0))))
                left -= piece[1] - piece[0]
        return Cuts(self.of, tuple(kept))

    def __add__(self, other: Cuts | str) -> Cuts:
        return Cuts(self.of, self.pieces + (other.pieces if isinstance(other, Cuts) else (other,)))


def _joined(of: str, between: str, pieces: Iterable[Cuts | str]) -> Cuts:
    cuts = Cuts(of)
    for number, piece in enumerate(pieces):
        cuts = cuts + between + piece if number else cuts + piece
    return cuts


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    inside = text[start:end]
    left = len(inside) - len(inside.lstrip(BLANKS))
    return (start + left, start + left + len(inside.strip(BLANKS)))


def sections(text: str) -> list[Cuts] | None:
    """Return the contents of the five sections; None if a heading is missing or out of order.

    What comes before the first heading belongs to the first section.
    """
    places: list[tuple[int, int]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        if len(places) < len(HEADINGS) and line.strip(BLANKS) == HEADINGS[len(places)]:
            places.append((start, start + len(line)))
        start += len(line)
    if len(places) < len(HEADINGS):
        return None
    ends = [place[0] for place in places[1:]] + [len(text)]
    spans = [_trimmed(text, place[1], end) for place, end in zip(places, ends, strict=True)]
    found = [Cuts(text, (span,)) for span in spans]
    before = _trimmed(text, 0, places[0][0])
    if before[0] < before[1]:
        rest = (places[0][1], spans[0][1])
        found[0] = Cuts(text, ((before[0], places[0][0]), rest) if found[0].text else (before,))
    return found


@dataclass(frozen=True)
class _Plan:
    """How a summary is rebuilt: ``createSummaryQualityRetentionPlan``."""

    body: str
    contents: list[Cuts]
    facts: Facts
    reflected: bool  # whether the summary reflects the latest request

    @property
    def block(self) -> str:
        """The latest request, in front of everything."""
        facts = self.facts
        if facts.unresolved or not facts.shown or not (self.reflected or facts.retained):
            return ""
        return f"{_BLOCK}\n{as_json(facts.shown)}"

    @cached_property
    def tails(self) -> list[str]:
        """The required end of each section."""
        facts, pending = self.facts, self.contents[_ASKS].text
        shown, ask = facts.shown, ""
        hidden = reflects(pending, facts.ask) and shown not in pending
        if facts.unresolved:
            ask = f"{_CONTEXT} {as_json(facts.unresolved)}"
        elif not facts.retained and shown and (not self.reflected or hidden):
            ask = f"{_CONTEXT}\n{as_json(shown)}"
        return ["", "", "", ask, "\n".join(facts.identifiers)]

    @cached_property
    def least(self) -> int:
        """The length of a summary without any content."""
        blocks = [
            f"{heading}\n\n{tail}" for heading, tail in zip(HEADINGS, self.tails, strict=True)
        ]
        front = [self.block] if self.block else []
        whole = [*front, *blocks[:_ASKS], CUT_OFF.strip(), *blocks[_ASKS:]]
        return utf16_length("\n\n".join(whole))

    def _room(self, most: int) -> int:
        return math.floor(max(0, most - self.least) * _SHARE)

    def stands(self, most: int) -> bool:
        """Whether the body may stay as it is, if it is short enough."""
        facts, tail = self.facts, self.tails[_ASKS]
        if facts.unresolved:
            asked = _first_pending(self.body) == tail
        elif self.block:
            asked = self.body.startswith(self.block)
        else:
            asked = not facts.shown or tail in self.contents[_ASKS].text
        named = all(_names(self.body, each) for each in facts.identifiers)
        short = all(each.size <= self._room(most) for each in self.contents[_ASKS:])
        return asked and named and short

    def render(self, most: int) -> tuple[Cuts, bool] | None:
        """Return the summary within a length, and whether content was cut; None if it is too short.

        The first three sections share the remaining length in proportion to theirs.
        """
        if utf16_length(self.body) <= most and self.stands(most):
            return Cuts(self.body, ((0, len(self.body)),)), False
        if most < self.least:
            return None
        sizes = [each.size for each in self.contents]
        given = [0] * _ASKS + [min(size, self._room(most)) for size in sizes[_ASKS:]]
        free = max(0, most - self.least - sum(given))
        total = sum(sizes[:_ASKS])
        for index in range(_ASKS):
            given[index] = free * sizes[index] // total if total else 0
        rest = free - sum(given[:_ASKS])
        for index in range(_ASKS):
            more = min(rest, max(0, sizes[index] - given[index]))
            given[index], rest = given[index] + more, rest - more
        cut = any(size > units for size, units in zip(sizes, given, strict=True))
        blocks = []
        for index, heading in enumerate(HEADINGS):
            content = self._with_tail(index, self.contents[index].head(given[index]))
            blocks.append(Cuts(self.body, (f"{heading}\n",)) + content if content.text else heading)
        front = [self.block] if self.block else []
        marks = [CUT_OFF.strip()] if cut else []
        return _joined(self.body, "\n\n", [*front, *blocks[:_ASKS], *marks, *blocks[_ASKS:]]), cut

    def _with_tail(self, place: int, content: Cuts) -> Cuts:
        tail, own = self.tails[place], content.text
        if not tail or (place == _ASKS and next(iter(_lines(own)), "") == tail):
            return content
        if place == _IDENTIFIERS:
            tails = [each for each in self.facts.identifiers if not _names(own, each)]
            return _joined(self.body, "\n", [*([content] if own else []), *tails])
        if self.facts.unresolved:
            empty = not own or _NONE.fullmatch(next(iter(_lines(own)), ""))
            return _joined(self.body, "\n", [tail, *([] if empty else [content])])
        empty = not own or _NONE.fullmatch(own)
        return _joined(self.body, "\n", [*([] if empty else [content]), tail])


class Final(NamedTuple):
    """A summary within its length."""

    body: Cuts  # the model's text, with additions
    suffix: Cuts  # what is appended
    room: int  # available for the body
    feasible: bool = True  # whether what must be kept fits at all

    @property
    def text(self) -> str:
        """The whole of it."""
        return self.body.text + self.suffix.text


@dataclass(frozen=True)
class Suffix:
    """What is appended to a summary, with those ranges that are only cut between segments."""

    text: str = ""
    ranges: tuple[tuple[int, int, tuple[int, ...]], ...] = ()  # start, end, starts of segments

    def tail(self, room: int) -> Cuts:
        """Return its end within a length: ``capCompactionSuffix``."""
        length = len(self.text)
        if length <= room:
            return Cuts(self.text, ((0, length),))
        marked = room >= len(EARLIER_CUT)
        left = room - len(EARLIER_CUT) if marked else max(room, 0)
        start = max(0, length - left)
        for first, last, segments in self.ranges:
            if first < start < last:
                start = next((each for each in segments if each >= start), last)
        mark = (EARLIER_CUT,) if marked else ()
        return Cuts(self.text, (*mark, (start, length) if left else (0, 0)))


def finalised(
    body: str, suffix: Suffix, most: int, facts: Facts | None = None, audited: str = ""
) -> Final:
    """Cut a summary and its appended text to a length: ``budgetCompactionSummary``.

    Parameters
    ----------
    body, suffix
        The model's text, and the appended text.
    most
        UTF-16 code units.
    facts
        What must survive; None if nothing is checked.
    audited
        The text searched for the latest request; the body by default.
    """
    size = utf16_length(body)
    plan = _plan(body, facts, audited or body) if facts else None
    stays = plan is None or ((facts.unresolved or plan.reflected) and plan.stands(most))  # type: ignore[union-attr]
    if most <= 0 or (size + utf16_length(suffix.text) <= most and stays):
        whole = Cuts(suffix.text, ((0, len(suffix.text)),))
        return Final(Cuts(body, ((0, len(body)),)), whole, most)
    capacity = most if plan else size
    least = min(capacity, most, max(1, math.ceil(most / 2), plan.least if plan else 0))
    room = min(capacity, max(least, most - min(utf16_length(suffix.text), most)))
    rendered = plan.render(room) if plan else None
    own = rendered[0] if rendered else capped(body, room)
    rest = suffix.tail(max(0, most - own.size))
    return Final(own, rest, room, plan is None or plan.least <= most)


def _plan(body: str, facts: Facts, audited: str) -> _Plan | None:
    reflected = reflects(audited, facts.ask)
    plain = _Plan(body, [Cuts(body)] * len(HEADINGS), facts, reflected)
    front = f"{plain.block}\n\n" if plain.block else ""
    if front and body.startswith(front):
        shifted = sections(body[len(front) :])
        contents = shifted and [_moved(body, each, len(front)) for each in shifted]
    else:
        contents = sections(body)
    return _Plan(body, contents, facts, reflected) if contents else None


def _moved(body: str, cuts: Cuts, by: int) -> Cuts:
    moved = (p if isinstance(p, str) else (p[0] + by, p[1] + by) for p in cuts.pieces)
    return Cuts(body, tuple(moved))


def capped(text: str, most: int, note: str = CUT_OFF) -> Cuts:
    """Cut a text to a length, with a note: ``capCompactionSummary``."""
    if most <= 0 or utf16_length(text) <= most:
        return Cuts(text, ((0, len(text)),))
    if most < len(note):
        return Cuts(text, ((0, len(_front(text, most))),))
    return Cuts(text, ((0, len(_front(text, most - len(note)))), note))


def fitted(
    tokens: float | None, weigh: Callable[[str], float], make: Callable[[int], Final]
) -> Final | None:
    """Return the longest summary that fits the tokens: ``fitCompactionSummary``; None if none does.

    Parameters
    ----------
    tokens
        The limit; None for no limit.
    weigh
        Estimates the tokens of a text.
    make
        Returns the summary within a length.
    """
    full = make(MOST_CHARS)
    if tokens is None or weigh(full.text) <= tokens:
        return full
    low, high, found = 1, MOST_CHARS - 1, None
    while low <= high:
        middle = (low + high) // 2
        tried = make(middle)
        if weigh(tried.text) <= tokens:
            low, found = middle + 1, tried
        else:
            high = middle - 1
    return found
