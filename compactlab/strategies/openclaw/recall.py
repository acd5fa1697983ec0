"""OpenClaw's recall: notes from memory that match the user's message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Kind, Part
from compactlab.sim.core.notes import Remembered, ranked
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.cut import current_turn
from compactlab.strategies.mechanisms.handover import glued
from compactlab.strategies.mechanisms.text import head, spoken, whole


def clamp(snippets: Sequence[str], budget: float | None) -> list[str]:
    r"""Keep the first snippets that fit a budget of characters, as OpenClaw does (2026.2.17).

    The first that does not fit is cut, and ends the list. Empty ones cost nothing, but are only
    kept while the budget is not exhausted. A cut may split a surrogate pair. None, 0, negative
    numbers and NaN mean no limit.
    """
    if budget is None or not budget > 0:
        return list(snippets)
    shown: list[str] = []
    for snippet in snippets:
        if budget <= 0:
            break
        length = utf16_length(snippet)
        if length > budget:
            shown.append(head(snippet, int(budget)))
            break
        shown.append(snippet)
        budget -= length
    return shown


# The tags of OpenClaw's memory-lancedb extension.
OPENS, CLOSES = "<relevant-memories>", "</relevant-memories>"


@dataclass(frozen=True)
class MemoryRecall(Strategy):
    """Before each turn, look up the user's words in memory and put the best notes before them.

    Memory is what other parts of a pipeline have written, as in ``memory_flush + memory_recall``;
    while there is nothing in it, nothing happens. OpenClaw knows two ways of recall: a tool that
    the agent calls, whose result stays in the transcript, and an extension that puts notes in
    front of the user's new prompt, where they stay as well. A script can call no tool that it does
    not call, so ours is the second; as it only adds to what is new, it leaves the cache alone.

    Exact is the limit of characters (2026.2.17, of the QMD backend; pull request 17345 has it for
    all backends). The search is ours: BM25 over all notes, as QMD ranks by default, with a fixed
    order among equals. Halves of code pairs at the cut are not sent, as in pi. A note that comes
    from a branch that was given up in a rewind stands for nothing that is known.

    Parameters
    ----------
    max_results
        Notes that are found, at most.
    max_injected_chars
        UTF-16 code units of all notes together; 0 is no limit.
    """

    does = (Act.RETRIEVE,)

    max_results: Annotated[int, at_least(1)] = 6
    max_injected_chars: Annotated[int, at_least(0)] = 4000
    phases = frozenset({Phase.BEFORE_TURN})
    breaks = MappingProxyType({"size": "adds notes from memory; OpenClaw 2026.2.17"})

    def compact(self, view: View, host: Host) -> View:
        if not host.memory:
            return view
        asked = host.log[current_turn(host.log) :][:1]
        query = " ".join(part.text for message in asked for _, part in spoken(message))
        places = ranked(query, [note.text for note in host.memory])[: self.max_results]
        notes = [host.memory[index] for index in places]
        texts = clamp([note.text for note in notes], self.max_injected_chars)
        shown = [pair for pair in zip(notes, map(whole, texts), strict=False) if pair[1]]
        return glued(view, _part(shown, host)) if shown else view


def _part(shown: list[tuple[Remembered, str]], host: Host) -> Part:
    known = {message.id for message in host.log}
    lines = (f"- [{note.topic}] {text}" for note, text in shown)
    sources = dict.fromkeys(s for note, _ in shown for s in note.sources if s.id in known)
    kind: Kind = "memory" if sources else "synthetic"
    return Part("text", "\n".join([OPENS, *lines, CLOSES]) + "\n\n", kind, tuple(sources))
