"""The made-up coding session: its texture is that of recorded ones, its repository consistent."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.scenarios.coding_agent import CodingAgent, Repository
from compactlab.scenarios.engine.profile import find_profile
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Part
from compactlab.sim.core.stream import stream
from compactlab.sim.core.tokens import Tokenizer


@pytest.fixture(scope="module")
def session() -> Conversation:
    return CodingAgent().conversation(seed=3)


def parts(conversation: Conversation, type: str) -> list[Part]:
    return [
        part for message in conversation.messages for part in message.parts if part.type == type
    ]


def tokens(conversation: Conversation) -> int:
    return sum(map(Tokenizer().message, conversation.messages))


def test_bytes_never_change_unnoticed() -> None:
    assert CodingAgent(turns=4, tokens=10_000).conversation(0).digest == "dcdd18940701e69c"


def test_header_says_where_it_comes_from(session: Conversation) -> None:
    assert (session.id, session.format, session.seed) == ("coding_agent-3", "coding_agent", 3)
    assert not session.recorded
    assert [part.size for part in session.system] == [2_500, 10_000]


def test_proportions_are_those_of_recorded_sessions(session: Conversation) -> None:
    results = parts(session, "tool_result")
    share = {name: sum(p.name == name for p in results) / len(results) for name in ("bash", "read")}
    assert share["bash"] == pytest.approx(0.41, abs=0.1)
    assert share["read"] == pytest.approx(0.22, abs=0.1)
    assert 0.4 < sum(map(Tokenizer().part, results)) / tokens(session) < 0.85
    assert 0 < sum(part.is_error for part in results) / len(results) < 0.12


def test_turns_and_tokens_go_together_unless_they_are_given() -> None:
    assert [CodingAgent(tokens=n).conversation(0).turns for n in (20_000, 120_000)] == [8, 20]
    assert CodingAgent(turns=20, tokens=20_000).conversation(0).turns == 20


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12_000), st.integers(0, 2**32))
def test_it_begins_with_a_person_and_ends_with_an_answer(turns: int, size: int, seed: int) -> None:
    messages = CodingAgent(turns, size).conversation(seed).messages
    assert (messages[0].role, messages[-1].role) == ("user", "assistant")
    assert all(part.type != "tool_call" for part in messages[-1].parts)


def test_another_profile_makes_another_texture(session: Conversation, tmp_path: Path) -> None:
    text = find_profile("coding").toml().replace('"bash" = 0.41', '"bash" = 0.1')
    file = tmp_path / "own.toml"
    file.write_text(text.replace("median = 68.0", "median = 6800.0"), encoding="utf-8")
    other = CodingAgent(profile=str(file)).conversation(seed=3)
    shell = [sum(p.name == "bash" for p in parts(c, "tool_call")) for c in (session, other)]
    assert shell[1] < 0.7 * shell[0]
    spans = [c.messages[-1].time - c.messages[0].time for c in (session, other)]
    assert spans[1] > 5 * spans[0]


def test_some_pauses_outlive_a_cache_of_five_minutes() -> None:
    gaps = [
        after.time - before.time
        for seed in range(20)
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


def test_a_file_ends_where_there_are_no_other_functions() -> None:
    file = Repository(stream(0), CodingAgent.domain.words, modules=1).add(
        "src/all.py", characters=10**9
    )
    assert len(file.functions) == len(set(file.functions)) > 100
