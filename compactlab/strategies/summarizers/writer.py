"""What an agent writes in an extra turn, by cue words, and what knows what is replayed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.memory import Remembered, Topic
from compactlab.sim.core.message import Message, Role, Source
from compactlab.sim.facts.evidence import Witness
from compactlab.sim.facts.ledger import Ledger, ledger_of
from compactlab.sim.replay.summarize import Summarizer, TurnRequest, Written
from compactlab.strategies.summarizers.units import (
    AHEAD,
    ASKED,
    BINDING,
    DECIDED,
    WRONG,
    origin_of,
    spans_of,
    words,
)

# What an agent writes down in an extra turn, by cue words: a simulation, not a model's writing.
#
# It sees what the agent sees, and quotes sentences of it; so every note has an exact source, and
# what was lost before the turn cannot come back. Which sentences a model would choose it cannot
# say.

_EACH = 8  # notes of a topic


# The first topic whose cue a sentence holds is its topic; what a person says has cues of its own.
_CUES: dict[Role, tuple[tuple[Topic, re.Pattern[str]], ...]] = {
    "user": (
        ("decision", words(*DECIDED, *BINDING)),
        ("user", words("I", "I'm", "me", "my", "we", "our", "us", "prefer")),
        ("progress", words(*WRONG, "wrong", "bug")),
        ("action", words(*ASKED)),
    ),
    "assistant": (
        ("decision", words(*DECIDED, "never")),
        ("progress", words("done", "fixed", "added", "implemented", "finished", "pass(?:es|ed)?",
                           *WRONG, "stuck", "cannot", "can't")),
        ("action", words("todo", *AHEAD)),
    ),
    "tool": (),
}  # fmt: skip

# What holds from early on is noted where it was said first; where things stand, where it was last.
_FIRST: tuple[Topic, ...] = ("decision", "user")
_LAST: tuple[Topic, ...] = ("action", "progress")


class ScriptedWriter(Summarizer):
    """A summariser whose notes are sentences picked by cue words; subclasses make the summaries.

    Sentences and lines of what people and the agent said are sorted into decisions, facts about
    the user, progress and blockers, and action items (section 6.4.3 of the Signet specification)
    by the first cue that they hold, and quoted whole. Of decisions and of what the user told of
    themselves the first eight are taken, of the others the last eight, and of all as many as the
    request has room for. What stands in notes that the agent still sees is not noted again; what
    a summary tells was noted before that was made, or is lost. Results of tools are not read.
    """

    def write(
        self, messages: Sequence[Message], request: TurnRequest, count: Callable[[str], int]
    ) -> Written:
        """Write; see :meth:`compactlab.sim.replay.summarize.Summarizer.write`."""
        topics: dict[Topic, dict[str, Remembered]] = {each: {} for each in (*_FIRST, *_LAST)}
        for note in _noted(messages):
            topics[note.topic].setdefault(" ".join(note.text.lower().split()), note)
        first = (list(topics[each].values())[:_EACH] for each in _FIRST)
        last = (list(topics[each].values())[-_EACH:] for each in _LAST)
        room, items = request.max_tokens, []
        for note in chain.from_iterable((*first, *last)):
            tokens = count(note.text)
            if tokens <= room:
                room -= tokens
                items.append(note)
        return Written(request.silent, tuple(items))


def _noted(messages: Iterable[Message]) -> Iterator[Remembered]:
    """Yield every sentence with a cue that is not in a note already."""
    messages = list(messages)
    known = {
        source for m in messages for p in m.parts if p.kind == "memory" for source in p.sources
    }
    for message in messages:
        cues = () if message.meta else _CUES[message.role]
        for index, part in enumerate(message.parts if cues else ()):
            origin = origin_of(message, index) if part.type == "text" and part.sources else None
            if origin is None:
                continue
            for start, end in spans_of(part.text):
                text = part.text[start:end]
                topic = next((topic for topic, cue in cues if cue.search(text)), None)
                at = origin.start
                source = Source(origin.id, origin.part, at + start, at + end)
                if topic is not None and source not in known:
                    yield Remembered(topic, text, (source,))


@dataclass(frozen=True, eq=False)
class Bound(ScriptedWriter):
    """Knows the conversation and the seed; subclasses make the summaries."""

    conversation: Conversation
    seed: int
    name: str  # the spec of the summariser that was bound

    @property
    def spec(self) -> str:
        """The spec of the summariser that was bound."""
        return self.name

    @cached_property
    def ledger(self) -> Ledger:
        """The facts of the conversation."""
        return ledger_of(self.conversation)

    @cached_property
    def witness(self) -> Witness:
        """Reads what parts say of the facts."""
        return Witness(self.ledger)

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each message in the script, by id."""
        return {id: place for place, id in enumerate(self.ledger.messages)}
