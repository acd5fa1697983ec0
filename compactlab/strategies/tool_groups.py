"""Leave out or tell whole groups of messages: Microsoft's Agent Framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.messages import Messages
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.agent_framework.collapse import (
    context_window,
    in_order,
    leave_out_tool_groups,
    slide_groups,
    tell_tool_groups,
    truncate,
)
from compactlab.strategies.mechanisms.agent_framework.groups import (
    Group,
    calls_tool,
    groups_of,
    one,
    serialised,
)

_WORDS = {"last user message": "a turn may have more than fits; agent-framework-core 1.23.0"}
_SIZE = {"size": "what tells a tiny result is longer than it; agent-framework-core 1.23.0"}
_BREAKS = {
    "context_window": _WORDS | _SIZE,
    "truncation": _WORDS,
    "sliding_window": _WORDS,
    "tool_result": _SIZE,
    "selective_tool_call": {},
}


@dataclass(frozen=True)
class ToolGroups(Strategy):
    """Leave out whole groups: a message, or a call with its results; or tell old results in one.

    After the compaction strategies of agent-framework-core 1.23.0, which mark messages as left
    out in the session, exactly but for where tokens come from: they are its estimate, a quarter
    of each message's JSON, and the system prompt, which stands outside of the history here, is not
    in it. Its summarising strategy and its composition under a budget are not built.

    Parameters
    ----------
    strategy
        ``context_window``: tell old tool groups in a message each when the tokens exceed
        ``tool_eviction_threshold``, then leave out the oldest groups if they still exceed
        ``truncation_threshold``. ``truncation``, by messages; ``sliding_window``;
        ``selective_tool_call``: leave out old tool groups; ``tool_result``: tell them.
    keep_last_tool_call_groups
        How many of the newest tool groups stay as they are.
    tool_eviction_threshold, truncation_threshold
        Shares of the window without the answer's maximum.
    max_output_tokens
        Tokens of the window kept for the answer.
    max_n, compact_to
        For ``truncation``: above how many messages it acts, and down to how many.
    keep_last_groups
        For ``sliding_window``: how many groups.
    preserve_first_user_group
        Whether the first message of the user is never left out by truncation.
    """

    strategy: Literal[
        "context_window", "truncation", "sliding_window", "selective_tool_call", "tool_result"
    ] = "context_window"
    keep_last_tool_call_groups: int = 4
    tool_eviction_threshold: float = 0.5
    truncation_threshold: float = 0.8
    max_output_tokens: int = 16_384
    max_n: int = 100
    compact_to: int = 50
    keep_last_groups: int = 40
    preserve_first_user_group: bool = False

    def __post_init__(self) -> None:
        for name in ("keep_last_tool_call_groups", "max_output_tokens"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name)}")
        for name in ("max_n", "compact_to", "keep_last_groups"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.compact_to > self.max_n:
            raise ValueError(f"compact_to must be at most max_n, not {self.compact_to}")
        if not 0 < self.tool_eviction_threshold <= self.truncation_threshold <= 1:
            raise ValueError(
                "tool_eviction_threshold must be above 0 and at most truncation_threshold, and "
                f"that at most 1, not {self.tool_eviction_threshold}"
            )

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """What is left out may be the last words of the user; what is told may be longer."""
        return MappingProxyType(_BREAKS[self.strategy])

    def compact(self, view: View, host: Host) -> View:
        """Leave out or tell, if it is time."""
        messages = view.messages
        if not self._is_due(messages, host):
            return view
        return view.with_messages(in_order(self._made(groups_of(messages), host), messages))

    def _is_due(self, messages: Messages, host: Host) -> bool:
        """Whether there can be anything to do; so that nothing is grouped in vain."""
        if self.strategy == "context_window":
            return messages.total(serialised) > self._budget(host) * self.tool_eviction_threshold
        if self.strategy == "truncation":
            return len(messages) > self.max_n
        if self.strategy == "sliding_window":
            return len(messages) > self.keep_last_groups
        return messages.total(calls_tool) > self.keep_last_tool_call_groups

    def _made(self, groups: list[Group], host: Host) -> list[Group]:
        keep, first = self.keep_last_tool_call_groups, self.preserve_first_user_group
        if self.strategy == "truncation":
            limits = self.max_n, self.compact_to
            return truncate(groups, *limits, one, preserve_first_user_group=first)
        if self.strategy == "sliding_window":
            return slide_groups(groups, self.keep_last_groups)
        if self.strategy == "selective_tool_call":
            return leave_out_tool_groups(groups, keep)
        if self.strategy == "tool_result":
            return tell_tool_groups(groups, keep)
        shares = self.tool_eviction_threshold, self.truncation_threshold
        return context_window(
            groups, self._budget(host), *shares, keep, preserve_first_user_group=first
        )

    def _budget(self, host: Host) -> int:
        return max(1, host.window - self.max_output_tokens)
