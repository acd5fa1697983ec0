"""OpenClaw's safeguard: how it has a history summarised instead of pi."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compactlab.sim.message import Message, Part
from compactlab.strategies.mechanisms.openclaw.stages import (
    MARGIN,
    Stages,
    chunk_ratio,
    pruned,
    weight,
)
from compactlab.strategies.mechanisms.pi.instructions import TURN_PREFIX
from compactlab.strategies.mechanisms.pi.preparation import Preparation
from compactlab.strategies.mechanisms.pi.summary import SPLIT_TURN, Scribe, plain

# What 2026.3.13 reckons for a request beside its messages.
OVERHEAD = 4096


@dataclass(frozen=True, slots=True)
class Safeguard:
    """Summarises in stages, and less of the history if there is much that is new.

    Parameters
    ----------
    scribe
        Asks for the summaries.
    max_history_share
        Share of the window that the history may take if there is much that is new.
    focus
        What every summary should look to.
    overhead
        Tokens that a request has beside the messages.
    margin
        By what a piece is made smaller than a request may be (2026.3.13: 1.2).
    mend
        What is done to a history of which messages were dropped.
    """

    scribe: Scribe
    max_history_share: float
    focus: str = ""
    overhead: int = 0
    margin: float = 1.0
    mend: Callable[[list[Message]], Sequence[Message]] = list

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
        rest, dropped = pruned(history, window, share, self.mend)
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
        told = stages.summary(history, previous, self.focus)
        if not (prepared.split and prepared.prefix):
            return told
        focus = f"{TURN_PREFIX}\n\n{self.focus}" if self.focus else TURN_PREFIX
        return [*told, plain(SPLIT_TURN), *stages.summary(prepared.prefix, (), focus)]

    def _stages(self, messages: Sequence[Message]) -> Stages:
        window = self.scribe.host.window
        chunk = max(1, math.floor(window * chunk_ratio(messages, window)) - self.overhead)
        return Stages(self.scribe, chunk, self.margin)
