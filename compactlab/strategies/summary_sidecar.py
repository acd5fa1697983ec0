"""Notes kept beside the transcript: OpenClaw pull request 17345."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.message import Kind, Part, Source
from compactlab.sim.messages import Messages
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn
from compactlab.strategies.mechanisms.estimate import estimate, estimate_system
from compactlab.strategies.mechanisms.glue import glued
from compactlab.strategies.mechanisms.openclaw.sidecar import (
    ITEM_CHARS,
    MAX_CHARS,
    MAX_ITEMS,
    THRESHOLD,
    Sidecar,
    block,
    dump,
    is_needed,
    load,
    update,
)
from compactlab.strategies.mechanisms.units import whole

# The file of the original, and beside it the ids of the messages that its lines were read from.
FILE = "session.jsonl.summary.json"
_IDS = "session.jsonl.summary.ids.json"
_NAME = "session summary"


@dataclass(frozen=True)
class SummarySidecar(Strategy):
    """Keep a line for each message of user and assistant beside the transcript, and show them.

    After OpenClaw pull request 17345 (never merged). The lines are extracted, not written by a
    model, and kept in a file that no rewind touches. Before each turn the messages of the
    session's view that are new since the last time are read, but not the new prompt.

    ``hardened=False`` is the first version (commit 4c779794), exact but for the second line of
    the block, which has our own words and the original's length. It shows the lines always, glued
    to the front of the user's new prompt, where they stay. So its own blocks are read as what the
    user said, and quoted in the next blocks: a loop. The prompt grows by up to 1,200 characters a
    turn, and the user's own words are pushed out of the lines. When the view becomes shorter, by
    a rewind or by a compaction, it stops reading until the view is as long again, and shows what
    it has.

    ``hardened=True`` is the last version, of which only a report and a test are known, not the
    source: messages that begin with such a block are skipped, and a view that has become shorter
    is read anew (so that after a compaction only what it kept has lines); a view that is just as
    long again has nothing new, and lines of a branch that was given up stay. The lines go to the
    end of the system prompt for one turn, if another part of the pipeline has left out messages,
    or if the pressure reaches the threshold. What pressure is, is not known; here it is pi's
    estimate of the prompt over the window.

    Both compare a new line with the last of the old ones alone. Simplified in both: successive
    messages of the user are not merged; a line whose message was given up in a rewind stands for
    nothing that is known.

    Parameters
    ----------
    hardened
        The last version, or the first.
    threshold
        Share of the window from which on the hardened version shows its lines.
    max_items
        Lines that are kept; the newest.
    item_chars
        UTF-16 code units of a line.
    max_chars
        UTF-16 code units that are shown; the newest lines that fit.
    """

    hardened: bool = True
    threshold: float = THRESHOLD
    max_items: int = MAX_ITEMS
    item_chars: int = ITEM_CHARS
    max_chars: int = MAX_CHARS
    phases = frozenset({Phase.BEFORE_TURN, Phase.BEFORE_CALL})
    breaks = MappingProxyType({"size": "adds a block of notes; pull request 17345"})

    def __post_init__(self) -> None:
        if not self.threshold >= 0:
            raise ValueError(f"threshold must be at least 0, not {self.threshold}")
        for name in ("max_items", "item_chars", "max_chars"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")

    @property
    def lifetime(self) -> Lifetime:  # type: ignore[override]
        """The first version's block stays where it was put."""
        return Lifetime.TURN if self.hardened else Lifetime.SESSION

    def compact(self, view: View, host: Host) -> View:
        """Bring the file up to date once a turn, and show its lines."""
        if self.hardened:
            return self._in_system(view, host)
        return self._in_prompt(view, host) if host.phase is Phase.BEFORE_TURN else view

    def _in_prompt(self, view: View, host: Host) -> View:
        state = self._kept_up(view.messages[: current_turn(view.messages)], host)
        shown = self._part(state, host, "\n\n")
        return glued(view, shown) if shown else view

    def _in_system(self, view: View, host: Host) -> View:
        if host.phase is Phase.BEFORE_TURN:
            session = host.session.messages
            state = self._kept_up(session[: current_turn(session)], host)
            host.notes["shown"] = is_needed(
                len(view.messages) < len(session), _pressure(view, host), self.threshold
            )
        elif host.notes.get("shown") and not any(part.name == _NAME for part in view.system):
            state = _loaded(host)  # a compaction in the middle of the turn took the block away
        else:
            return view
        shown = self._part(state, host) if host.notes["shown"] else None
        return view.with_system(*view.system, shown) if shown else view

    def _kept_up(self, messages: Messages, host: Host) -> Sidecar:
        before, now = _loaded(host), int(host.now * 1000)
        state = update(
            before,
            messages,
            now,
            max_items=self.max_items,
            item_chars=self.item_chars,
            hardened=self.hardened,
        )
        if state is not before:
            host.files[FILE] = dump(state, now)
            host.files[_IDS] = json.dumps([item.id for item in state.items])
        return state

    def _part(self, state: Sidecar, host: Host, end: str = "") -> Part | None:
        shown = block(state.items, self.max_chars)
        if shown is None:
            return None
        said = {message.id for message in host.log}
        ids = dict.fromkeys(item.id for item in shown.items if item.id in said)
        kind: Kind = "summary" if ids else "synthetic"
        return Part("text", whole(shown.text) + end, kind, tuple(map(Source, ids)), _NAME)


def _pressure(view: View, host: Host) -> float:
    return (estimate_system(view) + view.messages.total(estimate)) / host.window


def _loaded(host: Host) -> Sidecar:
    ids = json.loads(host.files.get(_IDS, "[]"))
    return load(host.files.get(FILE), int(host.now * 1000), ids)
