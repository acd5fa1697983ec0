"""Summarisers are told what is replayed, and remember what they answered."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Call, Message, Part, Source, verbatim
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.summarize import Remembering, Summarizer, SummaryRequest
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer


@dataclass(frozen=True)
class Parrot(Summarizer):
    """Says of which conversation it knows, and counts how often it was asked."""

    of: str = field(default="", repr=False)
    asked: list[str] = field(default_factory=list, repr=False, compare=False)

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        return Parrot(f"{conversation.id} {seed}", self.asked)

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        self.asked.append(self.of)
        return (Part("text", f"about {self.of}", "summary", (Source("m1"),)),)


def session(id: str, messages: int = 6) -> Conversation:
    told = []
    for number in range(messages):
        role = ("user", "assistant")[number % 2]
        name = f"m{number}"
        lines = (f"src/part_{number}.py:{n} is in the way of job_{n * number}." for n in range(20))
        text = "\n".join(lines)
        call = Call() if role == "assistant" else None
        told.append(Message(name, role, (verbatim(name, "text", text),), call=call))  # type: ignore[arg-type]
    return Conversation(id, "made", tuple(told), seed=0)


REQUEST = SummaryRequest((), 100)


def test_who_need_not_know_stays_as_it_is():
    plain = find_summarizer("lexrank")
    assert plain.bound(session("c"), 1) is plain
    remembering = Remembering(plain)
    assert remembering.bound(session("c"), 1) is remembering


def test_the_same_is_asked_once_for_each_conversation_and_seed():
    parrot = Parrot()
    remembering = Remembering(parrot)
    said = [
        remembering.bound(session(id), seed).summarize(REQUEST, len)[0].text
        for id, seed in (("one", 1), ("one", 1), ("two", 1), ("two", 1), ("two", 2))
    ]
    assert said == ["about one 1", "about one 1", "about two 1", "about two 1", "about two 2"]
    assert parrot.asked == ["one 1", "two 1", "two 2"]


def test_what_remembers_goes_by_the_name_of_what_it_asks():
    lossy = find_summarizer("lossy")
    remembering = Remembering(lossy)
    bound = remembering.bound(session("c"), 1)
    assert remembering.spec == bound.spec == lossy.spec
    assert remembering.simulated == bound.simulated == lossy.simulated


def test_a_replay_binds_its_summariser():
    parrot = Parrot()
    told = session("c", 30)
    trace = record(
        told,
        find_strategy("rolling_summary"),
        Options(model="gpt-4.1", summarizer=parrot, window=4000, seed=5),
    )
    assert set(parrot.asked) == {"c 5"}
    assert trace.header.summarizer == "parrot()"


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("lexrank", set()),
        ("empty", {"empty"}),
        ("failed", {"answers"}),
        ("inflating", {"over_budget"}),
    ],
)
def test_a_side_call_carries_the_faults_of_its_summary(name, faults):
    trace = record(
        session("c", 30),
        find_strategy("full_summary"),
        Options(model="gpt-4.1", summarizer=find_summarizer(name), window=4000),
    )
    calls = [side for step in trace.steps for side in step.side]
    assert calls
    assert all(faults <= set(call.faults) for call in calls)
    if not faults:
        assert not any(call.faults for call in calls)
