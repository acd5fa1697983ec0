"""What other clients wrote, beside the checkout: all of it is read, with the figures it states."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.errors import InputError


@pytest.mark.parametrize(
    ("client", "pattern", "fewest"),
    [
        ("gemini", "*.json*", 1),
        ("copilot", "*.jsonl", 1),
        ("qwen", "*.jsonl", 4),
        ("opencode", "ses_*.json", 3),
        ("hermes", "*.json", 1),
    ],
)
def test_every_example_has_calls(shared: Path, client: str, pattern: str, fewest: int) -> None:
    files = sorted((shared / "formats" / client).rglob(pattern))
    if not files:
        pytest.skip("the examples of other clients are not beside the checkout")
    count = 0
    for path in files:
        if 'trimmed for fixture]","parentId' in path.read_text("utf-8"):
            continue  # its times are cut out of it
        try:
            first, *_ = transcripts.read(path)
        except InputError as error:
            # Two records in one line, and stamps that were cut out, are no JSON and no times.
            assert (client, error.line) == ("qwen", 1), error  # noqa: PT017
            continue
        assert first.format == client
        assert first.messages if client == "qwen" else first.calls
        count += 1
    assert count >= fewest


def test_hermes_says_what_its_examples_say(shared: Path) -> None:
    for path in sorted((shared / "formats" / "hermes").glob("*.json")):
        told = json.loads(path.read_text("utf-8"))["messages"]
        sent = [message for message in told if message["role"] != "session_meta"]
        (conversation,) = transcripts.read(path)
        assert [m.role for m in conversation.messages] == [m["role"] for m in sent]
        assert all(m["content"] in c.text for m, c in zip(sent, conversation.messages, strict=True))


@pytest.mark.parametrize("name", ["assistant_tools.jsonl", "subagent_agent-0.jsonl"])
def test_kimi_is_billed_to_the_token(shared: Path, name: str) -> None:
    path = shared / "formats" / "kimi" / name
    if not path.is_file():
        pytest.skip("the examples of other clients are not beside the checkout")
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    ends = [r["event"] for r in records if r.get("event", {}).get("type") == "step.end"]
    counts = [end["usage"] for end in ends if "usage" in end]
    (conversation,) = transcripts.read(path)
    usages = [m.call.usage for m in conversation.messages if m.call and m.call.usage]
    assert counts
    assert [(u.uncached, u.cache_read, u.output) for u in usages] == [
        (c["inputOther"], c["inputCacheRead"], c["output"]) for c in counts
    ]


def test_swe_agent_has_an_answer_a_step_and_a_result_of_each(recorded: Path) -> None:
    files, _ = transcripts.find([recorded / "swe-agent"])
    sessions = [c for path in files for c in transcripts.read(path)]
    assert (len(sessions), {c.format for c in sessions}) == (19, {"swe-agent"})
    for path, session in zip(files, sessions, strict=True):
        held = json.loads(path.read_text("utf-8"))
        steps = sum(message["role"] == "assistant" for message in held["history"])
        assert (len(session.calls), session.turns) == (steps, 1)
        results = [m for m in session.messages if m.role == "tool"]
        assert len(session.messages) == len(held["history"]) - 1
        assert len(results) in (steps, steps - 1)
        assert all(m.parts[0].name and m.parts[0].call_id for m in results)
        assert not session.facts


def spans(conversation: Conversation, fact: Fact) -> list[str]:
    """What stands at a fact's origins."""
    texts = {m.id: [part.text for part in m.parts] for m in conversation.messages}
    return [texts[o.id][o.part][o.start : o.end] for o in fact.origin]


def test_tau_bench_has_the_messages_of_its_source_and_needs_what_was_said(recorded: Path) -> None:
    airline = list(transcripts.read(recorded / "tau-bench" / "gpt-4o-airline.json"))
    roles = Counter(message.role for c in airline for message in c.messages)
    # 5,308 messages; the 200 of the system stand in front.
    assert len({c.id for c in airline}) == 200
    assert roles == {"user": 1_490, "assistant": 2_454, "tool": 1_164}
    assert all(len(c.system) == 1 for c in airline)
    assert airline[0].id == "gpt-4o-airline/task-0/trial-0"
    assert airline[-1].id == "gpt-4o-airline/task-49/trial-3"
    for conversation in airline:
        order = {message.id: index for index, message in enumerate(conversation.messages)}
        first = {fact.id: order[fact.origin[0].id] for fact in conversation.facts}
        assert {need.fact for need in conversation.needs} == first.keys()
        assert all(first[need.fact] < order[need.at] for need in conversation.needs)
        assert all(set(spans(conversation, f)) == {f.value} for f in conversation.facts)


def test_locomo_has_the_questions_of_its_source(recorded: Path) -> None:
    talks = list(transcripts.read(recorded / "locomo" / "locomo10.json"))
    assert len(talks) == 10
    assert sum(m.id != "closing" for talk in talks for m in talk.messages) == 5_882
    assert sum(one.count for talk in talks for one in talk.passed_over) == 9
    # Of 1,540 questions that can be answered, 4 have no evidence, and 5 none that leads anywhere.
    categories = Counter(f.id.rpartition("-")[0] for talk in talks for f in talk.facts)
    stated = {"multi-hop": 282, "temporal": 321, "inference": 96, "single-hop": 841}
    left = {"multi-hop": 1, "temporal": 1, "inference": 7, "single-hop": 0}
    assert stated.keys() == categories.keys()
    assert {category: stated[category] - categories[category] for category in stated} == left
    assert {need.at for talk in talks for need in talk.needs} == {"closing"}
    assert all(talk.calls[-1].id == "closing" for talk in talks)
