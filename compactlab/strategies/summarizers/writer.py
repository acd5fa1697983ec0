"""Memory that an agent writes in an extra turn: facts that it knows, or quotations."""

from __future__ import annotations

import heapq
import random
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import NamedTuple, TypeVar

from compactlab.sim.core.conversation import Conversation, FactType
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part, PartType, Source
from compactlab.sim.core.notes import Remembered, Topic
from compactlab.sim.facts.evidence import Witness
from compactlab.sim.facts.ledger import Ledger, ledger_of
from compactlab.sim.replay.summarize import Count, Summarizer, SummaryRequest, TurnRequest, Written

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


# This is a simulation, not a model's text. A writer sees what the agent sees, so that content lost
# before the turn cannot come back. It chooses notes as it chooses the content of summaries.


class Unbound(Summarizer):
    """Writes nothing until it is bound to a conversation: it needs draws or future needs."""

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        raise UsageError(f"{self.label}: bind it to a conversation first")


@dataclass(frozen=True, eq=False)
class Bound(Summarizer):
    """Has the conversation and the seed; subclasses make the summaries."""

    conversation: Conversation
    seed: int
    name: str  # the spec of the unbound summariser

    @property
    def spec(self) -> str:
        return self.name

    @cached_property
    def ledger(self) -> Ledger:
        """The facts of the conversation."""
        return ledger_of(self.conversation)

    @cached_property
    def witness(self) -> Witness:
        """Finds the facts in parts."""
        return Witness(self.ledger)

    @cached_property
    def place(self) -> dict[str, int]:
        """The index of each message in the script, by id."""
        return {id: index for index, id in enumerate(self.ledger.messages)}


# Topics worth keeping (section 6.4.3 of the Signet specification), by types of facts.
_TOPICS: dict[FactType, Topic] = {
    "decision": "decision",
    "constraint": "decision",
    "prohibition": "decision",
    "procedure": "decision",
    "preference": "user",
    "entity": "user",
    "artifact": "progress",
    "tool_detail": "progress",
    "open_loop": "action",
    "goal": "action",
    "done": "progress",
    "handle": "action",
    "proposal": "action",
}


class Knowing(Bound):
    """Knows the facts: its notes are facts, chosen by the same model as those of its summaries."""

    @abstractmethod
    def told(
        self, request: SummaryRequest, purpose: str | int, count: Count
    ) -> Iterable[tuple[int, Part]]:
        """Return facts that a request states, as lines.

        ``purpose`` names the draws: ``note``, or the round of a summary.

        Returns
        -------
        iterable of tuple
            The number of each fact and its line, the most important first; quoted messages have
            negative numbers.
        """

    def answer(self, messages: Sequence[Message], silent: str) -> str:
        """Answer an extra turn that permits silence."""
        return silent

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Note visible facts that no visible note contains, as many as fit."""
        notes = [part for m in messages for part in m.parts if part.kind == "memory"]
        evidence = self.witness.parts(notes)
        known = self.ledger.held(evidence.verbatim) | evidence.key
        quoted = {source.id for part in notes for source in part.sources}
        seen = SummaryRequest(tuple(messages), request.max_tokens)
        new = (
            (number, part)
            for number, part in self.told(seen, "note", count)
            if (part.sources[0].id not in quoted if number < 0 else not known >> number & 1)
        )
        items = tuple(
            Remembered(self._topic(number), part.text, part.sources)
            for number, part in fitting(new, request.max_tokens, count).items()
        )
        return Written(self.answer(messages, request.silent), items)

    def _topic(self, number: int) -> Topic:
        """Return the topic of a fact's type; a quoted message is about the user."""
        return _TOPICS[self.ledger.facts[number].kind] if number >= 0 else "user"


_Told = TypeVar("_Told", Part, Unit)


def fitting(offers: Iterable[tuple[int, _Told]], room: int, count: Count) -> dict[int, _Told]:
    """Take items while they fit, in the given order, and sort them by number."""
    taken = {}
    for number, told in offers:
        if (tokens := count(told.text)) <= room:
            room -= tokens
            taken[number] = told
    return dict(sorted(taken.items()))


_SAVED = "I have noted what matters of this session."
_LOUD = ("{silent} {saved}", "{saved}\n\n{silent}", "{saved}")


def loud(dice: random.Random, silent: str) -> str:
    """Answer with more than the token for silence: after it, before it, or instead of it."""
    return dice.choice(_LOUD).format(silent=silent, saved=_SAVED)


# A sentence has the topic of its first cue; people and agents have different cues. Without a cue, a
# person's sentence is about the user, and the agent's is about the state of the work.
_CUES: dict[str, dict[Topic, re.Pattern[str]]] = {
    "user": {
        "decision": words(*DECIDED, *BINDING),
        "user": words("I", "I'm", "me", "my", "we", "our", "us", "prefer"),
        "progress": words(*WRONG, "wrong", "bug"),
        "action": words(*ASKED),
    },
    "assistant": {
        "decision": words(*DECIDED, "never"),
        "progress": words("done", "fixed", "added", "implemented", "finished", "pass(?:es|ed)?",
                          *WRONG, "stuck", "cannot", "can't"),
        "action": words("todo", *AHEAD),
    },
}  # fmt: skip
_ELSE: dict[str, Topic] = {"user": "user", "assistant": "progress"}


def noted(messages: Iterable[Message]) -> frozenset[Source]:
    """Return the sources of visible notes."""
    parts = (part for message in messages for part in message.parts if part.kind == "memory")
    return frozenset(source for part in parts for source in part.sources)


def is_spoken(unit: Unit) -> bool:
    """Whether a message is unchanged from the script, and a person's or the agent's."""
    return unit.exact and unit.type == "text" and unit.role in _CUES


def topic_of(unit: Unit) -> Topic:
    """Return the topic of a sentence, by its words or its speaker."""
    cues = _CUES[unit.role].items()
    return next((topic for topic, cue in cues if cue.search(unit.text)), _ELSE[unit.role])
