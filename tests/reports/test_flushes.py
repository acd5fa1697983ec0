"""Flushes of memory in a report: a column where there are any, and a word on who wrote."""

from inline_snapshot import snapshot

from compactlab.reports.analysis.columns import columns
from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.page.page import origin
from compactlab.reports.page.table import table
from compactlab.sim.store.results import Results
from tests.reports.conftest import Make, Store
from tests.reports.spoken import folded, notes, summaries

FLUSH = "memory_flush() + auto_compact()"


def flushing(make: Make, store: Store, share: float | None, heard: float | None = 0) -> Results:
    runs = [make("keep_all()"), make(FLUSH, cut=[2])]
    runs[1].metrics |= {"flushed_compactions": share, "flush_heard": heard, "flush_margin": 700.0}
    return store(*runs, flushes=[FLUSH])


def headings(results: Results) -> list[str]:
    (comparison,) = comparisons(results)
    return [column.title for column in columns(comparison)]


def test_the_column_is_there_for_those_who_flush_alone(make, store):
    assert "flushed" in headings(flushing(make, store, 0.0))
    assert "flushed" not in headings(flushing(make, store, None))
    assert "flushed" in table(flushing(make, store, 0.5))


def test_the_margin_of_a_strategy_is_a_median(make, store):
    runs = [make(FLUSH, conversation=name) for name in ("one", "two", "three")]
    for run, margin in zip(runs, (100.0, 900.0, 200.0), strict=True):
        run.metrics["flush_margin"] = margin
    (comparison,) = comparisons(store(*runs))
    assert comparison.rows[0].figures["flush_margin"] == 200


def test_whatever_a_user_heard_is_said(make, store):
    (silent,) = comparisons(flushing(make, store, 1.0))
    (loud,) = comparisons(flushing(make, store, 1.0, heard=31.0))
    assert not any("showed users" in note for note in notes(silent))
    assert folded(notes(loud)) == snapshot("""\
memory_flush + auto_compact showed users 31 tokens of its memory flushes.
Not usable (`compactlab explain` shows the calls): memory_flush + auto_compact (exceeds the
context window on 25.0% of calls).\
""")


def test_what_was_written_is_simulated_and_the_report_says_so(make, store):
    assert folded(summaries(flushing(make, store, 1.0))) == snapshot("""\
summaries by lexrank(units=1000): lines selected by a rule; a simulation, not a model's writing;
what agents write into their memory is simulated in the same way\
""")
    assert "memory" not in summaries(store(make("keep_all()")))
    assert "flushes" not in dict(origin(flushing(make, store, 1.0)))
