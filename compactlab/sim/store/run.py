"""A run: one conversation under one strategy, with its figures and the rows of its tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compactlab.sim.metrics import METRICS
from compactlab.sim.store.parquet import NO_ROWS, Column, Rows, joined, packed
from compactlab.sim.store.tables import COUNTED, RUNS, TABLES

Figures = dict[str, list[str]]
"""Figures of a model, named as in a file of models; several values if they differ by date."""
Used = dict[str, dict[str, Figures]]
"""External figures that runs have used, see :mod:`compactlab.sim.store.figures_used`."""

Cell = tuple[str, str]
"""The keys of a source and of a condition."""

IDENTITY = ("conversation", "scenario", "strategy", "model", "window", "seed", "summarizer")


@dataclass(slots=True)
class Run:
    """One conversation under one strategy; ``HEAD`` describes its fields as columns."""

    conversation: str
    scenario: str
    strategy: str
    model: str
    window: int
    seed: int
    status: str = "ok"
    error: str = ""
    digest: str = ""
    summarizer: str = ""
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    rows: Mapping[str, Rows] = field(default_factory=dict, repr=False)  # rows by table
    passed_over: str = ""
    own_models: str = ""
    loop: str = ""
    labels: str = ""
    label: str = ""
    title: str = ""
    source: str = ""
    place: int = 0
    source_key: str = ""
    condition: str = ""
    bound: bool = False
    # Stored in the manifest for all runs together, not in the tables.
    used: Used = field(default_factory=dict, repr=False, compare=False)
    # Output of foreign code; shown, not stored.
    printed: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        # File names and error texts may contain unpaired surrogates, which tables cannot store.
        # Other texts are kept, because a million runs share those of their conversations.
        for name in ("conversation", "title", "error", "source"):
            if not (text := getattr(self, name)).isascii():
                setattr(self, name, text.encode("utf-8", "replace").decode())

    @property
    def calls(self) -> Rows:
        """The calls of the run, see :mod:`compactlab.sim.store.tables`."""
        return self.rows.get("calls", NO_ROWS)

    @property
    def key(self) -> str:
        """Sixteen hex digits that identify its rows."""
        # The id may be renamed later, but its origin must not change.
        where = self.source_key or f"{self.source}:{self.conversation}"
        what = [where, str(self.place), self.condition, self.digest]
        what += [self.strategy, self.model, str(self.seed)]
        text = "".join(f"{len(part)}:{part}" for part in what)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


# The columns before the metrics in the table of runs.
HEAD = {
    "run": Column("text", "key that joins the rows of other tables"),
    "conversation": Column("text", "id of the conversation"),
    "title": Column("text", "first words of its first prompt, by which reports name it"),
    "scenario": Column("text", "the scenario that generated it, or the format of the recording"),
    "strategy": Column("text", "spec of the strategy"),
    "label": Column("text", "the strategy's short name, without defaults"),
    "model": Column("text", "name of the model, or recorded"),
    "window": Column("count", "limit set for the window, in tokens; 0 for none"),
    "seed": Column("count", "seed of the replay"),
    "status": Column("text", "ok, failed, or unreadable for a source that could not be read"),
    "error": Column("text", "the error message"),
    "digest": Column("text", "digest of the conversation: changes when a replay could change"),
    "summarizer": Column("text", "spec of the summariser"),
    "passed_over": Column("text", "what of its transcript was not understood, by kind"),
    "own_models": Column("text", "digest of the user's own models; empty for none"),
    "loop": Column("text", "spec of the closed loop replayed next to the open one; empty for none"),
    "labels": Column("text", "whether facts and needs are declared or inferred from actions"),
    "source": Column("text", "name of the source that the conversation comes from"),
    "place": Column("count", "its place in the source, from 0 on"),
    "source_key": Column("text", "changes when the source's content, seed or name changes"),
    "condition": Column("text", "changes when the strategy, model, setting or code changes"),
    "bound": Column("flag", "whether it is a bound beside the strategies, in the open loop"),
}
_RUN = Column("text", "the run, see table runs")
_NUMBER = Column("number", "")


def shard_files(runs: Sequence[Run], tables: Sequence[str] = tuple(TABLES)) -> dict[str, bytes]:
    """Return the parquet files of a shard, one per table."""
    keys = [run.key for run in runs]
    files = {RUNS: _runs_file(runs, keys)}
    for name in tables:
        rows = [run.rows.get(name, NO_ROWS) for run in runs]
        counts = list(map(len, rows))
        if any(counts):
            columns = TABLES[name].columns
            arrays = {n: joined(c, rows, n) for n, c in columns.items()}
            arrays["run"] = np.repeat(_RUN.array(keys), counts)
            files[name] = packed({"run": _RUN, **columns}, arrays)
    return files


def _runs_file(runs: Sequence[Run], keys: Sequence[str]) -> bytes:
    columns: dict[str, Column] = dict(HEAD)
    values: dict[str, list[Any]] = {
        name: [getattr(run, name) for run in runs] for name in HEAD if name != "run"
    }
    values["run"] = list(keys)
    for name in TABLES:
        columns[COUNTED + name] = Column("count", "")
        values[COUNTED + name] = [len(run.rows.get(name, NO_ROWS)) for run in runs]
    arrays = {name: columns[name].array(values[name]) for name in columns}
    for name in METRICS:
        columns[name] = _NUMBER
        arrays[name] = np.array([run.metrics.get(name) for run in runs], object)
    return packed(columns, arrays)


def shard_name(cells: Iterable[Cell]) -> str:
    """Return the name of a shard: a digest of its cells (16 hex digits)."""
    text = "".join(source + condition for source, condition in sorted(cells))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
