"""The session that goes back: what is said on an abandoned branch holds there and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.scenarios.plain import Rewinds
from compactlab.sim.core.conversation import Conversation, Fact, Rewind
from compactlab.sim.core.message import Message
from compactlab.sim.core.stream import stream
from compactlab.sim.facts.ledger import ledger_of, numbers
from compactlab.sim.metrics import RunData, figures
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.controls import KeepAll
from tests.scenarios.made import made, of_all_seeds, stated
from tests.sim.facts import told


def ways(conversation: Conversation) -> Iterator[tuple[Message, tuple[str, ...]]]:
    """Each message with the ids of those on the way to it: the naive tree."""
    way: dict[str, tuple[str, ...]] = {"": ()}
    here = ""
    for event in conversation.events:
        if isinstance(event, Rewind):
            here = event.to
        elif isinstance(event, Message):
            yield event, way[here]
            way[event.id] = (*way[here], event.id)
            here = event.id


def trunk(conversation: Conversation) -> set[str]:
    *_, (last, before) = ways(conversation)
    return {*before, last.id}


def aside(conversation: Conversation) -> list[Fact]:
    """The facts that are stated on abandoned branches."""
    kept = trunk(conversation)
    return [f for f in stated(conversation) if not {s.id for s in f.origin} & kept]


@given(st.integers(0, 2**32), st.integers(1, 200))
def test_the_trunk_begins_and_ends_it_and_no_branch_is_skipped(seed: int, turns: int) -> None:
    route = Rewinds().route(stream(seed, "route"), turns)
    assert len(route) == turns
    assert route[0] == route[-1] == 0
    first_seen = list(dict.fromkeys(branch for branch in route if branch))
    assert first_seen == list(range(1, len(first_seen) + 1))
    if turns > 8:
        assert 0.1 < sum(map(bool, route)) / turns < 0.6


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("tokens", [20_000, 100_000])
def test_a_branch_is_left_and_taken_up_again(tokens: int, seed: int) -> None:
    session = Rewinds(tokens=tokens).conversation(seed)
    kept = trunk(session)
    targets = [event.to for event in session.events if isinstance(event, Rewind)]
    assert any(to in kept for to in targets)
    assert any(to not in kept for to in targets)


@of_all_seeds
def test_what_is_said_on_an_abandoned_branch_is_due_there_and_nowhere_else(seed: int) -> None:
    session = made("rewinds", 100_000, seed)
    ledger, found = ledger_of(session), aside(session)
    assert len(found) >= 3
    for message, way in ways(session):
        if message.call is not None:
            due = {ledger.facts[n].id for n in numbers(ledger.moments[message.id].due)}
            assert all((f.origin[0].id in way) >= (f.id in due) for f in found)
    assert not told.due(session) & {fact.id for fact in found}


def test_what_was_replaced_on_a_branch_holds_again_and_is_needed_again() -> None:
    again = []
    for seed in range(8):
        session = Rewinds().conversation(seed)
        kept, due = trunk(session), ledger_of(session).moments
        order = {message.id: index for index, message in enumerate(session.messages)}
        number = {fact.id: n for n, fact in enumerate(session.facts)}
        for newer in aside(session):
            for old in newer.supersedes:
                after = [m for m in session.calls if m.id in kept and later(order, m, newer)]
                assert due[after[0].id].due >> number[old] & 1
                again.append(bool({n.at for n in session.needs if n.fact == old} & ids(after)))
    assert len(again) > 16
    assert sum(again) > 0.9 * len(again)


def later(order: dict[str, int], message: Message, fact: Fact) -> bool:
    return order[message.id] > order[fact.origin[0].id]


def ids(messages: list[Message]) -> set[str]:
    return {message.id for message in messages}


@of_all_seeds
def test_facts_from_before_a_fork_are_needed_on_both_sides_of_it(seed: int) -> None:
    session = made("rewinds", 100_000, seed)
    kept = trunk(session)
    from_trunk = {f.id for f in stated(session) if f.origin[0].id in kept}
    on = [(need.fact, need.at in kept) for need in session.needs if need.fact in from_trunk]
    assert {fact for fact, here in on if here} & {fact for fact, here in on if not here}


def test_who_keeps_all_forgets_nothing_on_any_branch() -> None:
    session = made("rewinds", 20_000, 1)
    trace = record(session, KeepAll(), Options("claude-sonnet-4-5"))
    way = {message.id: before for message, before in ways(session)}
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        assert tuple(message.id for message in prompt) == way[step.answer]
    found = figures(RunData(trace, session), ["amnesia", "amnesia_need"])
    assert found == {"amnesia": 0, "amnesia_need": 0}


def test_bytes_never_change_unnoticed() -> None:
    assert Rewinds(tokens=10_000).conversation(0).digest == "0eddfabd0c50f966"
