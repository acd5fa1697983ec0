"""OpenClaw's safeguard: it summarises a history in stages, instead of pi."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from compactlab.sim.core.message import Message, Part, Source, Weight, plain
from compactlab.sim.core.tokens import utf16_length
from compactlab.strategies.mechanisms.estimate import estimate, role_of
from compactlab.strategies.mechanisms.text import BLANKS, head, is_finite
from compactlab.strategies.pi.preparation import Preparation
from compactlab.strategies.pi.summary import MERGE, NO_HISTORY, SPLIT_TURN, TURN_PREFIX, Scribe

BASE_RATIO = 0.4
LEAST_RATIO = 0.15
MARGIN = 1.2
PARTS = 2
LEAST_MESSAGES = 4
HISTORY_SHARE = 0.5


def weight(messages: Sequence[Message], weigh: Weight = estimate) -> int:
    """Estimate the tokens of messages."""
    return sum(map(weigh, messages))


def chunk_ratio(messages: Sequence[Message], window: float, weigh: Weight = estimate) -> float:
    """Return the share of the window for one request: ``computeAdaptiveChunkRatio``.

    It is smaller if messages are large.
    """
    if not messages:
        return BASE_RATIO
    ratio = weight(messages, weigh) / len(messages) * MARGIN / window
    if ratio <= 0.1:
        return BASE_RATIO
    return max(LEAST_RATIO, BASE_RATIO - min(ratio * 2, BASE_RATIO - LEAST_RATIO))


def is_oversized(message: Message, window: float) -> bool:
    """Whether a message may be too large for a request: ``isOversizedForSummary``."""
    return estimate(message) * MARGIN > window * 0.5


def split_by_share(messages: Sequence[Message], parts: int = PARTS) -> list[list[Message]]:
    """Split messages into parts of similar weight: ``splitMessagesByTokenShare``.

    Calls and results may be separated, and there may be fewer parts.
    """
    parts = min(parts, len(messages))
    if parts <= 1:
        return [list(messages)] if messages else []
    target = weight(messages) / parts
    chunks: list[list[Message]] = []
    current: list[Message] = []
    tokens = 0
    for message in messages:
        own = estimate(message)
        if len(chunks) < parts - 1 and current and tokens + own > target:
            chunks.append(current)
            current, tokens = [], 0
        current.append(message)
        tokens += own
    return [*chunks, current]


def chunks_of(messages: Sequence[Message], most: float, margin: float = 1.0) -> list[list[Message]]:
    """Split messages into pieces of limited size: ``chunkMessagesByMaxTokens``.

    A message that exceeds the limit alone ends its piece. Because estimates may be too low, the
    margin makes pieces smaller (1.2 in 2026.3.13).
    """
    most = max(1, math.floor(most / margin))
    chunks: list[list[Message]] = []
    current: list[Message] = []
    tokens = 0
    for message in messages:
        own = estimate(message)
        if current and tokens + own > most:
            chunks.append(current)
            current, tokens = [], 0
        current.append(message)
        tokens += own
        if own > most:
            chunks.append(current)
            current, tokens = [], 0
    return [*chunks, current] if current else chunks


Mended = tuple[Sequence[Message], int]
"""A history that was repaired, and how many results without a call that dropped."""


def unmended(messages: list[Message]) -> Mended:
    """Return the history unchanged (2026.1.29)."""
    return messages, 0


class Pruned(NamedTuple):
    """A pruned history, and the dropped messages."""

    rest: Sequence[Message]
    dropped: list[Message]
    chunks: int  # number of drops
    orphans: int  # results dropped because their calls had been dropped


def share_of(window: float, share: float) -> int:
    """Return the tokens that a history may keep, from its share of the window."""
    return max(1, math.floor(window * share))


def pruned(
    messages: Sequence[Message],
    window: float,
    share: float = HISTORY_SHARE,
    parts: int = PARTS,
    mend: Callable[[list[Message]], Mended] = unmended,
) -> Pruned:
    """Drop the oldest messages so that the rest fits its share of the window.

    As ``pruneHistoryForContextShare``: the history is split into parts, and the first is dropped,
    repeatedly. A single message is always kept. ``mend`` is applied after each drop (2026.3.13:
    calls and results are repaired).
    """
    budget = share_of(window, share)
    rest, dropped, times, orphans = messages, list[Message](), 0, 0
    while weight(rest) > budget:
        chunks = split_by_share(rest, parts)
        if len(chunks) <= 1:
            break
        dropped += chunks[0]
        times += 1
        rest, lost = mend(list(rest[len(chunks[0]) :]))
        orphans += lost
    return Pruned(rest, dropped, times, orphans)


# The text if there is no summary; our own wording.
NO_SUMMARY = "No summary could be written of these {} messages, {} of them too large for a request."


@dataclass(frozen=True, slots=True)
class Stages:
    """Summarises in pieces."""

    scribe: Scribe  # makes the requests for summaries
    chunk: float  # largest request, in estimated tokens
    # Safety margin for estimates: pieces are smaller by this factor (2026.3.13: 1.2).
    margin: float = 1.0

    def summary(
        self, messages: Sequence[Message], previous: Sequence[Part] = (), focus: str = ""
    ) -> list[Part]:
        """Summarise messages: ``summarizeInStages``.

        Messages too large for one request are split in two halves. Both are summarised without the
        previous summary; then all three summaries are merged.
        """
        if len(messages) < LEAST_MESSAGES or weight(messages) <= self.chunk:
            return self._in_a_row(messages, previous, focus)
        halves = split_by_share(messages)
        if len(halves) <= 1:
            return self._in_a_row(messages, previous, focus)
        written = [self._in_a_row(half, (), focus) for half in halves]
        partial = [
            Message(f"part-{n}", "user", tuple(parts), meta=True) for n, parts in enumerate(written)
        ]
        merge = f"{MERGE}\n\nAdditional focus:\n{focus}" if focus else MERGE
        return self._in_a_row(partial, previous, merge)

    def _in_a_row(
        self, messages: Sequence[Message], previous: Sequence[Part], focus: str
    ) -> list[Part]:
        """Summarise the pieces in order, each with the summary so far.

        As ``summarizeWithFallback``: if a request is refused, oversized messages are removed and
        named. If that fails too, a line states that there is no summary.
        """
        window = self.scribe.host.window
        large = [message for message in messages if is_oversized(message, window)]
        summary = self._pieces(messages, previous, focus)
        if summary is None and len(large) < len(messages):
            left_out = set(map(id, large))
            rest = [message for message in messages if id(message) not in left_out]
            summary = self._pieces(rest, previous, focus)
            if summary is not None and large:
                summary.append(plain("\n\n" + "\n".join(map(_omitted, large))))
        if summary is None:
            return [plain(NO_SUMMARY.format(len(messages), len(large)))]
        return summary or [plain(NO_HISTORY)]

    def _pieces(
        self, messages: Sequence[Message], previous: Sequence[Part], focus: str
    ) -> list[Part] | None:
        """Summarise all pieces; return None if a request exceeds the window."""
        summary = list(previous)
        for chunk in chunks_of(messages, self.chunk, self.margin):
            written = self.scribe.history_that_fits(chunk, summary, focus)
            if written is None:
                return None
            summary = written
        return summary


def _omitted(message: Message) -> str:
    tokens = math.floor(estimate(message) / 1000 + 0.5)
    return f"[Large {role_of(message)} (~{tokens}K tokens) omitted from summary]"


# Failed tools, which OpenClaw's safeguard lists after a summary.

# OpenClaw 2026.1.29.
MOST = 8
CHARS = 240
_RUN = re.compile(f"[{BLANKS}]+")

Details = Callable[[Message], Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """A result that reports a tool's failure."""

    message: str  # id of the message with the result; "" if that was made up
    call_id: str  # id of the call
    tool: str  # the tool's name
    text: str  # its text, in one line
    meta: str = ""  # status and exit code, if known


def _nothing(message: Message) -> None:
    return None


def tool_failures(messages: Iterable[Message], details: Details = _nothing) -> list[Failure]:
    """Collect failures from messages: ``collectToolFailures`` (OpenClaw 2026.1.29 and 2026.3.13).

    Only the first failure of a call is used; results without a call id are ignored. ``details`` are
    the data that a tool gave its client beside the result. The model never sees them, so recordings
    and scripts do not have them.
    """
    failures: dict[str, Failure] = {}
    for message in messages:
        part = next((p for p in message.parts if p.type == "tool_result"), None)
        if part is None or not part.is_error or not part.call_id or part.call_id in failures:
            continue
        texts = [p.text for p in message.parts if p.type in ("tool_result", "text")]
        meta = _meta(details(message))
        nothing = "failed" if meta else "failed (no output)"
        text = _cut(_RUN.sub(" ", "\n".join(texts)).strip() or nothing)
        tool = part.name if part.name.strip(BLANKS) else "tool"
        id = message.id if part.sources else ""
        failures[part.call_id] = Failure(id, part.call_id, tool, text, meta)
    return list(failures.values())


def _cut(text: str) -> str:
    if utf16_length(text) <= CHARS:
        return text
    return f"{head(text, CHARS - 3)}..."


def _meta(details: Any) -> str:
    if not isinstance(details, Mapping):
        return ""
    status, code = details.get("status"), details.get("exitCode")
    labels = [f"status={status}"] if isinstance(status, str) and status else []
    if is_finite(code):
        labels.append(f"exitCode={int(code) if code == int(code) else code}")
    return " ".join(labels)


def failure_section(failures: list[Failure]) -> list[Part]:
    """Format the failures for the end of a summary; [] if there are none.

    As ``formatToolFailuresSection``: the first eight, and the number of the others.
    """
    if not failures:
        return []
    parts = [plain("\n\n## Tool Failures")]
    for failure in failures[:MOST]:
        meta = f" ({failure.meta})" if failure.meta else ""
        parts += [
            plain(f"\n- {failure.tool}{meta}: "),
            Part("text", failure.text, "summary", (Source(failure.message),))
            if failure.message
            else plain(failure.text),
        ]
    if len(failures) > MOST:
        parts.append(plain(f"\n- ...and {len(failures) - MOST} more"))
    return parts


# Text that 2026.3.13 adds to a request's messages.
OVERHEAD = 4096


@dataclass(frozen=True, slots=True)
class Safeguard:
    """Summarises in stages, and prunes the history if there are many new messages."""

    scribe: Scribe  # makes the requests for summaries
    # Share of the window for the history if there are many new messages.
    max_history_share: float
    focus: str = ""  # instructions for every summary
    overhead: int = 0  # tokens of a request beside the messages
    margin: float = 1.0  # factor by which pieces are smaller than a request (2026.3.13: 1.2)
    # Applied to a history after messages were dropped.
    mend: Callable[[list[Message]], Mended] = unmended

    def fitted(
        self, history: Sequence[Message], prepared: Preparation
    ) -> tuple[Sequence[Message], list[Part]]:
        """Return the history to summarise, and the summary to update.

        If too much is new, the oldest messages are dropped, and summarised first. New messages are
        those in context that are not to be summarised. As in the original, the margin for estimates
        raises the limit.
        """
        old = weight(history) + weight(prepared.prefix)
        new = max(0, math.floor(prepared.tokens_before - old))
        window, share = self.scribe.host.window, self.max_history_share
        previous = list(prepared.previous)
        if new <= math.floor(window * share * MARGIN):
            return history, previous
        rest, dropped, _, _ = pruned(history, window, share, mend=self.mend)
        if dropped:
            previous = self._stages(dropped).summary(dropped, previous, self.focus)
        return rest, previous

    def summary(
        self, history: Sequence[Message], prepared: Preparation, previous: Sequence[Part]
    ) -> list[Part]:
        """Summarise a history, and the first part of a split turn.

        Unlike pi, it keeps the previous summary if there is no history.
        """
        stages = self._stages([*history, *prepared.prefix])
        written = stages.summary(history, previous, self.focus)
        if not (prepared.split and prepared.prefix):
            return written
        focus = f"{TURN_PREFIX}\n\n{self.focus}" if self.focus else TURN_PREFIX
        return [*written, plain(SPLIT_TURN), *stages.summary(prepared.prefix, (), focus)]

    def _stages(self, messages: Sequence[Message]) -> Stages:
        window = self.scribe.host.window
        chunk = max(1, math.floor(window * chunk_ratio(messages, window)) - self.overhead)
        return Stages(self.scribe, chunk, self.margin)
