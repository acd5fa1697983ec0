"""What the stories about replays have in common: scripts told message by message, and strategies
made of a function."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Compaction, Conversation, Event, Rewind
from compactlab.sim.core.message import Call, Message, Part, Role, Source, Usage, verbatim
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.strategy import Lifetime, Strategy
from compactlab.sim.replay.summarize import Summarizer, SummaryRequest
from compactlab.sim.replay.trace import Header, Step, Trace

# Counts as o200k does, caches as Anthropic does: prefixes from 1024 tokens on, for five minutes.
MODEL = "gpt-5@anthropic"
START = 1_760_000_000.0
PAUSE = 10.0


class Story:
    """A script, told message by message; each comes ten seconds after the last.

    Ids count by kind: u1 is the first that a person typed, a1 the first answer of the model, r1
    the first result, m1 the first that the client added.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.now = START - PAUSE
        self._count: dict[str, int] = {}

    def user(self, text: str, *, after: float = PAUSE) -> Story:
        return self._say("u", "user", "text", text, after)

    def client(self, text: str, *, after: float = PAUSE) -> Story:
        return self._say("m", "user", "text", text, after, meta=True)

    def answer(self, text: str, *, after: float = PAUSE, **call: Any) -> Story:
        return self._say("a", "assistant", "text", text, after, call=Call(**call))

    def aborted(self, text: str, *, after: float = PAUSE) -> Story:
        return self._say("x", "assistant", "text", text, after)

    def acts(self, arguments: str = "{}", *, after: float = PAUSE, **call: Any) -> Story:
        """The model calls a tool; the result that follows answers it."""
        joined = f"call-{len(self.events)}"
        return self._say(
            "a", "assistant", "tool_call", arguments, after, call=Call(**call), joined=joined
        )

    def result(self, text: str, *, after: float = PAUSE) -> Story:
        acted = next(e for e in reversed(self.events) if isinstance(e, Message))
        return self._say("r", "tool", "tool_result", text, after, joined=acted.parts[0].call_id)

    def rewind(self, to: str) -> Story:
        self.events.append(Rewind(to))
        return self

    def compacted(self, *texts: str, kept_from: str = "", **call: Any) -> Story:
        """The recorded agent compacted its context: to these texts, and what it kept."""
        sources = (Source(self.last),)
        number = self._number("s")
        inserted = tuple(
            Message(f"{number}.{i}", "user", (Part("text", text, "summary", sources),), meta=True)
            for i, text in enumerate(texts)
        )
        billed = Call(**call) if call else None
        self.events.append(Compaction(inserted, kept_from, self.now, call=billed))
        return self

    def script(self, id: str = "story", **more: Any) -> Conversation:
        return Conversation(id, "story", tuple(self.events), **{"seed": 0, **more})

    @property
    def last(self) -> str:
        said = [event.id for event in self.events if isinstance(event, Message)]
        return said[-1] if said else "nothing"

    def _number(self, letter: str) -> str:
        self._count[letter] = self._count.get(letter, 0) + 1
        return f"{letter}{self._count[letter]}"

    def _say(
        self, letter: str, role: Role, type: Any, text: str, after: float, *, joined: str = "",
        meta: bool = False, call: Call | None = None,
    ) -> Story:  # fmt: skip
        self.now += after
        id = self._number(letter)
        name = "tool" if type in ("tool_call", "tool_result") else ""
        part = verbatim(id, type, text, name=name, call_id=joined)
        self.events.append(Message(id, role, (part,), self.now, meta, call))
        return self


def act(
    do: Callable[[View, Host], Any],
    *,
    phases: Collection[Phase] = (Phase.BEFORE_CALL,),
    lifetime: Lifetime = Lifetime.SESSION,
    idle_after: float = 0.0,
    name: str = "Act",
) -> Strategy:
    """A strategy that does what a function does."""
    body = {
        "phases": frozenset(phases),
        "lifetime": lifetime,
        "idle_after": idle_after,
        "compact": lambda self, view, host: do(view, host),
    }
    made: type[Strategy] = dataclass(frozen=True)(type(name, (Strategy,), body))
    return made()


def at(said: int, change: Callable[[list[Message]], Any]) -> Strategy:
    """A strategy that replaces the messages when so many have been said."""
    return act(
        lambda view, host: (
            view.with_messages(change(list(view.messages))) if len(host.log) == said else view
        )
    )


class Witness:
    """A strategy that changes nothing and writes down what it sees of the moment."""

    def __init__(self, see: Callable[[View, Host], Any], **how: Any) -> None:
        self.seen: list[Any] = []
        self.strategy = act(lambda view, host: self._write(see(view, host), view), **how)

    def _write(self, seen: Any, view: View) -> View:
        self.seen.append(seen)
        return view


@dataclass(frozen=True)
class Echo(Summarizer):
    """Says ``summary of`` and the ids, and counts how often it was asked."""

    asked: list[SummaryRequest] = field(default_factory=list, repr=False, compare=False)

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        self.asked.append(request)
        ids = [message.id for message in request.messages]
        text = f"summary of {' '.join(ids)}"
        return (Part("text", text, "summary", tuple(map(Source, ids))),)


def replayed(conversation: Conversation, strategy: Strategy, **more: Any) -> Trace:
    """The trace of a replay, under :data:`MODEL` unless another is named."""
    return record(conversation, strategy, Options(**{"model": MODEL, **more}))


def ids_of(messages: Any) -> str:
    """The ids of messages, in one line."""
    return " ".join(message.id for message in messages)


def prompts_of(trace: Trace) -> list[str]:
    """The ids of the messages of each prompt."""
    return [ids_of(prompt) for prompt in trace.prompts()]


def prose(tokens: int, word: str = "word") -> str:
    """A text of so many tokens."""
    return " ".join([word] * tokens)


_TEXTS = st.sampled_from(
    ["go on", "ok", "", "see src/main.py", "AB-1200 and parse_args", "src/main.py fails", "7 of 10"]
)
_ARGUMENTS = st.sampled_from(
    ["{}", '{"path": "src/main.py"}', '{"name": "parse_args"}', '{"n": 1200, "deep": ["AB-1200"]}']
)


@st.composite
def stories(draw: st.DrawFn, *, rewinds: bool = True, compactions: bool = True) -> Conversation:
    """Scripts of any shape that a reader may give."""
    story = Story()
    for _ in range(draw(st.integers(1, 5))):
        story.user(draw(_TEXTS), after=draw(st.sampled_from([0.0, 10.0, 400.0])))
        for _ in range(draw(st.integers(0, 3))):
            story.acts(draw(_ARGUMENTS)).result(draw(_TEXTS) * draw(st.sampled_from([1, 300])))
        what = draw(st.integers(0, 9))
        if what < 7:
            story.answer(draw(_TEXTS) or "ok")
        elif what == 7:
            story.aborted("well")
        said = [event.id for event in story.events if isinstance(event, Message)]
        if rewinds and not draw(st.integers(0, 3)):
            story.rewind(draw(st.sampled_from(["", *said])))
        if compactions and not draw(st.integers(0, 3)):
            kept = draw(st.sampled_from(["", *said[-4:]]))
            story.compacted("so far", kept_from=kept)
    return story.script(system=(verbatim("system", "text", prose(1200)),))


def _whim(view: View, host: Host) -> View:
    """Drop, swap, double or add messages, or change the system prompt, as chance will have it."""
    rng, messages = host.rng(f"{len(host.log)} {host.phase}"), list(view.messages)
    deed = rng.randrange(8)
    if deed == 0 and messages:
        del messages[rng.randrange(len(messages))]
    elif deed == 1:
        messages = messages[rng.randrange(len(messages) + 1) :]
    elif deed == 2:
        rng.shuffle(messages)
    elif deed == 3:
        part = Part("text", "a reminder of src/main.py", "synthetic", ())
        messages.insert(rng.randrange(len(messages) + 1), Message("note", "user", (part,)))
    elif deed == 4 and messages:
        messages.insert(rng.randrange(len(messages) + 1), rng.choice(messages))
    elif deed == 5:
        return view.with_system(Part("text", f"rule {len(host.log)}", "synthetic", ()))
    else:
        return view
    return view.with_messages(messages)


def whim(lifetime: Lifetime = Lifetime.SESSION) -> Strategy:
    """A strategy that does anything at all, by the toss of a coin."""
    return act(_whim, phases=(Phase.BEFORE_TURN, Phase.BEFORE_CALL), lifetime=lifetime, name="Whim")


def usage_of(*, cache_misses: int = 0, read: int = 0, output: int = 0) -> Usage:
    """A usage whose cache-miss tokens were written to the cache."""
    return Usage(cache_write_5m=cache_misses, cache_read=read, output=output)


def trace_of(
    *usages: Usage, compactions: Collection[int] = (), model: str = MODEL, **more: Any
) -> Trace:
    """A trace of calls with these usages; those of some numbers, from 0, are compactions."""
    steps = [
        Step(
            answer=f"a{number + 1}",
            model=model,
            time=START,
            system=(),
            shared=0,
            added=Messages(),
            log=Messages(),
            usage=usage,
            causes={},
            rewrite=number in compactions,
            compaction=number in compactions,
            **{name: values[number] for name, values in more.items()},
        )
        for number, usage in enumerate(usages)
    ]
    return Trace(Header("story", "", "act()", "", model, 0, 0), steps)


class Kit:
    """Everything above, under one name."""

    model, start, pause = MODEL, START, PAUSE
    Story, Witness, Echo = Story, Witness, Echo
    act, at, whim = staticmethod(act), staticmethod(at), staticmethod(whim)
    replayed, prompts_of = staticmethod(replayed), staticmethod(prompts_of)
    ids_of, prose, usage = staticmethod(ids_of), staticmethod(prose), staticmethod(usage_of)
    trace_of, stories = staticmethod(trace_of), staticmethod(stories)
    keep = act(lambda view, host: view, name="Keep")


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    """Builders of scripts and strategies, and a way to replay them."""
    return Kit


@pytest.fixture
def story() -> Story:
    """A script that has yet to be told."""
    return Story()
