"""Gates on replays that differ: by the interval, of which all must be within the rule."""

import math
from random import Random
from statistics import fmean, stdev

import pytest
from inline_snapshot import snapshot

from compactlab.reports.gate.rules import Demand, Outcome, Rule
from compactlab.sim.store.results import Results

NAMES = "abcdefghijkl"


def noisy(results: Results, factor: float = 1.0, noise: float = 0.01) -> Results:
    """Every run a little dearer or cheaper, by chance, and all by a factor."""
    for run in results.runs:
        draws = Random(f"{run.conversation} {run.seed} {factor}")
        run.metrics["cost_usd"] *= factor * (1 + noise * draws.uniform(-1, 1))
    return results


@pytest.fixture
def found(two, judged):
    """What comes of a rule for stores of so many conversations and seeds, dearer by a factor."""

    def judge(factor, rule=("cost_usd", "+2%"), names=NAMES, seeds=5, noise=0.01):
        before = noisy(two(names, seeds), noise=noise)
        after = noisy(two(names, seeds), factor, noise)
        demand = Demand(Rule.parse(*rule), strategy=("sliding_window",))
        verdict = judged(before, after, demand)
        [finding] = verdict.findings
        return verdict.code, finding

    return judge


def test_a_rule_holds_if_the_whole_interval_does(found):
    code, finding = found(1.01)
    assert (code, finding.outcome) == (0, Outcome.HOLDS)
    assert finding.span.low < finding.after < finding.span.high < finding.before * 1.02
    assert finding.span.method == "percentile"
    assert 0 < finding.span.detectable < finding.before * 0.02


def test_it_has_regressed_if_nothing_of_the_interval_is_within(found):
    code, finding = found(1.04)
    assert (code, finding.outcome) == (1, Outcome.REGRESSED)
    assert finding.span.low > finding.before * 1.02
    assert len(finding.moved) == 3


def test_what_never_stood_as_asked_says_so_also_where_it_is_judged_by_an_interval(found):
    told = "the baseline breaks this rule, too"
    assert found(1.0, ("cost_usd", "<= 0"))[1].reason == told
    _, finding = found(1.0, ("cost_usd", "> 0"))
    assert (finding.outcome, finding.reason) == (Outcome.HOLDS, "")


def test_an_interval_over_the_limit_is_inconclusive_which_is_no_pass(found):
    code, finding = found(1.02)
    assert (code, finding.outcome) == (2, Outcome.INCONCLUSIVE)
    assert finding.span.low < finding.before * 1.02 < finding.span.high


def test_few_replays_or_few_conversations_are_inconclusive(found):
    code, finding = found(1.5, seeds=4)
    assert (code, finding.outcome) == (2, Outcome.INCONCLUSIVE)
    assert finding.reason == snapshot("4 replays of a conversation; at least 5 are needed")
    code, finding = found(1.5, names="abcdefghi")
    assert (code, finding.outcome) == (2, Outcome.INCONCLUSIVE)
    assert finding.reason == snapshot("9 conversations; an interval needs 10")


@pytest.mark.parametrize("seeds", [2, 5])
@pytest.mark.parametrize("rule", ["+0%", "-0%", "+0", "exact"])
def test_what_has_not_moved_holds_however_few_replays_there_are(rule, seeds, found):
    assert found(1.0, ("cost_usd", rule), seeds=seeds, names="ab")[0] == 0


@pytest.mark.parametrize(("factor", "code"), [(1.019, 0), (1.021, 1)])
def test_replays_that_agree_are_judged_by_their_figures(factor, code, two, changed, judged):
    before = two("ab", 2)
    after = changed(before, cost_usd=lambda was, run: was * factor)
    verdict = judged(before, after, ("cost_usd", "+2%"))
    assert verdict.code == code
    assert all(finding.span is None for finding in verdict.findings)


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [(1.05, Outcome.HOLDS), (1.0, Outcome.INCONCLUSIVE), (0.95, Outcome.REGRESSED)],
)
def test_where_a_noisy_figure_must_stand_is_judged_by_its_own_interval(limit, outcome, found):
    was = found(1.0)[1].before
    _, finding = found(1.0, ("cost_usd", f"<= {was * limit}"))
    assert finding.outcome is outcome
    assert finding.span.low < finding.after < finding.span.high
    assert finding.span.detectable > 0


# A metric of each way to put conversations together, a step that is allowed, and one that is not.
KINDS = [
    ("amnesia_need", "+0.05", 0.01, 0.2),
    ("calls", "+24", 1, 9),
    ("write_spike", "+50", 10, 200),
    ("over_window", "+0.2", 0.1, 2),
    ("prefix_reuse", "-0.05", 0, None),
]


@pytest.mark.parametrize("kind", KINDS)
def test_means_counts_medians_and_shares_have_intervals(kind, two, judged):
    metric, text, little, much = kind

    def store(step):
        results = two(NAMES, 5)
        for run in results.runs:
            part = "overflows" if metric == "over_window" else metric
            wave = Random(f"{run.conversation} {run.seed} {step}").random() / 10
            run.metrics[part] = (run.metrics[part] or 0) + step + wave * max(little, 0.01)
            run.metrics["over_window"] = run.metrics["overflows"] / run.metrics["calls"]
        return results

    rule = Demand(Rule.parse(metric, text), strategy=("sliding_window",))
    [finding] = judged(store(0), store(little), rule).findings
    assert finding.outcome is Outcome.HOLDS, finding
    if much is not None:
        [finding] = judged(store(0), store(much), rule).findings
        assert finding.outcome is Outcome.REGRESSED, finding
        assert finding.span.low is not None
        assert finding.span.method in ("percentile", "betting", "order")


def test_a_maximum_has_no_interval_so_nothing_is_decided_by_it(two, judged):
    before, after = two(NAMES, 5), two(NAMES, 5)
    for run in after.runs:
        run.metrics["prompt_tokens_peak"] += run.seed
    [finding] = judged(
        before, after, Demand(Rule.parse("prompt_tokens_peak", "+2%"), strategy=("keep_all",))
    ).findings
    assert (finding.outcome.name, finding.reason) == snapshot(
        ("INCONCLUSIVE", "a maximum has no interval")
    )


@pytest.mark.slow
def test_at_its_very_limit_a_rule_is_seldom_passed_and_seldom_broken(two, judged):
    """Of a change as large as is allowed, an interval of 95 % says either in 2.5 % of cases."""
    names = [chr(code) for code in range(0x4E00, 0x4E00 + 40)]
    before = two("".join(names), 5)
    rule = Demand(Rule.parse("cost_usd", "+2%"), strategy=("sliding_window",))
    outcomes = []
    for number in range(200):
        after = two("".join(names), 5)
        for run in after.runs:
            draws = Random(f"{number} {run.conversation}")
            shift = draws.gauss(0, 0.05)
            run.metrics["cost_usd"] *= 1.02 + shift + Random(f"{shift} {run.seed}").gauss(0, 0.02)
        [finding] = judged(before, after, rule).findings
        outcomes.append(finding.outcome)
    passed, broken = outcomes.count(Outcome.HOLDS), outcomes.count(Outcome.REGRESSED)
    assert passed + broken > 0
    assert max(passed, broken) <= 12, (passed, broken)


@pytest.mark.parametrize(("seeds", "outcome"), [(4, Outcome.INCONCLUSIVE), (5, Outcome.REGRESSED)])
def test_where_a_figure_must_stand_takes_as_many_replays(seeds, outcome, found):
    assert found(1.0, ("cost_usd", "<= 0.01"), seeds=seeds)[1].outcome is outcome


def test_a_count_that_is_nought_in_all_replays_is_nought(two, judged):
    results = two("ab", 2)
    verdict = judged(results, results, ("rejected_calls", "== 0"))
    assert (verdict.code, [finding.span for finding in verdict.findings]) == (0, [None, None])


def test_the_fewest_replays_of_any_conversation_count(two, judged):
    before, after = noisy(two(NAMES, 5)), noisy(two(NAMES, 5), 1.5)
    for results in (before, after):
        results.runs = [r for r in results.runs if r.conversation != "a" or r.seed < 2]
    found = judged(before, after, ("cost_usd", "+2%")).findings
    assert {each.reason for each in found} == snapshot(
        {"2 replays of a conversation; at least 5 are needed"}
    )


def test_noise_in_the_baseline_is_noise_of_the_change(two, judged):
    verdict = judged(noisy(two(NAMES, 5)), two(NAMES, 5), ("cost_usd", "+2%"))
    assert all(finding.span is not None for finding in verdict.findings)
    placed = judged(noisy(two(NAMES, 5)), two(NAMES, 5), ("cost_usd", "<= 9"))
    assert all(finding.span is None for finding in placed.findings)


@pytest.mark.parametrize(
    ("metric", "rule"), [("calls", "+99"), ("calls", "<= 999"), ("over_window", "<= 1")]
)
def test_what_could_have_been_seen_is_told_in_the_unit_of_the_figure(metric, rule, two, judged):
    before, after = two(NAMES, 5), two(NAMES, 5)
    calls = [10 + 3 * (number % 4) for number in range(12)]
    overflows = [number % 3 for number in range(12)]
    for run in after.runs:
        index = NAMES.index(run.conversation)
        run.metrics["calls"] = calls[index] + (run.seed - 2) * (metric == "calls")
        run.metrics["overflows"] = overflows[index] + (run.seed - 2) / 10
        run.metrics["over_window"] = run.metrics["overflows"] / run.metrics["calls"]
    demand = Demand(Rule.parse(metric, rule), strategy=("sliding_window",))
    [finding] = judged(before, after, demand).findings
    share = sum(overflows) / sum(calls)
    spread = {
        "calls": 12 * stdev(calls),
        "over_window": stdev(
            over - share * own for own, over in zip(calls, overflows, strict=True)
        ) / fmean(calls),
    }[metric]  # fmt: skip
    # Student's t with 11 degrees of freedom: 2.2010 and 0.8755.
    least = (2.2010 + 0.8755) * spread / math.sqrt(12)
    # Of calls by the width of a bootstrap's interval, which is the same but for the draws.
    assert finding.span.detectable == pytest.approx(least, rel=0.02)
