"""Ranks under several models: those that flip stand out, and are counted."""

from collections.abc import Callable
from dataclasses import replace

from inline_snapshot import snapshot

from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.charts.sensitivity import comparable, moved, ranks, sensitivity
from tests.reports.spoken import folded

Compare = Callable[..., Comparison]


def under(comparison: Comparison, model: str) -> Comparison:
    return replace(comparison, model=model)


def priced(compared: Compare, model: str, **costs: float) -> Comparison:
    return under(compared(**{name: {"cost_usd": cost} for name, cost in costs.items()}), model)


def test_strategies_that_change_places_are_counted(compared):
    one = priced(compared, "one", a=1, b=2, c=3)
    two = priced(compared, "two", a=2, b=1, c=3)
    by_comparison = ranks([one, two], ["a()", "b()", "c()"], "cost_usd")
    assert by_comparison == [{"a()": 1, "b()": 2, "c()": 3}, {"b()": 1, "a()": 2, "c()": 3}]
    assert moved(by_comparison) == ["a()", "b()"]
    chart = sensitivity([one, two])
    assert chart is not None
    assert folded(chart.caption) == snapshot("""\
Ranks of the strategies over the same conversations; rank 1 at the top is the best. Ties keep
their order. Where two strong lines cross, which strategy is better depends on the model. 2 of 3
strategies change their rank by cost; 0 of 3 strategies change their rank by recall. Ranked, but
not usable everywhere: a, b and c.\
""")
    assert chart.name == "sensitivity"


def test_ranked_rows_that_exceed_the_window_are_named(compared):
    fits = {"overflows": 0}
    one = under(compared(a={"cost_usd": 1} | fits, b={"cost_usd": 2} | fits), "one")
    two = under(compared(a={"cost_usd": 2, "overflows": 3}, b={"cost_usd": 1} | fits), "two")
    chart = sensitivity([one, two])
    assert chart is not None
    assert folded(chart.caption) == snapshot("""\
Ranks of the strategies over the same conversations; rank 1 at the top is the best. Ties keep
their order. Where two strong lines cross, which strategy is better depends on the model. 2 of 2
strategies change their rank by cost; 0 of 2 strategies change their rank by recall. Ranked, but
not usable everywhere: a.\
""")


def test_equals_do_not_flip(compared):
    one = priced(compared, "one", a=1, b=1 + 1e-12)
    two = priced(compared, "two", a=5, b=5 - 1e-12)
    assert moved(ranks([one, two], ["a()", "b()"], "cost_usd")) == []


def test_only_comparisons_over_the_same_cases_are_held_together(compared):
    one, two = (priced(compared, model, a=1, b=2) for model in ("one", "two"))
    longer = compared(2, a={}, b={})
    assert comparable([longer, one, two]) == [one, two]
    assert sensitivity([longer, one]) is None


def test_one_comparison_or_one_strategy_says_nothing(compared):
    one, two = (priced(compared, model, a=1) for model in ("one", "two"))
    assert sensitivity([]) is None
    assert sensitivity([one]) is None
    assert sensitivity([one, two]) is None


def test_summarisers_are_columns_too(compared, texts):
    one = priced(compared, "m", a=1, b=2)
    chart = sensitivity([replace(one, summarizer="empty"), replace(one, summarizer="oracle")])
    assert chart is not None
    assert {"empty", "oracle"} <= set(texts(chart.figure))


def test_comparisons_of_several_models_have_such_a_chart(make, store):
    runs = [make(spec, model=model) for model in ("x", "y") for spec in ("a()", "b()")]
    assert sensitivity(comparisons(store(*runs))) is not None  # type: ignore[arg-type]
