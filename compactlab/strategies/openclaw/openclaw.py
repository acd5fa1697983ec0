"""OpenClaw, as released, and with three pull requests that were not merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.strategies.mechanisms.cut import current_turn, last_turns
from compactlab.strategies.mechanisms.trigger import Trigger
from compactlab.strategies.openclaw.flush import MemoryFlush, Version
from compactlab.strategies.openclaw.guards import ContextGuard, OverflowTruncation, WriteGuard
from compactlab.strategies.openclaw.kept import PreserveTurns, RecencyBuffer
from compactlab.strategies.openclaw.outputs import OffloadOutputs
from compactlab.strategies.openclaw.pairs import BREAKS, Mending, PairRepair
from compactlab.strategies.openclaw.planner import TokenBudget
from compactlab.strategies.openclaw.pruning import TtlPrune
from compactlab.strategies.openclaw.recovery import ContextRecovery
from compactlab.strategies.openclaw.sidecar import SummarySidecar
from compactlab.strategies.pi.compaction import AutoCompact


@dataclass(frozen=True)
class TurnSlice(Mending):
    """Send the newest turns before the current one, whole.

    After OpenClaw's ``limitHistoryTurns`` (2026.1.29 to 2026.3.13), which slices the history that
    is loaded for a turn, before the user's new prompt is added to it; so the current turn does not
    count, and nothing is sliced while it goes on. What came before the first turn that is kept is
    dropped, a summary that an earlier compaction left there among it. If nothing were left, the
    history would stay as it is.

    The original has no default: it slices only where a limit is configured for a channel or a
    direct chat (``historyLimit``, ``dmHistoryLimit``). Ours needs one. Simplified in that what a
    client told the model in the user's name, the prompt of a memory flush say, is no turn.

    Parameters
    ----------
    history_limit
        How many turns at most.
    repair
        Whether calls and results are put together afterwards, as from 2026.2.17 on; before that
        it was done before the slice: ``pair_repair + turn_slice(repair=False)``.
    """

    does = (Act.TRUNCATE,)

    history_limit: Annotated[int, at_least(1)] = 10
    repair: bool = True

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """The effects of the repair."""
        return BREAKS if self.repair else MappingProxyType({})

    def compact(self, view: View, host: Host) -> View:
        history = view.messages[: current_turn(view.messages)]
        start = last_turns(history, self.history_limit)
        return self.cut(view, host, start, repair=self.repair)


@dataclass(frozen=True)
class Openclaw(Agent):
    """OpenClaw: memory flush, compaction in safeguard mode, pruning of stale tool results, guards.

    What it does out of the box with an Anthropic key: no turn is sliced off, pairs are repaired at
    load, the flush is on, the cache's lifetime is taken to be an hour for pruning. The three pull
    requests (3968 recency buffer, 3599 context recovery, 17345 planner, sidecar and outputRef;
    none was merged) are off and can be switched on, to see what they would have changed.

    Left out: recall from memory (a search that the model asks for); heartbeats; the refusal of a
    request above nine tenths of the window (see ``context_guard``); rules that are told again after
    a compaction (sections of ``AGENTS.md``, which no recording holds).

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
    trigger
        Tokens, or a share of the window, beyond which it compacts, with the flush 4,000 tokens
        before that; None for the window less 20,000 (``compaction.reserveTokensFloor``).
    guards
        Whether tool results are guarded: missing ones made up when something else is written; from
        2026.2.17 on also capped when written, cut or removed in a request that is too large, and
        cut in the session when a request is refused for all that. Users of these versions cannot
        switch it off: without it, it is what this agent was here before November 2026.
    """

    version: Literal["2026.1.29", "2026.2.17", "2026.3.13"] = "2026.3.13"
    memory_flush: bool = True
    pruning: bool = True
    history_limit: Annotated[int, at_least(0)] = 0
    recency_buffer: bool = False
    context_recovery: Annotated[int, between(0, 50)] = 0
    planner: bool = False
    trigger: Trigger = None
    guards: bool = True

    def __post_init__(self) -> None:
        if self.recency_buffer and self.version == "2026.2.17":
            raise ValueError("recency_buffer must be False for 2026.2.17: there is no safeguard")
        super().__post_init__()

    def steps(self) -> tuple[Strategy, ...]:
        """The parts that change the session, then those for a turn, then those for a request."""
        new = self.version == "2026.3.13"
        session: list[Strategy] = [WriteGuard(version=self.version)] if self.guards else []
        if self.planner:
            session.append(OffloadOutputs(pointer_for_text=False))
        if self.memory_flush:
            version: Version = "2026.3.13" if new else "2026.1.29"
            session.append(MemoryFlush(version=version, trigger=self.trigger))
        session.append(self._compaction())
        sized = self.guards and self.version != "2026.1.29"
        if sized:
            session.append(OverflowTruncation(version="2026.3.13" if new else "2026.2.17"))
        turn: list[Strategy] = [PairRepair(version="2026.3.13" if new else "2026.1.29")]
        if self.planner:
            turn += [TokenBudget(history_limit=self.history_limit), SummarySidecar()]
        elif self.history_limit:
            repairs = self.version != "2026.1.29"
            turn.append(TurnSlice(history_limit=self.history_limit, repair=repairs))
        if self.context_recovery:
            turn.append(ContextRecovery(messages=self.context_recovery))
        guard = (ContextGuard(),) if sized else ()
        return (*session, *turn, *self._pruning(), *guard)

    def _pruning(self) -> tuple[Strategy, ...]:
        if not self.pruning or self.version == "2026.2.17":
            return ()
        return (TtlPrune(ttl="1h", version=self.version),)

    def _compaction(self) -> Strategy:
        if self.version == "2026.2.17":
            return AutoCompact(version="0.49.3", trigger=self.trigger)
        if self.version == "2026.1.29" or self.recency_buffer:
            return RecencyBuffer(
                trigger=self.trigger,
                enabled=self.recency_buffer,
                version="0.58.0" if self.version == "2026.3.13" else "0.49.3",
            )
        return PreserveTurns(trigger=self.trigger)
