"""Survival curves: the share that is still alive, though not all have been followed to the end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Life(NamedTuple):
    """How long something was followed, and whether it died then.

    Parameters
    ----------
    time
        By any clock.
    died
        False if it was alive when it was last seen.
    """

    time: int
    died: bool


class Point(NamedTuple):
    """A time at which a curve falls.

    Parameters
    ----------
    time
        The time.
    at_risk, deaths
        How many were followed up to it, and how many of them died at it.
    survival
        The share that lives on.
    low, high
        Its band of 95 %.
    """

    time: int
    at_risk: int
    deaths: int
    survival: float
    low: float
    high: float


Curve = Sequence[Point]


def kaplan_meier(lives: Iterable[Life]) -> list[Point]:
    """Estimate a survival curve; whoever was last seen at a time counts as alive at it.

    The product-limit estimate of Kaplan and Meier (J. Am. Stat. Assoc. 53, 1958), with bands of
    1.96 standard errors by Greenwood's formula (1926), cut off at 0 and 1.

    Parameters
    ----------
    lives
        Those that were followed.

    Returns
    -------
    list of Point
        The times of deaths, in order. Before the first the curve is at 1.

    Examples
    --------
    The remissions of 21 children under 6-mercaptopurine, in weeks (Freireich and others, Blood 21,
    1963), of whom 9 relapsed: the curve ends at 0.448.

    >>> relapsed, well = [6, 6, 6, 7, 10, 13, 16, 22, 23], [6, 9, 10, 11, 17, 19, 20, 25, 32, 32]
    >>> lives = [Life(week, True) for week in relapsed] + [Life(week, False) for week in well]
    >>> curve = kaplan_meier([*lives, Life(34, False), Life(35, False)])
    >>> [(point.time, point.at_risk, round(point.survival, 3)) for point in curve]
    [(6, 21, 0.857), (7, 17, 0.807), (10, 15, 0.753), (13, 12, 0.69), (16, 11, 0.627), \
(22, 7, 0.538), (23, 6, 0.448)]
    """
    ended: Counter[int] = Counter()
    deaths: Counter[int] = Counter()
    for life in lives:
        ended[life.time] += 1
        deaths[life.time] += life.died
    points: list[Point] = []
    at_risk, survival, variance = ended.total(), 1.0, 0.0
    for time in sorted(ended):
        died = deaths[time]
        if died:
            survival *= 1 - died / at_risk
            variance += died / (at_risk * (at_risk - died)) if died < at_risk else 0.0
            margin = 1.96 * survival * math.sqrt(variance)
            low, high = max(0.0, survival - margin), min(1.0, survival + margin)
            points.append(Point(time, at_risk, died, survival, low, high))
        at_risk -= ended[time]
    return points


def survival_at(curve: Curve, time: float) -> float:
    """The share that lives on after a time.

    Behind the last death the curve goes on flat, whether anybody has been followed so far or not.
    """
    alive = 1.0
    for point in curve:
        if point.time > time:
            break
        alive = point.survival
    return alive


def restricted_mean(curve: Curve, limit: float) -> float:
    """The mean time that is survived of so much: the area below the curve.

    Examples
    --------
    Half die at 1, the others live on.

    >>> restricted_mean(kaplan_meier([Life(1, True), Life(9, False)]), 5)
    3.0
    """
    area, alive, before = 0.0, 1.0, 0.0
    for point in curve:
        if point.time >= limit:
            break
        area += alive * (point.time - before)
        alive, before = point.survival, point.time
    return area + alive * (limit - before)
