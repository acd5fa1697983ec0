"""Long histories summarised in stages, as OpenClaw does (``compaction.ts``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compactlab.sim.message import Message, Part
from compactlab.strategies.mechanisms.estimate import estimate
from compactlab.strategies.mechanisms.pi.instructions import MERGE
from compactlab.strategies.mechanisms.pi.summary import NO_HISTORY, Scribe, plain

BASE_RATIO = 0.4
LEAST_RATIO = 0.15
MARGIN = 1.2
PARTS = 2
LEAST_MESSAGES = 4


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


def chunks_of(messages: Sequence[Message], most: float) -> list[list[Message]]:
    """Cut messages into pieces of no more than so many tokens: ``chunkMessagesByMaxTokens``.

    A message that alone has more closes the piece that it stands in.
    """
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


def pruned(
    messages: Sequence[Message],
    window: float,
    share: float,
    mend: Callable[[list[Message]], Sequence[Message]] = list,
) -> tuple[Sequence[Message], list[Message]]:
    """Drop the oldest messages so that the rest has its share of the window.

    As ``pruneHistoryForContextShare``: half of what is left, again and again. A single message
    stays however large it is.

    Parameters
    ----------
    messages
        The history.
    window, share
        What the rest may take.
    mend
        What is done to the rest after each drop (2026.3.13: calls and results put together).

    Returns
    -------
    tuple
        The rest, and what was dropped.
    """
    budget = max(1, math.floor(window * share))
    kept, dropped = messages, list[Message]()
    while weight(kept) > budget:
        chunks = split_by_share(kept)
        if len(chunks) <= 1:
            break
        dropped += chunks[0]
        kept = mend(list(kept[len(chunks[0]) :]))
    return kept, dropped


@dataclass(frozen=True, slots=True)
class Stages:
    """Summarises piece by piece.

    Parameters
    ----------
    scribe
        Asks for the summaries.
    chunk
        Estimated tokens of one request, at most.
    margin
        By what estimates may be too low: a piece is made that much smaller (2026.3.13: 1.2).
    """

    scribe: Scribe
    chunk: float
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
        told = [self._in_a_row(half, (), focus) for half in halves]
        partial = [
            Message(f"part-{n}", "user", tuple(parts), meta=True) for n, parts in enumerate(told)
        ]
        merge = f"{MERGE}\n\nAdditional focus:\n{focus}" if focus else MERGE
        return self._in_a_row(partial, previous, merge)

    def _in_a_row(
        self, messages: Sequence[Message], previous: Sequence[Part], focus: str
    ) -> list[Part]:
        """Summarise piece after piece, each with the summary of those before it."""
        summary = list(previous)
        for chunk in chunks_of(messages, max(1, math.floor(self.chunk / self.margin))):
            summary = self.scribe.history(chunk, summary, focus)
        return summary or [plain(NO_HISTORY)]
