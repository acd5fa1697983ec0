"""What is advised under one model or summariser may reverse under another, and then is said."""

from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from compactlab.reports.analysis.advice import flips
from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.analysis.scope import told_apart
from compactlab.reports.page.brief import brief
from compactlab.sim.store.run import Run
from tests.lines import fitting
from tests.reports.conftest import Make, Store
from tests.reports.spoken import agreement, folded

FULL = [(0, 1_000), (1_000, 500), (1_500, 900)]
SHORT = [(0, 600), (0, 200), (0, 100)]
SHORTER = [(0, 600), (0, 200), (0, 50)]


def runs(make: Make, *, turned: bool, summarizer: str = "", model: str = "recorded") -> list[Run]:
    """As many conversations as it takes to recommend something."""
    one, other = (SHORTER, SHORT) if turned else (SHORT, SHORTER)
    made = []
    for name in (f"talk-{number:02}" for number in range(30)):
        made += [
            make("keep_all()", FULL, name, model=model, labels="declared"),
            make("keep_none()", SHORTER, name, cut=[1], need=0.1, model=model),
            make("one()", one, name, cut=[1], need=0.99, model=model),
            make("other()", other, name, cut=[1], need=0.99, model=model),
        ]
    return [replace(run, summarizer=summarizer or run.summarizer) for run in made]


def sentences(store: Store, *groups: list[Run]) -> list[str]:
    return list(agreement(comparisons(store(*(run for group in groups for run in group)))))


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        # Who writes the summaries is an assumption: what reverses with it is not known.
        ("reverses with the summariser",
         [{"turned": False, "summarizer": "low()"}, {"turned": True, "summarizer": "high()"}]),
        # A model is a choice, and no assumption.
        ("reverses with the model",
         [{"turned": False, "model": "a"}, {"turned": True, "model": "b"}]),
        ("all agree",
         [{"turned": False, "summarizer": "low()"}, {"turned": False, "summarizer": "high()"}]),
    ],
)  # fmt: skip
def test_what_is_said_of_several_comparisons(make, store, told, name, groups):
    told(name, sentences(store, *(runs(make, **group) for group in groups)))


def test_where_nothing_is_shown_anywhere_nothing_is_recommended(make, store):
    low, high = (runs(make, turned=False, summarizer=name)[:8] for name in ("low()", "high()"))
    assert sentences(store, low, high) == snapshot(
        ["No strategy is recommended with any of 2 summarisers."]
    )


def test_the_order_of_runs_changes_nothing(make, store):
    low = runs(make, turned=False, summarizer="low()")
    high = runs(make, turned=True, summarizer="high()")
    several = [*low, *high]
    moved = [*several[: len(several) // 2], *reversed(several[len(several) // 2 :])]
    assert sentences(store, moved) == sentences(store, several) != []


def test_that_it_reverses_never_falls_off_the_end(make, store, monkeypatch):
    """Else the first twenty lines said to choose what is not determined."""
    monkeypatch.setenv("COLUMNS", "40")
    low = runs(make, turned=False, summarizer="low()")
    high = runs(make, turned=True, summarizer="high()")
    text = " ".join(brief(store(*low, *high)).split())
    assert fitting([each for each in text.split(". ") if "depends" in each]) == snapshot("""\
Which strategy to choose depends on the summariser, so it is not decided: other with low()
and one with high()\
""")


def test_other_conversations_cannot_agree(make, store):
    one = runs(make, turned=False, summarizer="low()")
    other = [
        replace(run, conversation=f"other {run.conversation}")
        for run in runs(make, turned=True, summarizer="high()")
    ]
    assert sentences(store, one, other) == []


def test_equal_figures_do_not_flip(make, store):
    same = [
        [
            replace(run, summarizer=name)
            for run in (make("one()", SHORT, cut=[1]), make("other()", SHORT, cut=[1]))
        ]
        for name in ("low()", "high()")
    ]
    assert flips(comparisons(store(*(run for group in same for run in group))), "cost_usd") == []


def test_a_tie_is_no_turn(make, store):
    low = runs(make, turned=False, summarizer="low()")
    high = runs(make, turned=False, summarizer="high()")
    for one, other in zip(high[2::4], high[3::4], strict=True):
        one.metrics, one.rows = other.metrics, other.rows
    assert flips(comparisons(store(*low, *high)), "cost_usd") == []


def test_comparisons_are_told_apart_by_what_differs(make, store):
    one = runs(make, turned=False, summarizer="low()")
    other = [replace(run, window=9_000) for run in runs(make, turned=False, summarizer="high()")]
    writers = {name: {"label": name.upper(), "simulated": "", "code": ""}
               for name in ("low()", "high()")}  # fmt: skip
    both = comparisons(store(*one, *other, summarizers=writers))
    assert folded([told_apart(each, both) for each in both]) == snapshot("""\
Window narrowed to 2,000 tokens; Summaries by LOW()
Window narrowed to 9,000 tokens; Summaries by HIGH()\
""")
    assert folded(told_apart(both[0], both[:1])) == snapshot("""\
Model as recorded: claude-sonnet-4-5 (90 calls); window narrowed to 2,000 tokens; summaries by
LOW(); 2 strategies over 30 conversations\
""")
    assert "Window narrowed to 9,000 tokens; Summaries by HIGH(): " in brief(
        store(*one, *other, summarizers=writers)
    )
