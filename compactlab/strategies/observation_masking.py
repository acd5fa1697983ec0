"""Mask old observations: SWE-agent's LastNObservations, and OpenHands' ObservationMasking."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import starts_turn
from compactlab.strategies.mechanisms.masking import Masking, mask_last_n, mask_window


@dataclass(frozen=True)
class ObservationMasking(Strategy):
    """Put a line in the place of all but the newest observations; calls and words stay.

    ``system="swe-agent"`` is ``LastNObservations`` (SWE-agent at 3ea751c), which the paper The
    Complexity Trap (2508.21433) found to be as good as summaries at half the cost. The original
    makes the history anew for every query. Its mask only ever moves forward, so the mask is kept
    in the session's view: what is sent is the same, exactly. An observation is a tool's message;
    the task, which SWE-agent tells as its first observation, counts as one and is never masked.
    What the user says later is no observation (SWE-agent has no later turns).

    ``system="openhands"`` is ``ObservationMaskingCondenser`` (openhands-ai 0.62.0): the window
    counts all messages, calls and words among them, and the text is ``<MASKED>``. An event is a
    message here; where a message holds several calls OpenHands has several events. What its
    conversation memory makes of the masked event afterwards (a message of the user, and the call
    is left out) is not followed: here the call keeps its result.

    A line that takes the place of a very short output is longer than that: so in the originals.

    Parameters
    ----------
    n
        How many of the newest observations stay; of the newest messages, under OpenHands.
    polling
        By how many observations the mask moves at a time: between two moves the prompt only grows,
        so the cache holds. SWE-agent's alone.
    keep_tools, remove_tools
        Tools whose outputs are never masked, or always; the tags ``keep_output`` and
        ``remove_output`` of SWE-agent, which has a processor that tags by the tool's name.
    system
        Which system is followed.
    """

    n: int = 5
    polling: int = 1
    keep_tools: tuple[str, ...] = ()
    remove_tools: tuple[str, ...] = ()
    system: Literal["swe-agent", "openhands"] = "swe-agent"

    breaks = MappingProxyType({"size": "the line may be longer than a tiny output; both systems"})

    def __post_init__(self) -> None:
        least = 1 if self.system == "swe-agent" else 0
        if self.n < least:
            raise ValueError(f"n must be at least {least}, not {self.n}")
        if self.polling < 1:
            raise ValueError(f"polling must be at least 1, not {self.polling}")
        for name in ("keep_tools", "remove_tools"):
            tools = getattr(self, name)
            if not isinstance(tools, list | tuple) or not all(isinstance(t, str) for t in tools):
                raise ValueError(f"{name} must be a tuple of names, not {tools!r}")
            object.__setattr__(self, name, tuple(tools))
        if self.system == "openhands" and (self.polling > 1 or self.keep_tools + self.remove_tools):
            raise ValueError("polling, keep_tools and remove_tools are SWE-agent's alone")

    def compact(self, view: View, host: Host) -> View:
        """Mask what has become old."""
        messages = view.messages
        if self.system == "openhands":
            return view.with_messages(mask_window(messages, self.n))
        task = int(messages.total(starts_turn) > 0)
        return view.with_messages(mask_last_n(messages, self._rule, task))

    @cached_property
    def _rule(self) -> Masking:
        return Masking(self.n, self.polling, self.keep_tools, self.remove_tools)
