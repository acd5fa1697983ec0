"""The made-up coding session: the same for the same seed, of the stated size, and consistent."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.conversation import Conversation
from compactlab.sim.message import Part, Source
from compactlab.sim.spec import build, parse_spec
from compactlab.sim.tokens import Tokenizer

conversations = st.builds(
    lambda turns, tokens, seed: CodingAgent(turns, tokens).conversation(seed),
    turns=st.integers(1, 12),
    tokens=st.integers(1, 12_000),
    seed=st.integers(0, 2**32),
)
some = settings(max_examples=25, deadline=None)


@pytest.fixture(scope="module")
def session() -> Conversation:
    return CodingAgent().conversation(seed=3)


def parts(conversation: Conversation, type: str) -> list[Part]:
    return [
        part for message in conversation.messages for part in message.parts if part.type == type
    ]


def tokens(conversation: Conversation) -> int:
    return sum(map(Tokenizer().message, conversation.messages))


def test_same_seed_same_conversation_and_another_seed_another() -> None:
    one = CodingAgent().conversation(1)
    assert one == CodingAgent().conversation(1)
    assert one.digest != CodingAgent().conversation(2).digest


def test_bytes_never_change_unnoticed() -> None:
    assert CodingAgent(turns=4, tokens=10_000).conversation(0).digest == "558367a4464f50d5"


def test_header_says_where_it_comes_from(session: Conversation) -> None:
    assert (session.id, session.format, session.seed) == ("coding_agent-3", "coding_agent", 3)
    assert not session.recorded
    assert [part.size for part in session.system] == [2_500, 10_000]


@pytest.mark.parametrize(("size", "error"), [(20_000, 0.25), (120_000, 0.05), (400_000, 0.05)])
@pytest.mark.parametrize("seed", range(4))
def test_size_is_about_what_was_asked_for(size: int, error: float, seed: int) -> None:
    assert tokens(CodingAgent(tokens=size).conversation(seed)) == pytest.approx(size, rel=error)


def test_hundred_thousand_tokens_take_no_time() -> None:
    start = time.process_time()
    CodingAgent(tokens=100_000).conversation(0)
    assert time.process_time() - start < 0.3


def test_proportions_are_those_of_recorded_sessions(session: Conversation) -> None:
    results = parts(session, "tool_result")
    share = {name: sum(p.name == name for p in results) / len(results) for name in ("bash", "read")}
    assert share["bash"] == pytest.approx(0.41, abs=0.1)
    assert share["read"] == pytest.approx(0.22, abs=0.1)
    assert 0.4 < sum(map(Tokenizer().part, results)) / tokens(session) < 0.85
    assert 0 < sum(part.is_error for part in results) / len(results) < 0.12


def test_some_pauses_outlive_a_cache_of_five_minutes() -> None:
    gaps = [
        after.time - before.time
        for seed in range(10)
        for before, after in pairwise(CodingAgent().conversation(seed).messages)
        if after.role == "user"
    ]
    assert 0.08 < sum(gap > 300 for gap in gaps) / len(gaps) < 0.25
    assert 40 < sorted(gaps)[len(gaps) // 2] < 110
    assert max(gaps) > 3_600


def test_identifiers_come_back(session: Conversation) -> None:
    paths = [
        json.loads(part.text)["path"]
        for part in parts(session, "tool_call")
        if part.name in ("read", "edit")
    ]
    assert len(set(paths)) > 10
    assert len(paths) > 3 * len(set(paths))


def test_what_was_edited_reads_edited() -> None:
    read_again = 0
    for seed in range(5):
        session = CodingAgent().conversation(seed)
        settings = [fact.value for fact in session.facts if fact.kind == "decision"]
        results = [part.text for part in parts(session, "tool_result")]
        read_again += sum(any(value in text for text in results) for value in settings)
    assert read_again > 0


@some
@given(conversations)
def test_calls_and_results_are_paired_one_to_one(conversation: Conversation) -> None:
    open_calls: dict[str, str] = {}
    for message in conversation.messages:
        assert message.role == "tool" or not open_calls
        for part in message.parts:
            if part.type == "tool_call":
                assert message.role == "assistant"
                assert isinstance(json.loads(part.text), dict)
                open_calls[part.call_id] = part.name
            elif part.type == "tool_result":
                assert open_calls.pop(part.call_id) == part.name
    assert not open_calls
    call_ids = [part.call_id for part in parts(conversation, "tool_call")]
    assert len(call_ids) == len(set(call_ids))


@some
@given(conversations)
def test_messages_are_in_order_and_their_own_source(conversation: Conversation) -> None:
    messages = conversation.messages
    assert len({message.id for message in messages}) == len(messages)
    assert all(a.time < b.time for a, b in pairwise(messages))
    assert messages[0].role == "user"
    assert messages[-1].role == "assistant"
    for message in messages:
        assert message.parts
        assert (message.call is not None) == (message.role == "assistant")
        for part in message.parts:
            assert part.text
            assert part.sources == (Source(message.id),)


@some
@given(st.integers(1, 30), st.integers(1, 3_000), st.integers(0, 2**32))
def test_every_turn_is_there_however_little_it_may_say(turns: int, size: int, seed: int) -> None:
    conversation = CodingAgent(turns, size).conversation(seed)
    assert conversation.turns == turns
    assert len(conversation.calls) >= turns


@some
@given(conversations)
def test_facts_stand_where_they_say_and_are_used_afterwards(conversation: Conversation) -> None:
    by_id = {message.id: message for message in conversation.messages}
    place = {message.id: place for place, message in enumerate(conversation.messages)}
    facts = {fact.id: fact for fact in conversation.facts}
    assert len(facts) == len(conversation.facts)
    for fact in facts.values():
        (origin,) = fact.origin
        assert by_id[origin.id].role == "user"
        assert fact.value in by_id[origin.id].parts[origin.part].text[origin.start : origin.end]
        assert all(facts[old].key == fact.key for old in fact.supersedes)
    for need in conversation.needs:
        fact = facts[need.fact]
        assert by_id[need.at].call is not None
        assert place[need.at] > place[fact.origin[0].id]
        assert any(fact.value in json_free(part) for part in by_id[need.at].parts)


def json_free(part: Part) -> str:
    return str(json.loads(part.text)) if part.type == "tool_call" else part.text


def test_superseded_decisions_are_not_used_again(session: Conversation) -> None:
    place = {message.id: place for place, message in enumerate(session.messages)}
    ended = {old: fact.origin[0].id for fact in session.facts for old in fact.supersedes}
    assert ended
    for need in session.needs:
        if need.fact in ended:
            assert place[need.at] < place[ended[need.fact]]


def test_spec_round_trips_and_nonsense_is_refused() -> None:
    scenario = CodingAgent(turns=3, tokens=9_000)
    name, arguments = parse_spec(scenario.spec)
    assert name == "coding_agent"
    assert build(CodingAgent, arguments) == scenario
    for wrong in ({"turns": 0}, {"tokens": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            CodingAgent(**wrong)
