"""The summariser `calibrated`: it draws what its model says, and writes it as real agents do."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.core.conversation import Conversation, Fact, FactType
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.message import Part
from compactlab.sim.core.tokens import Tokenizer, chars4
from compactlab.sim.experiment.conditions import Condition, Setting
from compactlab.sim.facts import ledger_of
from compactlab.sim.facts.evidence import Witness
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.calibrated import (
    SHORT,
    BoundCalibrated,
    Calibrated,
    Calibration,
    Client,
    Paths,
    Traits,
    find_calibration,
    traits_in,
)
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.lines import refusal, refusals
from tests.summarizers.story import Story, many, token

o200k = Tokenizer().text
NEVER = Client(1, 0, 0.0, 0, 0.0, 3000.0, 0.0, 0.3, 1000, 6000)
PLAIN = Paths(0, 0.0, 0, 0.0, 0.0)


def model(paths: Paths = PLAIN, client: Client = NEVER, **coefficients: float) -> Calibration:
    """A model by its coefficients; nothing else of it does anything unless it is given."""
    coefficients = {"all": 0.0} | coefficients
    both = {"root": paths, "other": paths}
    return Calibration("planted", "ours", 1, 1, coefficients, both, {"ours": client})


def summarize(
    by: Calibration,
    told: Conversation,
    previous: tuple[Part, ...] = (),
    *,
    messages: Any = None,
    draw: int = 0,
    budget: int = 50_000,
    seed: int = 0,
) -> tuple[Part, ...]:
    bound = BoundCalibrated(told, seed, "calibrated", draw, 0.0, by, "ours")
    messages = told.messages if messages is None else messages
    return bound.summarize(SummaryRequest(messages, budget, previous), o200k)


def kept(told: Conversation, parts: tuple[Part, ...]) -> set[str]:
    """The facts that a summary keeps, by id."""
    evidence = Witness(ledger_of(told)).parts(parts)
    bits = ledger_of(told).held(evidence.verbatim) | evidence.intact
    return {fact.id for n, fact in enumerate(ledger_of(told).facts) if bits >> n & 1}


def close(hits: int, n: int, p: float) -> bool:
    """Whether a count is within 3.9 standard deviations: a chance of one in ten thousand."""
    return abs(hits - n * p) <= 3.9 * math.sqrt(n * p * (1 - p)) + 1e-9


def test_facts_are_kept_as_often_as_the_model_says():
    told = many(1).told()
    by = model(all=-1.0, decision=0.5)
    ledger = ledger_of(told)
    traits = traits_in(Witness(ledger), SummaryRequest(told.messages, 50_000))
    chances = [by.chance(each, 3000) for each in traits.values()]
    draws = range(40)
    hits = sum(len(kept(told, summarize(by, told, draw=draw))) for draw in draws)
    mean = sum(chances) / len(chances)
    assert len(set(chances)) == 2  # decisions, and what goes by no figure of its own
    assert close(hits, len(chances) * len(draws), mean)


def test_what_is_said_often_and_lately_stays_rather():
    by = find_calibration()
    chance = partial(by.chance, tokens=3000)
    seldom, often = (Traits("entity", n, 20_000, False, False) for n in (1, 16))
    late, early = (Traits("entity", 2, n, False, False) for n in (100, 90_000))
    number, path = Traits("number", 2, 100, False, False), Traits("artifact", 2, 100, False, True)
    assert chance(often) > chance(seldom)
    assert chance(late) > max(map(chance, (early, number, path)))
    assert by.chance(late, 6000) > chance(late) > by.chance(late, 1000)


@pytest.mark.parametrize("kind", get_args(FactType))
def test_every_type_has_a_chance_that_is_none_of_the_ends(kind):
    assert 0.01 < find_calibration().chance(Traits(kind, 1, 5_000, False, False), 3000) < 0.95


def test_what_people_say_goes_by_names_that_people_say():
    by = find_calibration()
    for kind in ("constraint", "prohibition", "preference", "goal", "open_loop"):
        said = Traits(kind, 3, 900, False, False)
        assert by.chance(said, 3000) == by.chance(said._replace(kind="entity"), 3000)


def test_a_summary_that_may_be_long_keeps_more():
    told = many(9).told()
    by = model(length=2.0)
    brief, long = (summarize(by, told, budget=budget) for budget in (700, 50_000))
    assert len(kept(told, brief)) < len(kept(told, long))


def test_the_same_seed_draws_the_same():
    told = many(2).told()
    by = model()
    assert summarize(by, told) == summarize(by, told)
    others = (summarize(by, told, draw=1), summarize(by, told, seed=1))
    assert all(kept(told, other) != kept(told, summarize(by, told)) for other in others)


def test_the_luck_of_a_fact_depends_on_nothing_around_it():
    told = many(4).told()
    whole, some = (
        kept(told, summarize(model(), told, messages=messages))
        for messages in (told.messages, told.messages[:20])
    )
    early = {fact.id for fact in told.facts[:20]}
    assert whole & early == some & early


def test_short_messages_of_the_user_are_quoted_whole_and_long_ones_are_not():
    story = Story()
    short = [story.say(f"Please mind number {n} of the list.") for n in range(200)]
    long = story.say("So much to say. " * SHORT)
    story.say("As the agent I answer at length.", "assistant")
    told = story.told()
    parts = summarize(model(client=replace(NEVER, quoted=0.8)), told)
    quoted = [part for part in parts if part.kind == "verbatim"]
    texts = {message.id: message.text for message in told.messages}
    assert all(part.text == texts[part.sources[0].id] for part in quoted)
    assert long not in {part.sources[0].id for part in quoted}
    assert close(len(quoted), len(short), 0.8)
    assert not [p for p in summarize(model(), told) if p.kind == "verbatim"]


def test_what_was_quoted_is_seldom_quoted_again():
    story = Story()
    for n in range(200):
        story.say(f"Please mind number {n} of the list.")
    told = story.told()
    by = model(client=replace(NEVER, quoted=1.0, repeated=0.3))
    first = summarize(by, told)
    again = [p for p in summarize(by, told, first, messages=()) if p.kind == "verbatim"]
    assert close(len(again), 200, 0.3)
    assert set(again) <= set(first)


def test_a_fact_in_a_quoted_message_is_kept_and_is_not_told_twice():
    story = Story()
    fact = story.state("region", "eu-west-3")
    told = story.told()
    parts = summarize(model(client=replace(NEVER, quoted=1.0), all=-20.0), told)
    assert kept(told, parts) == {fact.id}
    assert sum("eu-west-3" in part.text for part in parts) == 1


def words(parts: Sequence[Part]) -> str:
    return "\n".join(part.text for part in parts)


def paths(count: int, roots: Sequence[str] = ("lib/deep",)) -> Story:
    """A session of files that are told with three folders each; with two roots, two a name."""
    story = Story()
    for n in range(count):
        name = n // len(roots)
        folder = roots[n % len(roots)]
        value = f"{folder}/{token(0, f'folder {name}')}/{token(0, f'file {name}')}.py"
        id = story.say(f"It is {value} here.", "tool")
        (message,) = (m for m in story.messages if m.id == id)
        story.facts.append(Fact(f"p{n}", "artifact", "", value, message.parts[0].sources))
    return story


def test_paths_are_shortened_as_often_as_they_are_in_real_ones():
    told = paths(400, ["lib/deep", "old/deep"]).told()
    by = model(Paths(1, 0.0, 1, 0.3, 0.2), all=-20.0)
    lines = [line for part in summarize(by, told) for line in part.text.split("\n")]
    names = {fact.value.rpartition("/")[2] for fact in told.facts}
    bare = [line for line in lines if line in names]
    several = [line for line in lines if "/" in line and line.rpartition("/")[2] in names]
    assert close(len(bare), 400, 0.2)
    assert close(len(several), 400, 0.3)
    assert not any(line.startswith("lib/deep/") for line in several)
    assert kept(told, summarize(by, told)) == set()


def test_a_path_that_is_kept_is_shortened_to_what_tells_it_from_others():
    by = model(Paths(1, 0.5, 1, 0.3, 0.2), all=20.0)
    for told in (paths(60).told(), paths(60, ["lib/deep", "old/flat"]).told()):
        parts = summarize(by, told)
        assert kept(told, parts) == {fact.id for fact in told.facts}
        text = words(parts)
        assert any(fact.value not in text for fact in told.facts)


def test_a_path_that_is_lost_leaves_no_end_that_is_its_own():
    parts = summarize(model(Paths(1, 0.0, 1, 0.9, 0.1), all=-20.0), paths(60).told())
    assert kept(paths(60).told(), parts) == set()
    assert ".py" in words(parts)
    assert "/" not in words(parts)


def test_what_only_the_summary_before_says_has_a_chance_of_its_own():
    told = many(5).told()
    first = summarize(model(all=20.0), told)
    known = kept(told, first)
    assert known
    later = model(all=0.0, not_restated=-20.0)
    assert kept(told, summarize(later, told, first, messages=())) == set()
    assert kept(told, summarize(later, told)) != set()
    assert "round 2" in summarize(later, told, first, messages=())[0].text


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 4_000), st.integers(0, 50))
def test_it_is_never_longer_than_it_may_be(budget, draw):
    parts = summarize(model(all=20.0), many(6).told(), budget=budget, draw=draw)
    assert sum(o200k(part.text) for part in parts) <= budget


def test_lengths_are_those_of_real_summaries():
    story = Story()
    for n in range(1500):
        story.say(f"The {token(1, f'a {n}')} thing came before the {token(1, f'b {n}')} thing.")
    told = story.told()
    lengths = [
        sum(o200k(part.text) for part in summarize(model(), told, draw=draw)) for draw in range(10)
    ]
    assert all(NEVER.shortest * 0.9 <= each <= NEVER.longest for each in lengths)
    assert 2_400 < sorted(lengths)[5] < 3_700
    assert len(set(lengths)) > 6


def test_filler_says_nothing_of_any_fact():
    story = Story()
    facts = [story.state(f"item {n}", token(7, f"value {n}")) for n in range(50)]
    for n in range(50):
        story.say(f"Nothing of the kind, in sentence {n} of this.", "assistant")
    told = story.told()
    text = " ".join(part.text for part in summarize(model(all=-20.0), told))
    assert "Nothing of the kind" in text
    assert not any(fact.value in text for fact in facts)


def test_a_model_is_the_same_when_it_is_read_back(tmp_path):
    file = tmp_path / "own.toml"
    for by in (find_calibration(), model(Paths(3, 0.5, 4, 0.25, 0.125), mentions=0.25)):
        file.write_text(by.toml(), encoding="utf-8")
        assert find_calibration(str(file)) == by


FAULTS = [
    ("[coefficients]\nall = 0.0", "[coefficients]"),
    ("kept = 0", "kept = -1"),
    ('client = "ours"', 'client = "other"'),
    ("slope", "slopes"),
    ("all = 0.0", "all = nan"),
]


def test_a_file_that_is_no_model_is_refused_with_its_name(tmp_path, golden):
    def find(wrong: tuple[str, str]) -> None:
        (tmp_path / "own.toml").write_text(model().toml().replace(*wrong), encoding="utf-8")
        find_summarizer(f"calibrated(profile={str(tmp_path / 'own.toml')!r})")

    golden("faults/calibrations.txt", refusals(InputError, find, FAULTS, tmp_path))


def test_a_client_and_a_file_must_be_known():
    assert refusal(UsageError, lambda: find_summarizer("calibrated(client='py')")) == snapshot(
        "unknown client 'py'; did you mean pi?"
    )
    with pytest.raises(InputError, match="no calibration"):
        find_summarizer("calibrated(profile='nowhere.toml')")


def test_what_a_file_holds_belongs_to_the_condition(tmp_path):
    """Not only its name: a run under another model is another run."""
    file = tmp_path / "own.toml"
    keys = []
    for coefficient in (0.0, 0.0, 1.0):
        file.write_text(model(all=coefficient).toml(), encoding="utf-8")
        summarizer = find_summarizer(f"calibrated(profile={str(file)!r})")
        condition = Condition(find_strategy("full_summary"), "gpt-5", Setting(), summarizer)
        keys.append(condition.key)
    assert keys[0] == keys[1] != keys[2]


def test_pi_quotes_nobody_and_is_brief():
    clients = find_calibration().clients
    assert (clients["pi"].quoted, clients["pi"].summaries) == (0.0, 2)
    assert clients["pi"].longest < clients["claude_code"].shortest
    told = many(8).told()
    bound = Calibrated(client="pi").bound(told, 0)
    parts = bound.summarize(SummaryRequest(told.messages, 50_000), chars4)
    assert not [part for part in parts if part.kind == "verbatim"]


def test_without_a_conversation_there_are_no_facts():
    said = refusal(UsageError, lambda: Calibrated().summarize(SummaryRequest((), 1000), o200k))
    assert said == snapshot("calibrated: bind it to a conversation first")
