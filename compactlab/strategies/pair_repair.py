"""Put calls and results together: OpenClaw's repairToolUseResultPairing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from compactlab.sim.host import Host
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn
from compactlab.strategies.mechanisms.openclaw.pairs import (
    BREAKS,
    NEWEST,
    VERSIONS,
    Mender,
    Version,
)
from compactlab.strategies.mechanisms.per_replay import PerReplay


@dataclass(frozen=True)
class PairRepair(Strategy):
    """Give every call its result right behind it, and drop results that have no call there.

    After OpenClaw's ``repairToolUseResultPairing``, with its faults, which
    :mod:`compactlab.strategies.mechanisms.openclaw.pairs` tells. A provider refuses a prompt in
    which calls and results do not match. The original repairs what it loads for a turn and leaves
    the file as it is; so does this: it holds for one turn, and the next starts from the session's
    view again, to the same effect. What goes wrong within a turn is put right in the next one. In a
    pipeline it comes after what cuts: ``token_budget + pair_repair``.

    The original does it for Anthropic's and Google's kinds of API only; this one for all.

    Parameters
    ----------
    version
        OpenClaw's: from 2026.3.13 on, calls of answers that were cut off are given no results, and
        results without the name of a tool that of their call.
    """

    version: Version = NEWEST
    phases = frozenset({Phase.BEFORE_TURN})
    lifetime = Lifetime.TURN
    breaks = BREAKS
    menders: PerReplay[Mender] = field(
        default_factory=partial(PerReplay, Mender), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise ValueError(f"version must be {' or '.join(VERSIONS)}, not {self.version}")

    def compact(self, view: View, host: Host) -> View:
        """Repair what there is before the current turn."""
        now = current_turn(view.messages)
        history = view.messages[:now]
        mended = self.menders.of(host).mend(history, self.version)
        if mended is history:
            return view
        return view.with_messages(mended.append(*view.messages[now:]))
