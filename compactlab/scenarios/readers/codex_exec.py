"""The output of ``codex exec --json``: items of the turns of a thread, and the usage of each turn.

It contains neither the prompts nor the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import compact, parts, result, tool_call
from compactlab.scenarios.readers.codex import Counts
from compactlab.scenarios.readers.script import Draft, Format, Script, numbered
from compactlab.scenarios.readers.shapes import any_is
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, PartType, Usage, verbatim

NAME = "codex-exec"

_STARTS, _DONE, _FAILED = "thread.started", "turn.completed", ("turn.failed", "error")
_ITEMS = ("item.started", "item.updated", "item.completed")
_EVENTS = (_STARTS, "turn.started", _DONE, *_FAILED, *_ITEMS)
_LEFT_OUT = "item.plan.delta"  # the completed item has everything
# Fields with the model's input to a tool, and the tool's output.
_ASKED = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("arguments",),
    "collab_tool_call": ("prompt", "receiver_thread_ids"),
    "web_search": ("query", "action"),
    "todo_list": ("items",),
}
_ANSWERED = {
    "command_execution": "aggregated_output",
    "collab_tool_call": "agents_states",
    "mcp_tool_call": "result",
}
_WORDS = {"agent_message": "text", "plan": "text", "reasoning": "text", "error": "message"}


class _Error(msgspec.Struct):
    message: str


class _Event(msgspec.Struct):
    type: str
    thread_id: str | None = None
    item: dict[str, Any] | None = None
    usage: Counts | None = None
    error: _Error | None = None
    message: str | None = None


_EVENT = msgspec.json.Decoder(_Event)


def _is_own(event: dict[str, Any]) -> bool:
    if event.get("type") == _STARTS:
        return isinstance(event.get("thread_id"), str)
    item = event.get("item")
    if event.get("type") not in _ITEMS or not isinstance(item, dict):
        return False
    return item.get("type") in [*_ASKED, *_WORDS]


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversations of a file, one per thread."""
    threads: dict[str, _Thread] = {}
    thread: _Thread | None = None
    for number, data in lines:
        with lines.at(number):
            event = jsonl.decode(data, _EVENT)
            if event.type not in _EVENTS:
                if event.type != _LEFT_OUT:
                    lines.pass_over(f"event {event.type!r}", jsonl.decode(data, jsonl.ANY))
            elif event.type == _STARTS or thread is None:
                thread = threads.setdefault(event.thread_id or "", _Thread(lines))
                thread.end_turn()
            if thread is not None and event.type in _EVENTS:
                thread.take(event)
    for number, thread in enumerate(threads.values(), 1):
        thread.end_turn()
        id = numbered(lines.path.stem, number)
        yield thread.script.conversation(id, NAME, lines.path, inside=True, counted=True)


class _Thread:
    """A thread. An answer grows until a tool returns, as the ends of requests are not logged."""

    def __init__(self, lines: jsonl.Lines) -> None:
        self.script = Script()
        self._lines = lines
        self._total = Counts()
        self._answer: Draft | None = None
        self._turn: list[Draft] = []  # the answers of the turn
        self._open: dict[str, dict[str, Any]] = {}  # incomplete items, by id

    def take(self, event: _Event) -> None:
        if event.type in _ITEMS:
            item = event.item
            if item is None:
                raise InputError(f"an event of type {event.type!r} has no item")
            id = str(item.get("id"))
            if event.type == "item.completed":
                self._open.pop(id, None)
                self._item(item)
            else:
                self._open[id] = item
        elif event.type == _DONE:
            self._finish_items()
            self._count(event.usage)
            self.end_turn()
        elif event.type in _FAILED:
            message = event.error.message if event.error else event.message
            self._fail({"type": "error", "message": message})
        elif event.type == "turn.started":
            self.end_turn()

    def end_turn(self) -> None:
        self._finish_items()
        self._answer, self._turn = None, []

    def _finish_items(self) -> None:
        items, self._open = self._open, {}
        for item in items.values():
            self._item(item)

    def _item(self, item: dict[str, Any]) -> None:
        kind = str(item.get("type"))
        if kind == "error":
            self._fail(item)
        elif kind in _WORDS:
            text, answer = _text(item, _WORDS[kind]), self._begin()
            type: PartType = "thinking" if kind == "reasoning" else "text"
            answer.parts.append(verbatim(answer.id, type, text))
            self._lines.pass_over_fields(item, (_WORDS[kind],), f"an item of type {kind!r}")
        elif kind in _ASKED:
            self._use(kind, item)
        else:
            self._lines.pass_over(f"item {kind!r}", item)

    def _fail(self, item: dict[str, Any]) -> None:
        """Take an error, which is shown to the user and not sent to the model."""
        self.script.say("assistant", _text(item, "message"), origin="error")

    def _begin(self) -> Draft:
        if self._answer is None:
            self._answer = self.script.add(self.script.draft("assistant"))
            self._answer.call = Call()
            self._turn.append(self._answer)
        return self._answer

    def _use(self, kind: str, item: dict[str, Any]) -> None:
        """Add a tool call and its result; the next item belongs to another request."""
        keys, told = _ASKED[kind], _ANSWERED.get(kind, "status")
        known = {*keys, told, "error", "tool", "server"}
        self._lines.pass_over_fields(item, known, f"an item of type {kind!r}")
        asked = {key: item[key] for key in keys if item.get(key) is not None}
        if not asked:
            raise InputError(f"an item of type {kind!r} has no {keys[0]}")
        answer, call_id = self._begin(), str(item.get("id") or "")
        name = ".".join(str(item[key]) for key in ("server", "tool") if item.get(key)) or kind
        arguments = asked if len(asked) > 1 else next(iter(asked.values()))
        answer.parts.append(tool_call(answer.id, name, arguments, call_id))
        failed = item.get("status") in ("failed", "declined") or bool(item.get("exit_code"))
        text = "\n".join(compact(item[key]) for key in (told, "error") if item.get(key))
        draft = self.script.draft("tool")
        self.script.add(draft, result(text, draft.id, call_id, name=name, error=failed))
        self._answer = None

    def _count(self, total: Counts | None) -> None:
        """Take the usage of a turn; the client prints the thread's totals (openai/codex#17539).

        The size of a prompt is known only in turns of one request.
        """
        if total is None:
            return
        usage = _usage(total, self._total)
        self._total = total
        if len(self._turn) == 1 and self._answer is not None:
            self._answer.call = Call(usage=usage)
        elif not self._turn:
            answer = self._begin()
            answer.parts, answer.call = parts("", answer.id), Call(usage=usage)
        else:
            self.script.bill("turn", Call(usage=usage))


def _text(item: dict[str, Any], key: str) -> str:
    if not isinstance(item.get(key), str):
        raise InputError(f"an item of type {item.get('type')!r} has no {key}")
    return str(item[key])


def _usage(total: Counts, before: Counts) -> Usage:
    """Return the growth of the totals; a total that has shrunk was restarted."""
    now, then = msgspec.structs.astuple(total), msgspec.structs.astuple(before)
    grown = [new - old for new, old in zip(now, then, strict=True)]
    return total.usage if min(grown) < 0 else Counts(*grown).usage


FORMAT = Format(NAME, "output of `codex exec --json` (JSONL)", any_is(_is_own), read)
