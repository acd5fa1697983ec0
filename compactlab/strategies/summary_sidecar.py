"""Notes kept beside the transcript, shown under pressure: OpenClaw pull request 17345."""

from __future__ import annotations

import json
from dataclasses import dataclass

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part, Source
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.trigger import pressure

HEADER = "[SESSION_SUMMARY]"
_FILE = "session.summary.json"

# An item of the sidecar: the id of the message that it stands for, and its words.
Item = list[str]


@dataclass(frozen=True)
class SummarySidecar(Strategy):
    """Keep a line for each message of user and assistant, and show the newest under pressure.

    The lines are extracted, not written by a model, and kept in a file that no compaction and no
    rewind touches; a log that has become shorter is read anew. They go into the system prompt
    when the history was trimmed or the window fills. This is the hardened version, of which only
    the report and the tests are known, not the source.

    Parameters
    ----------
    threshold
        Share of the window from which on the lines are shown.
    max_items
        Lines that are kept; the newest.
    item_chars
        Characters of a line.
    max_chars
        Characters that are shown; the newest lines that fit.
    """

    threshold: float = 0.72
    max_items: int = 60
    item_chars: int = 220
    max_chars: int = 1200
    phases = frozenset({Phase.BEFORE_TURN})
    lifetime = Lifetime.TURN

    def compact(self, view: View, host: Host) -> View:
        """Bring the file up to date, and show its lines if they are needed."""
        items = self._update(host)
        trimmed = len(view.messages) < len(host.log)
        if not items or not (trimmed or pressure(view, host) >= self.threshold):
            return view
        block = self._block(items)
        return view.with_system(*view.system, block) if block else view

    def _update(self, host: Host) -> list[Item]:
        state = json.loads(host.files.get(_FILE, '{"done": 0, "items": []}'))
        done: int = state["done"]
        items: list[Item] = state["items"]
        if done > len(host.log):
            done, items = 0, []
        for message in host.log[done:]:
            text = self._line(message)
            if text and (not items or items[-1][1] != text):
                items.append([message.id, text])
        items = items[max(0, len(items) - self.max_items) :]
        host.files[_FILE] = json.dumps({"done": len(host.log), "items": items})
        return items

    def _line(self, message: Message) -> str:
        if message.role == "tool" or message.meta:
            return ""
        words = " ".join(part.text for part in message.parts if part.type == "text").split()
        text = " ".join(words)
        if len(text) > self.item_chars:
            text = text[: self.item_chars - 1] + "\N{HORIZONTAL ELLIPSIS}"
        return f"{message.role.capitalize()}: {text}" if text else ""

    def _block(self, items: list[Item]) -> Part | None:
        """The newest lines that fit, oldest first."""
        room, shown = self.max_chars - len(HEADER) - 1, 0
        for _, text in reversed(items):
            room -= len(text) + 3
            if room < 0:
                break
            shown += 1
        lines = items[len(items) - shown :]
        if not lines:
            return None
        text = "\n".join([HEADER, *(f"- {text}" for _, text in lines)])
        return Part("text", text, "summary", tuple(Source(id) for id, _ in lines))
