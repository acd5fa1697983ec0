"""Copilot's background compaction: a summary is prepared while the agent works, inserted later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Part
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.strategies.mechanisms.cut import current_turn, parted, unanswered
from compactlab.strategies.mechanisms.estimate import is_little, known_tokens
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    fitting,
    live_request,
    summary_message,
)
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# Shares of the window at which the Copilot SDK starts and waits (`InfiniteSessionConfig`, its pages
# of 2026-11), and at which VS Code starts even with a cold cache (10fe7ff).
START, COLD, FULL = 0.80, 0.90, 0.95
# After this many failures in a row it gives up.
_ATTEMPTS = 3
_SUMMARY = 4096
_NOTES = "prepared"


class Prepared(NamedTuple):
    """A prepared summary that has not been inserted."""

    parts: tuple[Part, ...]
    upto: int  # number of leading messages of the view that it summarises
    calls: int  # calls since the request


@dataclass(frozen=True)
class BackgroundCompaction(Strategy):
    """Ask for a summary at 80 % of the window, keep working, and insert it some calls later.

    The infinite sessions of GitHub's Copilot SDK: the request starts at 80 % of the window, and the
    agent waits at 95 % (``backgroundCompactionThreshold``, ``bufferExhaustionThreshold``; its
    documentation, 2026-11). The program is closed. The rest is a reconstruction from the open
    source of Copilot in VS Code (microsoft/vscode 10fe7ff ``backgroundSummarizer.ts``, 03d18a46
    ``agentIntent.ts``). The request is the current prompt followed by an instruction, so it reads
    the cache; it is billed at once. The new prompt is the summary and all messages since the
    request, verbatim. At the first call of a turn, when the cache may be cold, the request waits
    until 90 %. If the window fills first, the agent waits for the pending summary, or requests one.

    An unanswered user message stays; otherwise the current turn is summarised, including its user
    message. With ``place='full'`` an early summary becomes stale: the prompt keeps all messages
    since (anthropics/claude-code issue 70459: 200,000 tokens).

    Simplified: VS Code draws its threshold between 78 and 82 %; the duration of a request is a
    number of calls, not seconds; after three failed requests in a row it gives up.

    Parameters
    ----------
    trigger
        Size at which a summary is requested; None for 80 % of the window.
    cold_trigger
        The same at the first call of a turn; None for 90 %, or for ``trigger`` if that is more.
    blocking
        Size at which the agent waits for it; None for 95 %.
    ready_after
        Calls after which the summary is ready. Three: 24 seconds (earendil-works/pi pull request
        160, 2025-12-10) at 7.6 seconds between calls, the median of recorded sessions (2026-11).
    place
        ``ready``: insert it when it is ready. ``full``: when the window is full.
    """

    does = (Act.SUMMARISE,)
    background = True

    trigger: Trigger = None
    cold_trigger: Trigger = None
    blocking: Trigger = None
    ready_after: Annotated[int, at_least(0)] = 3
    place: Literal["ready", "full"] = "ready"
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {"last user message": "in a turn its first words are summarised, too; VS Code 03d18a46"}
    )

    def compact(self, view: View, host: Host) -> View:
        tokens = known_tokens(view, host)
        full = host.phase is Phase.ON_OVERFLOW or tokens >= tokens_at(
            self.blocking, host, host.window * FULL
        )
        prepared = _prepared(view, host)
        if prepared is None:
            if not full and tokens < self._start(view, host):
                return view
            prepared = _prepare(view, host, waits=full)
        if prepared is None:
            return view
        if not full and (self.place == "full" or prepared.calls < self.ready_after):
            return view
        del host.notes[_NOTES]
        _, rest = parted(view.messages, prepared.upto)
        after = view.with_messages([summary_message(host, prepared.parts), *rest])
        return after if host.count(after) < host.count(view) else view

    def _start(self, view: View, host: Host) -> float:
        """Return the tokens at which a summary is requested: more at the first call of a turn."""
        warm = tokens_at(self.trigger, host, host.window * START)
        turn = view.messages[current_turn(view.messages) :]
        if any(message.role == "assistant" for message in turn):
            return warm
        return tokens_at(self.cold_trigger, host, max(warm, host.window * COLD))


def _prepared(view: View, host: Host) -> Prepared | None:
    """Return the prepared summary, if the messages it summarises are still there."""
    notes: dict[str, Any] | None = host.notes.get(_NOTES)
    if notes is None:
        return None
    messages, calls = view.messages, 0
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].id == notes["last"]:
            parts = msgspec.convert(notes["parts"], tuple[Part, ...])
            return Prepared(parts, index + 1, calls)
        calls += messages[index].call is not None
    del host.notes[_NOTES]
    return None


def _prepare(view: View, host: Host, *, waits: bool) -> Prepared | None:
    """Request a summary; return None if it would save nothing, or if it failed."""
    upto = unanswered(view.messages)
    if host.phase is Phase.ON_OVERFLOW:
        upto = len(view.messages)  # the new user message alone may exceed the limit
    old = view.messages[:upto]
    failed = host.notes.get("failed", 0)
    if is_little(host.count(old), host) or failed >= _ATTEMPTS:
        return None
    asked = fitting(view, host, INSTRUCTIONS)
    covered = asked.messages[: len(asked.messages) - (len(view.messages) - upto)]
    request = replace(live_request(covered or old, _most(host)), waits=waits)
    parts = host.summarize(asked, request)
    host.notes["failed"] = 0 if parts else failed + 1
    if not parts:
        return None
    host.notes[_NOTES] = {"last": old[-1].id, "parts": msgspec.to_builtins(parts)}
    return Prepared(parts, upto, 0)


def _most(host: Host) -> int:
    return host.model.max_output or _SUMMARY


@dataclass(frozen=True)
class CopilotCli(Agent):
    """GitHub Copilot CLI: request a summary at 80 % of the window, and wait for it at 95 %.

    After public sources: the infinite sessions of its SDK (``@github/copilot-sdk`` 1.0.14,
    ``InfiniteSessionConfig``: ``backgroundCompactionThreshold``, ``bufferExhaustionThreshold``),
    and the page on its context (docs.github.com, "Managing context in Copilot CLI", 2026: about 80
    %). The program is closed, so this is a reconstruction. As in the open Copilot of VS Code,
    everything is summarised, and messages since the request follow the summary. Version 0.0.374
    compacted only at 95 % (github/copilot-cli issue 1245): ``trigger=0.95``. Users see other
    triggers under some models (issues 4571 and 4643: 50 % and 20 % under GPT-5.6).

    Left out: outputs above 51,200 bytes, which move to a file (their reference is not documented);
    files of a session's workspace (plan, checkpoints); compaction when memory is short or the model
    changes.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which a summary is requested.
    blocking
        Tokens, or a share, at which the agent waits for it.
    """

    trigger: Trigger = START
    blocking: Trigger = FULL

    def steps(self) -> tuple[Strategy, ...]:
        """One strategy, which treats the first call of a turn like any other."""
        return (BackgroundCompaction(self.trigger, self.trigger, self.blocking),)
