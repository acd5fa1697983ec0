"""OpenClaw's safeguard: how it has a history summarised instead of pi, in stages."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from compactlab.sim.core.message import Message, Part, Source, plain
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


def weight(messages: Sequence[Message]) -> int:
    """Estimated tokens of messages."""
    return sum(map(estimate, messages))


def chunk_ratio(messages: Sequence[Message], window: float) -> float:
    """Share of the window that one request may take: ``computeAdaptiveChunkRatio``.

    Less where messages are large.
    """
    if not messages:
        return BASE_RATIO
    ratio = weight(messages) / len(messages) * MARGIN / window
    if ratio <= 0.1:
        return BASE_RATIO
    return max(LEAST_RATIO, BASE_RATIO - min(ratio * 2, BASE_RATIO - LEAST_RATIO))


def is_oversized(message: Message, window: float) -> bool:
    """Whether a message may be too large for a request: ``isOversizedForSummary``."""
    return estimate(message) * MARGIN > window * 0.5


def split_by_share(messages: Sequence[Message], parts: int = PARTS) -> list[list[Message]]:
    """Split messages into parts of about the same weight: ``splitMessagesByTokenShare``.

    Calls and their results may be torn apart, and there may be fewer parts.
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
    """Cut messages into pieces of no more than so many tokens: ``chunkMessagesByMaxTokens``.

    A message that alone has more closes the piece that it stands in. By the margin pieces are
    smaller: estimates may be too low (1.2 in 2026.3.13).
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
    """The history as it is (2026.1.29)."""
    return messages, 0


class Pruned(NamedTuple):
    """What is left of a history, and what was dropped of it."""

    rest: Sequence[Message]
    dropped: list[Message]
    chunks: int  # how many times something was dropped
    orphans: int  # results that were dropped because their calls had been


def share_of(window: float, share: float) -> int:
    """Tokens of a history that may stay, by its share of the window."""
    return max(1, math.floor(window * share))


def pruned(
    messages: Sequence[Message],
    window: float,
    share: float = HISTORY_SHARE,
    parts: int = PARTS,
    mend: Callable[[list[Message]], Mended] = unmended,
) -> Pruned:
    """Drop the oldest messages so that the rest has its share of the window.

    As ``pruneHistoryForContextShare``: the first of so many parts of what is left, again and
    again. A single message stays however large it is. ``mend`` is done to the rest after each drop
    (2026.3.13: calls and results put together).
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


# What stands where no summary could be had; the words are ours.
NO_SUMMARY = "No summary could be written of these {} messages, {} of them too large for a request."


@dataclass(frozen=True, slots=True)
class Stages:
    """Summarises piece by piece."""

    scribe: Scribe  # asks for the summaries
    chunk: float  # estimated tokens of one request, at most
    # By what estimates may be too low: a piece is made that much smaller (2026.3.13: 1.2).
    margin: float = 1.0

    def summary(
        self, messages: Sequence[Message], previous: Sequence[Part] = (), focus: str = ""
    ) -> list[Part]:
        """Summarise messages: ``summarizeInStages``.

        More than one request can take are split in two halves; both are summarised without what
        was before, and then the two summaries with it are made one.
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
        """Summarise piece after piece, each with the summary of those before it.

        As ``summarizeWithFallback``: where a request is refused, what may be too large for one is
        left out and named; where that does not help, a line tells that there is no summary.
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
        """The summary of all pieces; None if a request is larger than the window."""
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


# Tools that reported failure, as OpenClaw's safeguard tells of them under a summary.

# OpenClaw 2026.1.29.
MOST = 8
CHARS = 240
_RUN = re.compile(f"[{BLANKS}]+")

Details = Callable[[Message], Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """A result that says that its tool failed."""

    message: str  # id of the message that told of it
    call_id: str  # of which call
    tool: str  # the tool's name
    text: str  # what it said, in a line
    meta: str = ""  # status and exit code, where they are known


def _nothing(message: Message) -> None:
    return None


def tool_failures(messages: Iterable[Message], details: Details = _nothing) -> list[Failure]:
    """The failures among messages: ``collectToolFailures`` (OpenClaw 2026.1.29 and 2026.3.13).

    Of each call the first; what has no call id is passed over. ``details`` says what a tool
    told its client beside the result: the model never sees it, so recordings and scripts do not
    have it.
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
        failures[part.call_id] = Failure(message.id, part.call_id, tool, text, meta)
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
    """The failures as they stand under a summary; nothing if there are none.

    As ``formatToolFailuresSection``: the first eight, and how many more there were.
    """
    if not failures:
        return []
    parts = [plain("\n\n## Tool Failures")]
    for failure in failures[:MOST]:
        meta = f" ({failure.meta})" if failure.meta else ""
        parts += [
            plain(f"\n- {failure.tool}{meta}: "),
            Part("text", failure.text, "summary", (Source(failure.message),)),
        ]
    if len(failures) > MOST:
        parts.append(plain(f"\n- ...and {len(failures) - MOST} more"))
    return parts


# What 2026.3.13 adds for a request to its messages.
OVERHEAD = 4096


@dataclass(frozen=True, slots=True)
class Safeguard:
    """Summarises in stages, and less of the history if there is much that is new."""

    scribe: Scribe  # asks for the summaries
    # Share of the window that the history may take if there is much that is new.
    max_history_share: float
    focus: str = ""  # what every summary should look to
    overhead: int = 0  # tokens that a request has beside the messages
    margin: float = 1.0  # by what a piece is made smaller than a request may be (2026.3.13: 1.2)
    # What is done to a history of which messages were dropped.
    mend: Callable[[list[Message]], Mended] = unmended

    def fitted(
        self, history: Sequence[Message], prepared: Preparation
    ) -> tuple[Sequence[Message], list[Part]]:
        """What of a history is to be summarised, and the summary that this carries on.

        Where too much is new, the oldest messages are dropped and summarised first. New is what is
        in context and not to be summarised. The margin for estimates that are too low raises what
        is allowed, as in the original.
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
        """The summary of a history, and of the first part of a turn that is cut in two.

        Unlike pi's, it keeps the previous summary if there is no history to summarise.
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
