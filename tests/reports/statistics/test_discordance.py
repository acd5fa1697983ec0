"""Fact by fact, as a check."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from compactlab.reports.analysis.comparison import Row
from compactlab.reports.analysis.significance import correlation, discordance, mcnemar
from compactlab.sim.store.tables import TABLES

# Of each conversation its facts, with the call at which each was first missed; 0 if never.
Missed = Sequence[Mapping[str, int]]


def with_facts(row: Row, missed: Missed) -> Row:
    runs = []
    for run, facts in zip(row.runs, missed, strict=True):
        columns = {
            "fact": [*facts, "idle"],
            "needs": [2] * len(facts) + [0],
            "first_missed": [*facts.values(), 0],
        }
        runs.append(replace(run, rows={"facts": TABLES["facts"].filled(columns)}))
    return replace(row, runs=tuple(runs))


def test_facts_that_only_one_forgot_are_counted(compared):
    one, two = compared({name: {"cost_usd": [1.0, 1.0]} for name in ("a()", "b()")}).rows
    ours = with_facts(one, [{"x": 3, "y": 0, "z": 9}, {"x": 1, "only here": 4}])
    theirs = with_facts(two, [{"x": 0, "y": 5, "z": 2}, {"x": 0}])
    found = discordance(ours, theirs)
    assert found is not None
    assert (found.facts, found.conversations) == (4, 2)
    assert (found.subject, found.reference, found.p) == (2, 1, 1.0)
    again = discordance(ours, ours)
    assert again is not None
    assert (again.subject, again.reference, again.p, again.detectable) == (0, 0, 1.0, None)
    assert discordance(one, two) is None


def test_all_in_one_direction_is_as_unlikely_as_heads_alone():
    assert mcnemar(10, 0) == mcnemar(0, 10) == 2 / 2**10
    assert mcnemar(0, 0) == 1


@pytest.mark.parametrize(("ours", "theirs"), [(600, 500), (1_200, 1_100), (30, 1_500)])
def test_thousands_of_facts_are_tested_as_exactly(ours, theirs):
    """No float holds 2**1024: eight recordings have facts enough for that."""
    from scipy.stats import binomtest

    told = binomtest(ours, ours + theirs).pvalue
    assert mcnemar(ours, theirs) == mcnemar(theirs, ours) == pytest.approx(told, rel=1e-9)


def test_what_no_float_is_small_enough_for_is_not_told_as_impossible():
    assert 0 < mcnemar(0, 2_000) < 1e-300


def test_facts_that_fall_together_are_worth_one(compared):
    names = [f"f{n}" for n in range(20)]
    one, two = compared({name: {"cost_usd": [1.0] * 40} for name in ("a()", "b()")}).rows
    none: list[dict[str, int]] = [dict.fromkeys(names, 0) for _ in range(40)]
    whole = [dict.fromkeys(names, int(n % 4 == 0)) for n in range(40)]
    spread = [{name: int((n + k) % 4 == 0) for k, name in enumerate(names)} for n in range(40)]
    together, apart = (
        discordance(with_facts(one, missed), with_facts(two, none)) for missed in (whole, spread)
    )
    assert together is not None
    assert apart is not None
    assert (together.subject, together.p) == (apart.subject, apart.p)
    assert (together.correlation, apart.correlation) == (1.0, 0.0)
    turned = discordance(with_facts(two, none), with_facts(one, whole))
    assert turned is not None
    assert (turned.reference, turned.detectable) == (together.subject, together.detectable)
    # 40 pairs and 800, of which a quarter are discordant.
    assert together.detectable == pytest.approx(0.215, abs=0.001)
    assert apart.detectable == pytest.approx(0.0495, abs=0.001)


def test_how_alike_values_of_a_group_are():
    # Means 1.5 and 3.5: 4 between, 0.5 within, and 2 a group.
    assert correlation([[1, 2], [3, 4]]) == pytest.approx((4 - 0.5) / (4 + 0.5))
    assert correlation([[1], [0]]) == correlation([[1, 0, 1]]) == 0
    # Means 1 and 0.25 of two and four: 0.75 between, 0.1875 within, and 8 / 3 a group.
    assert correlation([[1, 1], [0, 0, 0, 1]]) == pytest.approx(0.5625 / (0.75 + 5 / 3 * 0.1875))


def test_of_several_replays_the_first_is_taken(compared):
    one, two = compared({name: {"cost_usd": [1.0]} for name in ("a()", "b()")}).rows
    first, other = with_facts(one, [{"x": 3}]), with_facts(one, [{"x": 0}])
    later = replace(first, runs=(replace(other.runs[0], seed=1), *first.runs))
    found = discordance(later, with_facts(two, [{"x": 0}]))
    assert found is not None
    assert (found.facts, found.subject) == (1, 1)
