"""Survival curves: a published one, and any other against fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.metrics.survival import Life, kaplan_meier, restricted_mean, survival_at

LIVES = st.lists(st.builds(Life, st.integers(0, 9), st.booleans()), max_size=30)

# Weeks in remission under 6-mercaptopurine: Freireich and others, Blood 21, 1963; curve and
# standard errors as textbooks give them (Cox and Oakes, Analysis of Survival Data, 1984).
RELAPSED = [6, 6, 6, 7, 10, 13, 16, 22, 23]
WELL = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
PUBLISHED = [
    (6, 0.857, 0.0764), (7, 0.807, 0.0869), (10, 0.753, 0.0963), (13, 0.690, 0.1068),
    (16, 0.627, 0.1141), (22, 0.538, 0.1282), (23, 0.448, 0.1346),
]  # fmt: skip


def test_a_published_curve_and_its_errors() -> None:
    lives = [Life(week, True) for week in RELAPSED] + [Life(week, False) for week in WELL]
    curve = kaplan_meier(lives)
    assert [point.time for point in curve] == [week for week, _, _ in PUBLISHED]
    for point, (_, survival, error) in zip(curve, PUBLISHED, strict=True):
        assert point.survival == pytest.approx(survival, abs=0.0005)
        assert (point.survival - point.low) / 1.96 == pytest.approx(error, abs=0.0001)
        assert point.high == pytest.approx(min(1.0, survival + 1.96 * error), abs=0.001)


def share_alive(lives: list[Life], time: int) -> Fraction:
    """The product of what each time of death leaves over."""
    alive = Fraction(1)
    for death in range(time + 1):
        at_risk = [life for life in lives if life.time >= death]
        died = [life for life in at_risk if life.time == death and life.died]
        if died:
            alive *= 1 - Fraction(len(died), len(at_risk))
    return alive


@given(lives=LIVES, time=st.integers(0, 10))
def test_a_curve_is_the_product_of_what_each_death_leaves(lives: list[Life], time: int) -> None:
    curve = kaplan_meier(lives)
    assert survival_at(curve, time) == pytest.approx(float(share_alive(lives, time)))


@given(lives=LIVES, limit=st.integers(0, 12))
def test_the_restricted_mean_is_the_sum_over_unit_steps(lives: list[Life], limit: int) -> None:
    area = sum(share_alive(lives, time) for time in range(limit))
    assert restricted_mean(kaplan_meier(lives), limit) == pytest.approx(float(area))


@given(lives=LIVES)
def test_where_nobody_is_lost_from_sight_it_is_the_share_that_lives(lives: list[Life]) -> None:
    lives = [life._replace(died=True) for life in lives]
    for point in kaplan_meier(lives):
        alive = sum(life.time > point.time for life in lives)
        assert point.survival == pytest.approx(alive / len(lives))


@given(lives=LIVES)
def test_bands_hold_their_curve(lives: list[Life]) -> None:
    for point in kaplan_meier(lives):
        assert 0 <= point.low <= point.survival <= point.high <= 1


def test_where_all_have_died_the_band_is_closed() -> None:
    (end,) = kaplan_meier([Life(3, True)])
    assert (end.survival, end.low, end.high) == (0, 0, 0)


def test_nobody_has_no_curve() -> None:
    assert kaplan_meier([]) == []
    assert restricted_mean([], 5) == 5
