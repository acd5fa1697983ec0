"""The labelled pairs, those that rules may be made on and those that judge them, are consistent."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

from compactlab.sim.core.conversation import FactType
from tests.sim.facts.pairs.pairs import CLASSES, STATES, Pair, read, real

HALVES = ("dev", "test", "test2", "test3")
of_both = pytest.mark.parametrize("half", HALVES)
of_all = pytest.mark.parametrize("half", [*HALVES, "dev2"])


@of_both
def test_every_class_has_enough_pairs(half: str) -> None:
    counts = Counter(pair.group for pair in read(half))
    assert set(counts) == set(CLASSES)
    assert min(counts.values()) >= 14
    assert counts.total() >= 340


@of_both
@pytest.mark.parametrize("group", CLASSES)
def test_no_class_can_be_guessed_by_one_answer(half: str, group: str) -> None:
    answers = Counter(pair.kept for pair in read(half) if pair.group == group)
    assert min(answers[True], answers[False]) >= 3


@of_both
def test_about_half_of_the_facts_are_kept(half: str) -> None:
    assert 0.4 <= sum(pair.kept for pair in read(half)) / len(read(half)) <= 0.6


@of_both
@pytest.mark.parametrize("state", STATES)
def test_every_state_occurs(half: str, state: str) -> None:
    assert sum(pair.state == state for pair in read(half)) >= 8


def consistent(pair: Pair) -> bool:
    return (
        pair.state in STATES
        and pair.kind in get_args(FactType)
        and pair.polarity in ("is", "must", "must_not")
        and bool(pair.key and (pair.value or pair.parts))
        and (pair.state not in ("stale", "conflict") or bool(pair.older))
    )


@of_all
def test_the_fields_fit_each_other(half: str) -> None:
    assert [pair for pair in read(half) if not consistent(pair)] == []


@of_all
def test_texts_have_the_length_of_a_passage(half: str) -> None:
    # Chinese and Japanese have no spaces between words.
    texts = [pair.text for pair in read(half)]
    assert [t for t in texts if not 3 <= len(t.split() if " " in t else t) <= 100] == []


def test_no_pair_stands_there_twice() -> None:
    every = (pair for half in (*HALVES, "dev2") for pair in read(half))
    counts = Counter((pair.key, pair.value, pair.text) for pair in every)
    assert [pair for pair, times in counts.items() if times > 1] == []


def test_real_sentences_stand_where_they_are_said_to() -> None:
    pairs = real("dev")
    assert len(pairs) >= 60
    assert all(consistent(pair) for pair in pairs)
    assert 0.3 <= sum(pair.kept for pair in pairs) / len(pairs) <= 0.7
