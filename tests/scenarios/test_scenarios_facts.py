"""What is asked of the facts of every made-up scenario: the project's notes on metrics, section 10.

A scenario is held to it by being in the catalogue.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import pytest

from compactlab.scenarios.engine.domain import WORDS
from compactlab.scenarios.engine.plan import CLOSED
from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.tokens import encoding
from compactlab.sim.facts.wording import Wording
from tests.scenarios.made import (
    SIZES,
    STORIES,
    all_made,
    made,
    of_all_seeds,
    places,
    size,
    spans,
    stated,
)

pytestmark = pytest.mark.parametrize("name", STORIES)
of_all_sizes = pytest.mark.parametrize("tokens", SIZES)

HEX = re.compile(r"[0-9a-f]{10}|[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}")
# Five of 256 words: forty bits.
CHAIN = re.compile(rf"(?:(?:{'|'.join(WORDS)})-){{4}}(?:{'|'.join(WORDS)})")


def share(name: str, tokens: int, holds: str) -> float:
    """Of all stated facts, those of which a field is not empty."""
    facts = [fact for conversation in all_made(name, tokens) for fact in stated(conversation)]
    return sum(bool(getattr(fact, holds)) for fact in facts) / len(facts)


@of_all_sizes
@of_all_seeds
def test_values_cannot_be_guessed(name: str, tokens: int, seed: int) -> None:
    facts = made(name, tokens, seed).facts
    assert len({fact.value for fact in facts}) == len(facts)
    for fact in facts:
        assert HEX.search(fact.value) or CHAIN.search(fact.value)
        assert encoding("o200k_base").count(fact.value) >= 4
        assert not fact.value.replace("-", "").isdigit()


def test_no_value_comes_twice_in_different_conversations(name: str) -> None:
    values = [f.value for conversation in all_made(name, 20_000) for f in conversation.facts]
    assert len(set(values)) == len(values)


@of_all_sizes
@of_all_seeds
def test_a_fifth_of_the_facts_are_decoys_which_nobody_says(
    name: str, tokens: int, seed: int
) -> None:
    conversation = made(name, tokens, seed)
    decoys = [fact for fact in conversation.facts if fact.decoy]
    assert 0.2 <= len(decoys) / len(conversation.facts) < 0.35
    text = "\n".join(message.text for message in conversation.messages)
    for decoy in decoys:
        assert not decoy.origin
        assert decoy.value not in text
    assert not {decoy.id for decoy in decoys} & {need.fact for need in conversation.needs}


def test_decoys_are_made_as_facts_are(name: str) -> None:
    facts = [f for conversation in all_made(name, 100_000) for f in conversation.facts]
    things = {fact.key.split(" ", 1)[1] for fact in facts if not fact.decoy}
    decoys = [fact for fact in facts if fact.decoy]
    assert {fact.kind for fact in decoys} <= {fact.kind for fact in facts if not fact.decoy}
    assert sum(fact.key.split(" ", 1)[1] in things for fact in decoys) > 0.9 * len(decoys)


@of_all_sizes
@of_all_seeds
def test_key_and_value_stand_where_a_fact_is_stated(name: str, tokens: int, seed: int) -> None:
    conversation = made(name, tokens, seed)
    for fact in stated(conversation):
        assert fact.origin
        for span in spans(conversation, fact):
            assert fact.value in span
            assert any(known in span for known in (fact.key, *fact.aliases))
            assert Wording(span).says(fact).intact


@of_all_sizes
@of_all_seeds
def test_density_is_within_its_bounds(name: str, tokens: int, seed: int) -> None:
    conversation = made(name, tokens, seed)
    for facts in (stated(conversation), conversation.facts):
        assert 0.05 <= len(facts) / (size(conversation) / 1000) <= 0.5


@of_all_sizes
def test_demands_and_prohibitions_are_balanced(name: str, tokens: int) -> None:
    for conversation in all_made(name, tokens):
        count = Counter(fact.polarity for fact in stated(conversation))
        assert abs(count["must"] - count["must_not"]) <= 2
    facts = [fact for conversation in all_made(name, tokens) for fact in stated(conversation)]
    count = Counter(fact.polarity for fact in facts)
    assert abs(count["must"] - count["must_not"]) <= 0.15 * count.total()


@pytest.mark.parametrize(
    ("fate", "least"), [("deleted_at", 0.03), ("depends_on", 0.03), ("supersedes", 0.12)]
)
def test_facts_are_superseded_deleted_and_depended_on(name: str, fate: str, least: float) -> None:
    assert share(name, 100_000, fate) >= least


@of_all_sizes
@of_all_seeds
def test_a_newer_fact_says_something_else_of_the_same_thing_later(
    name: str, tokens: int, seed: int
) -> None:
    conversation = made(name, tokens, seed)
    facts = {fact.id: fact for fact in conversation.facts}
    place = places(conversation)
    for fact in facts.values():
        for old in (facts[each] for each in fact.supersedes):
            assert old.key == fact.key
            # That a task is finished replaces what asked for it.
            assert old.kind == ("open_loop" if fact.kind == "done" else fact.kind)
            assert old.value != fact.value
            assert place[old.origin[0].id] < place[fact.origin[0].id]


@of_all_sizes
@of_all_seeds
def test_a_dependent_is_made_of_what_is_superseded_after_it(
    name: str, tokens: int, seed: int
) -> None:
    conversation = made(name, tokens, seed)
    facts = {fact.id: fact for fact in conversation.facts}
    newer = {old: fact for fact in facts.values() for old in fact.supersedes}
    place = places(conversation)
    for fact in stated(conversation):
        for parent in (facts[each] for each in fact.depends_on):
            assert fact.value.startswith(parent.value)
            first, here = place[parent.origin[0].id], place[fact.origin[0].id]
            assert first <= here < place[newer[parent.id].origin[0].id]


@of_all_sizes
@of_all_seeds
def test_what_is_taken_back_or_closed_is_named_later_by_a_person(
    name: str, tokens: int, seed: int
) -> None:
    conversation = made(name, tokens, seed)
    messages = {message.id: message for message in conversation.messages}
    place = places(conversation)
    ended = {old for fact in stated(conversation) for old in fact.supersedes}
    for fact in stated(conversation):
        closed = fact.scope != "session"
        # An open loop ends always, by its close or by what came of it; an agent may be in flight
        # and a question open until the end.
        assert not closed or fact.kind in CLOSED
        assert (closed != (fact.id in ended)) or fact.kind != "open_loop"
        end = fact.deleted_at if fact.scope == "session" else fact.scope
        if end:
            assert place[end] > place[fact.origin[0].id]
            assert messages[end].starts_turn
            assert fact.key in messages[end].text
            assert not Wording(messages[end].text).says(fact).stated


@of_all_sizes
@of_all_seeds
def test_what_a_tool_said_stands_nowhere_else_until_it_is_used(
    name: str, tokens: int, seed: int
) -> None:
    conversation = made(name, tokens, seed)
    first_use: dict[str, str] = {}
    for need in conversation.needs:
        first_use.setdefault(need.fact, need.at)
    messages = {message.id: message for message in conversation.messages}
    for fact in stated(conversation):
        source = fact.origin[0]
        assert (fact.kind != "tool_detail") or fact.handle
        # Who starts an agent once more has another one: its handle cannot be fetched.
        by_tool = messages[source.id].role == "tool"
        assert bool(fact.handle) == (by_tool and fact.kind != "handle")
        if fact.handle:
            assert fact.handle == source.id
            # A result that shows it again states it again.
            origins = {each.id for each in fact.origin}
            assert {messages[id].role for id in origins} == {"tool"}
            for message in conversation.messages:
                if message.id == first_use.get(fact.id):
                    break
                assert (fact.value in message.text) == (message.id in origins)


@of_all_sizes
@of_all_seeds
def test_there_are_near_duplicates_that_must_stay_apart(name: str, tokens: int, seed: int) -> None:
    facts = [fact for fact in stated(made(name, tokens, seed)) if not fact.supersedes]
    assert any(near(one, other) for one, other in combinations(facts, 2))


def near(one: Fact, other: Fact) -> bool:
    """Whether keys differ in one word, and values in nothing but what cannot be guessed."""
    keys = (one.key.split(" "), other.key.split(" "))
    apart = sum(a != b for a, b in zip(*keys, strict=False))
    makes = {CHAIN.sub("*", HEX.sub("*", fact.value)) for fact in (one, other)}
    return len(keys[0]) == len(keys[1]) and apart == 1 and len(makes) == 1
