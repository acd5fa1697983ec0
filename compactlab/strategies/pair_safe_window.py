"""A window that never parts a call from its result: Strands' sliding window."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.messages import Messages
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.window import pinned_first, reduce, slide


@dataclass(frozen=True)
class PairSafeWindow(Strategy):
    """After each turn, keep the newest messages, and cut only where a user speaks.

    ``SlidingWindowConversationManager`` (strands-agents 1.62.0), exactly, in place on the
    agent's messages. Where no message of a user is left to cut at, a call with its result behind
    it will do; then the last words of the user are gone, as in the original. When the prompt does
    not fit into the window of the model, the results in the oldest message with results are
    shortened to 200 characters at either end; if they are short already, the front is cut off,
    and two messages at least. The original's request is refused each time, and it tries again;
    here that is one ask, in which it goes on until the prompt fits or nothing more can be done.

    Parameters
    ----------
    window_size
        How many messages at most; 0 for none but the pinned ones.
    pin_first
        How many messages at the front are pinned for good when the history is first cut.
    should_truncate_results
        Whether results are shortened before anything is cut off.
    per_turn
        0 to look at the end of each turn alone; n to look before every n-th call, too.
    compression_threshold
        Share of the model's window from which on the front is cut off before a call; 0 for never.
        The original's ``proactive_compression=True`` is 0.7.
    """

    window_size: int = 40
    pin_first: int = 0
    should_truncate_results: bool = True
    per_turn: int = 0
    compression_threshold: float = 0.0
    phases = frozenset({Phase.BEFORE_CALL, Phase.AFTER_TURN, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {
            "last user message": "where no user speaks it cuts at a call; strands-agents 1.62.0",
            "pairs": "it looks for a result in the next message alone; strands-agents 1.62.0",
        }
    )

    def __post_init__(self) -> None:
        for name in ("window_size", "pin_first", "per_turn"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name)}")
        if not 0 <= self.compression_threshold <= 1:
            raise ValueError(
                f"compression_threshold must be between 0 and 1, not {self.compression_threshold}"
            )

    def compact(self, view: View, host: Host) -> View:
        """Cut, if it is time."""
        if host.phase is Phase.ON_OVERFLOW:
            return self._relieved(view, host)
        if host.phase is Phase.AFTER_TURN or self._is_due(host):
            view = self._cut(view, host, force=False)
        if host.phase is Phase.BEFORE_CALL and self._is_full(view, host):
            view = self._cut(view, host, force=True)
        return view

    def _is_due(self, host: Host) -> bool:
        if not self.per_turn:
            return False
        host.notes["calls"] = host.notes.get("calls", 0) + 1
        return bool(host.notes["calls"] % self.per_turn == 0)

    def _is_full(self, view: View, host: Host) -> bool:
        share = self.compression_threshold
        return share > 0 and host.count(view) >= share * host.window

    def _cut(self, view: View, host: Host, *, force: bool) -> View:
        if len(view.messages) <= self.window_size and not force:
            return view
        kept = slide(view.messages, self.window_size, self._pins(view.messages, host), force=force)
        return view if kept is None else view.with_messages(kept)

    def _relieved(self, view: View, host: Host) -> View:
        pins = self._pins(view.messages, host)
        while host.count(view) > host.window:
            kept = reduce(
                view.messages,
                self.window_size,
                pins,
                should_truncate_results=self.should_truncate_results,
            )
            smaller = view if kept is None else view.with_messages(kept)
            if smaller is view:
                break
            view = smaller
        return view

    def _pins(self, messages: Messages, host: Host) -> frozenset[str]:
        """The pinned messages: those that stood first when the history was first cut."""
        if not self.pin_first:
            return frozenset()
        if "pins" not in host.notes:
            host.notes["pins"] = sorted(pinned_first(messages, self.pin_first))
        return frozenset(host.notes["pins"])
