"""Stores of the version before, by today's names: ``compactlab merge`` writes them anew."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from compactlab.sim.core.files import read_file
from compactlab.sim.experiment.manifest import is_earlier, read_earlier
from compactlab.sim.experiment.parquet import Column
from compactlab.sim.experiment.store import MANIFEST, Content, Store
from compactlab.sim.metrics.names import RENAMED

_COLUMNS = RENAMED["columns"]
_FORMER = {new: old for old, new in _COLUMNS.items()}


def opened(folder: str | Path) -> Store:
    """A store of today's version or of the one before."""
    with suppress(OSError, ValueError):
        if is_earlier(read_file(Path(folder) / MANIFEST)):
            return EarlierStore(folder)
    return Store(folder)


class EarlierStore(Store):
    """A store of which columns and metrics have the names that they had before 0.2.0."""

    def read_manifest(self, content: bytes) -> dict[str, Any]:
        """A manifest with the names of today."""
        return read_earlier(content)

    def read(
        self, table: str, columns: Mapping[str, Column], rows: Mapping[str, int] | None = None
    ) -> Content:
        """Columns of a table, by the names of today."""
        stored = {_FORMER.get(name, name): column for name, column in columns.items()}
        content = super().read(table, stored, rows)
        return Content(
            {_COLUMNS.get(name, name): values for name, values in content.columns.items()},
            content.rows,
        )
