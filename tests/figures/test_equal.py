"""The comparison of figures sees whatever differs, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.figures.equal import differences

RUN = {
    "source": "talk-0",
    "conversation": "talk",
    "strategy": "keep_all()",
    "model": "claude-sonnet-4-5",
    "summarizer": "lexrank",
    "loop": "closed",
}


def store(
    folder: Path, key: str, calls: dict[str, list[Any]], condition: str, **columns: Any
) -> Path:
    columns["condition"] = condition
    tables = {
        "runs": {"run": [key], **{name: [value] for name, value in {**RUN, **columns}.items()}},
        "calls": {"run": [key] * len(calls["call"]), **calls},
    }
    for name, table in tables.items():
        (folder / name).mkdir(parents=True)
        pq.write_table(pa.table(table), folder / name / "0123456789abcdef.parquet")
    (folder / "manifest.json").write_text(json.dumps({"conditions": [condition]}))
    return folder


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return store(tmp_path / "before", "aa", {"call": [1, 2], "fresh": [7, 8]}, condition="01")


def test_keys_of_code_may_differ(before: Path, tmp_path: Path) -> None:
    after = store(tmp_path / "after", "bb", {"call": [1, 2], "fresh": [7, 8]}, condition="02")
    assert not list(differences(before, after, {}))


def test_what_the_manifest_names_no_more_is_left_out(before: Path, tmp_path: Path) -> None:
    after = store(tmp_path / "after", "bb", {"call": [1, 2], "fresh": [7, 8]}, condition="02")
    for table in ("runs", "calls"):
        (former,) = (before / table).glob("*.parquet")
        (after / table / "00000000000000ff.parquet").write_bytes(former.read_bytes())
    assert not list(differences(before, after, {}))


def test_a_column_may_have_the_name_that_the_map_gives_it(before: Path, tmp_path: Path) -> None:
    after = store(tmp_path / "after", "aa", {"call": [1, 2], "uncached": [7, 8]}, condition="01")
    assert not list(differences(before, after, {"fresh": "uncached"}))
    assert list(differences(before, after, {})) == [
        "calls: no column fresh",
        "calls: a column uncached more",
    ]


@pytest.mark.parametrize(
    ("calls", "columns", "complaint"),
    [
        ({"call": [1, 2], "fresh": [7, 9]}, {}, "fresh, row 1: 8 is now 9"),
        ({"call": [1, 2], "fresh": [7, 8.0]}, {}, "fresh, row 0: 7 is now 7.0"),
        ({"call": [1, 2], "fresh": [7, None]}, {}, "fresh, row 1: 8 is now None"),
        ({"call": [2, 1], "fresh": [8, 7]}, {}, "call, row 0: 1 is now 2"),
        ({"call": [1], "fresh": [7]}, {}, "2 rows before, 1 now"),
        ({"call": [1, 2], "fresh": [7, 8]}, {"strategy": "keep_none()"}, "nothing of talk-0"),
    ],
)
def test_whatever_else_differs_is_named(
    before: Path,
    tmp_path: Path,
    calls: dict[str, list[Any]],
    columns: dict[str, Any],
    complaint: str,
) -> None:
    after = store(tmp_path / "after", "aa", calls, condition="01", **columns)
    assert any(complaint in line for line in differences(before, after, {}))
