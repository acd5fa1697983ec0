"""ADK's own compaction of events, as a program of compactlab's protocol.

Usage: with_adk.py window INTERVAL OVERLAP | tokens THRESHOLD RETENTION

A message is an event; its time is its place in the session. A turn of a person is an invocation:
what a client says just before a person speaks belongs to that person's turn, and what it says
before anybody has spoken to none.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from pieces import arguments, text_of

from compactlab_program import Host, serve  # isort: skip

warnings.filterwarnings("ignore")  # of features that it calls experimental
logging.disable(logging.CRITICAL)

from google.adk.apps import compaction  # noqa: E402
from google.adk.apps.app import EventsCompactionConfig  # noqa: E402
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer  # noqa: E402
from google.adk.events.event import Event  # noqa: E402
from google.adk.flows.llm_flows.context._compaction import (  # noqa: E402
    _process_compaction_events,
    _recover_compacted_function_calls,
)
from google.adk.models.base_llm import BaseLlm  # noqa: E402
from google.adk.models.llm_response import LlmResponse  # noqa: E402
from google.genai import types  # noqa: E402

AGENT = "agent"
VERSION = "2.13.0"


def content_of(message: dict[str, Any]) -> types.Content:
    """A message as Gemini's API has it."""
    parts = []
    for part in message["parts"]:
        named = {"id": part.get("call_id") or None, "name": part.get("name", "")}
        match part["type"]:
            case "tool_call":
                call = types.FunctionCall(args=arguments(part["text"]), **named)
                parts.append(types.Part(function_call=call))
            case "tool_result":
                key = "error" if part.get("is_error") else "result"
                told = types.FunctionResponse(response={key: text_of(part)}, **named)
                parts.append(types.Part(function_response=told))
            case "image":
                shown = types.Blob(data=b"\0" * (3 * part.get("size", 0)), mime_type="image/png")
                parts.append(types.Part(inline_data=shown))
            case "thinking":
                parts.append(types.Part(text=text_of(part), thought=True))
            case _:
                parts.append(types.Part(text=text_of(part)))
    role = "model" if message["role"] == "assistant" else "user"
    return types.Content(role=role, parts=parts)


@dataclass
class Session:
    """The events of a replay so far, and which message each one is."""

    events: list[Event] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)  # messages by the ids of events
    made: int = 0  # messages that were new in answers
    turns: int = 0
    id: str = "replay"
    usage: dict[str, int] | None = None  # of the last request

    def follow(self, view: dict[str, Any]) -> None:
        """Go on to a view: back, where the user went back, and then on by what is new."""
        known = {message: index for index, message in enumerate(self._messages)}
        ends = {self.ids[e.id]: e.actions.compaction.end_timestamp for e in self._compactions}
        last = max((ends[m] if m in ends else known.get(m, -1) + 1 for m in view["ids"]), default=0)
        if last < len(known):
            self._go_back(last)
        new = [m for m in view["messages"] if m["id"] not in known and m["id"] not in ends]
        for message, turn in self._turned(new):
            self._hear(message, turn)

    def report(self, usage: dict[str, int] | None) -> None:
        """Note what the provider reported of the last request, once, at its answer."""
        last = next((e for e in reversed(self.events) if e.author == AGENT), None)
        if usage is None or last is None or usage == self.usage:
            return
        self.usage = usage
        classes = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h")
        last.usage_metadata = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=sum(usage[name] for name in classes)
        )

    def shown(self) -> Iterator[Event]:
        """The events that a prompt has, as ADK puts it together."""
        left = _process_compaction_events(self.events, AGENT)
        yield from _recover_compacted_function_calls(left, self.events)

    def summary_of(self, event: Event) -> str:
        """The message that holds the summary of a compaction, in an event made from it."""
        at = event.actions.compaction
        return next(self.ids[e.id] for e in self._compactions if e.actions.compaction is at)

    def keep(self, event: Event) -> str:
        """Keep a compaction; the id that its message will have."""
        self.made += 1
        self.ids[event.id] = f"program:{self.made}"
        return self.ids[event.id]

    @property
    def latest_summary(self) -> str:
        """The message with the summary that the next one carries on."""
        return self.ids[compaction._latest_compaction_event(self.events).id]

    @property
    def _messages(self) -> list[str]:
        return [self.ids[e.id] for e in self.events if not e.actions.compaction]

    @property
    def _compactions(self) -> list[Event]:
        return [event for event in self.events if event.actions.compaction]

    def _go_back(self, last: float) -> None:
        # Whatever was made since, compactions among it, is taken back with the messages.
        gone = (n for n, e in enumerate(self.events)
                if not e.actions.compaction and e.timestamp > last)  # fmt: skip
        del self.events[next(gone) :]
        left = [e.invocation_id for e in self.events if not e.actions.compaction]
        self.turns = int(left[-1] or 0) if left else 0

    def _turned(self, new: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], int]]:
        """New messages, each with the number of its turn."""
        waiting: list[dict[str, Any]] = []
        for message in new:
            said = message["role"] == "user"
            waiting.append(message)
            if said and message.get("meta"):
                continue
            before = self.turns
            self.turns += said
            for each in waiting:
                # What a client says before anybody has spoken belongs to no turn.
                yield each, self.turns if before or each is message else 0
            waiting = []
        yield from ((each, self.turns) for each in waiting)

    def _hear(self, message: dict[str, Any], turn: int) -> None:
        event = Event(
            author=AGENT if message["role"] == "assistant" else "user",
            invocation_id=str(turn or ""),
            timestamp=float(len(self._messages) + 1),
            content=content_of(message),
        )
        event.id = event.id or Event.new_id()
        self.ids[event.id] = message["id"]
        self.events.append(event)

    async def append_event(self, session: Session, event: Event) -> None:
        """Take a compaction, as a service of sessions does."""
        session.events.append(event)


class Model(BaseLlm):
    """The model that is to summarise: compactlab's summariser is asked in its place."""

    model: str = "compactlab"
    ask: Any = None

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        """The summary of what is asked about."""
        text = self.ask(llm_request.contents[0].parts[0].text)
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


class Noting(LlmEventSummarizer):
    """ADK's summariser, which notes what it is given, and the parts of the summary."""

    def __init__(self, session: Session, host: Host) -> None:
        super().__init__(Model(ask=self._summary))
        self._session, self._host = session, host
        self._given: list[str] = []
        self._previous: list[str] = []
        self.parts: list[dict[str, Any]] = []

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Summarise, unless there is nothing to say."""
        known = self._session.ids
        self._given = [known[event.id] for event in events if event.id in known]
        seeded = len(self._given) < len(events)
        self._previous = [self._session.latest_summary] if seeded else []
        made = await super().maybe_summarize_events(events=events)
        return made if self.parts else None

    def _summary(self, prompt: str) -> str:
        most = self._host.begin["max_output"] or 16_000
        asked = {"previous": self._previous, "transcript": prompt}
        self.parts = self._host.summarize(self._given, most, **asked)
        return "\n".join(part["text"] for part in self.parts)


def compacting(**settings: int) -> Any:
    """ADK's rule, asked where its runner asks it: before a call by tokens, and after a turn."""

    def compact(view: dict[str, Any], host: Host) -> list[Any] | None:
        session: Session = vars(host).setdefault("session", Session())
        session.follow(view)
        session.report(view["usage"])
        summarizer = Noting(session, host)
        config = EventsCompactionConfig(summarizer=summarizer, **settings)
        before = len(session.events)
        asyncio.run(asked(config, session, view["phase"]))
        if len(session.events) == before:
            return None
        new = session.keep(session.events[-1])
        return [edit(session, event, new, summarizer.parts) for event in session.shown()]

    return compact


async def asked(config: EventsCompactionConfig, session: Session, phase: str) -> None:
    """Let ADK append a compaction to the session's events, if it is time."""
    if phase == "before_call":
        await compaction._run_compaction_for_token_threshold_config(
            config=config, session=session, session_service=session, agent=None, agent_name=AGENT
        )
        return
    app = SimpleNamespace(events_compaction_config=config, root_agent=SimpleNamespace())
    async for event in compaction._run_compaction_for_sliding_window(app, session, session):
        session.events.append(event)


def edit(session: Session, event: Event, new: str, parts: list[dict[str, Any]]) -> Any:
    """An event that is shown, as the protocol has it."""
    if not event.actions.compaction:
        return session.ids[event.id]
    message = session.summary_of(event)
    return {"role": "assistant", "parts": parts} if message == new else message


# As our built-in of it says of itself.
BREAKS = {"last user message": "events are counted, and a turn may have more"}

if __name__ == "__main__":
    mode, first, second = sys.argv[1:]
    about = {"does": ["summarise"], "breaks": BREAKS}
    if mode == "window":
        rule = compacting(compaction_interval=int(first), overlap_size=int(second))
        serve(rule, "adk sliding window", VERSION, phases=["after_turn"], **about)
    else:
        rule = compacting(token_threshold=int(first), event_retention_size=int(second))
        phases = ["before_call", "after_turn"]
        serve(rule, "adk token threshold", VERSION, phases=phases, **about)
