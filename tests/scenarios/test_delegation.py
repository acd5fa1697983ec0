"""Work that is handed out, asked for, finished and left open."""

from __future__ import annotations

import pytest

from compactlab.scenarios.plain import Delegation
from compactlab.sim.core.clients import instruction_files
from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.facts.wording import Wording
from tests.scenarios.made import FAMILIES, all_made, made, places, spans, stated

MIX = Delegation.domain.mix
of_both = pytest.mark.parametrize("phrasing", FAMILIES)


def of_kind(conversation: Conversation, kind: str) -> list[Fact]:
    return [fact for fact in stated(conversation) if fact.kind == kind]


def test_four_in_five_tasks_end_in_what_came_of_them() -> None:
    tasks = done = 0
    for conversation in all_made("delegation", 100_000):
        facts = {fact.id: fact for fact in conversation.facts}
        tasks += len(of_kind(conversation, "open_loop"))
        for fact in of_kind(conversation, "done"):
            done += 1
            (task,) = (facts[id] for id in fact.supersedes)
            assert (task.kind, task.key) == ("open_loop", fact.key)
    assert done == pytest.approx(MIX.finished * tasks, abs=4)


@of_both
def test_the_end_of_a_task_does_not_ask_for_it_and_the_agent_says_it(phrasing: str) -> None:
    for conversation in all_made("delegation", 100_000, phrasing):
        facts = {fact.id: fact for fact in conversation.facts}
        roles = {message.id: message.role for message in conversation.messages}
        for fact in of_kind(conversation, "done"):
            (task,) = (facts[id] for id in fact.supersedes)
            for span in spans(conversation, fact):
                assert not Wording(span).says(task).stated
            assert {roles[source.id] for source in fact.origin} == {"assistant"}
            assert {roles[source.id] for source in task.origin} == {"user"}


def test_handles_come_back_from_the_tool_that_starts_an_agent_and_are_used_while_it_runs() -> None:
    used = 0
    for conversation in all_made("delegation", 100_000):
        messages = {message.id: message for message in conversation.messages}
        place = places(conversation)
        for fact in of_kind(conversation, "handle"):
            (source,) = fact.origin
            assert messages[source.id].parts[source.part].name == "delegate"
            assert not fact.handle
            uses = [need for need in conversation.needs if need.fact == fact.id]
            used += len(uses)
            end = place[fact.scope] if fact.scope != "session" else float("inf")
            assert all(place[source.id] < place[need.at] < end for need in uses)
    assert used > 10


@of_both
def test_questions_are_asked_by_the_agent_and_decide_nothing(phrasing: str) -> None:
    for conversation in all_made("delegation", 100_000, phrasing):
        roles = {message.id: message.role for message in conversation.messages}
        for fact in of_kind(conversation, "proposal"):
            assert fact.polarity == "asks"
            assert roles[fact.origin[0].id] == "assistant"
            if fact.scope != "session":
                assert roles[fact.scope] == "user"


def test_the_client_puts_an_instruction_file_in_front_with_rules_that_may_be_replaced() -> None:
    replaced = 0
    for conversation in all_made("delegation", 100_000):
        (file,) = instruction_files(conversation.messages)
        assert file is conversation.messages[0]
        inside = [fact for fact in stated(conversation) if fact.origin[0].id == file.id]
        assert inside
        assert {fact.kind for fact in inside} <= set(Delegation.domain.instructions)
        older = {id for fact in stated(conversation) for id in fact.supersedes}
        replaced += sum(fact.id in older for fact in inside)
    assert replaced


def test_a_pinned_conversation() -> None:
    assert Delegation(tokens=10_000).conversation(0).digest == "89f2fb8d2b05d7f8"


def test_at_twenty_thousand_tokens_there_is_an_agent_in_flight() -> None:
    assert all(of_kind(made("delegation", 20_000, seed), "handle") for seed in range(4))
