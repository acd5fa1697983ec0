"""Planted fates: what is read back is what a naive look at the prompts finds, and a bias shows."""

import math
from collections import Counter
from statistics import fmean, pvariance
from typing import Any

import planted_estimates as read_back
import pytest
import validate_planted as planted

from compactlab.sim.metrics import RunData
from compactlab.sim.metrics.survival import Life, kaplan_meier

RUNS = 60


def studied(runs: int) -> Any:
    found = planted.Study()
    for seed in range(runs):
        found.run(seed)
    return found


@pytest.fixture(scope="module")
def study() -> Any:
    return studied(RUNS)


@pytest.fixture(scope="module")
def small() -> Any:
    return studied(RUNS // 4)


def reading(seed: int) -> RunData:
    strategy, window, quiet = planted.SETTINGS[seed // 2 % 2]
    script = planted.session(seed, (2, 1, 1, 1), quiet)
    alike = seed % 2 == 0
    forgetful = planted.forgetful(script, planted.planted(seed, alike), alike)
    found: RunData = planted.replayed(script, strategy, window, forgetful)
    return found


def test_sixty_runs_hold_what_was_planted(study):
    every = [each for found in study.found.values() for each in found]
    assert fmean(each.held for each in every) >= 0.93
    assert not study.apart
    assert study.rolling == RUNS / 2
    assert min(study.rounds) >= 5


def test_every_rate_is_put_to_the_test_in_every_group(small):
    rates = {"kept first", "kept second", "kept third", "mutated"}
    wanted = {(rate, group.name) for rate in rates for group in planted.GROUPS}
    wanted |= {("stale", planted.GROUPS[3].name), ("kept later", "all groups")}
    wanted |= {("mean survival", "survival_5"), ("needs met", "amnesia_need")}
    assert set(small.found) == wanted


def test_on_average_nothing_is_off(small):
    """Of all runs together each rate is within four standard errors of what was planted."""
    for (what, _), found in small.found.items():
        if what not in ("mean survival", "needs met"):
            off = sum((each.found - each.truth) * each.weight for each in found)
            variance = sum(each.truth * (1 - each.truth) * each.weight for each in found)
            assert abs(off) <= 4 * math.sqrt(variance), what


@pytest.mark.parametrize("which", ["first", "later", "mutated", "stale"])
def test_a_rate_that_is_not_what_was_planted_is_missed(monkeypatch, capsys, which):
    honest = planted.forgetful

    def other(script: Any, rates: Any, alike: bool) -> Any:
        off = {
            group: each._replace(**{which: getattr(each, which) * 0.2})
            for group, each in rates.items()
        }
        return honest(script, off, alike)

    monkeypatch.setattr(planted, "forgetful", other)
    assert planted.main(["--runs", "12"]) == 1
    said = capsys.readouterr().out
    wrong = {"first": "kept first", "later": "kept later"}.get(which, which)
    assert f"MISSED  {wrong} (" in said


@pytest.mark.parametrize("seed", range(8))
def test_counts_are_those_of_whoever_reads_the_prompts(seed):
    found = reading(seed)
    for group, tally in read_back.tallies(found).items():
        naive = recounted(found, group)
        assert tally.tried == naive["tried"], group.name
        assert +tally.kept == naive["kept"]
        ends = naive["ends"]
        assert tally.gone == ends.total()
        assert tally.gone_at_once == sum(n for (round, _), n in ends.items() if round == 1)
        assert tally.damaged == sum(n for (_, fate), n in ends.items() if fate == "mutated")
        assert tally.outdated == ends[1, "stale"]


def recounted(found: RunData, group: Any) -> dict[str, Any]:
    """By the lines of summaries alone, as a person would read them."""
    facts = found.conversation.facts
    gone = {id for fact in facts for id in fact.supersedes}
    of = {fact.id: fact for fact in facts}
    count: dict[str, Any] = {"tried": Counter(), "kept": Counter(), "ends": Counter()}
    rounds: Counter[str] = Counter()
    dead: set[str] = set()
    for step, prompt in zip(found.trace.steps, found.trace.prompts(), strict=True):
        if not step.compaction:
            continue
        said = {message.id for message in step.log}
        lines = {line for m in prompt for part in m.parts for line in part.text.split("\n")}
        for fact in facts:
            mine = (fact.kind, fact.polarity) == (group.kind, group.polarity)
            if not mine or fact.id in gone | dead or fact.origin[0].id not in said:
                continue
            rounds[fact.id] += 1
            count["tried"][rounds[fact.id]] += 1
            fate = told(fact, [of[id].value for id in fact.supersedes], lines)
            if fate == "intact":
                count["kept"][rounds[fact.id]] += 1
            else:
                count["ends"][rounds[fact.id], fate] += 1
                dead.add(fact.id)
    return count


def told(fact: Any, older: list[str], lines: set[str]) -> str:
    rule = {"is": "", "must": " (must)", "must_not": " (must not)"}[fact.polarity]
    if f"{fact.key}{rule}: {fact.value}" in lines:
        return "intact"
    if any(f"{fact.key}{rule}: {value}" in lines for value in older):
        return "stale"
    about = {f"{fact.key}{rule}", f"{fact.key}"}
    return "mutated" if any(line.partition(": ")[0] in about for line in lines) else "lost"


def test_wilsons_intervals_hold_95_percent_on_average():
    """Over rates as they are planted; by all outcomes of forty trials, not by drawing."""
    held = []
    for rate in (number / 200 for number in range(20, 181)):
        chances = (
            math.comb(40, hits) * rate**hits * (1 - rate) ** (40 - hits)
            for hits in range(41)
            if read_back.wilson(hits, 40)[0] <= rate <= read_back.wilson(hits, 40)[1]
        )
        held.append(sum(chances))
    assert fmean(held) == pytest.approx(0.95, abs=0.005)


def test_where_all_are_followed_to_the_end_the_variance_is_that_of_a_mean():
    times = [1, 1, 1, 2, 2, 3, 3, 3, 4, 7, 7, 7]
    curve = kaplan_meier(Life(time, died=time < 7) for time in times)
    cut = [min(time, 5) for time in times]
    mean, variance = read_back.restricted(curve)
    assert mean == pytest.approx(fmean(cut))
    assert variance == pytest.approx(pvariance(cut) / len(cut))


def test_the_planted_mean_survival_is_that_of_a_naive_sum():
    rates = read_back.Rates(0.53, 0.66, 0.0, 0.0)
    dies = [(1, 0.47)] + [(n, 0.53 * 0.66 ** (n - 2) * 0.34) for n in range(2, 200)]
    assert read_back.survived(rates) == pytest.approx(sum(min(n, 5) * p for n, p in dies))


def test_the_same_session_has_the_same_bytes_and_another_seed_others():
    one, same, other = (planted.session(seed, (1, 1)).digest for seed in (3, 3, 4))
    assert one == same != other


@pytest.mark.slow
def test_no_bar_is_missed_in_a_thousand_runs(capsys):
    code = planted.main([])
    assert code == 0, capsys.readouterr().out
