"""Bounds are always replayed; they measure the strategies and are none of them."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

import compactlab
from compactlab.reports.analysis.advice import Advice
from compactlab.reports.charts.drawing import strategy_colours
from compactlab.reports.charts.pareto import pareto
from compactlab.reports.page.brief import brief, brief_markdown
from compactlab.reports.page.headlines import WROTE, shown
from compactlab.reports.page.page import as_csv, as_json, page
from compactlab.reports.page.verdict import verdict
from compactlab.sim.store.results import Results
from compactlab.sim.store.store import Store as Folder
from compactlab.strategies import KeepNone
from tests.recordings import claude_code
from tests.reports.conftest import Make, Store
from tests.reports.spoken import only

TALK = "coding_agent(turns=2, tokens=3000)"
FULL = [(0, 1_000), (1_000, 500), (1_500, 900)]
CUT = [(0, 600), (0, 200), (0, 100)]
DEARER = [(0, 700), (0, 300), (0, 200)]


def names(results: Results) -> list[str]:
    return sorted({run.label for run in results.bounds})


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A recording and a made-up session under one strategy, in the closed loop, as a store."""
    folder = tmp_path_factory.mktemp("bounds")
    log = claude_code(folder / "talk.jsonl")
    given: list[Any] = [log, TALK]
    return compactlab.run(given, "sliding_window", loop="closed", out=folder / "store")


def test_whoever_is_named_bounds_are_replayed_in_the_open_loop(closed):
    assert names(closed) == ["as_recorded", "keep_all", "keep_none"]
    assert {run.loop for run in closed.runs} != {""}
    assert {(run.loop, run.summarizer, run.bound) for run in closed.bounds} == {("", "", True)}
    assert {run.strategy for run in closed.runs} == set(closed.manifest["strategies"])
    assert len(closed.bounds) == 6
    assert closed.missing == 0


def test_what_is_named_is_a_row_and_no_bound():
    results = compactlab.run(TALK, ["keep_all", "sliding_window"])
    assert names(results) == ["keep_none"]
    assert [run.label for run in results.runs] == ["keep_all", "sliding_window"]


def test_a_synthetic_session_has_nothing_recorded():
    assert names(compactlab.run(TALK, "sliding_window")) == ["keep_all", "keep_none"]


def test_they_are_in_no_frame_and_no_row_unless_one_asks(closed):
    frame = closed.frame()
    assert (set(frame["label"]), "bound" in frame) == ({"sliding_window"}, False)
    every = closed.frame(bounds=True)
    assert sorted(every[every["bound"]]["label"].unique()) == names(closed)
    assert len(closed.table("calls", bounds=True)) > len(closed.table("calls"))
    data = json.loads(as_json(closed))
    assert {run["label"] for run in data["runs"]} == {"sliding_window"}
    assert sorted({run["label"] for run in data["bounds"]}) == names(closed)
    assert "keep_all" not in as_csv(closed)


def test_sql_sees_them_apart(closed):
    assert set(closed.query("SELECT label FROM runs")["label"]) == {"sliding_window"}
    assert sorted(closed.query("SELECT DISTINCT label FROM bounds")["label"]) == names(closed)
    (calls,) = closed.query("SELECT count(*) AS n FROM calls")["n"]
    assert calls == len(closed.calls())


def test_a_store_keeps_them(closed, tmp_path):
    closed.save(tmp_path)
    again = Results.load(tmp_path)
    assert [run.key for run in again.bounds] == [run.key for run in closed.bounds]
    assert again.manifest["bounds"] == closed.manifest["bounds"]


def test_who_names_one_later_has_it_as_a_row(tmp_path):
    compactlab.run(TALK, "sliding_window", out=tmp_path)
    before = len(Folder(tmp_path).cells())
    results = compactlab.run(TALK, ["sliding_window", "keep_all"], out=tmp_path)
    assert names(results) == ["keep_none"]
    assert [run.label for run in results.runs] == ["sliding_window", "keep_all"]
    assert len(Folder(tmp_path).cells()) == before + 1


@pytest.mark.usefixtures("undrawn")
def test_terminal_and_page_have_the_same_rows_and_no_bound_among_them(make, store):
    runs = [
        make("keep_all()", FULL),
        make("keep_none()", CUT, cut=[1], need=0.05),
        make("oracle()", CUT, cut=[1], need=0.99),
        make("random_keep()", CUT, cut=[1], need=0.4),
        *(make(f"s{n}()", DEARER, cut=[1], need=0.3 + n / 100) for n in range(24)),
    ]
    results = store(*runs, sees_future=["oracle()"])
    advice = Advice(only(results))
    rows = [row.label for row, _ in shown(advice)]
    assert {"keep_all", "keep_none", "oracle", "random_keep"}.isdisjoint(rows)
    told, front = (
        brief(results),
        page(results).partition('class="front')[2].partition("</table>")[0],
    )
    assert all(f"\n{row} " in told for row in rows)
    assert [
        row for row in (f"s{n}" for n in range(24)) if re.search(rf">\s*{row}\s*<", front)
    ] == sorted(rows)
    assert {row.label for row in advice.comparison.beside} == {
        "keep_all", "keep_none", "oracle", "random_keep",
    }  # fmt: skip


def test_in_the_chart_what_sees_the_future_is_a_bound(make, store):
    runs = [make("oracle()", CUT, cut=[1]), make("s()", DEARER, cut=[1], need=0.5)]
    results = store(make("keep_all()", FULL), *runs, sees_future=["oracle()"])
    chart = pareto(only(results), strategy_colours(results), "p")
    assert chart is not None
    text = chart.markup()
    assert "bound, no choice" in text
    assert strategy_colours(results)["oracle()"] == "grey"


def test_calls_that_are_torn_in_the_log_are_no_fault(make, store):
    """As many are torn as where nobody touches a prompt, and one row has none by chance."""
    torn = [make(f"s{n}()", CUT, cut=[1], sound=0.9) for n in range(3)]
    lucky = make("lucky()", [(0, 900), (0, 600), (0, 300)], cut=[1], sound=1.0)
    worse = make("worse()", CUT, cut=[1], sound=0.8)
    whole = replace(make("keep_all()", FULL, sound=0.9), bound=True)
    comparison = only(store(*torn, lucky, worse, whole, bounds={"keep_all()": "keep_all"}))
    assert {row.label for row in comparison.rows if row.faulty} == {"worse()"} or {
        row.label for row in comparison.rows if row.faulty
    } == {"worse"}
    cheapest = Advice(comparison).cheapest
    assert cheapest is not None
    assert cheapest.spec != "lucky()"


def test_what_was_sent_and_accepted_is_no_fault_of_what_was_recorded(make, store):
    runs = [make("keep_all()", FULL), make("as_recorded()", CUT, cut=[1], sound=0.4)]
    comparison = only(store(*runs))
    assert not any(row.faulty for row in comparison.rows)


def test_the_dearest_row_is_the_cheapest_of_those_that_are_usable(make, store):
    over = make("over()", FULL, need=0.5)
    runs = [make("keep_all()", FULL), over, make("s()", [(0, 1_900)] * 3, cut=[1], need=0.4)]
    roles = {row.spec: role for row, role in shown(Advice(only(store(*runs))))}
    assert roles["s()"] == snapshot("reference, the only usable one")


def test_what_the_logs_client_does_comes_first_and_is_told(make, store):
    runs = [make("s()", CUT, cut=[1]), make("claude_code()", DEARER, cut=[1])]
    rows = shown(Advice(only(store(make("as_recorded()", FULL), *runs))))
    labels = [row.label for row, _ in rows]
    assert (labels[0], rows[0][1].split(", ")[-1]) == ("claude_code", WROTE)
    assert not any(WROTE in role for _, role in rows[1:])


@pytest.fixture
def lost(make: Make, fail: Make, store: Store) -> Callable[[str], Results]:
    """Three conversations, in one of which a bound fails."""

    def made(which: str) -> Results:
        runs = []
        for name in ("one", "two", "three"):
            runs += [make("a()", CUT, name, cut=[1], need=0.9, sound=0.9),
                     make("b()", DEARER, name, cut=[1], need=0.5, sound=0.9)]  # fmt: skip
            bounds = {
                "keep_all": make("keep_all()", FULL, name, sound=0.9),
                "keep_none": make("keep_none()", CUT, name, cut=[1], need=0.1),
                "as_recorded": make("as_recorded()", CUT, name, cut=[1], need=0.9),
            }
            if name == "two":
                bounds[which] = fail(f"{which}()", name, "took longer than 5 s")
            runs += [replace(run, bound=True) for run in bounds.values()]
        return store(
            *runs,
            strategies={"a()": "a", "b()": "b"},
            bounds={f"{name}()": name for name in ("keep_all", "keep_none", "as_recorded")},
        )

    return made


@pytest.mark.parametrize(
    ("which", "unknown"),
    [
        ("keep_all", {"cheapest", "highest recall"}),
        ("keep_none", set()),
        ("as_recorded", {"reference"}),
    ],
)
def test_where_a_bound_fails_the_others_are_compared_and_what_it_tells_is_not_known(
    which, unknown, lost
):
    results = lost(which)
    assert results.failed == []
    comparison = only(results)
    assert [len(row.runs) for row in comparison.rows] == [3, 3]
    assert comparison.unknown == {which: "took longer than 5 s"}
    assert {row.name for row in comparison.bounds} == {
        "keep_all", "keep_none", "as_recorded",
    } - {which}  # fmt: skip
    advice = Advice(comparison)
    named = {
        "reference": advice.reference,
        "cheapest": advice.cheapest,
        "highest recall": advice.best_recall,
    }
    assert {role for role in unknown if named[role] is not None} == set()
    assert advice.advised is None
    for text in (brief(results), brief_markdown(results), page(results)):
        assert "took longer than 5 s" in " ".join(text.split())
    assert verdict(comparison)


def test_one_that_fails_is_no_failure_of_the_experiment(monkeypatch):
    def broken(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(KeepNone, "compact", broken)
    results = compactlab.run(TALK, "sliding_window")
    assert results.failed == []
    assert {run.label: run.status for run in results.bounds} == {
        "keep_all": "ok", "keep_none": "failed",
    }  # fmt: skip
    assert list(only(results).unknown) == ["keep_none"]
