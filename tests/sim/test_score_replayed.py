"""What is found out about a context without provenance is what its strategy declares of it."""

import dataclasses
from functools import cache

import pytest
from msgspec.structs import replace

import compactlab
from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.message import Message, Source
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.trace import Trace
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.extractive import Lexrank


@cache
def talk() -> Conversation:
    return CodingAgent(turns=10, tokens=60_000).conversation(seed=1)


STRATEGIES = [
    "keep_all",
    "sliding_window(keep=20)",
    "auto_compact",
    "clear_tool_results",
    "full_summary",
    "observation_masking",
    "rolling_summary",
    "trim_messages",
]


def replayed(spec: str) -> Trace:
    return record(
        talk(),
        find_strategy(spec),
        Options("claude-sonnet-4-5", summarizer=Lexrank(), window=24_000),
    )


def bare(number: int, message: Message) -> Message:
    """A message as it looks on the wire: nobody says where it is from."""
    owner = (Source(f"m{number}"),)
    parts = (replace(p, kind="verbatim", sources=owner, handle="") for p in message.parts)
    return Message(f"m{number}", message.role, tuple(parts))


def known(fact: Fact, said: set[str]) -> bool:
    ends = {fact.deleted_at, "" if fact.scope == "session" else fact.scope, fact.handle}
    return all(origin.id in said for origin in fact.origin) and ends <= {*said, ""}


@pytest.mark.parametrize("spec", STRATEGIES)
def test_each_fact_is_in_the_state_that_its_strategy_declares(spec):
    trace = replayed(spec)
    *_, prompt = trace.prompts()
    log = tuple(trace.steps[-1].log)
    facts = tuple(fact for fact in talk().facts if known(fact, {message.id for message in log}))
    facts = tuple(replace(fact, supersedes=(), depends_on=()) for fact in facts)
    original = dataclasses.replace(talk(), events=log, facts=facts, needs=())
    told = compactlab.score(original, Conversation("told", "native", tuple(prompt)))
    wire = tuple(bare(number, message) for number, message in enumerate(prompt))
    found = compactlab.score(original, Conversation("found", "openai-chat", wire))
    assert not told.context.inferred
    assert found.context.inferred
    assert len(told.found) > 5
    assert [each.state for each in found.found] == [each.state for each in told.found]
    assert found.context.found > 0.8 * found.context.words
    assert found.after == told.after


def test_the_end_of_a_replay_is_scored_as_the_replay_does():
    trace = replayed("sliding_window(keep=20)")
    *_, prompt = trace.prompts()
    answer = trace.steps[-1].answer
    index = [event.id for event in talk().messages].index(answer)
    original = dataclasses.replace(talk(), events=talk().messages[:index], facts=(), needs=())
    score = compactlab.score(original, Conversation("c", "native", tuple(prompt)))
    assert score.figures["verbatim_tail_messages"] == len(prompt)
    assert score.after < score.before
