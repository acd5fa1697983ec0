"""What OpenClaw shows again: messages after a compaction (pull request 3599), and its memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, NamedTuple

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import Kind, Message, Part, Source
from compactlab.sim.core.notes import Remembered, ranked
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Lifetime, Strategy
from compactlab.strategies.mechanisms.cut import current_turn
from compactlab.strategies.mechanisms.handover import glued
from compactlab.strategies.mechanisms.text import BLANKS, head, speaker, spoken, whole

# The original's heading; the line below it is our own, with the original's length.
HEADING = "## Recent Conversation (Recovered After Context Compaction)"
INTRO = (
    "What was said last, before older parts of this conversation were condensed; carry on from "
    "where it stops:"
)
MOST = 50
CHARS = 500
# Additional messages requested, because tool results count as messages, too.
EXTRA = 10
# OpenClaw's marks of messages that are neither the user's nor the agent's.
_MARKS = ("[tool:", "[System Event]")


class Quote(NamedTuple):
    """A quoted message: its speaker, the stripped text, and the message."""

    speaker: str
    text: str
    message: Message


class Piece(NamedTuple):
    """A piece of the block, with its sources; a frame has none."""

    text: str
    sources: tuple[Source, ...] = ()


def is_needed(compactions: int, recovered: int) -> bool:
    """Whether there was a compaction since the last recovery: ``checkContextRecoveryNeeded``."""
    return compactions > max(recovered, 0)


def asked_for(history: Messages, wanted: int) -> Messages:
    """Return the newest messages requested from the transcript, including tool results."""
    return history[max(0, len(history) - wanted - EXTRA) :]


def recover(history: Sequence[Message], count: int) -> list[Quote]:
    """Return the newest messages of user and assistant with text.

    The parts of a message are joined without separators. A message that begins with a mark of
    OpenClaw is left out, unless blanks precede the mark. As in the original, a ``count`` of 0 means
    all.
    """
    return [quote for message in history if (quote := _quote(message))][-count:]


def _quote(message: Message) -> Quote | None:
    who = speaker(message)
    text = _joined(message) if who else ""
    words = text.strip(BLANKS)
    return Quote(who, words, message) if words and not text.startswith(_MARKS) else None


def _joined(message: Message) -> str:
    return "".join(part.text for _, part in spoken(message))


def block(quotes: Sequence[Quote], intro: str = INTRO, chars: int = CHARS) -> list[Piece]:
    """Write the block with these messages, in pieces that are joined without separators.

    Each message is cut to a number of UTF-16 code units; a cut message ends in three dots.
    """
    if not quotes:
        return []
    return [
        Piece(f"{HEADING}\n\n{intro}\n\n"),
        *(_shown(quote, chars) for quote in quotes),
        Piece("---\n"),
    ]


def _shown(quote: Quote, chars: int) -> Piece:
    text, length = quote.text, len(quote.text)
    if utf16_length(text) > chars:
        begins = head(text, chars)
        text, length = f"{begins}...", len(whole(begins))
    return Piece(f"**{quote.speaker}:** {text}\n\n", _spans(quote.message, length))


def _spans(message: Message, length: int) -> tuple[Source, ...]:
    """Return the spans of a message's first characters in its parts."""
    text = _joined(message)
    begin = len(text) - len(text.lstrip(BLANKS))
    end = begin + length
    spans, offset = [], 0
    for place, part in spoken(message):
        start, stop = max(begin - offset, 0), min(end - offset, len(part.text))
        if start < stop:
            upto = -1 if stop == len(part.text) else stop
            spans.append(Source(message.id, place, start, upto))
        offset += len(part.text)
    return tuple(spans)


@dataclass(frozen=True)
class ContextRecovery(Strategy):
    """For one turn after a compaction, show the last messages before the system prompt.

    After OpenClaw pull request 3599 (commit ebb53f39, never merged). It does not compact, so
    combine it: ``auto_compact + context_recovery``. The block comes from the log, which includes
    the kept messages, so it repeats the tail of the prompt. It changes the system prompt for one
    turn, so the whole prompt is written to the cache twice: with the block, and without it.

    Exact: the bookkeeping, the choice of messages, and the block, except for its second line, which
    has our wording and the original's length. Simplified: the block precedes the whole system
    prompt, not a section of it; a rewind reverts the bookkeeping and hides abandoned messages; a
    client's attachments are not quoted, like OpenClaw's own system events. Split surrogate pairs at
    a cut are not sent, as in pi.

    Parameters
    ----------
    messages
        Number of user and assistant messages, 0 to 50. The original's default is 0 (off), its
        example 10.
    chars
        Maximum UTF-16 code units of each; a constant in the original.
    """

    does = (Act.RETRIEVE,)
    waits = "another to compact"

    messages: Annotated[int, between(0, MOST)] = 10
    chars: Annotated[int, at_least(1)] = 500
    phases = frozenset({Phase.BEFORE_TURN, Phase.BEFORE_CALL})
    lifetime = Lifetime.TURN
    breaks = MappingProxyType({"size": "adds a block of what was said; pull request 3599"})

    def compact(self, view: View, host: Host) -> View:
        if not host.compactions:
            return view
        if host.phase is Phase.BEFORE_TURN:
            self._decide(host)
        start = host.notes.get("turn")
        if start is None or (view.system and view.system[0].text.startswith(HEADING)):
            return view
        pieces = block(self._quotes(host.log[:start]), chars=self.chars)
        parts = [
            Part("text", whole(text), "recovered" if sources else "synthetic", sources)
            for text, sources in pieces
        ]
        return view.with_system(*parts, *view.system)

    def _decide(self, host: Host) -> None:
        """Note the start of the turn, if the turn gets the block."""
        notes, start = host.notes, current_turn(host.log)
        notes.pop("turn", None)
        # Compactions during the preparation of this prompt come after the original's check.
        turn = {message.id for message in host.log[start:]}
        compactions = len(host.compactions)
        while compactions and host.compactions[compactions - 1].last in turn:
            compactions -= 1
        needed = self.messages and is_needed(compactions, notes.get("recovered", 0))
        if needed and self._quotes(host.log[:start]):
            notes["recovered"], notes["turn"] = compactions, start

    def _quotes(self, history: Messages) -> list[Quote]:
        return recover(asked_for(history, self.messages), self.messages)


# Notes from memory that match the user's message.


def clamp(snippets: Sequence[str], budget: float | None) -> list[str]:
    r"""Keep the first snippets that fit a budget of characters, as OpenClaw does (2026.2.17).

    The first that does not fit is cut, and ends the list. Empty ones cost nothing, but are only
    kept while the budget is not exhausted. A cut may split a surrogate pair. None, 0, negative
    numbers and NaN mean no limit.
    """
    if budget is None or not budget > 0:
        return list(snippets)
    shown: list[str] = []
    for snippet in snippets:
        if budget <= 0:
            break
        length = utf16_length(snippet)
        if length > budget:
            shown.append(head(snippet, int(budget)))
            break
        shown.append(snippet)
        budget -= length
    return shown


# The tags of OpenClaw's memory-lancedb extension.
OPENS, CLOSES = "<relevant-memories>", "</relevant-memories>"


@dataclass(frozen=True)
class MemoryRecall(Strategy):
    """Before each turn, search memory for the user's message and insert the best notes before it.

    Other parts of a pipeline write the memory, as in ``memory_flush + memory_recall``. OpenClaw has
    two kinds of recall, both of which stay in the transcript: the result of a tool that the agent
    calls, and an extension's notes before the user's new prompt. A script cannot make new calls, so
    this is the extension; it only adds new content, so the cache stays valid.

    The limit of characters is exact (2026.2.17, QMD backend; in pull request 17345 for all
    backends). The search is ours: BM25 over all notes, QMD's default ranking, with a fixed order of
    ties. Split surrogate pairs at a cut are not sent, as in pi. A note from a branch abandoned by a
    rewind has no known sources.

    Parameters
    ----------
    max_results
        Maximum number of notes.
    max_injected_chars
        Maximum UTF-16 code units of all notes together; 0 for no limit.
    """

    does = (Act.RETRIEVE,)
    waits = "what the user asks"

    max_results: Annotated[int, at_least(1)] = 6
    max_injected_chars: Annotated[int, at_least(0)] = 4000
    phases = frozenset({Phase.BEFORE_TURN})
    breaks = MappingProxyType({"size": "adds notes from memory; OpenClaw 2026.2.17"})

    def compact(self, view: View, host: Host) -> View:
        if not host.memory:
            return view
        asked = host.log[current_turn(host.log) :][:1]
        query = " ".join(part.text for message in asked for _, part in spoken(message))
        places = ranked(query, [note.text for note in host.memory])[: self.max_results]
        notes = [host.memory[index] for index in places]
        texts = clamp([note.text for note in notes], self.max_injected_chars)
        shown = [pair for pair in zip(notes, map(whole, texts), strict=False) if pair[1]]
        return glued(view, _part(shown, host)) if shown else view


def _part(shown: list[tuple[Remembered, str]], host: Host) -> Part:
    known = {message.id for message in host.log}
    lines = (f"- [{note.topic}] {text}" for note, text in shown)
    sources = dict.fromkeys(s for note, _ in shown for s in note.sources if s.id in known)
    kind: Kind = "memory" if sources else "synthetic"
    return Part("text", "\n".join([OPENS, *lines, CLOSES]) + "\n\n", kind, tuple(sources))
