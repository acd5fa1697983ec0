"""Keep the newest turns: OpenClaw's limitHistoryTurns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn, last_turns
from compactlab.strategies.mechanisms.openclaw.pairs import BREAKS, Mender
from compactlab.strategies.mechanisms.per_replay import PerReplay


@dataclass(frozen=True)
class TurnSlice(Strategy):
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

    history_limit: int = 10
    repair: bool = True
    phases = frozenset({Phase.BEFORE_TURN})
    lifetime = Lifetime.TURN
    menders: PerReplay[Mender] = field(
        default_factory=partial(PerReplay, Mender), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.history_limit < 1:
            raise ValueError(f"history_limit must be at least 1, not {self.history_limit}")

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """What the repair breaks."""
        return BREAKS if self.repair else MappingProxyType({})

    def compact(self, view: View, host: Host) -> View:
        """Cut before the oldest turn that is kept."""
        messages = view.messages
        now = current_turn(messages)
        start = last_turns(messages[:now], self.history_limit)
        history = messages[start:now]
        mended = self.menders.of(host).mend(history) if self.repair else history
        if mended is history:
            return view.with_messages(messages[start:])
        return view.with_messages(mended.append(*messages[now:])) if mended else view
