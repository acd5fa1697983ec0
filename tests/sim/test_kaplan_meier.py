"""Survival curves: a published one, and any other against fractions."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.metrics.survival import Life, kaplan_meier, restricted_mean, survival_at

LIVES = st.lists(st.builds(Life, st.integers(0, 9), st.booleans()), max_size=30)

# Weeks in remission under 6-mercaptopurine: Freireich and others, Blood 21, 1963; the curve as
# textbooks give it (Cox and Oakes, Analysis of Survival Data, 1984).
RELAPSED = [6, 6, 6, 7, 10, 13, 16, 22, 23]
WELL = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
PUBLISHED = [
    (6, 0.857), (7, 0.807), (10, 0.753), (13, 0.690), (16, 0.627), (22, 0.538), (23, 0.448),
]  # fmt: skip


def test_a_published_curve():
    lives = [Life(week, True) for week in RELAPSED] + [Life(week, False) for week in WELL]
    assert [(point.time, round(point.survival, 3)) for point in kaplan_meier(lives)] == PUBLISHED


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
def test_a_curve_is_the_product_of_what_each_death_leaves(lives, time):
    curve = kaplan_meier(lives)
    assert survival_at(curve, time) == pytest.approx(float(share_alive(lives, time)))


@given(lives=LIVES, limit=st.integers(0, 12))
def test_the_restricted_mean_is_the_sum_over_unit_steps(lives, limit):
    area = sum(share_alive(lives, time) for time in range(limit))
    assert restricted_mean(kaplan_meier(lives), limit) == pytest.approx(float(area))


@given(lives=LIVES)
def test_where_nobody_is_lost_from_sight_it_is_the_share_that_lives(lives):
    lives = [life._replace(died=True) for life in lives]
    for point in kaplan_meier(lives):
        alive = sum(life.time > point.time for life in lives)
        assert point.survival == pytest.approx(alive / len(lives))


def test_nobody_has_no_curve():
    assert kaplan_meier([]) == []
    assert restricted_mean([], 5) == 5
