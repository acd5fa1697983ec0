"""OpenClaw, as released, and with three pull requests that were not merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import MappingProxyType
from typing import Annotated, Literal

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.strategies.mechanisms.cut import current_turn, last_turns
from compactlab.strategies.mechanisms.trigger import Trigger
from compactlab.strategies.openclaw.compaction import DistilledSummary
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
from compactlab.strategies.providers.clearing import ClearToolResults
from compactlab.strategies.providers.compaction import ServerCompaction


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
    beyond = "it counts turns, not tokens; auto_compact + turn_slice fits"

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
class ProviderEdits(Strategy):
    """What OpenClaw 2026.9.6 has the provider do to a prompt, by whose model it is.

    Anthropic's with an API key: old tool results are cleared from 0.3 of the window (at least
    50,000 tokens) on, but for the newest three, if that yields a twentieth of it (at least 12,500).
    OpenAI's: the server compacts from 0.7 of the window on, long before the client would. The
    others: nothing. By its source, ``@openclaw/ai`` 2026.9.6, and its docs on session pruning.
    """

    does = (Act.CLEAR, Act.SUMMARISE)

    def compact(self, view: View, host: Host) -> View:
        edits = _edits(host.model.provider, host.window)
        return view if edits is None else edits.compact(view, host)


@cache
def _edits(provider: str, window: int) -> Strategy | None:
    if provider == "anthropic":
        trigger, least = max(50_000, int(window * 0.3)), max(12_500, int(window * 0.05))
        return ClearToolResults(trigger=trigger, clear_at_least=least)
    return ServerCompaction(trigger=0.7, opaque=True) if provider == "openai" else None


_NEWEST = "2026.9.6"
# Settings of the newest version alone.
_OF_TODAY = (
    "auth",
    "keep_recent_tokens",
    "mid_turn_precheck",
    "quality_guard",
    "forgets_headings",
    "max_active_transcript_bytes",
    "agents_md",
    "post_compaction_sections",
    "compaction_model",
    "flush_model",
    "failing_flushes",
    "with_cache_reads",
    "stale_usage",
)


@dataclass(frozen=True)
class Openclaw(Agent):
    """OpenClaw: memory flush, compaction in safeguard mode, pruning of stale tool results, guards.

    What it does out of the box with an Anthropic key: no turn is sliced off, pairs are repaired at
    load, the flush is on, old tool results are cleared by the server (before 2026.9.6: pruned by
    the client, with an hour as the cache's lifetime). With a model of OpenAI the server compacts,
    so early that neither the flush nor the client's compaction has anything to do. The three pull
    requests (3968 recency buffer, 3599 context recovery, 17345 planner, sidecar and outputRef;
    none was merged) are off and can be switched on, to see what they would have changed.

    Left out: recall from memory (a search that the model asks for); heartbeats; plug-ins that
    compact (``compaction.provider``, context engines); the rules that are told in the system prompt
    of the turn after a compaction; old images; the endpoint that compacts for OpenAI at the
    client's threshold.

    Parameters
    ----------
    version
        ``2026.1.29``: pi 0.49.3, safeguard without preserved turns. ``2026.2.17``: pi 0.53.0; its
        package lacked the extension files, so that safeguard and pruning silently did nothing (to
        0.55.3 pi's compaction is that of 0.49.3, byte for byte). ``2026.3.13``: pi 0.58.0, the
        three newest turns that are summarised are quoted. ``2026.9.6``: its own agent core, see
        ``distilled_summary``; the flush on a copy of the session; the server's edits.
    memory_flush
        Whether the agent writes its memory down before a compaction.
    pruning
        Whether stale tool results are pruned, or cleared by the server.
    history_limit
        Turns that are sent; 0 for all, which is the default.
    recency_buffer
        Pull request 3968. With 2026.3.13 it takes the place of the preserved turns, with 2026.9.6
        that of the whole compaction, as it was in 2026.3.13.
    context_recovery
        Pull request 3599: messages that are shown again after a compaction; 0 for none.
    planner
        Pull request 17345: token budget, sidecar, and oversized results in files.
    trigger
        Tokens, or a share of the window, beyond which it compacts, with the flush 4,000 tokens
        before that; None for the window less 20,000 (``compaction.reserveTokensFloor``; in 2026.9.6
        at most a quarter of the window).
    guards
        Whether tool results are guarded: missing ones made up when something else is written; from
        2026.2.17 on also capped when written, and cut in the session when a request is refused;
        before 2026.9.6 also cut or removed in a request that is too large. Users cannot switch it
        off: without it, it is what this agent was here before November 2026.
    auth
        2026.9.6: ``api_key``, or ``oauth``, for which Anthropic's results are pruned by the client.
    keep_recent_tokens, mid_turn_precheck, quality_guard, forgets_headings
        2026.9.6: see ``distilled_summary``, as for the next three.
    max_active_transcript_bytes, agents_md, post_compaction_sections
        2026.9.6.
    compaction_model, flush_model
        2026.9.6: the models that summarise, and flush, by their names here; "" for the session's.
    failing_flushes
        2026.9.6: the share of the flushes that fail, see ``memory_flush``.
    with_cache_reads, stale_usage
        2026.9.6: faults of the versions before it, which users complained about; off.
    """

    version: Literal["2026.1.29", "2026.2.17", "2026.3.13", "2026.9.6"] = "2026.9.6"
    memory_flush: bool = True
    pruning: bool = True
    history_limit: Annotated[int, at_least(0)] = 0
    recency_buffer: bool = False
    context_recovery: Annotated[int, between(0, 50)] = 0
    planner: bool = False
    trigger: Trigger = None
    guards: bool = True
    auth: Literal["api_key", "oauth"] = "api_key"
    keep_recent_tokens: Annotated[int, at_least(0)] = 20_000
    mid_turn_precheck: bool = False
    quality_guard: bool = True
    forgets_headings: Annotated[float, between(0, 1)] = 0.0
    max_active_transcript_bytes: Annotated[int, at_least(0)] = 0
    agents_md: str = ""
    post_compaction_sections: tuple[str, ...] = ()
    compaction_model: str = ""
    flush_model: str = ""
    failing_flushes: Annotated[float, between(0, 1)] = 0.0
    with_cache_reads: bool = False
    stale_usage: bool = False

    def __post_init__(self) -> None:
        if self.recency_buffer and self.version == "2026.2.17":
            raise ValueError("recency_buffer must be False for 2026.2.17: there is no safeguard")
        given = {field.name: field.default for field in fields(self)}
        for name in _OF_TODAY if self.version != _NEWEST else ():
            if getattr(self, name) != given[name]:
                raise ValueError(f"{name} is a setting of {_NEWEST}, not of {self.version}")
        super().__post_init__()

    def steps(self) -> tuple[Strategy, ...]:
        """The parts that change the session, then those for a turn, then those for a request."""
        new = self.version in ("2026.3.13", _NEWEST)
        session: list[Strategy] = [WriteGuard(version=self.version)] if self.guards else []
        if self.planner:
            session.append(OffloadOutputs(pointer_for_text=False))
        session += [*self._flush(), self._compaction()]
        sized = self.guards and self.version in ("2026.2.17", "2026.3.13")
        if sized:
            session.append(OverflowTruncation(version="2026.3.13" if new else "2026.2.17"))
        if self.pruning and self.version == _NEWEST:
            stale = TtlPrune(ttl="1h", sticky=True) if self.auth == "oauth" else ProviderEdits()
            session.append(stale)
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

    def _flush(self) -> tuple[Strategy, ...]:
        if not self.memory_flush:
            return ()
        if self.version == _NEWEST:
            flush = MemoryFlush(
                trigger=self.trigger,
                model=self.flush_model,
                failing=self.failing_flushes,
                with_cache_reads=self.with_cache_reads,
            )
            return (flush,)
        version: Version = "2026.3.13" if self.version == "2026.3.13" else "2026.1.29"
        return (MemoryFlush(version=version, trigger=self.trigger),)

    def _pruning(self) -> tuple[Strategy, ...]:
        if not self.pruning or self.version in ("2026.2.17", _NEWEST):
            return ()
        old = self.version == "2026.1.29"
        return (TtlPrune(ttl="1h", version="2026.1.29" if old else "2026.3.13"),)

    def _compaction(self) -> Strategy:
        if self.version == "2026.2.17":
            return AutoCompact(version="0.49.3", trigger=self.trigger)
        if self.version == "2026.1.29" or self.recency_buffer:
            return RecencyBuffer(
                trigger=self.trigger,
                enabled=self.recency_buffer,
                version="0.49.3" if self.version == "2026.1.29" else "0.58.0",
            )
        if self.version == "2026.3.13":
            return PreserveTurns(trigger=self.trigger)
        names = {field.name for field in fields(DistilledSummary)} & {*_OF_TODAY}
        return DistilledSummary(
            trigger=self.trigger,
            model=self.compaction_model,
            **{name: getattr(self, name) for name in names},
        )
