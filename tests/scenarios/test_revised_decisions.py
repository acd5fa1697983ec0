"""Decisions that are revised, revoked and forgotten: more than elsewhere, as is said."""

from __future__ import annotations

from collections import Counter

import pytest

from compactlab.scenarios.engine.domain import POLARITY
from compactlab.sim.core.conversation import Conversation, Fact
from tests.scenarios.made import STORIES, all_made, stated
from tests.scenarios.test_scenarios_facts import near

MIX = STORIES["revised_decisions"].domain.mix
SIZES = [100_000, pytest.param(400_000, marks=pytest.mark.slow)]


def chains(conversation: Conversation) -> list[list[Fact]]:
    """Facts in the order in which each replaces the one before."""
    newer = {old: fact for fact in stated(conversation) for old in fact.supersedes}
    found = []
    for fact in stated(conversation):
        if not fact.supersedes and fact.id in newer:
            chain = [fact]
            while chain[-1].id in newer:
                chain.append(newer[chain[-1].id])
            found.append(chain)
    return found


@pytest.mark.parametrize("tokens", SIZES)
def test_shares_are_those_that_it_declares(tokens: int) -> None:
    facts = [f for c in all_made("revised_decisions", tokens) for f in stated(c)]
    shares = {
        "supersedes": (MIX.superseded, 0.05),
        "deleted_at": (MIX.deleted, 0.03),
        "depends_on": (MIX.dependent, 0.03),
    }
    for fate, (share, apart) in shares.items():
        assert sum(bool(getattr(f, fate)) for f in facts) / len(facts) == pytest.approx(
            share, abs=apart
        )
    assert MIX.superseded > 2.5 * 0.15  # of what is usual


@pytest.mark.parametrize("tokens", SIZES)
def test_decisions_are_revised_two_to_four_times_and_rules_once(tokens: int) -> None:
    revisions = Counter[int]()
    for conversation in all_made("revised_decisions", tokens):
        for chain in chains(conversation):
            assert len({fact.value for fact in chain}) == len(chain)
            if chain[0].kind in POLARITY:
                assert len(chain) == 2
            else:
                revisions[len(chain) - 1] += 1
    assert set(revisions) <= {1, 2, 3, 4}
    assert {2, 3, 4} <= set(revisions)
    # One, where the session is over before it is revised again.
    assert revisions[1] < 0.35 * revisions.total()


def test_what_was_revised_is_revoked_too() -> None:
    found = [chain[-1] for c in all_made("revised_decisions", 100_000) for chain in chains(c)]
    assert sum(bool(fact.deleted_at) for fact in found) >= 3


def test_what_follows_from_an_old_value_is_never_revised_with_it() -> None:
    for conversation in all_made("revised_decisions", 100_000):
        facts = {fact.id: fact for fact in stated(conversation)}
        newer = {old: fact for fact in facts.values() for old in fact.supersedes}
        for fact in facts.values():
            for parent in fact.depends_on:
                assert newer[parent].value not in fact.value


def test_half_of_what_is_not_a_rule_has_a_near_duplicate() -> None:
    first = alike = 0
    for conversation in all_made("revised_decisions", 100_000):
        heads = [f for f in stated(conversation) if not f.supersedes and f.kind not in POLARITY]
        first += len(heads)
        alike += sum(any(near(one, other) for other in heads if other is not one) for one in heads)
    assert alike > 0.4 * first
