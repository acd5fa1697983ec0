"""Half-finished thoughts: taken up again soon, by words whose antecedent is a fact."""

from __future__ import annotations

from collections import defaultdict

import pytest

from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.message import Message
from tests.scenarios.made import FAMILIES, SEEDS, STORIES, all_made, made, stated
from tests.scenarios.test_scenarios_told import lags_of

DOMAIN = STORIES["half_thoughts"].domain
OPTIONS = DOMAIN.together["decision"]


def asked_before(conversation: Conversation) -> dict[str, Message]:
    """The user's message before each message."""
    asked, last = {}, conversation.messages[0]
    for message in conversation.messages:
        last = message if message.starts_turn else last
        asked[message.id] = last
    return asked


def turns_of(conversation: Conversation) -> dict[str, int]:
    """The turn of each message, from 1."""
    turns, turn = {}, 0
    for message in conversation.messages:
        turn += message.starts_turn
        turns[message.id] = turn
    return turns


def test_most_needs_come_within_the_last_few_turns_and_some_much_later() -> None:
    near, far, count = 0, 0, 0
    for conversation in all_made("half_thoughts", 100_000):
        turns = turns_of(conversation)
        said = {fact.id: turns[fact.origin[0].id] for fact in stated(conversation)}
        after = [turns[need.at] - said[need.fact] for need in conversation.needs]
        near += sum(turn <= 10 for turn in after)
        far += sum(turn > 50 for turn in after)
        count += len(after)
    assert near > 0.6 * count
    assert far > 0.05 * count


def test_needs_come_sooner_than_elsewhere() -> None:
    for seed in SEEDS:
        here, there = (
            sum(lag < DOMAIN.lags.border + 500 for lag in lags) / len(lags)
            for lags in (
                lags_of(made(name, 100_000, seed)) for name in ("half_thoughts", "support_chat")
            )
        )
        assert here > 0.65 > there


@pytest.mark.parametrize("phrasing", FAMILIES)
def test_a_thought_is_needed_when_it_is_taken_up_again(phrasing: str) -> None:
    taken_up = count = 0
    for conversation in all_made("half_thoughts", 100_000, phrasing):
        asked = asked_before(conversation)
        facts = {fact.id: fact for fact in stated(conversation)}
        for need in conversation.needs:
            fact = facts[need.fact]
            if fact.kind in DOMAIN.resumes:
                count += 1
                taken_up += refers(asked[need.at].text, fact)
                assert fact.value not in asked[need.at].text
    assert count > 100
    # In the last turn nobody comes back to what was just said.
    assert taken_up > 0.95 * count


def refers(text: str, fact: Fact) -> bool:
    """Whether a text refers back to a fact: by its key, or to an option by its number."""
    if fact.kind == "open_loop":
        return fact.key in text
    area, nth, _ = fact.key.rsplit(" ", 2)
    return any(
        (f"for the {area}" in line.lower() and nth in line.lower())
        or f"those for the {area}" in line
        for line in text.split("\n")
    )


def test_options_are_offered_together_and_told_apart_by_their_number() -> None:
    for conversation in all_made("half_thoughts", 100_000):
        offers: dict[str, list[str]] = defaultdict(list)
        for fact in stated(conversation):
            if fact.kind == "decision" and not fact.supersedes:
                area, _, number = fact.key.partition(" ")
                offers[area].append(number)
                assert fact.origin[0].id == offer_of(conversation, area)
        assert offers
        for numbers in offers.values():
            assert tuple(numbers) == OPTIONS[: len(numbers)]
        assert sum(len(numbers) == len(OPTIONS) for numbers in offers.values()) >= len(offers) - 1


def offer_of(conversation: Conversation, area: str) -> str:
    """The message that offers the options of an area."""
    facts = stated(conversation)
    return next(f.origin[0].id for f in facts if f.key == f"{area} {OPTIONS[0]}")


def test_messages_are_many_and_short() -> None:
    conversation = made("half_thoughts", 100_000, 0)
    assert conversation.turns > 600
    said = sorted(len(m.text) for m in conversation.messages if m.starts_turn)
    assert said[len(said) // 2] < 120  # characters
