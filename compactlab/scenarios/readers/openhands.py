"""Events of OpenHands: trajectories of V0, and those of its SDK (V1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from compactlab.scenarios.readers import chat, jsonl
from compactlab.scenarios.readers.blocks import compact, tool_call
from compactlab.scenarios.readers.counts import contained, counted, less, of_provider
from compactlab.scenarios.readers.rest import pass_over_rest
from compactlab.scenarios.readers.script import (
    SYSTEM,
    Boundary,
    Draft,
    Format,
    Script,
    declared,
    numbered,
)
from compactlab.scenarios.readers.shapes import Shape, dict_of, fits, list_of
from compactlab.scenarios.readers.times import time_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Part, Usage, verbatim

NAME = "openhands"

_SOURCE = ("user", "agent", "environment")
_LISTS = ("history", "trajectory", "events", "items")  # keys of the events in exports
_COUNTS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")
# Events for the user or for the client itself.
_UNSENT = ("null", "change_agent_state", "agent_state_changed", "condensation_request", "recall")
_UNSENT_KINDS = (
    "CondensationRequest", "CondensationSummaryEvent", "ConversationStateUpdateEvent",
    "LLMCompletionLogEvent", "PauseEvent", "StreamingDeltaEvent", "TokenEvent",
)  # fmt: skip
# Fields of an event that are read elsewhere, or that the model does not see.
_SILENT = (
    "extras", "llm_metrics", "tool_call_metadata", "critic_result", "action", "security_risk",
)  # fmt: skip
_SPOKEN = ("thought", "content")  # texts of an action


def _sniff(first: list[Any]) -> bool:
    return any(_is_event(each) for value in first for each in (_events(value) or [value])[:8])


def _is_event(value: Any) -> bool:
    old: Shape = {"source": lambda name: name in _SOURCE}
    if not fits(value, old):
        return False
    kind = value.get("kind")
    if isinstance(kind, str):
        return kind.endswith(("Event", "Condensation", "Request", "Observation"))
    return "args" in value if "action" in value else "observation" in value and "content" in value


def _events(value: Any) -> list[Any] | None:
    """Return the events of a trajectory, a run's output or an API response."""
    if isinstance(value, dict):
        value = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if not isinstance(value, list):
        return None
    flat = [each for item in value for each in (item if isinstance(item, list) else [item])]
    return flat if any(_is_event(each) for each in flat) else None


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversations of a file: one of its list of events, or one of each line."""
    alone = _Reading(lines)
    made = 0
    for number, value in jsonl.values(lines):
        events = _events(value)
        if events is None:
            with lines.at(number, value):
                alone.take(value)
            continue
        reading = _Reading(lines)
        reading.charge(value)
        for event in events:
            with lines.at(number, event):
                reading.take(event)
        made += 1
        named = value.get("instance_id") if isinstance(value, dict) else None
        stem = lines.path.stem
        yield reading.conversation(f"{stem}/{named}" if named else numbered(stem, made))
    if alone.script.events or not made:
        yield alone.conversation(lines.path.stem)


@dataclass
class _Bill:
    """The usage in a log: per request, by the id of its answer, or only totals."""

    calls: dict[str, Call] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    before: tuple[int, ...] = (0, 0, 0, 0)  # the totals so far

    def take(self, metrics: Any) -> None:
        told = dict_of(metrics)
        for each in list_of(told.get("token_usages")):
            id = str(dict_of(each).get("response_id") or "")
            if id:
                model = str(each.get("model") or told.get("model_name") or "")
                usage = contained(*counted(each, _COUNTS))  # LiteLLM's prompt has the cached
                self.calls[id] = Call(model, usage, id=id)

    def since(self, metrics: Any) -> Usage | None:
        totals = dict_of(dict_of(metrics).get("accumulated_token_usage"))
        now = tuple(counted(totals, _COUNTS))
        if not any(now):
            return None
        grown = tuple(new - old for new, old in zip(now, self.before, strict=True))
        self.before = now
        grown = now if min(grown) < 0 else grown  # the totals were restarted
        return contained(*grown) if any(grown) else None


class _Reading:
    def __init__(self, lines: jsonl.Lines) -> None:
        self.script = Script()
        self._lines = lines
        self._bill = _Bill()
        self._drafts: dict[str, list[Draft]] = {}  # by event
        self._answers: dict[str, Draft] = {}  # by response id of the provider
        self._forgotten: set[str] = set()
        self._condensed: Boundary | None = None  # a compaction whose cost follows
        self._summed: dict[str, Boundary] = {}  # compactions by response id

    def charge(self, whole: Any) -> None:
        if isinstance(whole, dict):
            self._bill.take(whole.get("metrics"))

    def conversation(self, id: str) -> Conversation:
        """Build the conversation; billed requests without an answer become side requests."""
        for key, call in self._bill.calls.items():
            answer, boundary = self._answers.get(key), self._summed.get(key)
            if boundary:
                boundary.call = call
            elif answer and answer.call and answer.call.usage is None:
                answer.call = call
            if answer or boundary:
                self._bill.used.add(key)
        time = self.script.last.time if self.script.last else 0.0
        for key, call in self._bill.calls.items():
            if key not in self._bill.used:
                self.script.bill("not in the events", call, time)
        return self.script.conversation(id, NAME, self._lines.path)

    def take(self, event: Any) -> None:
        if not _is_event(event):
            raise InputError("this is not an event of OpenHands")
        known = isinstance(event.get("kind"), str)
        if self._take_sdk(event) if known else self._take_old(event):
            made = self._drafts.get(str(event.get("id")), [])
            inserted = self._condensed.inserted if self._condensed else []
            apart = () if known else ("message", "observation")  # its role for the user
            said = {key: value for key, value in event.items() if key not in apart}
            pass_over_rest(self._lines, said, [*made, *inserted, *self.script.system], _SILENT)

    # Events of V0: an action with its arguments, or an observation with its content.

    def _take_old(self, event: dict[str, Any]) -> bool:
        """Take an event; return whether it is input or output of a model."""
        if not isinstance(event.get("args"), dict | None):
            self._lines.pass_over("arguments of an action", event["args"])
        args, time = dict_of(event.get("args")), time_of(event.get("timestamp"))
        self._bill.take(event.get("llm_metrics"))
        action, observed = event.get("action"), event.get("observation")
        kind = str(action if observed is None else observed)
        if kind in _UNSENT and not event.get("content"):
            return False
        if kind == "condensation":
            self._condense(event, args, time)
        elif kind == "system":
            self._system(args.get("content"), args.get("tools"))
        elif observed is not None:
            self._observe(event, time)
        elif event.get("source") == "agent":
            self._act(event, args, time)
        else:
            self._told(event, args.get("content") or event.get("message"), time)
        return True

    def _system(self, content: Any, tools: Any) -> None:
        self.script.system += declared(tools)
        if isinstance(content, str) and content:
            self.script.system.append(verbatim(SYSTEM, "text", content))

    def _told(self, event: dict[str, Any], text: Any, time: float, origin: str = "") -> None:
        if not isinstance(text, str) or not text:
            return
        draft = self.script.say("user", text, None, time, meta=bool(origin), origin=origin)
        self._drafts[str(event.get("id"))] = [draft]

    def _act(self, event: dict[str, Any], args: dict[str, Any], time: float) -> None:
        called = dict_of(event.get("tool_call_metadata"))
        response = dict_of(called.get("model_response"))
        id = str(response.get("id") or "")
        answer = self._answers.get(id) if id else None
        if answer is None:
            message = _message_of(response)
            answer = self._answer(event, time, id)
            answer.call = self._called(event, response, id)
            answer.parts += self._said(message, args, answer.id)
        if event.get("action") != "message":
            answer.parts.append(_tool_call(event, args, called, response, answer.id))
        self._drafts[str(event.get("id"))] = [answer]

    def _answer(self, event: dict[str, Any], time: float, id: str) -> Draft:
        # Its call marks it as an answer to a request.
        answer = self.script.add(self.script.draft("assistant", None, time, call=Call()))
        if id:
            self._answers[id] = answer
        self._drafts[str(event.get("id"))] = [answer]
        return answer

    def _called(self, event: dict[str, Any], response: dict[str, Any], id: str) -> Call:
        """Return an answer's request, from the provider's response or the growth of the totals."""
        metrics = event.get("llm_metrics")
        grown = self._bill.since(metrics)
        listed = self._bill.calls.get(id)
        self._bill.used.add(id)
        usage = of_provider(response.get("usage")) or (listed.usage if listed else None)
        models = (response.get("model"), dict_of(metrics).get("model_name"))
        totals = dict_of(dict_of(metrics).get("accumulated_token_usage")).get("model")
        named = (str(name) for name in (*models, totals) if name)
        model = next(named, listed.model if listed else "")
        if usage and grown and self._condensed is not None:
            left = less(grown, usage)
            if left != Usage():
                self._condensed.call = Call(model, left)
        elif grown and not usage:
            usage = grown
        self._condensed = None
        return Call(model, usage, id=id)

    def _said(self, message: dict[str, Any], args: dict[str, Any], id: str) -> list[Part]:
        told = message.get("content")
        thought = message.get("reasoning_content")
        said = [verbatim(id, "thinking", thought)] if isinstance(thought, str) and thought else []
        if isinstance(told, list):
            texts = (dict_of(block).get("text") for block in told)
            told = "\n".join(text for text in texts if isinstance(text, str))
        spoken = [told] if told else [args.get(key) for key in _SPOKEN]
        words = (text for text in spoken if isinstance(text, str) and text)
        return said + [verbatim(id, "text", text) for text in words]

    def _observe(self, event: dict[str, Any], time: float) -> None:
        cause, called = event.get("cause"), dict_of(event.get("tool_call_metadata"))
        content = event.get("content")
        text = content if isinstance(content, str) else compact(content)
        if cause is None or not self._drafts.get(str(cause)):
            self._told(event, text, time, str(event.get("observation")))
            return
        draft = self.script.draft("tool", None, time)
        call_id = str(called.get("tool_call_id") or f"event-{cause}")
        failed = event.get("observation") == "error"
        part = verbatim(draft.id, "tool_result", text, call_id=call_id, is_error=failed)
        self._drafts[str(event.get("id"))] = [self.script.add(draft, [part])]

    # Both versions forget events, and replace them by a summary.

    def _condense(self, event: dict[str, Any], told: dict[str, Any], time: float) -> None:
        forgotten = {str(id) for id in list_of(told.get("forgotten_event_ids"))}
        ends = told.get("forgotten_events_start_id"), told.get("forgotten_events_end_id")
        if isinstance(ends[0], int) and isinstance(ends[1], int):
            forgotten |= {
                id for id in self._drafts if id.isdigit() and ends[0] <= int(id) <= ends[1]
            }
        gone = [draft for id in self._drafts if id in forgotten for draft in self._drafts[id]]
        path = self.script.path
        if not gone:
            return
        self._forgotten |= {draft.id for draft in gone}
        first, last = (pick(draft.depth for draft in gone) for pick in (min, max))
        before = [draft for draft in path[:first] if draft.id not in self._forgotten]
        kept = path[last + 1 :]
        boundary = self.script.compact(time, kept=kept[0] if kept else None, trigger="auto")
        boundary.inserted = [self.script.copy(draft) for draft in before]
        summary = told.get("summary")
        if isinstance(summary, str) and summary:
            draft = self.script.draft("user", None, time, True)
            boundary.insert(draft, [verbatim(draft.id, "text", summary)], summary=True)
        self._condensed = boundary
        if id := str(event.get("llm_response_id") or ""):
            self._summed[id] = boundary

    # Events of the SDK: inputs and outputs of the model, each with its kind.

    def _take_sdk(self, event: dict[str, Any]) -> bool:
        """Take an event; return whether it is input or output of a model."""
        kind, time = event["kind"], time_of(event.get("timestamp"))
        if kind == "ConversationStateUpdateEvent":
            value = dict_of(event.get("value"))
            stats = dict_of(value.get("stats")) or value
            for metrics in dict_of(stats.get("usage_to_metrics")).values():
                self._bill.take(metrics)
        elif kind == "SystemPromptEvent":
            self._system(dict_of(event.get("system_prompt")).get("text"), event.get("tools"))
            self._system(dict_of(event.get("dynamic_context")).get("text"), None)
        elif kind == "MessageEvent":
            self._message(event, time)
        elif kind == "ActionEvent":
            self._action(event, time)
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            self._observation(event, time)
        elif kind == "Condensation":
            self._condense(event, event, time)
        elif kind not in _UNSENT_KINDS:
            self._lines.pass_over(f"event {kind!r}", event)
            return False
        return kind not in _UNSENT_KINDS and kind != "ConversationStateUpdateEvent"

    def _message(self, event: dict[str, Any], time: float) -> None:
        told = dict_of(event.get("llm_message"))
        content = told.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message = {**told, "content": [*list_of(blocks), *list_of(event.get("extended_content"))]}
        message["content"] = [_image(block) for block in message["content"]]
        id = str(event.get("llm_response_id") or "")
        drafts = chat.take(
            self.script, message, self._lines, call=Call(id=id), time=time, known=_READ
        )
        self._drafts[str(event.get("id"))] = drafts
        if id and drafts and drafts[0].role == "assistant":
            self._answers[id] = drafts[0]

    def _action(self, event: dict[str, Any], time: float) -> None:
        id = str(event.get("llm_response_id") or "")
        answer = self._answers.get(id)
        if answer is None:
            answer = self._answer(event, time, id)
            answer.call = Call(id=id)
            thought = event.get("reasoning_content")
            if isinstance(thought, str) and thought:
                answer.parts.append(verbatim(answer.id, "thinking", thought))
            texts = (dict_of(block).get("text") for block in list_of(event.get("thought")))
            said = (text for text in texts if isinstance(text, str) and text)
            answer.parts += [verbatim(answer.id, "text", text) for text in said]
        call = dict_of(event.get("tool_call"))
        name = str(call.get("name") or event.get("tool_name") or "")
        asked = call.get("arguments", dict_of(event.get("action")))
        call_id = str(event.get("tool_call_id") or call.get("id") or "")
        answer.parts.append(tool_call(answer.id, name, asked, call_id))
        self._drafts[str(event.get("id"))] = [answer]

    def _observation(self, event: dict[str, Any], time: float) -> None:
        told = dict_of(event.get("observation"))
        content = told.get("content")
        blocks = [*list_of(content), *list_of(event.get("extended_content"))]
        texts = [text for block in blocks if isinstance(text := dict_of(block).get("text"), str)]
        if not texts:
            rest = {key: value for key, value in told.items() if key != "kind"}
            words = (event.get("error"), event.get("rejection_reason"), content, rest.get("output"))
            texts = [word for word in words if isinstance(word, str)] or [compact(rest)]
        draft = self.script.draft("tool", None, time)
        call_id, name = str(event.get("tool_call_id") or ""), str(event.get("tool_name") or "")
        failed = event["kind"] != "ObservationEvent" or bool(told.get("is_error"))
        text = "\n".join(texts)
        part = verbatim(draft.id, "tool_result", text, name=name, call_id=call_id, is_error=failed)
        self._drafts[str(event.get("id"))] = [self.script.add(draft, [part])]


# Fields of a message of the SDK that are read here, or that the model does not see.
_READ = ("thinking_blocks", "responses_reasoning_item", "reasoning_details", "cache_enabled")


def _image(block: Any) -> Any:
    urls = dict_of(block).get("image_urls")
    if not isinstance(urls, list):
        return block
    return {"type": "image_url", "image_url": {"url": urls[0] if urls else ""}}


def _message_of(response: dict[str, Any]) -> dict[str, Any]:
    choice = next(iter(list_of(response.get("choices"))), None)
    return dict_of(dict_of(choice).get("message"))


def _tool_call(
    event: dict[str, Any],
    args: dict[str, Any],
    called: dict[str, Any],
    response: dict[str, Any],
    id: str,
) -> Part:
    call_id = str(called.get("tool_call_id") or f"event-{event.get('id')}")
    asked = [dict_of(call) for call in list_of(_message_of(response).get("tool_calls"))]
    function = next((dict_of(c.get("function")) for c in asked if c.get("id") == call_id), {})
    name = str(function.get("name") or called.get("function_name") or event.get("action"))
    rest = {key: value for key, value in args.items() if key != "thought"}
    return tool_call(id, name, function.get("arguments", rest), call_id)


FORMAT = Format(NAME, "events of OpenHands (trajectories, JSON or JSONL)", _sniff, read)
