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

    OpenClaw's ``limitHistoryTurns`` (2026.1.29 to 2026.3.13), which slices the history loaded for a
    turn before the user's new prompt is added. So the current turn does not count, and nothing is
    sliced within it. Everything before the first kept turn is dropped, even the summary of an
    earlier compaction. If nothing would remain, the history stays unchanged.

    The original has no default: it slices only if a limit is configured for a channel or a direct
    chat (``historyLimit``, ``dmHistoryLimit``). Simplified: a client's message in the user's name,
    such as the prompt of a memory flush, begins no turn.

    Parameters
    ----------
    history_limit
        Maximum number of turns.
    repair
        Whether calls and results are repaired afterwards, as since 2026.2.17; earlier versions
        repaired before the slice: ``pair_repair + turn_slice(repair=False)``.
    """

    does = (Act.TRUNCATE,)
    waits = "a number of turns"
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
    """The edits of a prompt that OpenClaw 2026.9.6 requests from each provider.

    Anthropic with an API key: above 0.3 of the window (at least 50,000 tokens), all tool results
    but the newest three are cleared, if that saves a twentieth of it (at least 12,500). OpenAI: the
    server compacts above 0.7 of the window, long before the client would. Others: nothing. After
    its source, ``@openclaw/ai`` 2026.9.6, and its docs on session pruning.
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
# Settings of only the newest version.
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

    The defaults are OpenClaw's with an Anthropic key: no turn is sliced off, pairs are repaired at
    load, the flush is on, and the server clears old tool results (before 2026.9.6 the client prunes
    them, assuming a cache lifetime of an hour). With OpenAI's models the server compacts so early
    that flush and client compaction never run. Three pull requests, none of them merged, are off
    but can be switched on: 3968 (recency buffer), 3599 (context recovery), 17345 (planner, sidecar
    and outputRef).

    Left out: recall from memory (a search tool of the model); heartbeats; plug-ins that compact
    (``compaction.provider``, context engines); rules added to the system prompt of the turn after a
    compaction; old images; OpenAI's compaction endpoint at the client's threshold.

    Parameters
    ----------
    version
        ``2026.1.29``: pi 0.49.3, safeguard without preserved turns. ``2026.2.17``: pi 0.53.0; its
        package lacked the extension files, so safeguard and pruning silently did nothing (until
        0.55.3 pi's compaction is that of 0.49.3, byte for byte). ``2026.3.13``: pi 0.58.0, the
        three newest summarised turns are quoted. ``2026.9.6``: its own agent core, see
        ``distilled_summary``; the flush on a copy of the session; the server's edits.
    memory_flush
        Whether the agent writes its memory before a compaction.
    pruning
        Whether stale tool results are pruned, or cleared by the server.
    history_limit
        Number of turns that are sent; 0 for all.
    recency_buffer
        Pull request 3968. In 2026.3.13 it replaces the preserved turns. In 2026.9.6 the whole
        compaction becomes that of 2026.3.13 with it.
    context_recovery
        Pull request 3599: number of messages shown again after a compaction; 0 for none.
    planner
        Pull request 17345: token budget, sidecar, and oversized results in files.
    trigger
        Tokens, or a share of the window, beyond which it compacts; the flush runs 4,000 tokens
        earlier. None for the window less 20,000 (``compaction.reserveTokensFloor``; in 2026.9.6 at
        most a quarter of the window).
    guards
        Whether tool results are guarded: missing ones are synthesised when another message is
        written; since 2026.2.17 results are also capped when written, and cut in the session after
        a refused request; before 2026.9.6 also cut or removed in a request that is too large.
        OpenClaw's users cannot switch this off.
    auth
        2026.9.6: ``api_key``, or ``oauth``, with which the client prunes results under Anthropic's
        models.
    keep_recent_tokens, mid_turn_precheck, quality_guard, forgets_headings
        2026.9.6: see ``distilled_summary``, as for the next three.
    max_active_transcript_bytes, agents_md, post_compaction_sections
        2026.9.6.
    compaction_model, flush_model
        2026.9.6: the models for summaries and flushes by their catalogue names; "" for the
        session's.
    failing_flushes
        2026.9.6: the share of the flushes that fail, see ``memory_flush``.
    with_cache_reads, stale_usage
        2026.9.6: faults of earlier versions that users reported; off.
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
