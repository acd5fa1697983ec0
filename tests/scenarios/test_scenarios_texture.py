"""What a scenario can ask of the engine: lags, nights, chains, options, thoughts taken up again."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.scenarios.engine.domain import POLARITY, Lags, Mix, phrases
from compactlab.scenarios.engine.plan import PlannedFact, Planner
from compactlab.scenarios.engine.profile import Breaks, Spread, find_profile
from compactlab.scenarios.engine.world import Draft
from compactlab.sim.core.message import Message
from compactlab.sim.core.stream import stream
from tests.scenarios.made import FAMILIES, STORIES, size

HALF = STORIES["half_thoughts"].domain
DAY = 86_400


@given(
    st.floats(0, 0.9), st.floats(1, 1e3), st.floats(2, 1e3), st.floats(2, 1e3), st.floats(1, 1e7)
)
def test_lags_grow_with_the_share_and_stay_below_what_holds(
    near: float, shortest: float, more: float, most_more: float, most: float
) -> None:
    border = shortest * more
    lags = Lags(shortest, border * most_more, near, border)
    drawn = [lags.at(step / 100, most) for step in range(100)]
    assert all(0 <= lag <= max(most, 0) * (1 + 1e-9) for lag in drawn)
    if most > border * most_more:
        assert drawn == sorted(drawn)
        assert all(lag <= border * (1 + 1e-9) for lag in drawn[: int(near * 100)])


def test_without_a_share_that_is_near_lags_are_log_uniform() -> None:
    rng = random.Random(0)
    lags = sorted(Lags().at(rng.random(), 1e9) for _ in range(4_000))
    assert lags[0] >= 500
    assert lags[-1] <= 200_000
    assert lags[2_000] == pytest.approx(10_000, rel=0.15)


@given(st.floats(0, DAY / 2), st.lists(st.floats(0, 3 * DAY), max_size=30))
def test_nobody_is_awake_at_night_and_no_clock_runs_backwards(
    night: float, waits: list[float]
) -> None:
    breaks = Breaks(night=night)
    clock = 1_767_603_600.0
    for wait in waits:
        awake = breaks.waking(clock + wait)
        assert awake >= clock + wait
        assert awake % DAY >= night or awake % DAY == pytest.approx(0, abs=1e-3)
        clock = awake


def test_the_agent_goes_on_working_at_night() -> None:
    night = Breaks(night=8 * 3_600.0)
    wait = {speaker: Spread(5 * 3_600, 0) for speaker in ("assistant", "tool", "user")}
    profile = replace(find_profile("days"), breaks=night, waits=wait)
    draft = Draft(0, "night", profile)
    for _ in range(12):
        draft.say("user", [("text", "and?")])
        draft.say("assistant", [("text", "nothing yet")])
    hours = {"user": set[int](), "assistant": set[int]()}
    for event in draft.events:
        assert isinstance(event, Message)
        hours[event.role].add(int(event.time % DAY // 3_600))
    assert min(hours["user"]) >= 8
    assert min(hours["assistant"]) < 8


# ------------------------------------------------------------------------------------ plans


def plan(mix: Mix, seed: int, turns: int = 60) -> list[PlannedFact]:
    starts = [600.0 * turn for turn in range(turns)]
    domain = replace(HALF, mix=mix)
    return Planner(stream(seed, "plan"), domain, starts, 600.0 * turns).facts()


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(0, 3))
def test_chains_are_as_long_as_is_said(seed: int, low: int, more: int) -> None:
    threads = plan(Mix(density=1, superseded=0.5, chain=(low, low + more)), seed)
    for first in threads:
        if first.old or not first.newer:
            continue
        long, last = 0, first
        while last.newer:
            assert last.turn < last.newer.turn
            assert last.dropped < 0
            long, last = long + 1, last.newer
        assert long == 1 or first.kind not in POLARITY
        assert long <= low + more
        # It is shorter where there is no later turn, or no more is to be replaced.
        assert last.ends > last.place or last.turn == 59


@given(st.integers(0, 2**32))
def test_options_of_one_choice_have_one_area_and_one_place(seed: int) -> None:
    (things,) = HALF.together.values()
    options = [each for each in plan(Mix(density=1), seed) if each.kind == "decision"]
    choices: dict[str, list[PlannedFact]] = {}
    for each in options:
        if not each.old:
            choices.setdefault(each.key.removesuffix(f" {each.thing}"), []).append(each)
    for choice in choices.values():
        assert len({(each.turn, each.place) for each in choice}) == 1
        assert sorted(each.thing for each in choice) == sorted(things[: len(choice)])
    assert sum(len(choice) < len(things) for choice in choices.values()) <= 1


# --------------------------------------------------------------------------------- own phrases


@pytest.mark.parametrize("name", STORIES)
def test_what_is_stated_in_words_of_its_own_is_so_in_both_families(name: str) -> None:
    domain = STORIES[name].domain
    if not domain.states:
        assert all(domain.family(each) == phrases().family(each) for each in FAMILIES)
        return
    public, held_out = (domain.states[family] for family in FAMILIES)
    assert public.keys() == held_out.keys()
    assert not public.keys() & POLARITY.keys()
    for kind in public:
        assert len(public[kind]) == len(held_out[kind]) >= 3
        assert not set(public[kind]) & set(held_out[kind])
        for template in (*public[kind], *held_out[kind]):
            assert "{key}" in template
            assert "{value}" in template


# They are called once a turn at least, or flooded by a few results, or files have a given length.
OTHERS = ("support_chat", "half_thoughts", "tool_flood", "working_set")


@pytest.mark.parametrize("name", [n for n in STORIES if n not in OTHERS])
@pytest.mark.parametrize("calls", [150, 250])
def test_an_agent_is_called_as_often_as_is_said_and_tells_all_tokens(name: str, calls: int) -> None:
    script = STORIES[name](tokens=100_000, calls=calls).conversation(seed=1)
    assert len(script.calls) == pytest.approx(calls, rel=0.1)
    assert size(script) == pytest.approx(100_000, rel=0.05)


def test_sizes_are_stretched_alike_and_by_nothing_where_no_calls_are_said() -> None:
    profile = find_profile("coding")
    free, bound = Draft(0, "x", profile), Draft(0, "x", profile, calls=10, tokens=5_000)
    for draft in (free, bound):
        draft.say("assistant", [("text", "word " * 1_500)])
    lengths = [(free.length(what, 1e6), bound.length(what, 1e6)) for what in sorted(profile.sizes)]
    shrunk = [few / many for many, few in lengths if many > 400]
    assert shrunk
    assert max(shrunk) - min(shrunk) < 0.02
    assert max(shrunk) < 0.7
