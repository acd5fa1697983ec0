"""What differs between two stores of one experiment, value by value.

Two files beside this one say what may differ: ``renamed.toml`` and ``left_out.toml``.
"""

import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RUNS = "runs"

# With them, a row of another table finds its run; in themselves they are digests of code.
KEYS = ("run", "source_key", "condition")

# What a run is called: the same in every version of the code. A label has no defaults, so a
# strategy keeps it when it gets another parameter.
NAME = ("source", "conversation", "label", "model")

Table = dict[str, list[Any]]


@dataclass(frozen=True)
class LeftOut:
    """What one of two commits has alone, and is not compared: a table, a column, or rows."""

    why: str
    table: str = ""  # without it: every table
    column: str = ""
    where: Mapping[str, Any] = field(default_factory=dict, hash=False)  # values of rows

    def __str__(self) -> str:
        if self.where:
            values = ", ".join(f"{column} = {value!r}" for column, value in self.where.items())
            return f"rows of {self.table} with {values}: {self.why}"
        if self.column:
            return f"column {self.table or '*'}.{self.column}: {self.why}"
        return f"table {self.table}: {self.why}"


@dataclass(frozen=True)
class Allowed:
    """What may differ between two commits."""

    columns: Mapping[str, str] = field(default_factory=dict)  # new names by old ones
    tables: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[LeftOut] = ()

    @classmethod
    def read(cls, renamed: Path, left_out: Path) -> "Allowed":
        names = tomllib.loads(renamed.read_text(encoding="utf-8"))
        entries = tomllib.loads(left_out.read_text(encoding="utf-8")).get("left_out", [])
        return cls(names["columns"], names["tables"], [LeftOut(**entry) for entry in entries])

    def column(self, table: str, column: str) -> str:
        """Its new name; one under ``table.column`` is for that table only."""
        return self.columns.get(f"{table}.{column}", self.columns.get(column, column))


@dataclass(frozen=True)
class Difference:
    """A column of a run whose values differ, or what one side has alone."""

    table: str
    what: str  # the column, or a sentence
    run: str = ""
    values: tuple[tuple[int, Any, Any], ...] = ()  # rows, with the values before and now

    def __str__(self) -> str:
        said = ": ".join(filter(None, (self.table, self.run, self.what)))
        if not self.values:
            return said
        row, was, now = self.values[0]
        return f"{said}, row {row}: {change(was, now)}"


class Comparison:
    """Two stores, the older one under today's names."""

    def __init__(self, before: Path, after: Path, allowed: Allowed | None = None) -> None:
        self.allowed = allowed or Allowed()
        self.left_out: Counter[LeftOut] = Counter()
        """How many rows or values were not compared; known when all differences were taken."""
        self._stores = (_Store(before, self.allowed), _Store(after, Allowed()))
        self._named: list[dict[str, str]] = []

    @property
    def runs(self) -> int:
        """How many runs of the newer store were compared."""
        return len(self._named[1]) if self._named else 0

    def differences(self) -> Iterator[Difference]:
        """What differs, once for each run and column."""
        whole = [store.runs() for store in self._stores]
        self._leave_out_rows(RUNS, whole)
        self._named = [_names(table) for table in whole]
        names = [store.tables() for store in self._stores]
        for table in sorted(names[0] | names[1], key=lambda name: (name != RUNS, name)):
            if table in names[0] & names[1]:
                yield from self._in_table(table, whole if table == RUNS else None)
            elif entry := self._entry(table):
                side = self._stores[table in names[1]]
                self.left_out[entry] += len(side.rows(table, self._named[table in names[1]])["run"])
            else:
                yield Difference(table, "a table more" if table in names[1] else "no such table")

    def _in_table(self, table: str, given: list[Table] | None) -> Iterator[Difference]:
        sides = given or [
            store.rows(table, named) for store, named in zip(self._stores, self._named, strict=True)
        ]
        if given is None:
            self._leave_out_rows(table, sides)
        yield from self._columns_apart(table, *sides)
        old, new = sides
        rows = [_by_run(side, named) for side, named in zip(sides, self._named, strict=True)]
        for run in sorted(rows[0].keys() ^ rows[1].keys()):
            yield Difference(table, "a run more" if run in rows[1] else "no such run", run)
        columns = [column for column in old if column in new and column not in KEYS]
        for run in sorted(rows[0].keys() & rows[1].keys()):
            before, after = rows[0][run], rows[1][run]
            if len(before) != len(after):
                yield Difference(table, "number of rows", run, ((0, len(before), len(after)),))
                continue
            for column in columns:
                if values := _unequal(old[column], before, new[column], after):
                    yield Difference(table, column, run, values)

    def _columns_apart(self, table: str, old: Table, new: Table) -> Iterator[Difference]:
        for column in sorted(old.keys() ^ new.keys()):
            if entry := self._entry(table, column):
                self.left_out[entry] += len((new if column in new else old)[column])
            else:
                said = "a column {} more" if column in new else "no column {}"
                yield Difference(table, said.format(column))

    def _entry(self, table: str, column: str = "") -> LeftOut | None:
        for entry in self.allowed.left_out:
            of_table = entry.table == table or (bool(column) and not entry.table)
            if of_table and entry.column == column and not entry.where:
                return entry
        return None

    def _leave_out_rows(self, table: str, sides: list[Table]) -> None:
        """Take rows away that are to be left out, where one side has them alone."""
        for entry in self.allowed.left_out:
            if entry.table != table or not entry.where:
                continue
            found = [_matching(side, entry.where) for side in sides]
            if all(found) or not any(found):
                continue
            alone = bool(found[1])
            self.left_out[entry] += len(found[alone])
            kept = [row for row in range(len(sides[alone]["run"])) if row not in found[alone]]
            sides[alone] = {
                column: [values[row] for row in kept] for column, values in sides[alone].items()
            }


@dataclass(frozen=True)
class _Store:
    """The tables of a store, under the names that the map gives them."""

    folder: Path
    allowed: Allowed

    def tables(self) -> set[str]:
        folders = (path.name for path in self.folder.iterdir() if path.is_dir())
        return {self.allowed.tables.get(name, name) for name in folders if name[0] != "."}

    def runs(self) -> Table:
        """All but those of conditions that the manifest names no more."""
        manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
        return self._read(RUNS, "condition", manifest["conditions"])

    def rows(self, table: str, runs: Mapping[str, str]) -> Table:
        """The rows of these runs."""
        return self._read(table, "run", list(runs))

    def _read(self, table: str, column: str, kept: list[str]) -> Table:
        former = {new: old for old, new in self.allowed.tables.items()}
        shards = sorted((self.folder / former.get(table, table)).glob("*.parquet"))
        if not shards:
            return {"run": []}
        rows = pa.concat_tables([pq.read_table(shard, partitioning=None) for shard in shards])
        rows = rows.filter(pc.is_in(rows[column], pa.array(kept, pa.string())))
        named = rows.to_pydict().items()
        return {self.allowed.column(table, column): values for column, values in named}


def change(was: Any, now: Any, width: int = 80) -> str:
    """Two values, so many characters of each; of long texts from where they part."""
    texts = repr(was), repr(now)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = max(alike - width // 4, 0) if max(map(len, texts)) > width else 0
    return " is now ".join("..." * (start > 0) + text[start : start + width] for text in texts)


def _names(runs: Table) -> dict[str, str]:
    """What runs are called, by their keys."""
    named = {}
    for row, key in enumerate(runs["run"]):
        parts = [str(runs[column][row]) for column in NAME]
        # A source that could not be read has a row for each strategy, all alike.
        named[key] = " | ".join(parts if runs["label"][row] else [*parts, str(row)])
    twice = [name for name, count in Counter(named.values()).items() if count > 1]
    if twice:
        sys.exit(f"two runs have one name: {twice[0]}; name one of them in left_out.toml")
    return named


def _by_run(table: Table, named: Mapping[str, str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, key in enumerate(table["run"]):
        rows.setdefault(named[key], []).append(row)
    return rows


def _matching(table: Table, where: Mapping[str, Any]) -> set[int]:
    if not where.keys() <= table.keys():
        return set()
    return {
        row
        for row in range(len(table["run"]))
        if all(table[column][row] == value for column, value in where.items())
    }


def _unequal(
    old: Sequence[Any], before: Sequence[int], new: Sequence[Any], after: Sequence[int]
) -> tuple[tuple[int, Any, Any], ...]:
    pairs = [(old[was], new[now]) for was, now in zip(before, after, strict=True)]
    # As text, so that nan equals nan, and 1 differs from 1.0.
    return tuple((row, *pair) for row, pair in enumerate(pairs) if repr(pair[0]) != repr(pair[1]))
