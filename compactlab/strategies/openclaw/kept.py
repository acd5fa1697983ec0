"""Messages that OpenClaw appends to a summary: the last turns, or the newest messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import Message, Part, Source, plain
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act
from compactlab.strategies.mechanisms.estimate import estimate, role_of
from compactlab.strategies.mechanisms.text import BLANKS, head
from compactlab.strategies.mechanisms.trigger import Trigger
from compactlab.strategies.openclaw.pairs import answers, repair
from compactlab.strategies.openclaw.safeguard import (
    MARGIN,
    OVERHEAD,
    Mended,
    Safeguard,
    failure_section,
    tool_failures,
)
from compactlab.strategies.pi.compaction import Occasion, OnPi
from compactlab.strategies.pi.preparation import file_section
from compactlab.strategies.pi.summary import STRUCTURE, Scribe, lines

BUFFER_HEADING = "\n\n---\n\n## Recent Context (preserved verbatim)\n\n"

_NAMES = {"user": "User", "assistant": "Assistant"}
# Roles whose text is not in the fields that the original reads.
_SPOKEN = {"bashExecution", "branchSummary", "compactionSummary"}


def buffered(messages: Sequence[Message], keep_messages: float, keep_tokens: float) -> int:
    """Return the number of newest messages in the buffer: ``computeRecencyBufferSlice``.

    The first limit that is reached ends the buffer. The newest message is always in it, even if it
    exceeds the tokens, unless ``keep_messages`` is 0. Calls and results may be separated.
    """
    count, tokens = 0, 0
    for message in reversed(messages):
        tokens += estimate(message)
        if count >= keep_messages or (count and tokens > keep_tokens):
            break
        count += 1
    return count


def words(message: Message) -> list[Part]:
    """Return the text of a message: ``extractMessageText``.

    Calls, thinking and images are removed. So is everything that is not content in the original: a
    command of the user, a summary.
    """
    if role_of(message) in _SPOKEN:
        return []
    prose = [part for part in message.parts if part.type in ("text", "tool_result")]
    return lines(Part("text", p.text, p.kind, p.sources) for p in prose)


def quoted(message: Message) -> list[Part]:
    """Format a message for the buffer, with its role: ``formatMessageForRecencyBuffer``."""
    role = role_of(message)
    return [plain(f"**{_NAMES.get(role, role)}:** "), *words(message)]


def buffer_section(messages: Sequence[Message]) -> list[Part]:
    """Format the buffer for the end of a summary; [] if it is empty."""
    parts: list[Part] = []
    for message in messages:
        parts += [plain("\n\n" if parts else BUFFER_HEADING), *quoted(message)]
    return parts


@dataclass(frozen=True)
class RecencyBuffer(OnPi):
    """Summarise, and append the newest of the summarised messages verbatim.

    OpenClaw pull request 3968 (not merged), on top of the safeguard of OpenClaw 2026.1.29, on top
    of pi's compaction; ``auto_compact`` describes trigger and cut. The buffer is taken from the
    messages to summarise, never from a split turn or pi's own tail. It keeps only text: calls,
    thinking and images are removed, and an answer that only calls tools is an empty line. The next
    compaction summarises the whole summary, including the verbatim section.

    The safeguard has: a summary in stages (two halves and a third request that merges them, if the
    history exceeds one request), the share of the history, tool failures, file lists (not passed to
    the next compaction), and the order of these. Exact: the buffer, the failures, and the history's
    share, halves and pieces. Simplified: a request fails only if it exceeds the window (then
    oversized messages are omitted and named); status and exit code of a failure are not known.

    Parameters
    ----------
    enabled
        Whether there is a buffer (off in the original); without it this is OpenClaw's safeguard.
    keep_messages
        Maximum messages in the buffer.
    keep_tokens
        Maximum estimated tokens in the buffer; the newest message is always kept.
    max_history_share
        If what is new takes more than this share of the window (and a fifth), the history is
        pruned to the share before it is summarised; what is pruned is summarised first. 0.1 to 0.9.
    """

    does = (Act.SUMMARISE,)

    enabled: bool = True
    keep_messages: Annotated[int, at_least(0)] = 10
    keep_tokens: Annotated[int, at_least(0)] = 2000
    reserve_tokens: Annotated[int, at_least(0)] = 16_384
    reserve_tokens_floor: Annotated[int, at_least(0)] = 20_000
    keep_recent_tokens: Annotated[int, at_least(0)] = 20_000
    max_history_share: Annotated[float, between(0.1, 0.9)] = 0.5
    version: Literal["0.49.3", "0.58.0", "0.73.1"] = "0.49.3"
    trigger: Trigger = None

    breaks = MappingProxyType(
        {
            "last user message": "a cut may fall inside a turn: its beginning is summarised (all)",
            "size": "where nothing can be cut off, a summary comes on top of everything (all)",
        }
    )

    def compacted(self, now: Occasion, view: View, host: Host) -> View:
        prepared = now.prepared
        old = prepared.history
        most = self.keep_messages if self.enabled else 0
        end = len(old) - buffered(old, most, self.keep_tokens)
        scribe = Scribe(now.view, host, max(1, self.reserve), self.version)
        safeguard = Safeguard(scribe, self.max_history_share)
        history, previous = safeguard.fitted(old[:end], prepared)
        parts = [
            *safeguard.summary(history, prepared, previous),
            *buffer_section(old[end:]),
            *failure_section(tool_failures([*old, *prepared.prefix])),
            *file_section(prepared.files),
        ]
        return now.replaced(host, parts)


# The turns that OpenClaw appends to a summary instead of a recency buffer (2026.3.13).

CHARS = 600
TURNS_HEADING = "\n\n## Recent turns preserved verbatim"

_TYPES = {"thinking": "thinking", "tool_call": "toolCall", "image": "image"}


def split_turns(
    messages: Messages, turns: int, now: float | None = None
) -> tuple[Messages, list[Message]]:
    """Separate the newest turns from the messages to summarise: ``splitPreservedRecentTurns``.

    Kept are the user's and the agent's messages from the n-th newest user message on. If there are
    fewer user messages, all of them and the newest other messages are kept, twice as many as
    ``turns``. The results of kept calls are kept, too, and the rest is repaired.
    """
    places = _talk(messages, turns)
    if not places:
        return messages, []
    calls = {p.call_id for n in places for p in messages[n].parts if p.type == "tool_call"} - {""}
    for index in range(min(places), len(messages)):
        if messages[index].role == "tool" and answers(messages[index]) in calls:
            places.add(index)
    left = Messages(message for n, message in enumerate(messages) if n not in places)
    return repair(left, now).messages, [messages[n] for n in sorted(places)]


def _talk(messages: Sequence[Message], turns: int) -> set[int]:
    """Return the indices of the kept user and assistant messages."""
    talk = [n for n, m in enumerate(messages) if role_of(m) in _NAMES]
    users = [n for n in talk if role_of(messages[n]) == "user"]
    if not turns:
        return set()
    if len(users) >= turns:
        return {n for n in talk if n >= users[-turns]}
    places = set(users)
    for place in reversed(talk):
        places.add(place)
        if len(places) >= 2 * turns:
            break
    return places


def turns_section(messages: Sequence[Message]) -> list[Part]:
    """Format the kept turns for the end of a summary: ``formatPreservedTurnsSection``."""
    lines = [part for message in messages for part in line_of(message)]
    return [plain(TURNS_HEADING), *lines] if lines else []


def line_of(message: Message) -> list[Part]:
    """Format a message in one line of 600 characters: role, text, and names of other parts."""
    pieces = [*_words(message), *_rest(message)]
    if not pieces:
        return []
    label = _NAMES.get(role_of(message)) or f"Tool result ({_tool(message)})"
    line, room = [plain(f"\n- {label}: ")], CHARS
    for number, part in enumerate(pieces):
        if number:
            line.append(plain(head("\n", room)))
            room -= 1
        if utf16_length(part.text) > room:
            return [*line, *_cut(part, room), plain("...")]
        line.append(part)
        room -= utf16_length(part.text)
    return line


def _words(message: Message) -> Iterator[Part]:
    for number, part in enumerate(message.parts):
        text = part.text.strip(BLANKS)
        if part.type in ("text", "tool_result") and text:
            start = part.text.index(text)
            piece = (Source(message.id, number, start, start + len(text)),)
            # A synthetic result has no sources.
            yield Part("text", text, part.kind, piece if part.sources else ())


def _rest(message: Message) -> Iterator[Part]:
    counts = Counter(_TYPES[part.type] for part in message.parts if part.type in _TYPES)
    if counts:
        names = ", ".join(f"{name} x{n}" if n > 1 else name for name, n in counts.items())
        yield Part("text", f"[non-text content: {names}]", "stub", (Source(message.id),))


def _tool(message: Message) -> str:
    name = next((part.name for part in message.parts if part.name), "")
    return name if name.strip(BLANKS) else "tool"


def _cut(part: Part, units: int) -> list[Part]:
    text = head(part.text, units)
    if not text:
        return []
    if part.kind != "verbatim":
        return [Part("text", text, part.kind, part.sources)]
    (source,) = part.sources
    piece = Source(source.id, source.part, source.start, source.start + len(text))
    return [Part("text", text, "truncated", (piece,))]


_REAL = ("user", "assistant", "toolResult")


@dataclass(frozen=True)
class PreserveTurns(OnPi):
    """Summarise, and append the last of the summarised turns, shortened.

    The safeguard of OpenClaw 2026.3.13, on top of pi's compaction (see ``auto_compact``). The turns
    are taken from the messages to summarise. Each message becomes a line of at most 600 characters;
    calls, thinking and images are only named. If only messages of extensions would be summarised,
    it does not compact.

    It has the same pieces as ``recency_buffer`` and, added later, the repair of the remaining
    history, smaller pieces, required headings, and the refusal to compact nothing. Exact: the
    turns, the repair, and the history's share, halves and pieces, with their margin. Left out: the
    quality check (off by default), the rules from ``AGENTS.md``, and the headings if there is
    neither a history nor a previous summary.

    Parameters
    ----------
    recent_turns_preserve
        Number of kept turns, at most 12.
    max_history_share
        If what is new takes more than this share of the window (and a fifth), the history is
        pruned to the share before it is summarised; what is pruned is summarised first. 0.1 to 0.9.
    """

    does = (Act.SUMMARISE,)

    recent_turns_preserve: Annotated[int, between(0, 12)] = 3
    reserve_tokens: Annotated[int, at_least(0)] = 16_384
    reserve_tokens_floor: Annotated[int, at_least(0)] = 20_000
    keep_recent_tokens: Annotated[int, at_least(0)] = 20_000
    max_history_share: Annotated[float, between(0.1, 0.9)] = 0.5
    version: Literal["0.49.3", "0.58.0", "0.73.1"] = "0.58.0"
    trigger: Trigger = None

    breaks = MappingProxyType(
        {
            "last user message": "a cut may fall inside a turn: its beginning is summarised (all)",
            "size": "where little can be cut off, a summary may be larger than that (all)",
        }
    )

    def compacted(self, now: Occasion, view: View, host: Host) -> View:
        prepared = now.prepared
        old = [*prepared.history, *prepared.prefix]
        if not any(role_of(message) in _REAL for message in old):
            return view
        scribe = Scribe(now.view, host, max(1, self.reserve), self.version)
        safeguard = Safeguard(scribe, self.max_history_share, STRUCTURE, OVERHEAD, MARGIN, repaired)
        rest, previous = safeguard.fitted(prepared.history, prepared)
        history, turns = split_turns(Messages(rest), self.recent_turns_preserve)
        parts = [
            *safeguard.summary(history, prepared, previous),
            *turns_section(turns),
            *failure_section(tool_failures(old)),
            *file_section(prepared.files),
        ]
        return now.replaced(host, parts)


def repaired(messages: list[Message]) -> Mended:
    """Return the repaired history, and the number of results whose calls were removed."""
    found = repair(Messages(messages))
    return found.messages, found.dropped_orphan_count
