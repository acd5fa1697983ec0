"""Centroid, lead, tail, salience and random: which sentences each of them quotes."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.tokens import chars4
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.summarizers.catalogue import find_summarizer
from compactlab.strategies.summarizers.extractive import (
    Centroid,
    Cosines,
    Extractive,
    Lead,
    Random,
    Salience,
    Sized,
    Tail,
)
from compactlab.strategies.summarizers.writer import Unit, distinct, units_of
from tests.told import said

NOUNS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen")


def quote(
    summarizer: Sized | Extractive, *messages: Message, budget: int, previous: tuple[Part, ...] = ()
) -> list[str]:
    parts = summarizer.summarize(SummaryRequest(messages, budget, previous), chars4)
    return [line for part in parts for line in part.text.split("\n")]


ZOO = tuple(said(noun, f"About the {noun}") for noun in NOUNS)


def test_lead_quotes_the_oldest_and_tail_the_newest():
    assert quote(Lead(), *ZOO, budget=9) == ["About the ant", "About the bee"]
    assert quote(Tail(), *ZOO, budget=9) == ["About the gnu", "About the hen"]
    assert quote(Tail(tokens=4), *ZOO, budget=9) == ["About the hen"]


def test_neither_skips_what_does_not_fit():
    long = said("long", "a word " * 30)
    assert quote(Lead(), ZOO[0], long, ZOO[1], budget=20) == ["About the ant"]
    assert quote(Tail(), ZOO[0], long, ZOO[1], budget=20) == ["About the bee"]


def test_what_a_first_lead_says_stays_for_ever():
    first = Lead().summarize(SummaryRequest(ZOO[:4], 9), chars4)
    assert quote(Lead(), *ZOO[4:], budget=9, previous=first) == ["About the ant", "About the bee"]


def test_of_what_was_said_twice_tail_takes_the_newer():
    log = (said("m1", "The port is 1."), said("m2", "Fine."), said("m3", "The port is 1."))
    parts = Tail().summarize(SummaryRequest(log, 40), chars4)
    assert [source.id for part in parts for source in part.sources] == ["m2", "m3"]


def test_the_centroid_is_what_most_is_said_about():
    log = said(
        "m1",
        "Lunch is at noon.\n"
        "The parser reads the header of the file.\n"
        "A parser without a header fails on that file.\n"
        "It may rain.",
    )
    (line,) = quote(Centroid(words=3), log, budget=12)
    assert "parser" in line and "header" in line  # noqa: PT018


def by_hand(texts: list[str], words: int) -> list[float]:
    """Centroid scores, computed as one reads them in the paper."""
    bags = [Counter(text.split()) for text in texts]
    spread = Counter(word for bag in bags for word in bag)
    weight = {
        word: sum(bag[word] for bag in bags)
        * (1 + math.log(len(texts) / spread[word]))
        / len(texts)
        for word in spread
    }
    order = list(spread)
    heavy = sorted(order, key=lambda word: (-round(weight[word], 9), order.index(word)))[:words]
    return [sum(weight[word] for word in heavy if word in bag) for bag in bags]


@given(
    st.lists(st.lists(st.sampled_from(NOUNS), min_size=1, max_size=6), min_size=1, max_size=8),
    st.integers(1, 9),
)
def test_centroid_scores_are_those_one_gets_by_hand(bags, words):
    texts = [" ".join(bag) for bag in bags]
    cosines = Cosines(texts)
    scores = cosines.sums(cosines.centroid(words))
    assert scores.tolist() == pytest.approx(by_hand(texts, words), abs=1e-6)


def scores(*messages: Message) -> dict[str, float]:
    units = list(units_of(SummaryRequest(messages, 100)))
    return dict(zip((unit.text for unit in units), Salience().scores(units), strict=True))


def test_salience_adds_up_what_speaks_for_a_unit():
    found = scores(
        said("m0", "whatever", "tool"),
        said("m1", "whatever it is", "assistant"),
        said("m2", "that is it"),
        said("m3", "we agreed on it"),
        said("m4", "see src/only.py"),
        Message("m5", "tool", (verbatim("m5", "tool_result", "all quiet", is_error=True),)),
        said("m6", "it failed there", "tool"),
    )
    sixth = 0.5 / 6
    assert found == pytest.approx(
        {
            "whatever": 0,
            "whatever it is": 0.5 + sixth,
            "that is it": 1 + 2 * sixth,
            "we agreed on it": 2 + 3 * sixth,
            "see src/only.py": 1.5 + 4 * sixth,
            "all quiet": 0.5 + 5 * sixth,
            "it failed there": 1.0,
        }
    )


def test_a_name_that_stands_everywhere_is_not_rare():
    found = scores(*(said(f"m{n}", f"src/all.py {n}", "tool") for n in range(4)))
    assert found == pytest.approx({f"src/all.py {n}": n / 6 for n in range(4)})


def test_what_a_client_says_is_nobodys_word():
    told = Message("m1", "user", (verbatim("m1", "text", "hello there"),), meta=True)
    assert scores(told) == {"hello there": 0.5}


def best(worth: list[int], tokens: list[int], budget: int) -> int:
    """The best filling of a knapsack, by trying all."""
    fillings = [(0, 0)]
    for value, size in zip(worth, tokens, strict=True):
        fillings += [(v + value, t + size) for v, t in fillings if t + size <= budget]
    return max(value for value, _ in fillings)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 12)), min_size=1, max_size=9),
    st.integers(1, 40),
)
def test_the_knapsack_is_filled_to_within_one_unit_of_the_best(made, budget):
    cues = ["thing", "todo thing", "agreed", "agreed failed", "thing failed"]
    texts = [f"{n} {cues[cue]}" + " x" * size for n, (cue, size) in enumerate(made)]
    units = [Unit(text, (Source("m1"),), exact=True, role="user") for text in texts]
    salience = Salience(recency=0, rarity=0)
    tokens = [chars4(text + "\n") for text in texts]
    worth = [round(2 * s) * t for s, t in zip(salience.scores(units), tokens, strict=True)]
    chosen = list(salience.choose(units, budget, chars4))
    assert sum(tokens[index] for index in chosen) <= budget
    missed = best(worth, tokens, budget) - sum(worth[index] for index in chosen)
    assert 0 <= missed <= max(worth)


def test_chance_has_a_seed_and_is_fair():
    told = Conversation("c", "made", ZOO, seed=0)
    request = SummaryRequest(ZOO, 8)
    drawn = Counter(
        part.text
        for seed in range(400)
        for part in Random().bound(told, seed).summarize(request, len)
    )
    assert not drawn  # no line fits
    request = SummaryRequest(ZOO, 14)
    drawn = Counter(
        part.text
        for seed in range(400)
        for part in Random().bound(told, seed).summarize(request, len)
    )
    assert drawn.total() == 400
    # Eight lines, 50 times each; 24 are more than three and a half standard deviations.
    assert all(abs(drawn[f"About the {noun}"] - 50) <= 24 for noun in NOUNS)
    with pytest.raises(UsageError, match="bind"):
        Random().summarize(request, len)


@pytest.mark.parametrize("name", ["centroid", "lead", "tail", "salience"])
def test_every_line_is_found_where_it_says_that_it_stands(name):
    log = (*ZOO, said("m9", "One. Two!\nThree src/a.py?  Four.", "assistant"))
    parts = find_summarizer(name).summarize(SummaryRequest(log, 60), chars4)
    by_id = {message.id: message for message in log}
    for part in parts:
        for line, source in zip(part.text.split("\n"), part.sources, strict=True):
            assert by_id[source.id].parts[source.part].text[source.start : source.end] == line


def test_the_same_text_is_one_unit_and_noise_is_none():
    log = (said("m1", "Never  push.\n---\nNever push."), said("m2", "Never push."))
    assert [unit.text for unit in distinct(units_of(SummaryRequest(log, 9)))] == ["Never  push."]


@pytest.mark.parametrize(
    ("cls", "nonsense"),
    [(Lead, {"tokens": 0}), (Random, {"tokens": 0}), (Centroid, {"words": 0}),
     (Salience, {"role": -1.0}), (Salience, {"units": 0}), (Salience, {"error": math.inf})],
)  # fmt: skip
def test_nonsense_is_refused(cls, nonsense):
    with pytest.raises(ValueError, match="must be"):
        cls(**nonsense)
