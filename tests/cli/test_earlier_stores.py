"""A store of the version before: refused with what to do, and read by ``compactlab merge``."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from compactlab.api import run
from compactlab.sim.core.errors import InputError
from compactlab.sim.experiment.earlier import opened
from compactlab.sim.experiment.results import Results
from compactlab.sim.experiment.store import Store
from compactlab.sim.experiment.tables import RUNS, TABLES
from compactlab.sim.metrics.names import RENAMED

FORMER = {new: old for old, new in RENAMED["columns"].items()}


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of all tables, with compactions, and with what is fetched again."""
    folder = tmp_path_factory.mktemp("stores") / "today"
    run(
        ["support_chat(turns=6)"],
        strategies=["keep_all", "auto_compact"],
        window=4_000,
        loop="closed",
        tables=list(TABLES),
        out=folder,
    )
    return folder


@pytest.fixture
def before(today: Path, tmp_path: Path) -> Path:
    """The same as compactlab 0.1 stored it: version 5, with the columns of that time."""
    folder = tmp_path / "before"
    for shard in today.glob("*/*.parquet"):
        table = pq.read_table(shard, partitioning=None)
        file = folder / shard.relative_to(today)
        file.parent.mkdir(parents=True, exist_ok=True)
        names = [FORMER.get(name, name) for name in table.column_names]
        pq.write_table(table.rename_columns(names), file)
    manifest = json.loads((today / "manifest.json").read_text("utf-8"))
    metrics = [FORMER.get(name, name) for name in manifest["metrics"]]
    text = json.dumps({**manifest, "store": 5, "metrics": metrics})
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    return folder


def test_every_report_refuses_it_and_names_the_command(before: Path) -> None:
    with pytest.raises(InputError, match="compactlab merge OLD --out NEW makes one of version 6"):
        Results.load(before)


def test_merging_it_gives_the_store_of_today(
    before: Path, today: Path, tmp_path: Path, compactlab
) -> None:
    out = tmp_path / "after"
    assert compactlab("merge", before, "-o", out).code == 0
    merged, original = Results.load(out), Results.load(today)
    assert merged.runs == original.runs
    for table in TABLES:
        assert merged.table(table).equals(original.table(table))
    # Nothing compared is empty.
    assert original.table("compactions")["cache_miss_tokens"].sum() > 0
    assert {*original.table("prompts")["loop"]} > {"open"}
    columns = {name for file in out.glob("*/*.parquet") for name in pq.read_schema(file).names}
    assert not columns & set(RENAMED["columns"])


def test_a_store_of_today_is_no_earlier_one(today: Path, before: Path) -> None:
    assert type(opened(today)) is Store
    assert type(opened(before)) is not Store
    assert type(opened(before / "nowhere")) is Store


def test_a_damaged_one_is_refused_and_leaves_nothing(
    before: Path, tmp_path: Path, compactlab
) -> None:
    shard = next((before / RUNS).glob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-40])
    result = compactlab("merge", before, "-o", tmp_path / "after")
    assert result.code == 2
    assert "a damaged store of results" in result.said
