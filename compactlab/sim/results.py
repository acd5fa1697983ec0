"""The store: what an experiment found, one row a run and one row a call, with its provenance.

A directory with ``runs.parquet``, ``calls.parquet`` and ``manifest.json``. Each file is written
under a temporary name and renamed, so a store is whole or not there; nothing in it depends on the
machine, the number of workers or the time of day.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compactlab.sim.errors import InputError
from compactlab.sim.metrics import METRICS
from compactlab.sim.model import Catalogue

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

STORE_VERSION = 3
IDENTITY = ("conversation", "scenario", "strategy", "model", "window", "seed")
_PROVENANCE = ("digest", "summarizer", "own_models", "loop", "labels")
_OUTCOME = ("status", "error")


@dataclass
class Run:
    """One conversation under one strategy.

    Parameters
    ----------
    conversation, scenario, strategy, model, window, seed
        What was replayed: ids and specs; ``scenario`` is the format, of a recording.
    status
        ``ok``, ``failed``, or ``unreadable`` for a source without conversations.
    error
        What went wrong; "" if nothing did.
    digest, summarizer, own_models, loop
        Of the conversation, the summariser's spec, the digest of the user's own models ("" if
        there were none, so that results by other figures are told apart), and the spec of the
        closed loop that was replayed beside the open one ("" if none was).
    labels
        Where facts and needs come from: ``declared`` by the conversation, or ``inferred`` from its
        actions.
    metrics
        Value by metric.
    calls
        A row a call: see :data:`CALL_COLUMNS`.
    skipped
        Lines of the conversation's transcript that were passed over; stored in the manifest.
    """

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
    metrics: dict[str, float | None] = field(default_factory=dict)
    calls: list[tuple[Any, ...]] = field(default_factory=list, repr=False)
    skipped: int = 0
    own_models: str = ""
    loop: str = ""
    labels: str = ""

    def __post_init__(self) -> None:
        # Half a character may come from a file's name or an error's text; no table can hold it.
        self.conversation, self.error = _whole(self.conversation), _whole(self.error)


CALL_COLUMNS = {
    "answer": "string",
    "model": "string",
    "time": "float64",
    "uncached": "int64",
    "cache_read": "int64",
    "cache_write_5m": "int64",
    "cache_write_1h": "int64",
    "output": "int64",
    "cost_usd": "float64",
    "side_calls": "int64",
    "side_tokens": "int64",
    "side_cost_usd": "float64",
    "rewrite": "bool",
    "compaction": "bool",
    "overflow": "bool",
    "causes": "string",
    "side_causes": "string",
    "premium_usd": "float64",
    "dead_writes": "int64",
}


@dataclass
class Results:
    """All runs of an experiment.

    Parameters
    ----------
    runs
        The runs, in the experiment's own order.
    manifest
        Provenance: versions, price list, tokenizer, what was skipped.
    """

    runs: list[Run]
    manifest: dict[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> list[Run]:
        """The runs that failed."""
        return [run for run in self.runs if run.status != "ok"]

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models that the runs were under: the user's own figures are in the manifest."""
        return Catalogue.of(self.manifest.get("own_models", {}))

    def frame(self) -> pd.DataFrame:
        """One row a run, metrics as columns."""
        import pandas as pd

        rows = [{**_identity(run), **dict.fromkeys(METRICS), **run.metrics} for run in self.runs]
        frame = pd.DataFrame(rows, columns=[*IDENTITY, *_PROVENANCE, *_OUTCOME, *METRICS])
        # A copy stands in one piece, to which columns may be added without a warning.
        return frame.astype(dict.fromkeys(METRICS, "float64")).copy()

    def calls(self) -> pd.DataFrame:
        """One row a call, with the identity of its run."""
        import pandas as pd

        head = ("run", "conversation", "strategy")
        rows = [
            (number, run.conversation, run.strategy, *call)
            for number, run in enumerate(self.runs)
            for call in run.calls
        ]
        columns = [*head, *(f"call_{c}" if c == "model" else c for c in CALL_COLUMNS)]
        return pd.DataFrame(rows, columns=columns)

    def save(self, folder: str | Path) -> None:
        """Write the store.

        Parameters
        ----------
        folder
            Where to; made if it is not there.
        """
        import pyarrow as pa

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        runs = [{**_identity(run), **run.metrics} for run in self.runs]
        schema = pa.schema([(name, pa.string()) for name in (*_texts(),)])
        for name in ("window", "seed"):
            schema = schema.append(pa.field(name, pa.int64()))
        for name in METRICS:
            schema = schema.append(pa.field(name, pa.float64()))
        tables = {
            "runs.parquet": _packed(pa.Table.from_pylist(runs, schema=schema)),
            "calls.parquet": _packed(_calls_table(self.runs)),
        }
        for name, content in tables.items():
            replace_file(folder / name, content)
        digests = {name: _digest(content) for name, content in tables.items()}
        manifest = {"store": STORE_VERSION, "tables": digests, **self.manifest}
        text = json.dumps(manifest, indent=2, sort_keys=True)
        replace_file(folder / "manifest.json", f"{text}\n".encode())

    @classmethod
    def load(cls, folder: str | Path) -> Results:
        """Read a store.

        Raises
        ------
        InputError
            If there is none, or it is damaged or of another version.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder = Path(folder)
        try:
            manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
            if manifest.pop("store", None) != STORE_VERSION:
                raise InputError(
                    "a store of another version; run the experiment again", str(folder)
                )
            tables = {name: (folder / name).read_bytes() for name in manifest["tables"]}
            if manifest.pop("tables") != {name: _digest(data) for name, data in tables.items()}:
                raise InputError("its tables are not those that its manifest names", str(folder))
            rows = pq.read_table(pa.BufferReader(tables["runs.parquet"])).to_pylist()
            calls = pq.read_table(pa.BufferReader(tables["calls.parquet"])).to_pydict()
            runs = [_run(row) for row in rows]
            columns = [calls[name] for name in CALL_COLUMNS]
            for number, *call in zip(calls["run"], *columns, strict=True):
                runs[number].calls.append(tuple(call))
        except FileNotFoundError as error:
            lacking = f"{Path(error.filename).name} is missing"
            told = lacking if folder.is_dir() else "there is no such folder"
            raise InputError(f"no store of results: {told}", str(folder)) from None
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise InputError(f"no store of results ({what})", str(folder)) from None
        except pa.ArrowException as error:
            raise InputError(f"a damaged store of results ({error})", str(folder)) from None
        return cls(runs, manifest)


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name and rename it, so that it is whole or not there."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _texts() -> Iterable[str]:
    return (name for name in (*IDENTITY, *_PROVENANCE, *_OUTCOME) if name not in ("window", "seed"))


def _identity(run: Run) -> dict[str, Any]:
    return {name: getattr(run, name) for name in (*IDENTITY, *_PROVENANCE, *_OUTCOME)}


def _run(row: Mapping[str, Any]) -> Run:
    named = {name: row[name] for name in (*IDENTITY, *_PROVENANCE, *_OUTCOME)}
    return Run(**named, metrics={name: row.get(name) for name in METRICS})


def _calls_table(runs: Sequence[Run]) -> pa.Table:
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "float64": pa.float64(),
        "int64": pa.int64(),
        "bool": pa.bool_(),
    }
    rows = [(number, *call) for number, run in enumerate(runs) for call in run.calls]
    columns = zip(*rows, strict=True) if rows else [[]] * (len(CALL_COLUMNS) + 1)
    schema = pa.schema([("run", pa.int64()), *((n, types[t]) for n, t in CALL_COLUMNS.items())])
    return pa.Table.from_arrays(
        [pa.array(column, type=f.type) for column, f in zip(columns, schema, strict=True)],
        schema=schema,
    )


def _packed(table: pa.Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    packed: bytes = sink.getvalue().to_pybytes()
    return packed
