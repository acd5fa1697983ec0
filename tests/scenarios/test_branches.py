"""Plans for conversations with branches, and what goes back and forth between them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from compactlab.scenarios.engine.domain import Domain, Mix, words
from compactlab.scenarios.engine.plan import PlannedFact, Planner
from compactlab.scenarios.engine.profile import find_profile
from compactlab.scenarios.engine.story import Trunk, planned
from compactlab.scenarios.engine.world import Draft
from compactlab.sim.core.message import Source
from compactlab.sim.core.stream import stream

DOMAIN = Domain(
    words={},
    areas=words("north south east west hill lake port mill dock moor glen vale ford cape bay isle"),
    things={
        "decision": {"fare zone": "zone-{word}-{code}"},
        "constraint": {"ticket stamp": "stamp-{code}"},
        "prohibition": {"closed track": "track/{hex}"},
        "open_loop": {"lost item": "item-{code}"},
        "tool_detail": {"signal mark": "mark-{code}"},
    },
    kinds={"decision": 4, "constraint": 1, "prohibition": 1, "open_loop": 1, "tool_detail": 2},
    requests=(),
    sentences=(),
    mix=Mix(superseded=0.3, deleted=0.1, dependent=0.1, restated=0.5),
)

TURNS = st.lists(st.floats(100, 9_000), min_size=2, max_size=30)
SEED = st.integers(0, 2**32)


@st.composite
def routes(draw: st.DrawFn) -> tuple[list[float], list[int]]:
    """Turns' tokens, and a branch for each; the first and the last are on branch 0."""
    turns = draw(TURNS)
    inner = draw(st.lists(st.integers(0, 3), min_size=len(turns) - 2, max_size=len(turns) - 2))
    return turns, [0, *inner, 0]


@given(SEED, routes())
def test_what_is_planned_is_on_the_branch_of_its_turn(
    seed: int, drawn: tuple[list[float], list[int]]
) -> None:
    turns, route = drawn
    starts = [sum(turns[:turn]) for turn in range(len(turns))]
    _, threads = planned(stream(seed, "plan"), DOMAIN, starts, sum(turns), route)
    for each in threads:
        start = starts[each.turn]
        assert each.branch == route[each.turn]
        assert start - 1e-6 <= each.place <= start + turns[each.turn] + 1e-6
        assert each.place <= each.ends + 1e-6
        assert all(route[turn] == each.branch for turn in each.restated)
        if each.dropped >= 0:
            assert (each.branch, route[each.dropped]) == (0, 0)
            assert each.dropped > each.turn
        if each.parent:
            assert (each.branch, each.parent.branch) == (0, 0)
        if each.old and each.branch:
            assert each.old.branch == 0
            assert each.old.turn < each.turn
            assert each.old.newer is not each
            assert each in each.old.tried
    places = [each.place for each in threads]
    assert places == sorted(places)


@given(SEED, TURNS)
def test_without_branches_it_is_the_plan_that_it_was(seed: int, turns: list[float]) -> None:
    starts = [sum(turns[:turn]) for turn in range(len(turns))]
    _, mine = planned(stream(seed, "plan"), DOMAIN, starts, sum(turns), [0] * len(turns))
    plain = Planner(stream(seed, "plan"), DOMAIN, starts, sum(turns)).facts()
    assert [(t.value, t.turn, t.place) for t in mine] == [(t.value, t.turn, t.place) for t in plain]


def test_the_trunk_is_stretched_over_the_turns_between() -> None:
    # Turns of 10, 20, 30 and 40 tokens, of which the second is on another branch.
    trunk = Trunk([0, 2, 3], [0, 10, 30, 60], [10, 30, 60, 100])
    assert (trunk.starts, trunk.tokens) == ([0, 10, 40], 80)
    fact = PlannedFact("decision", "k", "t", "v", "user", 1, 10, 45, dropped=2, restated=(2,))
    trunk.stretch([fact])
    assert (fact.turn, fact.place, fact.ends, fact.dropped) == (2, 30, 65, 3)
    assert fact.restated == (3,)


@given(SEED, TURNS)
def test_what_is_said_again_is_said_while_it_holds(seed: int, turns: list[float]) -> None:
    domain = replace(DOMAIN, mix=Mix(superseded=0.3, deleted=0.2, restated=1.0))
    starts = [sum(turns[:turn]) for turn in range(len(turns))]
    for each in Planner(stream(seed, "plan"), domain, starts, sum(turns)).facts():
        ends = each.dropped if each.dropped >= 0 else len(turns)
        ends = each.newer.turn if each.newer else ends
        assert all(each.turn < turn < ends for turn in each.restated)
        could = each.voice == "user" and each.kind != "open_loop" and each.turn + 1 < ends
        assert bool(each.restated) == (could and each.parent is None)


@given(st.lists(st.integers(0, 40), max_size=12))
def test_the_way_to_here_is_that_of_a_tree(jumps: list[int]) -> None:
    draft, ways = Draft(0, "tree", find_profile("chat")), {"": [""]}
    for jump in jumps:
        if jump % 2:
            draft.rewind(sorted(ways)[jump % len(ways)])
        before = draft.tip
        id = draft.say("user", [("text", "hm")])
        ways[id] = [*ways[before], id]
        assert draft.path() == set(ways[id][1:])


def test_a_fact_holds_again_where_what_replaced_it_was_not_said() -> None:
    old = PlannedFact("decision", "k", "t", "v", "user", 0, 0, 9, origin=[Source("m1")])
    newer = PlannedFact("decision", "k", "t", "w", "user", 1, 5, 9, old=old, origin=[Source("m3")])
    old.tried.append(newer)
    for path, holds in (({"m1", "m2"}, True), ({"m1", "m3"}, False), ({"m2"}, False)):
        for fact in (old, newer):
            fact.go_to(path)
        assert old.holds == holds
    old.withdrawn_at = "m4"
    for path, holds in (({"m1", "m4"}, False), ({"m1"}, True)):
        for fact in (old, newer):
            fact.go_to(path)
        assert old.holds == holds
