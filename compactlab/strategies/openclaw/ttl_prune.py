"""Make old tool results shorter when the cache has gone cold: OpenClaw's cache-ttl pruning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Annotated

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Lifetime, Strategy
from compactlab.strategies.mechanisms.stub import Edits, PerReplay
from compactlab.strategies.openclaw.pruning import (
    NEWEST,
    PLACEHOLDER,
    VERSIONS,
    Pruning,
    Version,
    duration_ms,
    effective_settings,
    prune_expired,
)

# What a strategy calls its settings, and what OpenClaw does.
_NAMES = {
    "keep_last_assistants": "keepLastAssistants",
    "soft_trim_ratio": "softTrimRatio",
    "hard_clear_ratio": "hardClearRatio",
    "min_prunable_tool_chars": "minPrunableToolChars",
}
# What a note is no longer than, and the least that is cleared by default: so much is never made of
# results that are shorter than a place-holder.
_NOTE_CHARS, _ENOUGH_CHARS = 120, 50_000
_LONGER: Mapping[str, str] = MappingProxyType(
    {"size": "a note or a place-holder may be longer than a result (OpenClaw 2026.1.29 on)"}
)


@dataclass(frozen=True)
class TtlPrune(Strategy):
    """After a pause, send old tool results trimmed or cleared, for one request.

    After OpenClaw's context pruning in mode ``cache-ttl``. When so much time has passed since the
    end of the last turn that the provider's cache must be cold, long results are trimmed and, if
    the context is still too large, old ones cleared. Three things about the original are kept.
    Only the end of a turn counts as a touch (its beginning, in 2026.1.29), so within a turn that
    goes on for longer than that, results are pruned although the cache is warm. In the first turn
    nothing is pruned, because nothing has been touched. And what is pruned is pruned for one
    request only: the next sends everything in full, and writes it to the cache once more.

    Exact are the settings, the gate and what is done to the messages. Simplified: a touch is read
    from the times of the log and not from the session's file, so a rewind takes it back.

    Parameters
    ----------
    ttl
        How long the cache is taken to live: a number and ``ms``, ``s``, ``m``, ``h`` or ``d``;
        minutes without a unit. OpenClaw sets ``1h`` itself for some of Anthropic's accounts.
    keep_last_assistants
        Everything from the newest so many answers on stays.
    soft_trim_ratio, hard_clear_ratio
        Shares of the window that the context has to fill for results to be trimmed, and cleared.
    min_prunable_tool_chars
        Nothing is cleared where less than that could be.
    tools_allow, tools_deny
        Patterns of the tools whose results are pruned; ``*`` stands for anything. Denied ones are
        left out, and where any are allowed, so are all others.
    soft_trim_max_chars, soft_trim_head_chars, soft_trim_tail_chars
        A result longer than the first is trimmed to the other two.
    hard_clear_enabled
        Whether anything is cleared.
    hard_clear_placeholder
        What stands in the place of a cleared result.
    sticky
        Whether what was pruned stays pruned, which the original's does not.
    every_provider
        Whether models of others than Anthropic are served, too; the original leaves them alone.
    version
        OpenClaw's: 2026.1.29 leaves results with images alone and takes the beginning of a turn
        for a touch; 2026.3.13 puts a line in the place of images, takes the end of a turn, and
        does not count a turn in which the session was compacted.
    """

    ttl: str = "5m"
    keep_last_assistants: Annotated[int, at_least(0)] = 3
    soft_trim_ratio: Annotated[float, between(0, 1)] = 0.3
    hard_clear_ratio: Annotated[float, between(0, 1)] = 0.5
    min_prunable_tool_chars: Annotated[int, at_least(0)] = 50_000
    tools_allow: tuple[str, ...] = ()
    tools_deny: tuple[str, ...] = ()
    soft_trim_max_chars: Annotated[int, at_least(0)] = 4000
    soft_trim_head_chars: Annotated[int, at_least(0)] = 1500
    soft_trim_tail_chars: Annotated[int, at_least(0)] = 1500
    hard_clear_enabled: bool = True
    hard_clear_placeholder: str = PLACEHOLDER
    sticky: bool = False
    every_provider: bool = False
    version: Version = NEWEST
    phases = frozenset({Phase.BEFORE_TURN, Phase.BEFORE_CALL})
    edits: PerReplay[Edits] = field(
        default_factory=partial(PerReplay, Edits), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not duration_ms(self.ttl):
            raise ValueError(f"ttl must be a duration above 0 like '5m' or '1h', not {self.ttl!r}")
        if not self.hard_clear_placeholder.strip():
            raise ValueError("hard_clear_placeholder must not be blank")

    @property
    def lifetime(self) -> Lifetime:  # type: ignore[override]
        """One request, or the session."""
        return Lifetime.SESSION if self.sticky else Lifetime.REQUEST

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """What stands in the place of a result is longer than a very short one."""
        ends = self.soft_trim_head_chars + self.soft_trim_tail_chars
        trims_short = self.soft_trim_max_chars < ends + _NOTE_CHARS
        clears_short = self.hard_clear_enabled and self.min_prunable_tool_chars < _ENOUGH_CHARS
        return _LONGER if trims_short or clears_short else MappingProxyType({})

    @cached_property
    def settings(self) -> Pruning | None:
        """The settings as OpenClaw reads them."""
        raw: dict[str, object] = {name: getattr(self, ours) for ours, name in _NAMES.items()}
        tools = {"allow": list(self.tools_allow), "deny": list(self.tools_deny)}
        soft = {
            "maxChars": self.soft_trim_max_chars,
            "headChars": self.soft_trim_head_chars,
            "tailChars": self.soft_trim_tail_chars,
        }
        hard = {"enabled": self.hard_clear_enabled, "placeholder": self.hard_clear_placeholder}
        raw |= {"mode": "cache-ttl", "ttl": self.ttl}
        return effective_settings(raw | {"tools": tools, "softTrim": soft, "hardClear": hard})

    def compact(self, view: View, host: Host) -> View:
        """Prune, if it is time."""
        if host.phase is Phase.BEFORE_TURN:
            self._load(host)
            return view
        before = host.notes.get("touched")
        if before is None or not (self.every_provider or host.model.price.startswith("anthropic/")):
            return view
        messages, touched = prune_expired(
            view.messages,
            self.settings,
            now=_milliseconds(host.now),
            touched=before,
            window=host.window,
            version=self.version,
            edits=self.edits.of(host),
        )
        if messages is view.messages:
            return view
        host.notes["touched"] = touched
        if self.sticky:
            host.notes["compactions"] += 1  # this one is no reason not to count the turn
        return view.with_messages(messages)

    def _load(self, host: Host) -> None:
        """A turn begins: find out when the last one touched the cache."""
        notes, compactions = host.notes, len(host.compactions)
        if self.version == VERSIONS[0]:
            notes["touched"], notes["began"] = notes.get("began"), _milliseconds(host.now)
        else:
            if compactions == notes.get("compactions", 0):
                notes["ended"] = _last_answer(host)
            notes["touched"] = notes.get("ended")
        notes["compactions"] = compactions


def _last_answer(host: Host) -> int | None:
    times = (message.time for message in reversed(host.log) if message.role == "assistant")
    return next(map(_milliseconds, times), None)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
