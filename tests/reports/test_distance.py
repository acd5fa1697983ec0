"""One distance for a store: by its largest window, or as it was asked for."""

import pytest

from compactlab.cli.options import at_distance
from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.calls import distance_of
from compactlab.reports.analysis.columns import columns
from compactlab.reports.analysis.comparison import RECALL, comparisons
from compactlab.reports.page.brief import brief
from compactlab.reports.render.text import NONE
from compactlab.sim.models.model import Catalogue, built_in


def window_of_a_million() -> str:
    return next(m.name for m in built_in().models.values() if m.window >= 1_000_000)


@pytest.mark.parametrize(
    ("window", "distance"),
    [(0, 40_000), (2_000, 20_000), (199_999, 20_000), (200_000, 40_000), (400_000, 40_000)],
)
def test_it_goes_by_the_window(window, distance, make, store):
    results = store(make("keep_all()"))
    for run in results.runs:
        run.window = window
    assert distance_of(results) == distance


def test_from_a_million_on_it_is_twice_as_far(make, store):
    results = store(make("keep_all()"), make("keep_all()", conversation="two"))
    results.runs[1].model = window_of_a_million()
    for run in results.runs:
        run.window, run.rows = 0, {}
    results.runs[0].model = "claude-sonnet-4-5"
    assert distance_of(results) == 80_000
    # One for the store, also under the model whose window is small.
    assert {comparison.lag for comparison in comparisons(results)} == {80_000}


def test_it_can_be_asked_for(make, store):
    results = at_distance(store(make("keep_all()")), 5_000)
    assert [comparison.headline for comparison in comparisons(results)] == ["recall_5k"]
    assert "recall ≥5k" in brief(at_distance(store(make("a()"), make("keep_all()")), 5_000))


def test_where_no_need_is_so_far_there_is_no_value(make, store):
    results = store(make("keep_all()"), make("a()", cut=[1]))
    for run in results.runs:
        run.metrics |= {name: None for lag, name in RECALL.items() if lag >= 20_000}  # type: ignore[operator]
    (comparison,) = comparisons(results)
    assert {row.recall for row in comparison.rows} == {None}
    (column,) = [each for each in columns(comparison) if each.key == "recall"]
    assert (column.title, column.cell(comparison.rows[0].figures)) == ("recall ≥20k", NONE)
    assert Advice(comparison).silent == "early"


def test_no_strategy_changes_it(make, store):
    """A long tail that is kept word for word made it longer once."""
    run = make("a()", side=0.1)
    run.metrics |= {"verbatim_tail_tokens": 90_000.0}  # type: ignore[operator]
    assert distance_of(store(make("keep_all()"), run)) == 20_000


def test_a_catalogue_of_ones_own_counts(make, store):
    results = store(make("keep_all()"))
    results.catalogue = Catalogue.of({}, "")
    assert distance_of(results) == 20_000
