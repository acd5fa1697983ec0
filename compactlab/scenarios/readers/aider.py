"""aider's history, a Markdown file beside the code (``.aider.chat.history.md``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.counts import contained, count
from compactlab.scenarios.readers.script import Draft, Format, Script, numbered
from compactlab.scenarios.readers.times import time_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage

NAME = "aider"

_HEAD = "# aider chat started at "
_STARTED = re.compile(rf"^{_HEAD}(\d{{4}}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d))?\s*$")
_TYPED, _NOTED, _FENCE = "####", ">", "```"
# Source: `calculate_and_show_tokens_and_cost` of aider/coders/base_coder.py and `format_tokens` of
# aider/utils.py (Aider-AI/aider, 0.86, 2025-08).
_SENT = re.compile(
    r"Tokens: (?P<sent>[\d.,]+[kM]?) sent"
    r"(?:, (?P<written>[\d.,]+[kM]?) cache write)?"
    r"(?:, (?P<read>[\d.,]+[kM]?) cache hit)?"
    r"(?:, (?P<received>[\d.,]+[kM]?) received)?"
)
_COST = re.compile(r"^Cost: \$[\d.,]+ message")
_MODEL = re.compile(r"^(?:Main model|Model): (\S+) with ")
_FORGETTING = ("/clear", "/reset")  # commands that clear the history
_ASKING = ("/architect", "/ask", "/code", "/context", "/help")  # commands that call the model
_UNITS = {"k": 1_000, "M": 1_000_000}


def _sniff(first: list[Any]) -> bool:
    return isinstance(first[0], str) and any(
        line.startswith(_HEAD) for line in first[0].splitlines()
    )


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the chats of a history that are not empty, one conversation each."""
    made = 0
    for chat in _chats(jsonl.text(lines.path).splitlines()):
        if not chat.script.events:
            continue
        made += 1
        stem = lines.path.stem.removeprefix(".").removesuffix(".chat.history") or NAME
        yield chat.script.conversation(numbered(stem, made), NAME, lines.path)
    if not made:
        raise InputError("there is no chat in it, only its head", str(lines.path))


def _chats(rows: list[str]) -> Iterator[_Chat]:
    chat: _Chat | None = None
    for row in [*rows, f"{_HEAD}1970-01-01"]:
        if started := _STARTED.match(row):
            if chat:
                chat.end()
                yield chat
            chat = _Chat(time_of(f"{started[1]}T{started[2] or '00:00:00'}Z"))
        elif chat:
            chat.take(row)


class _Chat:
    """A chat being read: the user's texts, the answers, and aider's notes."""

    def __init__(self, time: float) -> None:
        self.script = Script()
        self._time = time
        self._model = ""
        self._typed: list[str] = []
        self._answer: list[str] = []
        self._notes: list[str] = []
        self._last: Draft | None = None  # the newest answer; its token counts follow
        self._fenced = False

    def take(self, row: str) -> None:
        noted = row.startswith(f"{_NOTED} ") or row == _NOTED
        if self._fenced and not _SENT.search(row):
            self._fenced = not row.startswith(_FENCE)
            self._answer.append(row)
        elif noted:
            self._fenced = False
            self._say()
            self._ask()
            self._note(row[1:].strip())
        elif row.startswith(f"{_TYPED} ") or row == _TYPED:
            self._say()
            self._typed.append(row[len(_TYPED) :].strip())
        else:
            if row.strip():
                self._ask()
                self._fenced = row.startswith(_FENCE)
            self._answer.append(row)

    def end(self) -> None:
        self._say()
        self._ask()

    def _ask(self) -> None:
        """End the user's text."""
        text, self._typed = "\n".join(self._typed).strip(), []
        if not text:
            return
        self._notes, self._last = [], None
        if text.startswith(_FORGETTING) and self.script.last:
            self.script.rewind(None)
        # Commands are for aider, except those that call the model.
        meta = text.startswith("/") and not text.startswith(_ASKING)
        self.script.say("user", text, None, self._time, meta=meta)

    def _say(self) -> None:
        """End an answer."""
        text, self._answer = "\n".join(self._answer).strip(), []
        if not text:
            return
        notes, self._notes = "\n".join(self._notes).strip(), []
        if self._last and notes:
            # The user typed nothing in between: aider sent its notes to the model again.
            self.script.say("user", notes, None, self._time, meta=True, origin=NAME)
        call = Call(self._model, version=NAME)
        self._last = self.script.say("assistant", text, None, self._time, call=call)

    def _note(self, text: str) -> None:
        sent = _SENT.search(text)
        if sent and self._last and self._last.call and self._last.call.usage is None:
            self._last.call = Call(self._last.call.model, _usage(sent), version=NAME)
        elif model := _MODEL.match(text):
            self._model = model[1]
        elif not sent and not _COST.match(text):
            self._notes.append(text)


def _usage(sent: re.Match[str]) -> Usage:
    keys = ("sent", "received", "read", "written")
    prompt, output, read, written = (_number(sent[key] or "0") for key in keys)
    # aider adds cache writes to the sent tokens; LiteLLM's prompt may already include them.
    return contained(prompt, output, read, written)


def _number(text: str) -> int:
    """Parse a count of tokens in aider's notation.

    Examples
    --------
    >>> _number("340"), _number("1.2k"), _number("12k"), _number("1.1M")
    (340, 1200, 12000, 1100000)
    """
    plain = text.replace(",", "").rstrip(".")
    unit = _UNITS.get(plain[-1:], 1)
    try:
        return count(round(float(plain.rstrip("kM") or "0") * unit))
    except ValueError:
        return 0


FORMAT = Format(NAME, "aider's history of chats (Markdown)", _sniff, read)
