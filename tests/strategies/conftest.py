"""What the stories about strategies have in common: conversations told in a few letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from compactlab.sim.conversation import Conversation, Event, Rewind
from compactlab.sim.host import Host
from compactlab.sim.message import Call, Message, Part, Usage, verbatim
from compactlab.sim.model import find_model
from compactlab.sim.replay import record
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import Summarizer, SummaryRequest
from compactlab.sim.trace import Trace
from compactlab.sim.view import Messages, View

MODEL = "claude-sonnet-4-5"
ROLES = {"u": "user", "m": "user", "a": "assistant", "c": "assistant", "r": "tool", "o": "tool"}


def _text(id: str, size: int) -> str:
    words = " ".join(f"{id}.{n}" for n in range(size // (len(id) + 2) + 1))
    return words[:size]


def _tell(
    script: str,
    *,
    size: int = 20,
    sizes: Mapping[str, int] = {},
    gap: float = 10.0,
    system: int = 0,
) -> Conversation:
    """Tell a conversation in letters.

    `u` a user, `m` a message that no person typed, `a` an answer, `c` one that calls a tool (`c3`:
    three calls), `r` the result of the oldest open call, `o` a result of no call, `<2` a rewind to
    the second message. Ids are letter and number: "uca" is u1, c2 and a3.
    """
    events: list[Event] = []
    ids = [""]
    calls: list[str] = []
    for letter, number in re.findall(r"([umacro<])(\d*)", script):
        if letter == "<":
            events.append(Rewind(ids[int(number)]))
            continue
        id = f"{letter}{len(ids)}"
        text = _text(id, sizes.get(id, size))
        if letter == "c":
            opened = [f"{id}/{n}" for n in range(int(number or 1))]
            calls += opened
            parts = [verbatim(id, "tool_call", text, name="read", call_id=c) for c in opened]
        elif letter in "ro":
            call = calls.pop(0) if letter == "r" else f"{id}/lost"
            parts = [verbatim(id, "tool_result", text, name="read", call_id=call)]
        else:
            parts = [verbatim(id, "text", text)]
        answers = Call() if letter in "ac" else None
        time = 1_760_000_000.0 + gap * len(ids)
        events.append(Message(id, ROLES[letter], tuple(parts), time, letter == "m", answers))
        ids.append(id)
    opaque = (Part("text", "", "opaque", (), name="system prompt", size=system),)
    return Conversation("told", "told", tuple(events), opaque if system else (), seed=0)


@dataclass(frozen=True)
class NoteTaker(Summarizer):
    """Says of how many messages it has heard, its own notes among them; cheap and plain."""

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        told = [part for message in request.messages for part in message.parts]
        heard = dict.fromkeys(s.id for p in (*request.previous, *told) for s in p.sources)
        if not told:
            return ()
        sources = tuple(s for p in (*request.previous, *told) for s in p.sources)
        return (Part("text", f"notes on {len(heard)} messages", "summary", sources),)


def _play(conversation: Conversation, strategy: Strategy, **more: Any) -> Trace:
    return record(conversation, strategy, MODEL, **{"summarizer": NoteTaker(), **more})


def _sent(conversation: Conversation, strategy: Strategy, **more: Any) -> list[str]:
    """The ids of the messages of every prompt."""
    trace = _play(conversation, strategy, **more)
    return [" ".join(message.id for message in prompt) for prompt in trace.prompts()]


def _view(script: str, **more: Any) -> View:
    conversation = _tell(script, **more)
    return View(conversation.system, Messages(conversation.messages))


def _host(view: View, *, window: int = 200_000, reported: Usage | None = None) -> Host:
    host = Host(find_model(MODEL).narrowed(window), reported=reported)
    host.log = view.messages
    return host


@pytest.fixture(scope="session")
def tell() -> Callable[..., Conversation]:
    """Tell a conversation in letters; see `_tell`."""
    return _tell


@pytest.fixture(scope="session")
def play() -> Callable[..., Trace]:
    """Take a conversation through a strategy, with a summariser that costs no time."""
    return _play


@pytest.fixture(scope="session")
def sent() -> Callable[..., list[str]]:
    """The same, and of every prompt the ids of its messages."""
    return _sent


@pytest.fixture(scope="session")
def moment() -> Callable[..., Any]:
    """A view told in letters, and the host of that moment."""

    def at(script: str, *, window: int = 200_000, reported: Usage | None = None, **more: Any):
        view = _view(script, **more)
        return SimpleNamespace(
            view=view, host=_host(view, window=window, reported=reported), messages=view.messages
        )

    return at


@pytest.fixture(scope="session")
def ids() -> Callable[[Messages], str]:
    """The ids of messages, a space between two."""
    return lambda messages: " ".join(message.id for message in messages)
