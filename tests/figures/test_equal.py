"""The comparison of figures sees whatever differs, and nothing else."""

import json
import tomllib
from argparse import Namespace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inline_snapshot import snapshot

from compactlab.request.file import ExperimentSettings
from compactlab.strategies.catalogue import find_strategy
from tests.figures.amounts import Amounts
from tests.figures.differences import Allowed, Comparison, Difference, LeftOut
from tests.figures.equal import EXPERIMENTS, HERE, Experiment, report
from tests.lines import fitting

RUN = {
    "source": "talk-0",
    "conversation": "talk",
    "strategy": "codex(trigger=None)",
    "label": "codex",
    "model": "claude-sonnet-4-5",
}
CALLS = {"call": [1, 2], "fresh": [7, 8]}


def store(
    folder: Path,
    calls: dict[str, list[Any]],
    *,
    key: str = "aa",
    condition: str = "01",
    table: str = "calls",
    others: dict[str, dict[str, Any]] | None = None,
    **columns: Any,
) -> Path:
    """A store of one run, and of others by their keys, which have no calls."""
    runs = {key: {**RUN, "condition": condition, **columns}}
    runs |= {name: {**runs[key], **other} for name, other in (others or {}).items()}
    whole = {"run": list(runs), **{c: [run[c] for run in runs.values()] for c in runs[key]}}
    for name, rows in {"runs": whole, table: {"run": [key] * len(calls["call"]), **calls}}.items():
        (folder / name).mkdir(parents=True)
        pq.write_table(pa.table(rows), folder / name / "0123456789abcdef.parquet")
    (folder / "manifest.json").write_text(json.dumps({"conditions": [condition]}))
    return folder


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return store(tmp_path / "before", CALLS)


@pytest.fixture
def now(tmp_path: Path) -> Path:
    return tmp_path / "now"


def told(before: Path, after: Path, allowed: Allowed | None = None) -> list[str]:
    return [str(difference) for difference in Comparison(before, after, allowed).differences()]


def test_keys_of_code_may_differ(before, now):
    assert not told(before, store(now, CALLS, key="bb", condition="02"))


def test_what_the_manifest_names_no_more_is_left_out(before, now):
    after = store(now, CALLS, key="bb", condition="02")
    for table in ("runs", "calls"):
        (former,) = (before / table).glob("*.parquet")
        (after / table / "00000000000000ff.parquet").write_bytes(former.read_bytes())
    assert not told(before, after)


@pytest.mark.parametrize(
    ("calls", "columns", "complaint"),
    [
        ({"call": [1, 2], "fresh": [7, 9]}, {}, "fresh, row 1: 8 is now 9"),
        ({"call": [1, 2], "fresh": [7, 8.0]}, {}, "fresh, row 0: 7 is now 7.0"),
        ({"call": [1, 2], "fresh": [7, None]}, {}, "fresh, row 1: 8 is now None"),
        ({"call": [2, 1], "fresh": [8, 7]}, {}, "call, row 0: 1 is now 2"),
        ({"call": [1], "fresh": [7]}, {}, "number of rows, row 0: 2 is now 1"),
        (CALLS, {"label": "pi"}, "runs: talk-0 | talk | codex | claude-sonnet-4-5: no such run"),
        (CALLS, {"label": "pi"}, "runs: talk-0 | talk | pi | claude-sonnet-4-5: a run more"),
        (CALLS, {"table": "requests"}, "calls: no such table"),
        (CALLS, {"table": "requests"}, "requests: a table more"),
        ({"call": [1, 2]}, {}, "calls: no column fresh"),
        ({**CALLS, "stale": [0, 0]}, {}, "calls: a column stale more"),
    ],
)
def test_whatever_differs_is_named(before, now, calls, columns, complaint):
    assert any(complaint in line for line in told(before, store(now, calls, **columns)))


def test_a_strategy_with_another_parameter_is_the_same_run(before, now):
    """Of which only the spec differs, which is said."""
    after = store(now, CALLS, strategy="codex(trigger=None, route='auto')")
    (line,) = told(before, after)
    assert fitting(line) == snapshot("""\
runs: talk-0 | talk | codex | claude-sonnet-4-5: strategy, row 0: 'codex(trigger=None)' is
now "codex(trigger=None, route='auto')"\
""")


def test_a_source_that_nobody_could_read_has_rows_without_a_label(before, now):
    unread = {name: {"label": "", "strategy": ""} for name in ("bb", "cc")}
    one, other = (store(now / side, CALLS, others=unread) for side in ("one", "other"))
    assert not told(one, other)


def test_of_long_texts_that_is_shown_where_they_part():
    difference = Difference("views", "text", "a", ((3, "a" * 90 + " end", "a" * 90 + " and"),))
    assert str(difference) == (
        f"views: a: text, row 3: ...{'a' * 19} end' is now ...{'a' * 19} and'"
    )


@pytest.mark.parametrize("old", ["fresh", "calls.fresh"])
def test_a_column_may_have_the_name_that_the_map_gives_it(before, now, old):
    after = store(now, {"call": [1, 2], "uncached": [7, 8]})
    assert not told(before, after, Allowed(columns={old: "uncached"}))
    assert told(before, after, Allowed(columns={"runs.fresh": "uncached"}))


def test_a_table_may_have_the_name_that_the_map_gives_it(before, now):
    allowed = Allowed(tables={"calls": "requests"})
    assert not told(before, store(now / "equal", CALLS, table="requests"), allowed)
    other = store(now / "other", {"call": [1, 2], "fresh": [7, 9]}, table="requests")
    (line,) = told(before, other, allowed)
    assert line.startswith("requests: ")
    assert line.endswith("fresh, row 1: 8 is now 9")


# What an issue adds.

ADDED = [
    LeftOut("why", table="requests"),
    LeftOut("why", table="calls", column="stale"),
    LeftOut("why", column="anywhere"),
    LeftOut("why", table="calls", where={"call": 3}),
    LeftOut("why", table="runs", where={"bound": True}),
]


def added(folder: Path) -> Path:
    calls = {"call": [1, 2, 3], "fresh": [7, 8, 9], "stale": [0, 0, 0], "anywhere": [0, 0, 0]}
    after = store(folder, calls, bound=False, others={"bb": {"bound": True}})
    (after / "requests").mkdir()
    pq.write_table(pa.table({"run": ["aa", "aa"]}), after / "requests" / "01.parquet")
    return after


def test_what_is_left_out_is_counted(before, now):
    allowed = Allowed(left_out=[*ADDED, LeftOut("why", table="runs", column="bound")])
    comparison = Comparison(before, added(now), allowed)
    assert not list(comparison.differences())
    assert {str(entry): rows for entry, rows in comparison.left_out.items()} == {
        "table requests: why": 2,
        "column calls.stale: why": 2,
        "column *.anywhere: why": 2,
        "rows of calls with call = 3: why": 1,
        "rows of runs with bound = True: why": 1,
        "column runs.bound: why": 1,
    }


def test_what_an_issue_takes_away_can_be_left_out_as_well(before, now):
    allowed = Allowed(left_out=[*ADDED, LeftOut("why", table="runs", column="bound")])
    comparison = Comparison(added(now), before, allowed)
    assert not list(comparison.differences())
    assert len(comparison.left_out) == len(allowed.left_out)


@pytest.mark.parametrize("left_out", range(len(ADDED)))
def test_what_only_one_side_has_must_be_named(before, now, left_out):
    bound = LeftOut("why", table="runs", column="bound")
    entries = [entry for entry in (*ADDED, bound) if entry is not ADDED[left_out]]
    if ADDED[left_out].where.get("bound"):
        with pytest.raises(SystemExit, match="two runs have one name"):
            told(before, added(now), Allowed(left_out=entries))
    else:
        assert told(before, added(now), Allowed(left_out=entries))


def test_what_both_have_is_compared_although_it_was_left_out_once(before, now):
    after = store(now, {"call": [1, 2], "fresh": [7, 9]})
    entries = [
        LeftOut("why", table="calls"),
        LeftOut("why", table="calls", column="fresh"),
        LeftOut("why", table="calls", where={"call": 2}),
        LeftOut("why", table="runs", where={"label": "codex"}),
    ]
    assert told(before, after, Allowed(left_out=entries)) == told(before, after) != []


def test_amounts_are_listed_by_column():
    amounts = Amounts()
    for run, values in {"a": ((0, 4, 5), (1, 0, 2)), "b": ((0, 8, 6),)}.items():
        amounts.add(Difference("calls", "uncached", run, values))
    amounts.add(Difference("runs", "cost_usd", "a", ((0, 0.5, 0.51),)))
    amounts.add(Difference("runs", "cost_usd", "b", ((0, None, 0.25),)))
    amounts.add(Difference("runs", "status", "b", ((0, "ok", "failed"),)))
    amounts.add(Difference("runs", "saved_usd", "b", ((0, -4.0, -3.0),)))
    amounts.add(Difference("calls", "no column stale"))
    assert list(amounts.lines()) == [
        "calls: uncached: 2 runs, 3 values, -2 to +2 (-25 % to +25 %)",
        "runs: cost_usd: 2 runs, 2 values, +0.01 (+2 %), 1 without an amount, "
        "such as None is now 0.25",
        "runs: status: 1 run, 1 value, 1 without an amount, such as 'ok' is now 'failed'",
        "runs: saved_usd: 1 run, 1 value, +1 (+25 %)",
        "calls: no column stale",
    ]


def test_the_report_ends_with_the_amounts(before, now, capsys):
    comparison = Comparison(before, store(now, {"call": [1, 3], "fresh": [7, 9]}))
    assert report("suite", "b80fd5b9", comparison, show=1) == 2
    assert capsys.readouterr().out.splitlines() == [
        "suite: 1 runs compared with b80fd5b9, 2 differences",
        "calls: talk-0 | talk | codex | claude-sonnet-4-5: call, row 1: 2 is now 3",
        "and 1 more",
        "suite, by column:",
        "  calls: call: 1 run, 1 value, +1 (+50 %)",
        "  calls: fresh: 1 run, 1 value, +1 (+12.5 %)",
    ]


def asked(**given: Any) -> Namespace:
    return Namespace(**{"strategies": [], "conversations": [], **given})


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_leaves_nothing_to_the_defaults(name, tmp_path):
    """Else a new default would be compared, and no change of a figure."""
    experiment = Experiment.read(name, asked(recorded=tmp_path))
    given = tomllib.loads(experiment.text)
    assert {"conversations", "models", "summarizer", "controls", "loop", "seeds"} < given.keys()
    # What a run is called in the store is what it is called here.
    assert [find_strategy(spec).label for spec in given["strategies"]] == given["strategies"]
    assert len(set(given["strategies"])) == 60
    if experiment.needs_recordings:
        for recording in map(Path, given["conversations"]):
            recording.parent.mkdir(exist_ok=True)
            recording.touch()
    (tmp_path / "experiment.toml").write_text(experiment.text, encoding="utf-8")
    settings = ExperimentSettings.load(tmp_path / "experiment.toml", {})
    assert [*settings.conversations] == given["conversations"]


def test_both_experiments_compare_the_same_strategies():
    one, other = (
        tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8")) for name in EXPERIMENTS
    )
    assert one["strategies"] == other["strategies"]


def test_a_part_names_its_recordings_by_their_folder(tmp_path):
    part = asked(recorded=tmp_path, strategies=["pi"], conversations=["RECORDED/a.jsonl"])
    experiment = Experiment.read("suite", part)
    assert experiment.needs_recordings
    assert experiment.narrowed == ("--strategies", "pi", "--conversations", f"{tmp_path}/a.jsonl")


def test_the_files_say_what_may_differ_and_why():
    allowed = Allowed.read(HERE / "renamed.toml", HERE / "left_out.toml")
    assert all(entry.why and (entry.table or entry.column) for entry in allowed.left_out)


def test_an_entry_has_a_reason(tmp_path):
    (tmp_path / "renamed.toml").write_text("[columns]\nfresh = 'uncached'\n[tables]")
    (tmp_path / "left_out.toml").write_text("[[left_out]]\ntable = 'calls'\nwhy = 'issue 1'")
    allowed = Allowed.read(tmp_path / "renamed.toml", tmp_path / "left_out.toml")
    assert allowed.column("calls", "fresh") == "uncached"
    assert [*map(str, allowed.left_out)] == ["table calls: issue 1"]
    (tmp_path / "left_out.toml").write_text("[[left_out]]\ntable = 'calls'")
    with pytest.raises(TypeError, match="why"):
        Allowed.read(tmp_path / "renamed.toml", tmp_path / "left_out.toml")
