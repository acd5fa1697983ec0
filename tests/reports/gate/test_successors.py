"""A strategy whose settings have changed is compared with what it was, and that is said."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.changes import report
from compactlab.reports.gate.rules import Demand, Outcome, Rule
from compactlab.reports.render.write import WRITERS
from compactlab.sim.store.results import Results
from tests.lines import lines_with
from tests.reports.gate.conftest import said
from tests.reports.spoken import folded

WAS, IS = "sliding_window(keep=20)", "sliding_window(keep=10)"
OTHER = "sliding_window(keep=30)"
SAID = f"{IS} is compared with {WAS} of the baseline"
CHANGE = ("cost_usd", "+2%")


@pytest.fixture
def called(two) -> Callable[..., Results]:
    """The results of two strategies, of which the second goes by other names."""

    def build(*specs: str, first: str = "keep_all()", **fields: str) -> Results:
        results = two()
        names = {"keep_all()": [first], WAS: specs}
        runs = [
            replace(run, strategy=spec, **fields)
            for run in results.runs
            for spec in names[run.strategy]
        ]
        for run in runs:
            run.metrics = dict(run.metrics)
        labels = {spec: spec for spec in (*specs, first)}
        return Results(runs, results.manifest | {"strategies": labels})

    return build


@pytest.mark.parametrize("rules", [(), (CHANGE,), (CHANGE, ("structural_validity", "<= 1"))])
def test_it_is_judged_as_a_change_and_that_is_said(rules, called, changed, judged, of):
    verdict = judged(called(WAS), called(IS), *rules)
    assert (verdict.code, verdict.obstacles, verdict.remarks) == (0, (), (SAID,))
    dearer = changed(called(IS), IS, cost_usd=lambda was, run: was * 1.03)
    verdict = judged(called(WAS), dearer, *rules)
    assert (verdict.code, verdict.remarks) == (1, (SAID,))
    [found] = verdict.failed
    assert (found.subject.strategy, found.outcome) == (
        IS,
        Outcome.REGRESSED if rules else Outcome.CHANGED,
    )
    assert found.after == pytest.approx(1.03 * found.before)


def test_a_pipeline_goes_by_the_names_of_its_parts(called, judged):
    was, is_ = "cut(most=3) + repair()", "cut(most=5) + repair()"
    assert said(judged(called(was), called(is_), CHANGE)) == snapshot("""\
0
cut(most=5) + repair() is compared with cut(most=3) + repair() of the baseline\
""")
    assert judged(called(was), called("cut(most=3) + mend()"), CHANGE).code == 2


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            (WAS, "sliding_window(keep=30)"),
            (IS,),
            f"was {WAS} and sliding_window(keep=30), is {IS}",
        ),
        ((WAS,), ("sliding_window(keep=5)", IS), f"was {WAS}, is {IS} and sliding_window(keep=5)"),
    ],
)
def test_of_several_of_a_name_nobody_knows_which_is_which(before, after, told, called, judged):
    for rules in ((), (CHANGE,)):
        verdict = judged(called(*before), called(*after), *rules)
        assert verdict.code == 2
        assert verdict.obstacles[0] == f"renamed, and ambiguous: {told}"
        assert not [remark for remark in verdict.remarks if "is compared with" in remark]


def test_what_is_still_there_is_no_candidate(called, judged):
    assert said(judged(called(WAS, OTHER), called(IS, OTHER), CHANGE)) == snapshot("""\
0
sliding_window(keep=10) is compared with sliding_window(keep=20) of the baseline\
""")
    assert said(judged(called(WAS), called(WAS, IS), CHANGE)) == snapshot("""\
2
not in the baseline: sliding_window(keep=10) (recorded)
failed: it is not in the baseline\
""")


@pytest.mark.parametrize("other", [{"model": "another"}, {"summarizer": "lead(tokens=1)"}])
def test_under_another_model_or_summariser_it_is_something_else(other, called, judged):
    verdict = judged(called(WAS), called(IS, **other), CHANGE)
    assert verdict.code == 2
    assert not [remark for remark in verdict.remarks if "is compared with" in remark]


def test_another_name_is_another_strategy(called, judged):
    assert said(judged(called("cut(most=3)"), called(IS), CHANGE)) == snapshot("""\
2
in the baseline and not in the store: cut(most=3) (recorded)
not in the baseline: sliding_window(keep=10) (recorded)
failed: it is not in the baseline\
""")


def test_a_rule_finds_it_by_its_name_and_by_its_new_fields_alone(called, judged):
    rule = Rule.parse(*CHANGE)
    for name, code in (("sliding_window", 0), (IS, 0), (WAS, 2)):
        assert judged(called(WAS), called(IS), Demand(rule, strategy=(name,))).code == code


def test_where_nothing_is_compared_nothing_is_held_against_it(called, judged):
    after = called(IS)
    after.manifest["window"] = 9
    assert judged(called(WAS), after).remarks == ()


def test_long_specs_are_told_by_their_short_names_unless_these_are_the_same(called, judged):
    usual = "".join(f", usual_{n}='as always'" for n in range(5))
    specs = [f"cut(most={most}{usual})" for most in (3, 5)]
    before, after = (called(spec) for spec in specs)
    before.manifest["strategies"] = {specs[0]: "cut", "keep_all()": "keep_all"}
    after.manifest["strategies"] = {specs[1]: "cut(most=5)", "keep_all()": "keep_all"}
    assert judged(before, after).remarks == ("cut(most=5) is compared with cut of the baseline",)
    after.manifest["strategies"] = {specs[1]: "cut", "keep_all()": "keep_all"}
    [told] = judged(before, after).remarks
    assert told == f"{specs[1]} is compared with {specs[0]} of the baseline"


def test_a_report_beside_a_baseline_pairs_them_likewise(called, changed):
    before = Baseline.of(called(WAS))
    dearer = changed(called(IS), IS, cost_usd=lambda was, run: was * 1.5)
    assert folded(WRITERS["table"](report(dearer, before))) == snapshot("""\
Against the baseline, 1 of 2 strategies changed.
sliding_window(keep=10) is compared with sliding_window(keep=20) of the baseline
strategy                                     USD   recall ≥20k   also changed
─────────────────────────────────────────────────────────────────────────────
sliding_window(keep=10)   0.034 → 0.051 (+50.0%)          same\
""")
    shown = WRITERS["md"](report(dearer, before))
    assert f"- `{SAID}`\n\n| strategy |" in shown
    several = WRITERS["table"](report(called(IS, "sliding_window(keep=5)"), before))
    assert lines_with(several, "ambiguous") == snapshot("""\
renamed, and ambiguous: was sliding_window(keep=20), is sliding_window(keep=10) and
sliding_window(keep=5)\
""")
