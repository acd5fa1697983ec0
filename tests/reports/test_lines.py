"""Two names for the same: strategies that did the very same are one line of a table."""

import json

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.page.headlines import picks
from compactlab.reports.page.page import page, render
from compactlab.reports.page.table import table
from compactlab.sim.store.results import Results
from tests.reports.conftest import ALONE, CUT, KEPT, SUMMED, make, store

TALKS = ("one", "two")


def field(*alike: str, **manifest: object) -> Results:
    """Strategies that all cut alike, beside one that cuts more and one that keeps everything."""
    runs = [make(spec, CUT, talk, cut=[2], need=0.9) for talk in TALKS for spec in alike]
    runs += [make("keep_all()", KEPT, talk) for talk in TALKS]
    runs += [make("other()", SUMMED, talk, cut=[2], need=0.8) for talk in TALKS]
    return store(*runs, **manifest)


def compared(results: Results) -> Comparison:
    (comparison,) = comparisons(results)
    return comparison


def labels(results: Results) -> list[str]:
    return sorted(line.label for line in compared(results).lines)


def test_who_did_the_same_in_every_conversation_is_one_line_with_both_names():
    assert labels(field("codex()", "user_words()")) == [
        "codex, user_words",
        "keep_all",
        "other",
    ]


def test_of_a_whole_grid_the_first_eight_are_named_and_the_others_counted():
    eight, eleven = ([f"cut(n={n})" for n in range(10, 10 + count)] for count in (8, 11))
    assert ", ".join(eight) in labels(field(*eight))
    results = field(*eleven)
    assert f"{', '.join(eleven[:8])}, 3 more" in labels(results)
    assert {row["strategy"] for row in json.loads(render(results, "json"))["runs"]} >= {*eleven}


def test_one_figure_of_one_conversation_keeps_them_apart():
    changes = (("cost_usd", 1e-12), ("recall_20k", 1e-12), ("forward_need", 0.5), ("stale", 0.1),
               ("compactions", 1.0), ("structural_validity", -1e-12))  # fmt: skip
    for metric, by in changes:
        results = field("codex()", "user_words()")
        run = next(r for r in results.runs if (r.strategy, r.conversation) == ("codex()", "two"))
        run.metrics = {**run.metrics, metric: (run.metrics.get(metric) or 0.0) + by}
        assert labels(results) == ["codex", "keep_all", "other", "user_words"], metric


def test_what_summaries_preserve_keeps_them_apart_too():
    """It is of the null summarisers, so no metric of the runs tells it."""
    runs = [
        make(spec, CUT, talk, cut=[2], side=0.01, need=0.9, junk=junk)
        for talk in TALKS
        for spec, junk in (("codex()", 0.5), ("user_words()", 0.6))
    ]
    assert labels(store(*runs)) == ["codex", "user_words"]


def test_figures_that_nobody_has_are_no_difference():
    results = field("codex()", "user_words()")
    run = next(r for r in results.runs if r.strategy == "codex()")
    run.metrics = {**run.metrics, "stale": None, "side_cost_usd": -0.0}
    assert "codex, user_words" in labels(results)


def test_a_mark_that_one_of_them_carries_keeps_them_apart():
    """Else a table would hide that a provider may reject it, or that it sees what comes."""
    for manifest in (
        {"breaks": {"user_words()": {"pairs": "as its system does"}}},
        {"sees_future": ["user_words()"]},
    ):
        found = labels(field("codex()", "user_words()", **manifest))
        assert found == ["codex", "keep_all", "other", "user_words"], manifest


def test_the_reference_is_named_first_and_not_compared_with_itself():
    results = field("fraction_split()", "gemini_cli()")
    for run in results.runs:
        run.model = "gemini-2.5-pro"
        run.rows = {}
    comparison = compared(results)
    assert comparison.reference is not None
    assert comparison.reference.label == "gemini_cli"
    line = comparison.line(comparison.reference)
    assert line.label == "gemini_cli, fraction_split"
    assert line.spec == comparison.reference.spec
    assert Advice(comparison).cost(line) is None


def test_data_have_a_row_a_strategy():
    results = field("codex()", "user_words()")
    for text in (render(results, "csv"), render(results, "json")):
        assert "codex, user_words" not in text
        assert "codex()" in text
        assert "user_words()" in text


def test_controls_and_ones_own_stand_alone():
    """Whoever looks for them finds a line that is theirs, and no figure that another shares."""
    found = labels(field("keep_none()", "codex()", "mine()", own_strategies=["mine()"]))
    assert found == ["codex", "keep_all", "keep_none", "mine", "other"]


def test_rows_stay_one_a_strategy_and_a_line_says_whose_it_is():
    comparison = compared(field("codex()", "user_words()"))
    assert len(comparison.rows) == 4
    for row in comparison.rows:
        line = comparison.line(row)
        assert row.spec in (line.spec, *line.twins)
        assert line.figures == row.figures
    assert sorted(spec for line in comparison.lines for spec in (line.spec, *line.twins)) == sorted(
        row.spec for row in comparison.rows
    )


def test_every_table_that_people_read_has_the_line():
    results = field("codex()", "user_words()")
    assert "codex, user_words" in table(results)
    assert "codex, user_words" in page(results)


def test_the_rows_that_matter_hold_none_twice():
    """Both are on the Pareto front; in a crowd they take one place of eight."""
    runs = [
        make(f"strategy_{n}()", [(100 * n, 50)] * 4, talk, cut=[2], need=0.5 + 0.04 * n)
        for n in range(12)
        for talk in TALKS
    ]
    runs += [
        make(s, ALONE, t, cut=[2], need=0.4) for s in ("codex()", "user_words()") for t in TALKS
    ]
    chosen = picks(Advice(compared(store(*runs))))
    named = [spec for row, _ in chosen for spec in (row.spec, *row.twins)]
    assert len(named) == len(set(named))
    assert ("codex, user_words" in [row.label for row, _ in chosen]) == ("codex()" in named)
