"""Logs of Inspect: a conversation of each sample, from the requests in its events.

Both forms are read: a JSON document, and the archive ``.eval`` with one file per sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from compactlab.scenarios.readers import chat, jsonl
from compactlab.scenarios.readers.archive import Archive
from compactlab.scenarios.readers.blocks import compact
from compactlab.scenarios.readers.counts import by_total, count, counted, less
from compactlab.scenarios.readers.prompts import asked, said_of
from compactlab.scenarios.readers.rest import objects, pass_over_rest
from compactlab.scenarios.readers.script import Format, Script, declared, nothing
from compactlab.scenarios.readers.shapes import dict_of, first_is, list_of
from compactlab.scenarios.readers.threads import Known, Request, Said, conversations
from compactlab.scenarios.readers.times import time_of
from compactlab.sim.core.conversation import Conversation, SideRequest
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.message import Call, Usage

NAME = "inspect"

_SAMPLES, _SHELL = "samples/", "/sample.json"
_HEADERS = ("header.json", "_journal/start.json", "start.json")
_ATTACHED = ("attachment://", "tc://")
_COUNTS = ("input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
_DEEPEST = 64
# Fields of a message that are read here, or that the model does not see.
_READ = ("source", "metadata", "function", "error", "view", "internal")


# Fields of a model event and of a sample that are read here, or that no model sees.
_EVENT = ("call", "input", "input_refs", "output", "tools", "tool_choice", "traceback_ansi")
_SAMPLE = (
    "attachments", "events", "events_data", "input", "messages", "output", "scores", "store",
    "target",
)  # fmt: skip


def _is_own(head: dict[str, Any]) -> bool:
    names = head.get("zip")
    if isinstance(names, list):
        return any(name in _HEADERS for name in names) and any(
            isinstance(name, str) and name.startswith(_SAMPLES) for name in names
        )
    told = head.get("eval")
    named = isinstance(told, dict) and ("task" in told or "model" in told)
    return named and any(isinstance(head.get(key), list | dict) for key in ("samples", "stats"))


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversations of a log: each sample, with its agents and judges."""
    any_made = False
    for sample, created, number in _samples(lines):
        made: list[Conversation] = []
        with lines.at(number, sample):
            if not isinstance(sample, dict):
                raise InputError("a sample is an object")
            id = f"{lines.path.stem}/{sample.get('id')}"
            epoch = sample.get("epoch")
            id = id if epoch in (None, 1) else f"{id}/epoch-{epoch}"
            started = time_of(sample.get("started_at")) or created
            made = list(_Sample(sample, started, lines).conversations(id))
        any_made |= bool(made)
        yield from made
    if not any_made:
        raise nothing(lines, ": no sample")


def _samples(lines: jsonl.Lines) -> Iterator[tuple[Any, float, int]]:
    """Yield each sample of a log, with the start of the log and its line."""
    if "zip" not in dict_of(jsonl.peek(lines.path)[0]):
        for number, log in jsonl.values(lines):
            whole = dict_of(log)
            created = time_of(dict_of(whole.get("eval")).get("created"))
            yield from ((sample, created, number) for sample in list_of(whole.get("samples")))
        return
    with Archive(lines.path) as archive:
        names = [name for name in archive.names if name.startswith(_SAMPLES)]
        if any(name.endswith(_SHELL) for name in names):
            why = "its samples are in chunks (Inspect's log version 3)"
            instead = "write it again as version 2, or as JSON, with `inspect log convert`"
            raise RefusedError(f"{why}: {instead}", str(lines.path))
        header = next((name for name in _HEADERS if name in archive.names), "")
        head = dict_of(jsonl.decode(archive.read(header), jsonl.ANY)) if header else {}
        created = time_of(dict_of(head.get("eval")).get("created"))
        for name in names:
            sample = None
            with lines.at(0):
                sample = jsonl.decode(archive.read(name), jsonl.ANY)
            if sample is not None:
                yield sample, created, 0


class _Sample:
    def __init__(self, sample: dict[str, Any], started: float, lines: jsonl.Lines) -> None:
        self._sample, self._started, self._lines = sample, started, lines
        lines.pass_over_fields(sample, _SAMPLE, "a sample")
        self._attachments = dict_of(sample.get("attachments"))
        self._pool = list_of(dict_of(sample.get("events_data")).get("messages"))
        self._known = Known()
        self._said: dict[int, list[Said]] = {}  # decoded messages of the pool

    def conversations(self, id: str) -> Iterator[Conversation]:
        requests = list(self._requests())
        if not requests:
            yield self._plain(id)
            return
        beside = self._beside([request.call for request in requests if request.call])
        yield from conversations(NAME, self._lines.path, requests, id=id, beside=beside)

    def _requests(self) -> Iterator[Request]:
        compacted: dict[str, Any] | None = None
        for event in list_of(self._sample.get("events")):
            kind = event.get("event") if isinstance(event, dict) else None
            if kind == "compaction":
                compacted = event
            if kind == "model":
                request = None
                with self._lines.at(0, event):
                    request = self._request(event)
                if request:
                    request.compacted = compacted is not None
                    request.tokens_before = count((compacted or {}).get("tokens_before"))
                    compacted = None
                    yield request

    def _request(self, event: dict[str, Any]) -> Request | None:
        lines = self._lines
        lines.pass_over_fields(event, _EVENT, "a model event")
        output = dict_of(event.get("output"))
        choices = [each for each in list_of(output.get("choices")) if isinstance(each, dict)]
        for other in (output, *choices[1:]) if not choices else choices[1:]:
            pass_over_rest(lines, self._resolved(other), [], ("completion",))
        if choices and not isinstance(choices[0].get("message"), dict):
            pass_over_rest(lines, self._resolved(choices[0]), [])
            choices = []
        told = event.get("input")
        if told and not isinstance(told, list):
            lines.pass_over("input of a model event", told)
        usage = usage_of(output.get("usage"))
        if event.get("pending") or (not choices and usage is None):
            return None
        refs = event.get("input_refs")
        prompt = list_of(told)
        if isinstance(refs, list):  # to the pool that all events share
            ranges = msgspec.convert(refs, list[tuple[int, int]])
            prompt = [each for begin, end in ranges for each in self._pool[max(0, begin) : end]]
        model, config = (
            str(output.get("model") or event.get("model") or ""),
            dict_of(event.get("config")),
        )
        effort = config.get("reasoning_effort") or config.get("reasoning_tokens") or ""
        # Answers from Inspect's own cache were not requested and are not billed.
        cached = event.get("cache") == "read"
        call = None if cached else Call(model, usage, thinking=str(effort))
        start = time_of(event.get("timestamp")) or self._started
        end = max(start, time_of(event.get("completed")))
        said = [one for message in prompt for one in self._of(message)]
        answered = self._of(choices[0].get("message")) if choices else []
        tools = declared(self._resolved(event.get("tools")))
        return Request(start, end, "", call, said, answered, tools)

    def _of(self, message: Any) -> list[Said]:
        """Decode a message; messages of the pool are decoded once."""
        key = id(message)
        if key not in self._said:
            told: list[Said] = []
            with self._lines.at(0, message):
                whole = self._resolved(message)
                plain = _plain(whole, self._lines)
                told = said_of(plain, whole, self._known, self._lines, _READ)
            if not self._pool:
                return told
            self._said[key] = told
        return self._said[key]

    def _resolved(self, value: Any, depth: int = _DEEPEST) -> Any:
        """Insert the texts that the log stores separately into a value."""
        if isinstance(value, str) and value.startswith(_ATTACHED):
            return self._attachments.get(value.partition("://")[2], value)
        if depth and isinstance(value, list):
            return [self._resolved(each, depth - 1) for each in value]
        if depth and isinstance(value, dict):
            return {key: self._resolved(each, depth - 1) for key, each in value.items()}
        return value

    def _plain(self, id: str) -> Conversation:
        """Read a sample without events; only the usage of its last answer is known."""
        script = Script()
        output = dict_of(self._sample.get("output"))
        messages = list_of(self._sample.get("messages"))
        for message in messages:
            with self._lines.at(0, message):
                whole = self._resolved(message)
                drafts = chat.take(
                    script, _plain(whole, self._lines), self._lines, time=self._started, known=_READ
                )
                pass_over_rest(self._lines, whole, [*drafts, *script.system], _READ)
        answers = [draft for draft in script.path if draft.call]
        if answers and (usage := usage_of(output.get("usage"))):
            last = answers[-1]
            model = str(output.get("model") or (last.call.model if last.call else ""))
            last.call = Call(model, usage)
        script.side_requests += self._beside([each.call for each in answers if each.call])
        return script.conversation(id, NAME, self._lines.path, counted=True)

    def _beside(self, calls: list[Call]) -> list[SideRequest]:
        """Return a sample's usage that is missing in its events: its totals minus its calls."""
        usages = [usage_of(each) for each in dict_of(self._sample.get("model_usage")).values()]
        totals = sum(filter(None, usages), Usage())
        left = less(totals, sum((call.usage for call in calls if call.usage), Usage()))
        if left == Usage():
            return []
        models = list(dict_of(self._sample.get("model_usage")))
        model = models[0] if len(models) == 1 else ""
        return [SideRequest("not in the events", Call(model, left), self._started)]


def usage_of(told: Any) -> Usage | None:
    """Return the usage of a call; the total shows whether its input includes cached tokens.

    Examples
    --------
    >>> told = {"input_tokens": 3, "input_tokens_cache_read": 60, "output_tokens": 5}
    >>> usage_of(told | {"total_tokens": 68}).uncached
    3
    """
    if not isinstance(told, dict):
        return None
    return by_total(*counted(told, _COUNTS), total=count(told.get("total_tokens")))


def _plain(message: Any, lines: jsonl.Lines) -> dict[str, Any]:
    """Convert a message of Inspect to the form of Chat Completions."""
    if not isinstance(message, dict):
        raise InputError("a message is an object")
    plain = dict(message)
    plain.pop("id", None)
    content = message.get("content")
    if isinstance(content, list):
        plain["content"] = [each for block in content for each in _blocks(block)]
    if message.get("role") == "user":
        plain.pop("tool_call_id", None)
    if message.get("role") == "tool":
        plain["name"] = message.get("function")
        error = message.get("error")
        if isinstance(error, dict) and not content:
            plain["content"] = str(error.get("message") or "")
    if calls := message.get("tool_calls"):
        known = objects(lines, calls, "call of a tool")
        plain["tool_calls"] = [
            asked(call.get("id"), call.get("function"), call.get("arguments")) for call in known
        ]
    return plain


def _blocks(block: Any) -> Iterator[Any]:
    """Convert a content block to the providers' form; a provider's tool is a call and result."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "reasoning":
        shown = block.get("summary") if block.get("redacted") else block.get("reasoning")
        yield {"type": "thinking", "thinking": shown if isinstance(shown, str) else ""}
    elif kind == "tool_use":
        arguments = block.get("arguments")
        named = {"id": block.get("id"), "name": block.get("name") or "tool"}
        yield {"type": "tool_use", **named, "input": {} if arguments is None else arguments}
        text = compact(block.get("result"))
        yield {"type": "mcp_tool_result", "tool_use_id": block.get("id"), "content": text}
    elif kind == "image":
        yield {"type": "image", "image_url": block.get("image")}
    elif kind in ("audio", "video", "document", "data"):
        yield {"type": "file"}
    else:
        yield block


FORMAT = Format(
    NAME, "logs of Inspect (`.json`, and `.eval` with a sample a file)", first_is(_is_own), read
)
