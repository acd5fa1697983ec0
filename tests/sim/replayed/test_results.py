"""What was found: saved, loaded again, asked; what is no store, or damaged, says so."""

import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inline_snapshot import snapshot

from compactlab.reports.analysis.aggregate import values_of
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.manifest import FORMAT
from compactlab.sim.store.parquet import Rows
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run, shard_files
from compactlab.sim.store.store import Store
from compactlab.sim.store.tables import TABLES, USUAL
from tests.lines import refusal

HEAD: dict[str, Any] = {
    "scenario": "pi",
    "model": "recorded",
    "window": 0,
    "seed": 1,
    "digest": "0" * 16,
}


def rows(count: int = 2) -> dict[str, Rows]:
    """So many rows of each table, each value another one; lists of different lengths."""
    made = {"text": "t{}", "texts": ["a", "b"], "count": 7, "number": math.inf, "flag": True}
    filled = {}
    for name, table in TABLES.items():
        columns: dict[str, list[Any]] = {column: [] for column in table.columns}
        for n in range(count):
            for column, of in table.columns.items():
                value: Any = made[of.type]
                if of.type == "text":
                    value = f"{column} {n}"
                elif of.type == "texts":
                    value = ["größer", "b", "c"][:n]
                elif of.type == "count":
                    value = 10**n
                elif of.type == "flag":
                    value = not n
                elif n or column.endswith("_usd"):
                    value = n / 3
                columns[column].append(value)
        filled[name] = table.filled(columns)
    return filled


def sums(tables: dict[str, Rows]) -> dict[str, float | None]:
    """The figures of a run that its rows add up to."""
    return {
        metric: float(sum(np.sum(tables[name][column]) for column in columns))
        for name, table in TABLES.items()
        for metric, columns in table.sums.items()
    }


def found(value: float = 1.0) -> Results:
    """Two runs that went well, with rows and without any, and one that failed."""
    figures: dict[str, float | None] = dict.fromkeys(METRICS, value)
    odd = {**figures, "write_spike": None, "break_even_calls": math.inf}
    few, more = rows(), rows(3)
    return Results(
        [
            Run("one", strategy="keep_all()", metrics=figures | sums(few), rows=few, **HEAD),
            Run("one", strategy="brief()", metrics=odd, **HEAD),
            Run("two", strategy="keep_all()", status="failed", error="größer", **HEAD),
            Run("two", strategy="brief()", metrics=odd | sums(more), rows=more, **HEAD),
        ],
        {"prices": "list", "models": ["recorded"]},
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of them, to be read or copied."""
    folder: Path = tmp_path_factory.mktemp("saved")
    found().save(folder)
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """All files of a store by where they lie."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_what_is_saved_is_loaded_again(tmp_path):
    found().save(tmp_path / "new" / "store")
    again = Results.load(tmp_path / "new" / "store")
    assert again.manifest == found().manifest
    assert [run.key for run in again.runs] == [run.key for run in found().runs]
    for is_, was in zip(again.runs, found().runs, strict=True):
        assert replace(is_, metrics=was.metrics) == was
    assert again.runs[0].metrics == found().runs[0].metrics
    assert again.runs[1].metrics["write_spike"] is None
    assert again.runs[1].metrics["break_even_calls"] == math.inf
    assert set(again.runs[2].metrics.values()) == {None}
    assert again.frame().equals(found().frame())
    for name in TABLES:
        assert [len(run.rows.get(name, ())) for run in again.runs] == [2, 0, 0, 3]
        assert again.table(name).equals(found().table(name))


def test_a_sum_over_the_rows_of_a_run_is_that_of_its_rows_alone(saved):
    again = Results.load(saved)
    checked = 0
    for run in again.runs:
        for name, own in run.rows.items():
            counts = [n for n, column in TABLES[name].columns.items() if column.type == "count"]
            for column in counts:
                assert own.total(column) == sum(own[column])
            checked += len(counts)
    assert checked > 20
    # The second run with rows begins behind the first one's.
    assert again.runs[3].rows["calls"].start == 2


def test_values_of_runs_are_the_same_out_of_a_store(saved):
    results, again = found(), Results.load(saved)
    plain, stored = values_of(results.runs, METRICS), values_of(again.runs, METRICS)
    assert np.array_equal(plain, stored, equal_nan=True)
    backwards = values_of(again.runs[::-1], ["write_spike", "cost_usd"])
    assert np.array_equal(backwards, values_of(results.runs, ["write_spike", "cost_usd"])[::-1],
                          equal_nan=True)  # fmt: skip
    assert plain.shape == (4, len(METRICS))


def test_saving_twice_gives_the_same_bytes(tmp_path):
    results = found()
    for run in results.runs:
        run.rows.pop("calls", None)  # many columns
    for name in ("one", "two"):
        results.save(tmp_path / name)
    one = files(tmp_path / "one")
    tables = {f"{table}/results.parquet" for table in ("runs", *TABLES) if table != "calls"}
    assert set(one) == {"manifest.json", "digests/results.sha256", *tables}
    assert files(tmp_path / "two") == one
    # Where it lies, too: its rows are read before the old ones are gone.
    Results.load(tmp_path / "one").save(tmp_path / "one")
    assert files(tmp_path / "one") == one


def test_what_was_there_before_is_gone(tmp_path):
    found().save(tmp_path)
    (tmp_path / "mine.txt").write_text("not of the store")
    Results([]).save(tmp_path)
    ours = {"manifest.json", "digests/results.sha256", "runs/results.parquet"}
    assert set(files(tmp_path)) == {"mine.txt", *ours}


def test_an_empty_experiment_is_stored_too(tmp_path):
    Results([]).save(tmp_path)
    again = Results.load(tmp_path)
    assert again == Results([])
    assert len(again.frame()) == len(again.calls()) == 0
    assert list(again.frame().columns) == list(found().frame().columns)
    for name, table in TABLES.items():
        assert list(again.table(name).columns) == ["run", *table.columns]
    assert len(again.query("SELECT * FROM runs")) == 0


def test_the_failed_ones_are_named():
    assert [run.conversation for run in found().failed] == ["two"]


def test_the_frame_has_a_row_a_run():
    frame = found().frame()
    assert len(frame) == 4
    assert frame["run"].is_unique
    assert list(frame.columns[-len(METRICS) :]) == list(METRICS)
    assert {str(frame[name].dtype) for name in METRICS} == {"float64"}
    assert {str(frame[name].dtype) for name in ("window", "seed")} == {"int64"}
    assert {str(frame[name].dtype) for name in ("strategy", "error", "status")} <= {"str", "object"}
    assert frame["cost_usd"].isna().tolist() == [False, False, True, False]


def test_a_table_has_the_rows_of_all_runs_and_says_whose_they_are():
    results = found()
    first, *_, last = (run.key for run in results.runs)
    for name, table in TABLES.items():
        frame = results.table(name)
        assert frame["run"].tolist() == [first] * 2 + [last] * 3
        for column, of in table.columns.items():
            kind = {"count": "int64", "number": "float64", "flag": "bool"}.get(of.type)
            assert kind is None or str(frame[column].dtype) == kind
    assert results.calls().equals(results.table("calls"))
    assert refusal(UsageError, lambda: results.table("call")) == snapshot(
        "there is no table 'call': calls, compactions, facts, lags, messages, views, prompts"
    )


def test_a_failed_run_or_one_whose_source_cannot_be_read_is_a_row(tmp_path):
    """What could not be read stands in the store under each condition, and is told once."""
    head = {"status": "unreadable", "error": "broken.jsonl:3: no JSON", "source_key": "s"}
    bad = [Run("b", "", "", "", 0, 0, condition=c, **head) for c in "12"]  # type: ignore[arg-type]
    results = Results(bad)
    assert [run.error for run in results.runs] == ["broken.jsonl:3: no JSON"]
    store = Store(tmp_path)
    store.describe({})
    store.put("0" * 16, shard_files(bad))
    assert len(store.cells()) == 2
    (again,) = Results.load(tmp_path).runs
    assert replace(again, metrics={}) == results.runs[0]


def test_conversations_of_one_id_are_told_apart_by_their_sources():
    ways = [("a", "1" * 16), ("b", "2" * 16), ("b", "2" * 16)]
    results = Results(
        [Run("log", "pi", "keep_all()", "m", 0, 0, source=s, digest=d) for s, d in ways]
    )
    assert [run.conversation for run in results.runs] == ["a:log", "b:log", "b:log"]
    assert Results(results.runs).runs == results.runs


def test_half_a_character_does_not_keep_anything_from_being_stored(tmp_path):
    Results([Run("\ud83d", "pi", "keep_all()", "m", 0, 0, error="\udc9b")]).save(tmp_path)
    (run,) = Results.load(tmp_path).runs
    assert (run.conversation, run.error) == ("?", "?")


@pytest.mark.parametrize("stored", [False, True])
def test_one_may_ask_in_sql(stored, saved):
    results = Results.load(saved) if stored else found()
    frame = results.query("SELECT strategy, count(*) AS n FROM runs GROUP BY ALL ORDER BY ALL")
    assert frame.to_dict("list") == {"strategy": ["brief()", "keep_all()"], "n": [2, 2]}
    joined = (
        "SELECT conversation, sum({}) AS n FROM runs JOIN {} USING (run) GROUP BY ALL ORDER BY 1"
    )
    for name, column in (("calls", "call"), ("facts", "needs"), ("prompts", "request")):
        assert results.query(joined.format(column, name))["n"].tolist() == [11, 111]
    told = results.query("SELECT DISTINCT unnest(kinds) AS kind FROM messages ORDER BY 1")
    assert told["kind"].tolist() == ["b", "größer"]


@pytest.mark.parametrize("sql", ["SELEC", "SELECT no FROM runs", "SELECT * FROM nowhere", "x'"])
def test_a_wrong_query_says_what_is_wrong(sql, saved):
    for results in (found(), Results.load(saved)):
        with pytest.raises(UsageError, match="the query fails: "):
            results.query(sql)


def test_pandas_and_arrow_read_the_folders_as_they_are(saved):
    import pandas as pd

    for name in TABLES:
        read = pd.read_parquet(saved / name, partitioning=None)
        assert read["run"].tolist() == found().table(name)["run"].tolist()
    assert (
        pd.read_parquet(saved / "runs", partitioning=None)["strategy"].tolist()
        == ["keep_all()", "brief()"] * 2
    )


# -------------------------------------------------------------- what of a store is an experiment's


def key(letter: str) -> str:
    """A key: sixteen hex digits."""
    return f"{ord(letter):016x}"


def cells(*pairs: str) -> list[Run]:
    """A run a pair of a source and a condition, with so many calls as the pair is long."""
    return [
        Run(
            f"talk {pair[0]}", strategy=f"s{pair[1]}()", source_key=key(pair[0]),
            condition=key(pair[1]),
            rows={"calls": TABLES["calls"].filled({"call": range(1, 2 + n)})}, **HEAD,
        )
        for n, pair in enumerate(pairs)
    ]  # fmt: skip


def described(folder: Path, sources: str, conditions: str) -> Results:
    """A store of two shards whose manifest names these sources and conditions."""
    store = Store(folder)
    store.describe({"source_keys": [*map(key, sources)], "conditions": [*map(key, conditions)]})
    store.put("2" * 16, shard_files(cells("A1", "A2", "B1", "B2")))
    store.put("1" * 16, shard_files(cells("C2", "C1")))
    return Results.load(folder)


@pytest.mark.parametrize(
    ("sources", "conditions", "shown"),
    [
        ("ABC", "12", "A1 A2 B1 B2 C1 C2"),
        ("CAB", "21", "C2 C1 A2 A1 B2 B1"),
        ("BX", "12", "B1 B2"),
        ("AC", "31", "A1 C1"),
        ("X", "3", ""),
    ],
)
def test_only_what_the_manifest_names_is_shown_and_in_its_order(
    sources, conditions, shown, tmp_path
):
    results = described(tmp_path, sources, conditions)
    named = [run.conversation[-1] + run.strategy[1] for run in results.runs]
    assert named == shown.split()
    lengths = {"A1": 1, "A2": 2, "B1": 3, "B2": 4, "C2": 1, "C1": 2}
    assert [run.calls["call"] for run in results.runs] == [
        list(range(1, 1 + lengths[cell])) for cell in shown.split()
    ]
    asked = results.query("SELECT conversation[-1] || strategy[2] AS cell FROM runs")
    assert sorted(asked["cell"]) == sorted(shown.split())
    (counted,) = results.query("SELECT count(*) AS n FROM calls")["n"]
    assert counted == sum(lengths[cell] for cell in shown.split())
    (everything,) = results.query("SELECT count(*) AS n FROM all_runs")["n"]
    assert everything == 6
    (everything,) = results.query("SELECT count(*) AS n FROM all_calls")["n"]
    assert everything == sum(lengths.values())


def broken_manifest(text: str) -> Any:
    return lambda folder: (folder / "manifest.json").write_text(text)


def parquet(table: str, **columns: list[Any]) -> Any:
    file = f"{table}/results.parquet"
    return lambda folder: pq.write_table(pa.table(columns), folder / file)


def cut(table: str) -> Any:
    def damage(folder: Path) -> None:
        path = folder / table / "results.parquet"
        path.write_bytes(path.read_bytes()[:99])

    return damage


def without_rows(table: str) -> Any:
    def damage(folder: Path) -> None:
        path = folder / table / "results.parquet"
        pq.write_table(pq.read_table(path)[:-1], path)

    return damage


def without_column(table: str, name: str) -> Any:
    def damage(folder: Path) -> None:
        path = folder / table / "results.parquet"
        pq.write_table(pq.read_table(path).drop_columns([name]), path)

    return damage


def gone(table: str) -> Any:
    return lambda folder: (folder / table / "results.parquet").unlink()


def no_parquet(table: str) -> Any:
    return lambda folder: (folder / table / "results.parquet").write_bytes(b"hello")


DAMAGE = {
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "an empty manifest": broken_manifest(""),
    "half a manifest": broken_manifest('{"store": 1, "prices'),
    "a manifest that is a list": broken_manifest("[1]"),
    "a manifest that is a number": broken_manifest("1"),
    "a manifest in another encoding": lambda f: (f / "manifest.json").write_bytes(b"\xff\xfe{}"),
    "a manifest without version": broken_manifest("{}"),
    "a manifest with half of the keys": broken_manifest(f'{{"store": {FORMAT}, "conditions": []}}'),
    "conditions that are none": broken_manifest(
        f'{{"store": {FORMAT}, "conditions": 5, "source_keys": 5}}'
    ),
    "unknown metrics": broken_manifest(f'{{"store": {FORMAT}, "metrics": ["beauty"]}}'),
    "half of the runs": cut("runs"),
    "no parquet": no_parquet("runs"),
    "runs of another tool": parquet("runs", name=["x"]),
    "runs without a column": without_column("runs", "status"),
    "runs without a metric": without_column("runs", "cost_usd"),
}


UNVERIFIED = pytest.mark.filterwarnings("ignore::compactlab.sim.core.errors.UnverifiedWarning")


@UNVERIFIED
@pytest.mark.parametrize("digests", [True, False])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_named(damage, digests, saved):
    store = Path(shutil.copytree(saved, Path.cwd() / "here"))
    damage(store)
    if not digests:
        shutil.rmtree(store / "digests")
    with pytest.raises(InputError, match="store") as told:
        Results.load(store)
    assert str(store) in str(told.value)


DAMAGED_TABLE = {
    "half": cut,
    "none": gone,
    "no parquet": no_parquet,
    "of another tool": lambda table: parquet(table, name=["x"]),
    "a row less": without_rows,
}


@UNVERIFIED
@pytest.mark.parametrize("digests", [True, False])
@pytest.mark.parametrize("table", ["calls", "prompts"])
@pytest.mark.parametrize("damage", DAMAGED_TABLE.values(), ids=DAMAGED_TABLE)
def test_a_damaged_table_is_named_by_when_it_is_asked_for(damage, table, digests, saved):
    store = Path(shutil.copytree(saved, Path.cwd() / "here"))
    damage(table)(store)
    if not digests:
        shutil.rmtree(store / "digests")
    with pytest.raises(InputError, match="store") as told:
        Results.load(store).runs[0].rows[table]["output"]
    assert str(store) in str(told.value)


def test_where_nothing_is_there_is_no_store(tmp_path):
    assert refusal(InputError, lambda: Results.load(tmp_path / "nowhere")) == snapshot(
        "nowhere: no store of results: there is no such folder"
    )
    (tmp_path / "file").write_text("x")
    assert refusal(InputError, lambda: Results.load(tmp_path / "file")) == snapshot("""\
file: no store of results (manifest.json: [Errno 20] Not a directory:
'file/manifest.json')\
""")


@pytest.mark.parametrize("version", [0, 1, 3, FORMAT + 1, str(FORMAT), None])
def test_a_store_of_another_version_says_what_to_do(version, tmp_path, saved):
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "store": version}))
    with pytest.raises(InputError, match=r"another version .*; run the experiment again"):
        Results.load(tmp_path)


@pytest.mark.parametrize("number", range(1, len(TABLES) + 3))
def test_a_store_that_cannot_be_replaced_is_no_mixture(number, tmp_path, monkeypatch):
    """Either the old one is there, whole, or it is said that there is none."""
    found(1.0).save(tmp_path)
    real, renamed = os.replace, []

    def replace_until_full(source: Any, target: Any) -> None:
        renamed.append(target)
        if len(renamed) >= number:
            raise OSError("no space left")
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_until_full)
        with pytest.raises(UsageError, match="no space left"):
            found(0.5).save(tmp_path)
    if number == 1:  # nothing was taken away
        assert Results.load(tmp_path).frame().equals(found(1.0).frame())
    else:
        with pytest.raises(InputError, match="it was not saved to its end"):
            Results.load(tmp_path)
        assert not Store(tmp_path).exists
    found(0.25).save(tmp_path)
    assert Results.load(tmp_path).frame().equals(found(0.25).frame())


def test_usual_tables_are_tables():
    assert set(USUAL) < set(TABLES)
