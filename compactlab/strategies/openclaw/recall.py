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
    """Before each turn, search memory for the user's message and insert the best notes before it.

    Other parts of a pipeline write the memory, as in ``memory_flush + memory_recall``. OpenClaw has
    two kinds of recall, both of which stay in the transcript: the result of a tool that the agent
    calls, and an extension's notes before the user's new prompt. A script cannot make new calls, so
    this is the extension; it only adds new content, so the cache stays valid.

    The limit of characters is exact (2026.2.17, QMD backend; in pull request 17345 for all
    backends). The search is ours: BM25 over all notes, QMD's default ranking, with a fixed order of
    ties. Split surrogate pairs at a cut are not sent, as in pi. A note from a branch abandoned by a
    rewind has no known sources.

    Parameters
    ----------
    max_results
        Maximum number of notes.
    max_injected_chars
        Maximum UTF-16 code units of all notes together; 0 for no limit.
    """

    does = (Act.RETRIEVE,)
    waits = "what the user asks"

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
