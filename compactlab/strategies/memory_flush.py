"""Have the agent write its memory down before a compaction: OpenClaw's memory flush."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import TurnRequest
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.estimate import estimate
from compactlab.strategies.mechanisms.openclaw.flush import (
    FORCE_FLUSH_TRANSCRIPT_BYTES,
    RESERVE_TOKENS_FLOOR,
    SOFT_THRESHOLD_TOKENS,
    FlushSettings,
    SessionEntry,
    booked_under,
    flush_settings,
    flush_threshold,
    flush_window,
    projected_tokens,
    should_flush,
    transcript_bytes,
)
from compactlab.strategies.mechanisms.openclaw.silence import SILENT, Version, heard

# What a plug-in of OpenCode may add to the request for a summary. Our own wording.
REMINDER = "A memory is kept outside of this conversation: what is put into it can be asked for."


@dataclass(frozen=True)
class MemoryFlush(Strategy):
    """Before a compaction, once a cycle, let the agent take a turn to write its memory down.

    It compacts nothing: it goes before one that does, as in ``memory_flush() + auto_compact()``.
    The protocol is that of the Signet specification, section 6.4, in the three profiles found in
    the field:

    ``full``
        OpenClaw's. When the last prompt comes near the size at which it is compacted, and before
        the user's turn, the agent is told to store what must last, with words added to the system
        prompt. It writes, and answers that nothing need be said. That is a turn like any other:
        each of its calls is billed, the changed system prompt is read from no cache, and what is
        said stays in the history.
    ``hook``
        OpenCode's plug-ins are handed the compactor's request, and add a reminder to it. No turn
        is run, so nothing is written down.
    ``internal``
        Claude Code's: nothing of it can be seen from outside, so it does nothing here.

    The rules for when it runs, and for what a user hears of it, are exact. What the agent writes is
    simulated: the run's summariser says it, from what the agent sees. Simplified: the turn sees the
    session's view, not what others make of it for a request; the transcript's size is that of its
    texts, without the JSON around them; heartbeats and read-only sandboxes, for which OpenClaw has
    no flush, do not occur; the prompts are our own, about as long as the originals.

    Parameters
    ----------
    soft_threshold_tokens
        So many tokens before the reserve it runs.
    reserve_tokens_floor
        Tokens of the window that the context is not to grow into. The compactor's own reserve is
        not asked: with a larger one, compaction comes first and the flush too late, as in the
        original.
    force_flush_transcript_bytes
        Size of the transcript from which on it runs anyway; 0 for never. Since 2026.3.13.
    prompt, system_prompt
        What the agent is told, and what is added to the system prompt; our own words by default.
    max_notes_tokens
        How long what it writes may be; the original leaves that to the model.
    profile
        Whose flush it is.
    version
        Of OpenClaw. 2026.1.29 looks at the last prompt alone and suppresses every answer that
        begins or ends with the token for silence; 2026.3.13 adds the last answer and what the user
        says now, and suppresses only the token.
    """

    soft_threshold_tokens: int = SOFT_THRESHOLD_TOKENS
    reserve_tokens_floor: int = RESERVE_TOKENS_FLOOR
    force_flush_transcript_bytes: int = FORCE_FLUSH_TRANSCRIPT_BYTES
    prompt: str = ""
    system_prompt: str = ""
    max_notes_tokens: int = 1_000
    profile: Literal["full", "hook", "internal"] = "full"
    version: Version = "2026.3.13"
    phases = frozenset({Phase.BEFORE_TURN})

    def __post_init__(self) -> None:
        for name in (
            "soft_threshold_tokens",
            "reserve_tokens_floor",
            "force_flush_transcript_bytes",
            "max_notes_tokens",
        ):
            value = getattr(self, name)
            if value < 0:
                raise ValueError(f"{name} must be 0 or more, not {value}")

    @property
    def flushes(self) -> bool:
        """Whether it is to come before each compaction; of an internal one nobody can tell."""
        return self.profile != "internal"

    @cached_property
    def settings(self) -> FlushSettings:
        """The fields, as a configuration that says all of them comes to."""
        settings = flush_settings(
            soft_threshold_tokens=self.soft_threshold_tokens,
            reserve_tokens_floor=self.reserve_tokens_floor,
            force_flush_transcript_bytes=self.force_flush_transcript_bytes,
            prompt=self.prompt,
            system_prompt=self.system_prompt,
            version=self.version,
        )
        assert settings is not None
        return settings

    def compact(self, view: View, host: Host) -> View:
        """Let the agent write, if it is time."""
        if self.profile == "hook" and REMINDER not in host.reminders:
            host.reminders.append(REMINDER)
        if self.profile != "full" or not self._due(view, host):
            return view
        request = TurnRequest(
            self.settings.prompt,
            self.settings.system_prompt,
            "flush",
            self.max_notes_tokens,
            SILENT,
            partial(heard, version=self.version),
        )
        flushed = host.run_turn(view, request)
        host.notes["count"], host.notes["last"] = len(host.compactions), host.log[-1].id
        return flushed

    def _due(self, view: View, host: Host) -> bool:
        if host.reported is None:
            return False
        settings, last, count = self.settings, host.reported, None
        entry = SessionEntry(last.prompt, True, len(host.compactions), self._flushed(host))
        window = flush_window(host.window, None)
        reserve, soft = settings.reserve_tokens_floor, settings.soft_threshold_tokens
        if self.version != "2026.1.29":
            threshold = flush_threshold(window, reserve, soft)
            count = projected_tokens(last.prompt, last.output, _said_now(view), threshold)
        return should_flush(
            entry,
            window=window,
            reserve=reserve,
            soft=soft,
            token_count=count,
            version=self.version,
        ) or (self._forced(host) and not entry.flushed)

    def _forced(self, host: Host) -> bool:
        """Whether the transcript is so large that it runs whatever the tokens."""
        most = self.settings.force_flush_transcript_bytes
        return 0 < most <= host.log.total(transcript_bytes)

    @staticmethod
    def _flushed(host: Host) -> int | None:
        if "count" not in host.notes:
            return None
        return booked_under(host.notes["count"], host.notes["last"], host.compactions)


def _said_now(view: View) -> int:
    """Estimate what the user says now: all that a person typed since the last answer."""
    tokens = 0
    for message in reversed(view.messages):
        if message.role == "assistant":
            break
        tokens += estimate(message) if message.starts_turn else 0
    return tokens
