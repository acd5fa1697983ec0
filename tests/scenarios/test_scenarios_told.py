"""How every made-up scenario is told: sizes, places, needs, and that it is sound."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

from compactlab.scenarios.engine.plan import FIRST
from compactlab.scenarios.readers import jsonl, native
from compactlab.sim.core.conversation import Conversation, FactType
from compactlab.sim.core.message import Source
from compactlab.sim.core.spec import build, parse_spec
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.facts.ledger import ledger_of
from compactlab.sim.facts.needs import used
from compactlab.sim.facts.occurrences import normal
from tests.scenarios.made import (
    FAMILIES,
    SIZES,
    STORIES,
    all_made,
    made,
    of_all_seeds,
    places,
    size,
    stated,
    whole,
    written,
)

of_all = pytest.mark.parametrize("name", STORIES)
of_all_sizes = pytest.mark.parametrize("tokens", SIZES)


def test_all_types_of_facts_occur_over_the_suite() -> None:
    kinds = {f.kind for name in STORIES for c in all_made(name, 100_000) for f in stated(c)}
    assert kinds == set(get_args(FactType))


# ------------------------------------------------------------------------------------------ sizes


@of_all
@of_all_sizes
@of_all_seeds
def test_there_are_about_as_many_tokens_as_were_asked_for(
    name: str, tokens: int, seed: int
) -> None:
    error = 0.25 if tokens < 100_000 else 0.05
    assert size(made(name, tokens, seed)) == pytest.approx(tokens, rel=error)


@of_all
@of_all_sizes
@of_all_seeds
def test_tools_return_the_share_that_the_scenario_says(name: str, tokens: int, seed: int) -> None:
    conversation = made(name, tokens, seed)
    parts = [part for message in conversation.messages for part in message.parts]
    results = sum(Tokenizer().part(part) for part in parts if part.type == "tool_result")
    low, high = STORIES[name].results
    assert low <= results / size(conversation) <= high


# ----------------------------------------------------------------------------------------- places


@of_all
@pytest.mark.parametrize("tokens", SIZES[1:])
def test_facts_are_stated_early_late_and_between(name: str, tokens: int) -> None:
    strata = [where for c in all_made(name, tokens) for where in stratum(c)]
    for where, least in (("first", 0.15), ("middle", 0.25), ("last", 0.1)):
        assert strata.count(where) >= least * len(strata), where


def stratum(conversation: Conversation) -> list[str]:
    place, tokens = places(conversation), size(conversation)
    turns = [message.id for message in conversation.messages if message.starts_turn]
    late = place[turns[-STORIES[conversation.format].domain.mix.late]]
    found = []
    for fact in stated(conversation):
        here = place[fact.origin[0].id]
        early = here < FIRST * tokens
        found.append("first" if early else "last" if here >= late else "middle")
    return found


# ------------------------------------------------------------------------------------------ needs


@of_all
@of_all_sizes
@of_all_seeds
def test_who_needs_a_fact_uses_its_value_and_does_not_state_it(
    name: str, tokens: int, seed: int
) -> None:
    conversation = made(name, tokens, seed)
    messages = {message.id: message for message in conversation.messages}
    facts = {fact.id: fact for fact in conversation.facts}
    for need in conversation.needs:
        user = messages[need.at]
        assert user.call is not None
        fact = facts[need.fact]
        texts = [written(part) for part in user.parts if part.type != "thinking"]
        assert any(fact.value in text for text in texts)
        assert used(user)  # so that it is seen without labels, too
        if need.at not in {source.id for source in fact.origin}:
            names = (fact.key, *fact.aliases)
            assert not any(names_it(each, whole(user)) for each in names)


def names_it(key: str, text: str) -> bool:
    """Whether a text has a key, and not inside of another one, as a twin's is."""
    return bool(re.search(rf"(?<![\w-]){re.escape(normal(key))}(?![\w-])", normal(text)))


@of_all
@of_all_sizes
@of_all_seeds
def test_a_fact_is_only_needed_while_it_holds(name: str, tokens: int, seed: int) -> None:
    conversation = made(name, tokens, seed)
    ledger = ledger_of(conversation)
    needed = sum(moment.needed.bit_count() for moment in ledger.moments.values())
    assert needed == len(conversation.needs)


@of_all
@of_all_sizes
def test_nearly_every_fact_is_needed(name: str, tokens: int) -> None:
    for conversation in all_made(name, tokens):
        needed = {need.fact for need in conversation.needs}
        facts = stated(conversation)
        assert len(facts) - len(needed) <= max(1, 0.1 * len(facts))


@of_all
@pytest.mark.parametrize("tokens", SIZES[1:])
def test_lags_are_spread_as_is_stated(name: str, tokens: int) -> None:
    lags = [lag for conversation in all_made(name, tokens) for lag in lags_of(conversation)]
    edges = [STORIES[name].domain.lags.at(step / 4, tokens) for step in range(1, 4)]
    bins = [sum(low <= lag < high for lag in lags) for low, high in pairwise([0, *edges, 1e9])]
    # Cut to the time for which a fact holds, so that there are fewer long ones than short ones;
    # none is missing.
    assert all(count >= 0.08 * len(lags) for count in bins), bins
    assert bins[0] < 0.5 * len(lags)


def lags_of(conversation: Conversation) -> list[int]:
    place = places(conversation)
    said = {fact.id: place[fact.origin[0].id] for fact in stated(conversation)}
    return [place[need.at] - said[need.fact] for need in conversation.needs]


# ------------------------------------------------------------------------------------- soundness


@of_all
@of_all_sizes
@of_all_seeds
def test_calls_results_and_times_are_sound(name: str, tokens: int, seed: int) -> None:
    conversation = made(name, tokens, seed)
    messages = conversation.messages
    assert len({message.id for message in messages}) == len(messages)
    assert all(a.time < b.time for a, b in pairwise(messages))
    for message in messages:
        assert message.parts
        assert (message.call is not None) == (message.role == "assistant")
        assert all(part.sources == (Source(message.id),) for part in message.parts)
    # Nothing is wrong but what is wrong on purpose, and that is.
    assert faults_of(conversation) <= STORIES[name].faults
    if tokens >= 100_000:
        assert faults_of(conversation) == STORIES[name].faults


def faults_of(conversation: Conversation) -> set[str]:
    found: set[str] = set()
    waiting: dict[str, str] = {}
    answered: set[str] = set()
    for part in (part for message in conversation.messages for part in message.parts):
        if not part.text:
            found.add("empty text")
        if part.type == "tool_call":
            waiting[part.call_id] = part.name
        elif part.type == "tool_result" and waiting.pop(part.call_id, "") != part.name:
            found.add("answered twice" if part.call_id in answered else "orphaned result")
        if part.type == "tool_result":
            answered.add(part.call_id)
    return found | ({"unanswered call"} if waiting else set())


@of_all
def test_the_same_seed_makes_the_same_bytes_and_another_does_not(name: str) -> None:
    again = STORIES[name](tokens=20_000).conversation(1)
    assert again == made(name, 20_000, 1)
    assert again.digest == made(name, 20_000, 1).digest
    others = {made(name, 20_000, 2).digest, made(name, 20_000, 1, "held_out").digest}
    assert again.digest not in others


@of_all
@pytest.mark.parametrize("phrasing", FAMILIES)
def test_it_survives_being_written_and_read(name: str, phrasing: str, tmp_path: Path) -> None:
    conversation = made(name, 20_000, 0, phrasing)
    path = tmp_path / "made.jsonl"
    native.write(conversation, path)
    (again,) = native.read(jsonl.Lines(path))
    assert again == conversation
    twice = io.BytesIO()
    native.write(again, twice)
    assert twice.getvalue() == path.read_bytes()


@of_all
@pytest.mark.parametrize("turns", [1, 3, 30])
@pytest.mark.parametrize("tokens", [1, 400, 9_000])
def test_every_turn_is_there_however_little_may_be_said(name: str, turns: int, tokens: int) -> None:
    for seed in range(8):
        conversation = STORIES[name](turns=turns, tokens=tokens).conversation(seed)
        assert conversation.turns >= turns
        assert len(conversation.calls) >= turns
        assert all(fact.origin for fact in stated(conversation))


@of_all
def test_a_spec_names_it_and_nonsense_is_refused(name: str) -> None:
    scenario = STORIES[name](turns=3, tokens=9_000, phrasing="held_out")
    named, arguments = parse_spec(scenario.spec)
    assert named == name
    assert build(STORIES[name], arguments) == scenario
    for wrong in ({"turns": -1}, {"tokens": 0}, {"calls": -1}):
        with pytest.raises(ValueError, match="at least 1"):
            STORIES[name](**wrong)


@of_all
def test_any_profile_will_do(name: str, tmp_path: Path) -> None:
    from compactlab.scenarios.engine.profile import find_profile

    own = STORIES[name]().profile
    file = tmp_path / "own.toml"
    file.write_text(find_profile(own).toml(), encoding="utf-8")
    story = STORIES[name](tokens=20_000, profile=str(file))
    assert story.conversation(1).events == made(name, 20_000, 1).events
