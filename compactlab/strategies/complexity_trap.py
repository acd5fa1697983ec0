"""Checkpoints after a number of an agent's turns: the LLM summary of The Complexity Trap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.cut import after_results, parted, starts_turn
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    is_summary,
    split_previous,
    summary_message,
)
from compactlab.strategies.mechanisms.text import holds, transcript

# The original sets no limit; a model has its own.
_MAX_TOKENS = 4096


@dataclass(frozen=True)
class TurnCheckpoints(Strategy):
    """Replace the oldest turns, several at a time, by a checkpoint after the task.

    ``SummarizeEveryNTurns`` of the SWE-agent used in the paper The Complexity Trap (2508.21433,
    repository at adfaa1a), where it is called LLM-Summary, with N = 21 and M = 10. A turn is an
    answer that calls a tool, with its results. When ``every + keep`` turns are unsummarised, one
    agent message replaces the first ``every``, so between ``keep`` and ``every + keep - 1`` turns
    remain. The summary request has a prompt of its own: the task or the previous checkpoint, and
    the turns to replace.

    The original is configured to keep only the newest checkpoint, but keeps all of them, except in
    the first request after a new one. Here that request has all of them, too. The original has no
    user message but the task; here user messages belong to the turns around them.

    Parameters
    ----------
    every
        Turns that a checkpoint replaces.
    keep
        Newest turns, which are not summarised.
    pile
        Whether earlier checkpoints stay before the new one, as in the original; else it replaces
        them, too.
    """

    does = (Act.SUMMARISE,)
    waits = "a number of turns"

    every: Annotated[int, at_least(1)] = 21
    keep: Annotated[int, at_least(0)] = 10
    pile: bool = True

    breaks = MappingProxyType(
        {
            "last user message": "it pins the task alone; The Complexity Trap, adfaa1a",
            "size": "a checkpoint may be longer than the little that it stands for; adfaa1a",
        }
    )

    def compact(self, view: View, host: Host) -> View:
        messages = view.messages
        head = _behind_task(messages)
        start = head
        while start < len(messages) and is_summary(messages[start]):
            start += 1
        rest = messages[start:]
        turns = rest.total(acts)
        if turns < self.every + self.keep:
            return view
        last = rest.last_holding(acts, turns - self.every + 1) or 0
        old, newest = parted(rest, after_results(rest, last + 1))
        before = messages[max(start - 1, 0) : start]
        parts = self._written(view, host, list(before), old)
        lead = f"Checkpoint for the last {self.every} turns:\n"
        checkpoint = summary_message(host, parts, "assistant", lead)
        place = start if self.pile else head
        return view.with_messages(messages.branch(place, [checkpoint, *newest]))

    def _written(
        self, view: View, host: Host, before: list[Message], old: Sequence[Message]
    ) -> tuple[Part, ...]:
        previous, _ = split_previous(Messages(before))
        most = host.model.max_output or _MAX_TOKENS
        written = transcript([*before, *old])
        request = SummaryRequest(tuple(old), most, previous, INSTRUCTIONS, written, "fresh")
        return host.summarize(view, request)


def acts(message: Message) -> int:
    """Weigh a message by whether it is an answer with a tool call."""
    return int(message.role == "assistant" and holds(message, "tool_call"))


def _behind_task(messages: Messages) -> int:
    """Return the index after the first message of a person; 0 if there is none."""
    first = messages.last_holding(starts_turn, messages.total(starts_turn))
    return 0 if first is None or not messages.total(starts_turn) else first + 1
