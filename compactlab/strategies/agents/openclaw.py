"""OpenClaw, as it was released, and as three pull requests would have made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from compactlab.sim.strategy import Strategy
from compactlab.strategies.agents.agent import Agent
from compactlab.strategies.auto_compact import AutoCompact
from compactlab.strategies.context_recovery import ContextRecovery
from compactlab.strategies.memory_flush import MemoryFlush
from compactlab.strategies.offload_outputs import OffloadOutputs
from compactlab.strategies.pair_repair import PairRepair
from compactlab.strategies.preserve_turns import PreserveTurns
from compactlab.strategies.recency_buffer import RecencyBuffer
from compactlab.strategies.summary_sidecar import SummarySidecar
from compactlab.strategies.token_budget import TokenBudget
from compactlab.strategies.ttl_prune import TtlPrune
from compactlab.strategies.turn_slice import TurnSlice


@dataclass(frozen=True)
class Openclaw(Agent):
    """OpenClaw: memory flush, compaction in safeguard mode, pruning of stale tool results.

    What it does out of the box with an Anthropic key: no turn is sliced off, pairs are repaired at
    load, the flush is on, the cache's lifetime is taken to be an hour for pruning. The three pull
    requests (3968 recency buffer, 3599 context recovery, 17345 planner, sidecar and outputRef;
    none was merged) are off and can be switched on, to see what they would have changed.

    Left out: recall from memory (a search that the model asks for); recovery from overflows by
    truncating results in the session's file; the guards on single results; heartbeats.

    Parameters
    ----------
    version
        ``2026.1.29``: pi 0.49.3, safeguard without preserved turns. ``2026.2.17``: pi 0.53.0; its
        package lacked the extension files, so that safeguard and pruning silently did nothing (to
        0.55.3 pi's compaction is that of 0.49.3, byte for byte). ``2026.3.13``: pi 0.58.0, the
        three newest turns that are summarised are quoted.
    memory_flush
        Whether the agent writes its memory down before a compaction.
    pruning
        Whether stale tool results are pruned.
    history_limit
        Turns that are sent; 0 for all, which is the default.
    recency_buffer
        Pull request 3968. With 2026.3.13 it takes the place of the preserved turns.
    context_recovery
        Pull request 3599: messages that are shown again after a compaction; 0 for none.
    planner
        Pull request 17345: token budget, sidecar, and oversized results in files.
    """

    version: Literal["2026.1.29", "2026.2.17", "2026.3.13"] = "2026.3.13"
    memory_flush: bool = True
    pruning: bool = True
    history_limit: int = 0
    recency_buffer: bool = False
    context_recovery: int = 0
    planner: bool = False

    def __post_init__(self) -> None:
        if self.history_limit < 0:
            raise ValueError(f"history_limit must not be negative, not {self.history_limit}")
        if not 0 <= self.context_recovery <= 50:
            raise ValueError(f"context_recovery must be 0 to 50, not {self.context_recovery}")
        if self.recency_buffer and self.version == "2026.2.17":
            raise ValueError("recency_buffer must be False for 2026.2.17: there is no safeguard")
        super().__post_init__()

    def steps(self) -> tuple[Strategy, ...]:
        """What changes the session, then what changes a turn, then what changes a request."""
        new = self.version == "2026.3.13"
        session: list[Strategy] = [OffloadOutputs(pointer_for_text=False)] if self.planner else []
        if self.memory_flush:
            session.append(MemoryFlush(version="2026.3.13" if new else "2026.1.29"))
        session.append(self._compaction())
        turn: list[Strategy] = [PairRepair(version="2026.3.13" if new else "2026.1.29")]
        if self.planner:
            turn += [TokenBudget(history_limit=self.history_limit), SummarySidecar()]
        elif self.history_limit:
            repairs = self.version != "2026.1.29"
            turn.append(TurnSlice(history_limit=self.history_limit, repair=repairs))
        if self.context_recovery:
            turn.append(ContextRecovery(messages=self.context_recovery))
        return (*session, *turn, *self._pruning())

    def _pruning(self) -> tuple[Strategy, ...]:
        if not self.pruning or self.version == "2026.2.17":
            return ()
        return (TtlPrune(ttl="1h", version=self.version),)

    def _compaction(self) -> Strategy:
        if self.version == "2026.2.17":
            return AutoCompact(version="0.49.3")
        if self.version == "2026.1.29" or self.recency_buffer:
            return RecencyBuffer(
                enabled=self.recency_buffer,
                version="0.58.0" if self.version == "2026.3.13" else "0.49.3",
            )
        return PreserveTurns()
