"""Threads of Amp: their messages, the usage of each, and the ledger beside them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from compactlab.scenarios.readers import chat, jsonl
from compactlab.scenarios.readers.blocks import compact
from compactlab.scenarios.readers.counts import beside, counted
from compactlab.scenarios.readers.rest import pass_over_rest
from compactlab.scenarios.readers.script import Format, Script, conversations
from compactlab.scenarios.readers.shapes import dict_of, first_is, is_amp, list_of
from compactlab.scenarios.readers.times import time_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage

NAME = "amp"

# Fields of a message that are read here, or that the model does not see.
_READ = ("usage", "state", "meta", "userState", "fileMentions", "discoveredGuidanceFiles")
_THREAD = ("messages", "toolStatus", "nextMessageId", "usageLedger", "env", "meta")
# The ledger and the messages use different names for the same counts.
_LEDGER = ("input", "output", "cacheReadInputTokens", "cacheCreationInputTokens")
_MESSAGE = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a thread."""
    yield from islice(conversations(lines, _conversation), 1)


def _conversation(lines: jsonl.Lines, thread: Any, _: int) -> Conversation:
    if not is_amp(thread):
        raise InputError("a thread of Amp has an id and messages")
    lines.pass_over_fields(thread, _THREAD, "a thread")
    script = Script()
    for tree in list_of(dict_of(dict_of(thread.get("env")).get("initial")).get("trees")):
        script.locate(str(dict_of(tree).get("uri") or "").removeprefix("file://") or None)
    events = list_of(dict_of(thread.get("usageLedger")).get("events"))
    ledger = [each for each in events if isinstance(each, dict)]
    time = time_of(thread["created"])
    for message in thread["messages"]:
        with lines.at(0, message):
            if not isinstance(message, dict):
                raise InputError("a message is an object")
            time = max(time, time_of(dict_of(message.get("meta")).get("sentAt")))
            time = max(time, _take(script, message, ledger, time, lines))
    for entry in ledger:
        if usage := _usage(dict_of(entry.get("tokens")), _LEDGER):
            purpose = str(entry.get("operationType") or "not in the messages")
            call = Call(str(entry.get("model") or ""), usage, id=str(entry.get("id") or ""))
            script.bill(purpose, call, time_of(entry.get("timestamp")))
    return script.conversation(str(thread["id"]), NAME, lines.path)


def _take(
    script: Script,
    message: dict[str, Any],
    ledger: list[dict[str, Any]],
    time: float,
    lines: jsonl.Lines,
) -> float:
    """Add a message, with its entry of the ledger; return its time, if known."""
    told = dict_of(message.get("usage"))
    usage, call = _usage(told, _MESSAGE), Call(str(told.get("model") or ""))
    if message.get("role") == "assistant":
        entry = _entry(message, usage, ledger)
        if entry:
            ledger.remove(entry)
            time = time_of(entry.get("timestamp")) or time
            usage = usage or _usage(dict_of(entry.get("tokens")), _LEDGER)
            model = call.model or str(entry.get("model") or "")
            call = Call(model, id=str(entry.get("id") or ""))
        call = msgspec.structs.replace(call, usage=usage)
    plain = dict(message)
    if isinstance(message.get("content"), list):
        plain["content"] = [_block(each) for each in message["content"]]
    drafts = chat.take(script, plain, lines, call=call, time=time, known=_READ)
    pass_over_rest(lines, message, [*drafts, *script.system], (*_READ, "status"))
    return time


def _entry(
    message: dict[str, Any], usage: Usage | None, ledger: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """Return the ledger's entry for an answer, found by its message or its counts."""
    id = message.get("messageId")
    named = (each for each in ledger if id is not None and each.get("toMessageId") == id)
    same = (
        each for each in ledger if usage and _usage(dict_of(each.get("tokens")), _LEDGER) == usage
    )
    return next(named, None) or next(same, None)


def _usage(told: dict[str, Any], keys: tuple[str, ...]) -> Usage | None:
    """Return the usage of an answer, whose input excludes cached tokens."""
    return beside(*counted(told, keys)) if told else None


def _block(block: Any) -> Any:
    """Convert a block to Anthropic's form; Amp also stores the state of a tool's run."""
    if not isinstance(block, dict) or block.get("type") != "tool_result":
        return block
    run = block.get("run")
    if isinstance(run, str):
        return {**block, "tool_use_id": block.get("toolUseID"), "content": run}
    run = dict_of(run)
    told = block.get("content", run.get("result", run.get("error", run.get("reason", ""))))
    blocks = isinstance(told, list) and all(isinstance(dict_of(b).get("type"), str) for b in told)
    content = told if blocks else compact(told)
    failed = run.get("status") in ("error", "rejected-by-user")
    id = block.get("tool_use_id") or block.get("toolUseID")
    return {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed}


FORMAT = Format(NAME, "threads of Amp (JSON)", first_is(is_amp), read)
