"""The units that a summary quotes: sentences, lines and calls, with their exact spans."""

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

LONGEST = 300  # characters of a span; longer ones are cut, so that one line cannot fill a summary

# The end of a line or of a sentence ends a span.
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
    """Return the position of a part's text in the log, if it is there verbatim."""
    part = message.parts[index]
    if part.kind == "verbatim" and part.sources == (Source(message.id),):
        return Source(message.id, index)
    return place_of(part)


def place_of(part: Part) -> Source | None:
    """Return the span of the log that a part quotes, if it has exactly one."""
    if part.kind != "verbatim" or len(part.sources) > 1 or part.sources[0].part < 0:
        return None
    return part.sources[0]


_FULL = 120  # values with a full score: for length (in characters), identifiers and position

# A path or a dotted name is one word; otherwise all lines about one file would be similar.
WORD = re.compile(r"\w+(?:[./:-]+\w+)*")


class Unit(NamedTuple):
    """A line of a future summary."""

    text: str  # its text
    sources: tuple[Source, ...]  # its sources
    exact: bool  # whether its one source is exactly the span that it was copied from
    role: str = ""  # the speaker; "" for a line of a summary, and for a text of the client
    type: PartType = "text"  # the type of its part
    failed: bool = False  # whether it is from a failed tool's result
    # Position of its message in the request: 0 for the oldest and for the previous summary, 1 for
    # the newest.
    place: float = 0.0


def units_of(request: SummaryRequest) -> Iterator[Unit]:
    """Yield all units in order: those of the previous summary, then those of the messages."""
    for part in request.previous:
        if _tells(part):
            yield from _copied(part) or _split(part, place_of(part))
    last = max(1, len(request.messages) - 1)
    for number, message in enumerate(request.messages):
        place = number / last
        for text, sources, exact, role, type, failed, _ in units_in(message):
            yield Unit(text, sources, exact, role, type, failed, place)


# Cached, because strategies summarise similar messages.
@lru_cache(maxsize=2048)
def units_in(message: Message) -> tuple[Unit, ...]:
    """Return the units of a message in order."""
    role = "" if message.meta else message.role
    return tuple(
        unit._replace(role=role, type=part.type, failed=part.is_error)
        for index, part in enumerate(message.parts)
        if _tells(part)
        for unit in _copied(part) or _split(part, origin_of(message, index))
    )


def _tells(part: Part) -> bool:
    """Whether a part has content from the log, unlike headings and labels."""
    return bool(part.sources) and part.type not in ("thinking", "image")


def _copied(part: Part) -> list[Unit]:
    """Extract the units of a part that was quoted here; none for other parts."""
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


def distinct(units: Iterable[Unit]) -> Iterable[Unit]:
    """Return each text once, at its first position, if it has a word."""
    first: dict[str, Unit] = {}
    for unit in units:
        first.setdefault(_told(unit.text), unit)
    first.pop("", None)
    return first.values()


@lru_cache(maxsize=2**15)
def _told(text: str) -> str:
    """Normalise a text for comparison; "" if it has no word."""
    words = " ".join(text.split())
    if not WORD.search(words):
        return ""
    return text if words == text else words  # stores one string instead of two


def promising(units: Iterable[Unit], most: int) -> list[Unit]:
    """Keep the most promising units, in their order, in linear time and little memory.

    Long units, units with identifiers, and units near the beginning or the end are promising.
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
    """Write units: one part for adjacent units of the same provenance.

    In a part with exact units, the n-th source belongs to the n-th line.
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


# Cue words that rules use to classify sentences. Scenarios avoid them on purpose. A rule that
# shares its words with the generator would win by construction; so generated conversations express
# decisions, rules and failures in other words.

# As patterns; a cue matches whole words in any case.
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
