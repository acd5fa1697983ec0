"""What a summary quotes: sentences, lines and calls, each with the very span that it comes from."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import NamedTuple

from compactlab.sim.core.message import Message, Part, PartType, Source
from compactlab.sim.replay.summarize import SummaryRequest

LONGEST = 300  # characters of a span; longer ones are cut, so that one line cannot be everything

# A line ends a span, and so does a sentence in it.
_BREAK = re.compile(r"[\r\n]|(?<=[.!?]) (?=[A-Z])")


def spans_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences and lines, cut to the longest length, without outer blanks."""
    start = 0
    for stop in (*(match.end() for match in _BREAK.finditer(text)), len(text)):
        while start < stop:
            end = stop
            if stop - start > LONGEST:
                blank = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
                end = blank + 1 if blank >= 0 else start + LONGEST
            piece = text[start:end].rstrip()
            if bare := piece.lstrip():
                yield start + len(piece) - len(bare), start + len(piece)
            start = end


def origin_of(message: Message, index: int) -> Source | None:
    """Say where a part's text begins in the log, if it stands there character by character."""
    part = message.parts[index]
    if part.kind == "verbatim" and part.sources == (Source(message.id),):
        return Source(message.id, index)
    return place_of(part)


def place_of(part: Part) -> Source | None:
    """The piece of the log that a part quotes, if it says which one."""
    if part.kind != "verbatim" or len(part.sources) > 1 or part.sources[0].part < 0:
        return None
    return part.sources[0]


_FULL = 120  # full marks for each of length (in characters), identifiers and place

# A path or a dotted name is one word: else all lines about one file would be alike.
WORD = re.compile(r"\w+(?:[./:-]+\w+)*")


class Unit(NamedTuple):
    """A line of the summary to be."""

    text: str  # what it says
    sources: tuple[Source, ...]  # what it stands for
    exact: bool  # whether its one source is the very span that it was copied from
    role: str = ""  # who said it; "" for a line of a summary, and for what a client told
    type: PartType = "text"  # what the part that it stands in is to the model
    failed: bool = False  # whether a tool returned it that reported failure
    # Where its message stands among those of the request: 0 is the oldest, and what the summary
    # before said, 1 the newest.
    place: float = 0.0


def units_of(request: SummaryRequest) -> Iterator[Unit]:
    """Yield all units in order: those of the summary before, then those of the messages."""
    for part in request.previous:
        if _tells(part):
            yield from _copied(part) or _split(part, place_of(part))
    last = max(1, len(request.messages) - 1)
    for number, message in enumerate(request.messages):
        place = number / last
        for text, sources, exact, role, type, failed, _ in units_in(message):
            yield Unit(text, sources, exact, role, type, failed, place)


# Strategies ask for summaries of much the same messages.
@lru_cache(maxsize=2048)
def units_in(message: Message) -> tuple[Unit, ...]:
    """The units of a message in order."""
    role = "" if message.meta else message.role
    return tuple(
        unit._replace(role=role, type=part.type, failed=part.is_error)
        for index, part in enumerate(message.parts)
        if _tells(part)
        for unit in _copied(part) or _split(part, origin_of(message, index))
    )


def _tells(part: Part) -> bool:
    """Whether a part says something of the log: headings and labels stand for nothing in it."""
    return bool(part.sources) and part.type not in ("thinking", "image")


def _copied(part: Part) -> list[Unit]:
    """Take the units out of a part that was quoted here; empty if it was not."""
    lines = part.text.split("\n")
    if part.kind != "summary" or len(lines) != len(part.sources):
        return []
    pairs = list(zip(lines, part.sources, strict=True))
    if any(s.part < 0 or not 0 < s.end - s.start <= len(line) for line, s in pairs):
        return []
    return [Unit(line, (source,), exact=True) for line, source in pairs]


def _split(part: Part, origin: Source | None) -> Iterator[Unit]:
    spans = [(0, min(len(part.text), LONGEST))] if part.type == "tool_call" else spans_of(part.text)
    for start, end in spans:
        text = part.text[start:end]
        if part.type == "tool_call":
            cut = "…" if end < len(part.text) else ""
            text = f"{part.name}({' '.join(text.split())}{cut})"
        if origin is None or start == end:
            yield Unit(text, part.sources, exact=False)
        else:
            at = origin.start
            source = Source(origin.id, origin.part, at + start, at + end)
            yield Unit(text, (source,), exact=True)


def distinct(units: Iterable[Unit]) -> Iterator[Unit]:
    """Pass each text on where it comes first, if there is a word in it."""
    seen: set[str] = set()
    for unit in units:
        key = _told(unit.text)
        if key and key not in seen:
            seen.add(key)
            yield unit


@lru_cache(maxsize=2**15)
def _told(text: str) -> str:
    """A text as it is compared with others; "" if there is no word in it."""
    words = " ".join(text.split())
    if not WORD.search(words):
        return ""
    return text if words == text else words  # one string kept, not two


def promising(units: Iterable[Unit], most: int) -> list[Unit]:
    """Keep the most promising units, in their order; linear, and holds little more than it keeps.

    Promising are units that are long, have identifiers in them, and stand near the beginning or
    the end.
    """
    units = iter(units)
    first = [*islice(units, most + 1)]
    if len(first) <= most:
        return first
    marked = ((-_marks(unit), position, unit) for position, unit in enumerate(chain(first, units)))
    best = heapq.nsmallest(most, marked)  # positions differ, so units are never compared
    return [unit for _, _, unit in sorted(best, key=itemgetter(1))]


def _marks(unit: Unit) -> int:
    return _edge(unit.place) + _worth(unit.text)


@lru_cache(maxsize=2**12)
def _edge(place: float) -> int:
    return int(round(_FULL * abs(2 * place - 1), 9))


@lru_cache(maxsize=2**15)
def _worth(text: str) -> int:
    joints = text.count("_") + text.count("/") + text.count(".")
    return min(len(text), _FULL) + _FULL * min(joints, 4) // 4


def quoted(units: Sequence[Unit]) -> tuple[Part, ...]:
    """Write units down: a part for all neighbours of the same provenance.

    The n-th source of a part whose units are exact belongs to its n-th line.
    """
    runs = (list(run) for _, run in groupby(units, lambda u: () if u.exact else u.sources))
    return tuple(
        Part(
            "text",
            "\n".join(unit.text for unit in run),
            "summary",
            tuple(unit.sources[0] for unit in run) if run[0].exact else run[0].sources,
        )
        for run in runs
    )


# Words by which rules know what a sentence is about. Scenarios keep off them on purpose.
#
# A rule that finds what a generator writes because both use the same words would win by
# construction; so generated conversations say decisions, rules and failures in other words.

# As patterns; a cue counts as a whole word, whatever its case.
DECIDED = ("decided", "agreed", "settled on", "let's use", "let us use", "go(?:ing)? with", "must")
BINDING = ("let's", "never", "always", "do not", "don't", "instead")
WRONG = ("blocked", "fails?", "failed", "failing", "broken")
ASKED = ("todo", "please", "can you", "could you", "next", "later", "add", "fix")
AHEAD = (
    "next", "remains?", "remaining", "still (?:have|has|need)s?", "I'll", "I will", "I need to"
)  # fmt: skip
BROKEN = (*WRONG, "errors?", "exception", "traceback", "denied", "not found")


def words(*cues: str) -> re.Pattern[str]:
    """Compile cues into one pattern.

    Examples
    --------
    >>> bool(words(*DECIDED).search("We AGREED on tabs"))
    True
    """
    return re.compile(rf"\b(?:{'|'.join(cues)})\b", re.IGNORECASE)
