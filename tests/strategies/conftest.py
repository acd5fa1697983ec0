"""What the stories about strategies have in common: conversations told in a few letters."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Conversation, Event, Rewind
from compactlab.sim.core.message import Call, Message, Part, Usage, verbatim
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import Messages, View
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.replay.host import Host, State
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Summarizer, SummaryRequest
from compactlab.sim.replay.trace import Trace

MODEL = "claude-sonnet-4-5"
# How a real model counts is measured anew now and then; the sizes of these stories are told once.
TOLD = replace(built_in().find(MODEL), tokenizer=Tokenizer("o200k_base", 1.32))
CATALOGUE = Catalogue({**built_in().models, MODEL: TOLD})
ROLES = {"u": "user", "m": "user", "a": "assistant", "c": "assistant", "r": "tool", "o": "tool"}


def _text(id: str, size: int) -> str:
    """So many characters, four of which are about a token of the model."""
    return (f"{id} says: " + "time work plan file test " * (size // 25 + 1))[:size]


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
    three calls), `r` the result of its next call, `o` a result of no call, `<2` a rewind to the 2nd
    message, `~` an hour in which nothing is said. Ids are letter and number: "uca" is u1, c2, a3.
    `size` and `sizes` (by id, or by letter) are characters, of which four are about a token.
    """
    events: list[Event] = []
    ids = [""]
    calls: list[str] = []
    now = 1_760_000_000.0
    for letter, number in re.findall(r"([umacro<~])(\d*)", script):
        if letter == "~":
            now += 3600.0
            continue
        if letter == "<":
            events.append(Rewind(ids[int(number)]))
            continue
        id = f"{letter}{len(ids)}"
        text = _text(id, sizes.get(id, sizes.get(letter, size)))
        if letter == "c":
            opened = [f"{id}/{n}" for n in range(int(number or 1))]
            calls = opened[:]
            parts = [verbatim(id, "tool_call", text, name="read", call_id=c) for c in opened]
        elif letter in "ro":
            call = calls.pop(0) if letter == "r" else f"{id}/lost"
            parts = [verbatim(id, "tool_result", text, name="read", call_id=call)]
        else:
            parts = [verbatim(id, "text", text)]
        answers = Call() if letter in "ac" else None
        now += gap
        events.append(Message(id, ROLES[letter], tuple(parts), now, letter == "m", answers))
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
    told = {"summarizer": NoteTaker(), "catalogue": CATALOGUE}
    return record(conversation, strategy, Options(MODEL, **{**told, **more}))


def _sent(conversation: Conversation, strategy: Strategy, **more: Any) -> list[str]:
    """The ids of the messages of every prompt."""
    trace = _play(conversation, strategy, **more)
    return [" ".join(message.id for message in prompt) for prompt in trace.prompts()]


def _shown(trace: Trace) -> str:
    """All prompts in a line; `test_stories` says how it is read."""
    calls: list[tuple[str, str, str]] = []  # what parts it from the one before, ids, marks
    said = {message.id for step in trace.steps[-1:] for message in step.log}
    before: list[str] | None = None
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        ids = [message.id + _changes(message) for message in prompt]
        marks = "".join(f"({call.purpose})" for call in step.side) + "^" * step.overflow
        new = ids[len(before or ()) :]
        if before is None or step.rewrite or step.compaction or ids[: len(before)] != before:
            first = before is None
            sign = "!" * step.compaction + "?" * (not first and step.rewrite != step.compaction)
            calls.append(("" if first else " | ", sign + (" ".join(ids) or "-"), marks))
        elif said.issuperset(new):
            calls.append((" +", "", marks))
        else:
            calls.append((", ", " ".join(new), marks))
        before = ids
    text = ""
    for (sign, ids_there, marks), alike in groupby(calls):
        count = len(list(alike))
        text += f" +{count}{marks}" if sign == " +" else f"{sign}{ids_there}{marks}" * count
    return text


def _changes(message: Message) -> str:
    kinds = {part.kind for part in message.parts}
    return "~" * ("truncated" in kinds) + "*" * ("stub" in kinds)


def _view(script: str, **more: Any) -> View:
    conversation = _tell(script, **more)
    return View(conversation.system, Messages(conversation.messages))


def _host(view: View, *, window: int = 200_000, reported: Usage | None = None) -> Host:
    return Host(TOLD.narrowed(window), State(log=view.messages, reported=reported))


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
def shown() -> Callable[[Trace], str]:
    """What was sent, in a line."""
    return _shown


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


BLOCKS = ["u", "m", "a", "cr", "c2rr", "c3rrr", "c2r", "c", "o", "ua", "ucra", "~"]


@st.composite
def _conversations(draw: st.DrawFn, *, rewinds: bool = True) -> Conversation:
    """Whatever an agent's log may hold, in messages of some 10, 100 or 5000 tokens."""
    script, said = "", 0
    for block in draw(
        st.lists(st.sampled_from([*BLOCKS, "<"] if rewinds else BLOCKS), max_size=14)
    ):
        script += f"<{draw(st.integers(0, said))}" if block == "<" else block
        said += sum(letter in ROLES for letter in block)
    sizes = draw(st.dictionaries(st.integers(1, 30), st.sampled_from([0, 400, 20_000]), max_size=6))
    named = {f"{letter}{n}": size for n, size in sizes.items() for letter in "uma"}
    return _tell(script, size=400, sizes={**named, "r3": 9000}, system=draw(st.just(300)))


@pytest.fixture(scope="session")
def conversations() -> st.SearchStrategy[Conversation]:
    """Conversations with everything that may happen in one."""
    return _conversations()


@pytest.fixture(scope="session")
def straight() -> st.SearchStrategy[Conversation]:
    """Conversations in which the user never goes back."""
    return _conversations(rewinds=False)
