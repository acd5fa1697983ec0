"""Simulated worlds have the truth that they claim; the page of statistics tells what they show."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simulate_advice as advice
import simulate_intervals as intervals

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import comparisons
from compactlab.sim.store.results import Results
from tests.reports.conftest import CUT, KEPT, SUMMED, make

LEAST = 0.92  # of the printed intervals have to hold the truth
MOST = 0.025  # of the recommendations may be wrong


def error(share: float, *runs: int) -> float:
    """2.6 binomial standard errors: by more, one in a hundred is off."""
    return 2.6 * math.sqrt(share * (1 - share) * sum(1 / each for each in runs))


@pytest.mark.parametrize("mean", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("name", ["even", "uneven", "rare", "mixed"])
def test_a_world_loses_as_much_as_it_says(name, mean):
    lost = advice.WORLDS[name](np.random.default_rng(0), mean, (1, 40_000))
    assert lost.mean() == pytest.approx(mean, abs=0.01)
    assert 0 <= lost.min() <= lost.max() <= 1


def experiment(memories: list[Any]) -> Results:
    """The same as a store: some strategies without summaries, and some with."""
    runs = []
    for number in range(len(memories[0].missed())):
        name = f"c{number:03}"
        runs.append(make("keep_all()", KEPT, name))
        runs.append(make("keep_none()", [(0, 100)] * 4, name, cut=[1], need=0.0))
        for index, memory in enumerate(memories):
            own, junk = 1 - memory.missed()[number], memory.missed("junk")
            prompts, more = (SUMMED, {"side": 1e-3}) if len(junk) else (CUT, dict[str, float]())
            if len(junk):
                more["junk"] = float(1 - junk[number])
            runs.append(make(f"s{index}()", prompts, name, cut=[2], need=float(own), **more))
    return Results(runs, {})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["even", "rare"])
def test_the_rule_of_the_simulation_is_that_of_the_advice(name, seed):
    draws, world = np.random.default_rng(seed), advice.WORLDS[name]
    drawn = advice.recalling(draws, world, 0.95, (3, 60))
    drawn += advice.preserving(draws, world, 1.0, (3, 60), 0.6)
    # Needs are counted, so a store knows shares to four digits.
    rounded = [
        advice.Drawn(*(np.round(m.missed(w), 4) for w in ("", "junk") if len(m.missed(w))))
        for m in drawn
    ]
    (comparison,) = comparisons(experiment(rounded))
    found = Advice(comparison)
    assert found.silent == ""
    shown = {f"s{index}()" for index, told in enumerate(advice.passing(rounded)) if told}
    assert {row.spec for row in found.proven} == shown
    assert shown


def test_a_bound_on_a_share_is_that_of_clopper_and_pearson():
    """Of 2,000, none: 1 - 0.025^(1/2000)."""
    assert advice.below(0, 2_000) == pytest.approx(1 - 0.025 ** (1 / 2_000), abs=1e-5)
    assert advice.below(10, 10) == 1.0


@pytest.mark.parametrize("kind", ["recall", "preservation"])
def test_on_the_boundary_nothing_is_recommended(kind):
    draws, wrong = np.random.default_rng(4), 0
    for _ in range(60):
        if kind == "recall":
            drawn = advice.recalling(draws, advice.mixed, 0.8, (5, 30))
        else:
            drawn = advice.preserving(draws, advice.uneven, 0.5, (5, 30), advice.LITTLE)
        wrong += any(advice.passing(drawn))
    assert wrong / 60 <= MOST + error(MOST, 60)


def test_what_deserves_it_is_found():
    draws = np.random.default_rng(5)
    hits = [any(advice.passing(advice.recalling(draws, advice.even, 0.95, (5, 60))))
            for _ in range(20)]  # fmt: skip
    assert all(hits)


@pytest.mark.parametrize(
    ("name", "number"),
    [("cost ratio, even costs", 12), ("recall, mixed losses", 10),
     ("difference of recall, rare losses", 20), ("preservation of 50 %, even losses", 30)],
)  # fmt: skip
def test_printed_intervals_hold_the_truth(name, number):
    assert (intervals.coverage(name, number, 60) or 0) >= LEAST - error(LEAST, 60)


def cells(root: Path) -> dict[str, list[str]]:
    page = (root / "docs" / "statistics.md").read_text("utf-8")
    table = page.split("| interval, conversations: |")[1].split("\n\n")[0].splitlines()
    rows = (re.split(r" *\| *", line.strip("| ")) for line in table[2:])
    return {name: shares for name, *shares in rows}


def test_the_page_has_a_row_for_each_kind_of_interval(root):
    assert list(cells(root)) == list(intervals.TRIALS)
    assert {len(row) for row in cells(root).values()} == {len(intervals.SIZES)}


@pytest.mark.slow
def test_the_page_tells_how_often_intervals_hold_the_truth(root):
    for name, shares in cells(root).items():
        for number, told in zip(intervals.SIZES, shares, strict=True):
            found = intervals.coverage(name, number, 300)
            if told == "none" or found is None:
                continue
            told_share = float(told) / 100
            assert found == pytest.approx(told_share, abs=error(0.9, 300, 1_000)), (name, number)
