"""The figures that a reader sees first: who costs least, who recalls most, who wastes most."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.columns import TIMES
from compactlab.reports.page.brief import why
from compactlab.reports.page.headlines import MUCH, headlines, waste
from compactlab.reports.render.document import with_names
from compactlab.reports.render.text import MINUS
from compactlab.sim.store.results import Results
from tests.reports.conftest import make, store
from tests.reports.spoken import folded, only

FULL = [(0, 1_000), (1_000, 500), (1_500, 900)]
BEFORE = make("claude_code()", [(0, 900), (0, 600), (0, 300)], cut=[1], need=0.8)


def of(*figures: tuple[int, float], **manifest: object) -> Results:
    """A talk that exceeds the window, and a strategy for each pair of tokens and recall."""
    runs = [
        make(f"s{n}()", [(0, tokens), (0, tokens)], cut=[1], need=need, junk=0.0)
        for n, (tokens, need) in enumerate(figures)
    ]
    null = make("keep_none()", [(0, 10)] * 3, cut=[1], need=0.05)
    return store(make("keep_all()", FULL), null, BEFORE, *runs, **manifest)


def told(results: Results) -> list[tuple[str, str]]:
    return [(each.value, each.row.label) for each in headlines(Advice(only(results)))]


def test_who_costs_least_recalls_most_and_wastes_most():
    figures = ((450, 0.5), (1_000, 0.95), (900, 0.85), (980, 0.6))
    first = [(f"{MINUS}49%", "s0"), ("95.0%", "s1")]
    # Nobody costs a quarter more than another that recalls no less.
    assert told(of(*figures)) == first
    assert told(of(*figures, (1_900, 0.7))) == [*first, (f"2.1{TIMES}", "s4")]


def test_one_that_is_both_is_named_once():
    (only_one,) = headlines(Advice(only(of((450, 0.95)))))[:1]
    assert with_names(only_one.text) == snapshot("s0 costs least and recalls most")


def test_where_compaction_is_not_needed_nothing_is_a_figure_that_matters():
    runs = [make("keep_all()", [(0, 900), (900, 10)]), make("s()", [(0, 900)] * 2, cut=[1])]
    assert headlines(Advice(only(store(*runs)))) == []


def test_the_command_explains_the_most_expensive_conversation_of_the_one_that_wastes():
    results = of((450, 0.5), (1_900, 0.5))
    (said,) = why(results, Advice(only(results)))
    assert folded(with_names(said)) == snapshot("""\
Why s1 costs so much: `compactlab explain FOLDER_OF_RECORDINGS --strategies s1 --conversation
one --window 2000`\
""")
    results.manifest["sources"] = [f"{results.runs[0].scenario}(turns=3, name='a b')-0"]
    (said,) = why(results, Advice(only(results)))
    assert f"explain \"{results.runs[0].scenario}(turns=3, name='a b')\" --strategies s1" in said
    results.runs += [make("s1()", [(0, 5), (0, 5)], "small", cut=[1], need=0.5)]
    results.runs += [replace(run, conversation="small") for run in of((450, 0.5)).runs]
    results.manifest["sources"] = []
    (said,) = why(results, Advice(only(results)))
    assert "--conversation one " in said
    assert list(why(of((450, 0.5)), Advice(only(of((450, 0.5)))))) == []


@given(st.lists(st.tuples(st.integers(100, 1_900), st.sampled_from([0.2, 0.5, 0.9])), max_size=6))
def test_waste_is_the_largest_ratio_of_all_pairs(figures):
    comparison = only(of(*figures))
    ratios = [
        row.value("cost_usd") / other.value("cost_usd")
        for row in comparison.choices
        for other in comparison.choices
        if (other.recall or 0.0) >= (row.recall or 0.0)
    ]
    found = waste(comparison)
    if max(ratios) < MUCH:
        assert found is None
    else:
        assert found is not None
        assert found.times == max(ratios)
        assert (found.than.recall or 0.0) >= (found.row.recall or 0.0)
