"""What a table of the store is: named columns with a type and a meaning, filled from a reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.metrics import Reading

Type = Literal["text", "texts", "count", "number", "flag"]
Columns = Mapping[str, Sequence[Any]]
_NUMPY: dict[Type, Any] = {"count": np.int64, "number": np.float64, "flag": np.bool_}


@dataclass(frozen=True)
class Column:
    """One column.

    Parameters
    ----------
    type
        ``text``, ``texts`` (a list of them), ``count`` (a whole number), ``number`` or ``flag``.
    meaning
        What it holds, with its unit.
    """

    type: Type
    meaning: str

    def nothing(self, count: int) -> NDArray[Any]:
        """So many zeros, or empty texts."""
        numeric = _NUMPY.get(self.type)
        return np.zeros(count, numeric) if numeric is not None else np.full(count, "", object)

    def array(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
        """Values as an array; texts are objects."""
        numeric = _NUMPY.get(self.type)
        if numeric is not None:
            return np.fromiter(values, numeric, len(values))
        texts = np.empty(len(values), object)
        for place, value in enumerate(values):  # lists of one length would become a plane
            texts[place] = list(value) if self.type == "texts" else value
        return texts


@dataclass(frozen=True)
class Table:
    """One table.

    Parameters
    ----------
    name
        Its name in queries, and the name of its folder.
    meaning
        What a row is.
    columns
        By name, without ``run``, which every table has in front.
    of
        Its rows for a reading, column by column; a column that is left out holds zeros.
    """

    name: str
    meaning: str
    columns: Mapping[str, Column]
    of: Callable[[Reading], Columns]

    def rows(self, reading: Reading) -> Rows:
        """Its rows for a reading."""
        return self.filled(self.of(reading))

    def filled(self, columns: Columns) -> Rows:
        """Rows of columns, as arrays."""
        count = max((len(values) for values in columns.values()), default=0)
        arrays = {
            name: column.array(columns[name]) if name in columns else column.nothing(count)
            for name, column in self.columns.items()
        }
        return Rows(arrays, 0, count)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table, column by column: all of them, or a stretch.

    Parameters
    ----------
    columns
        Arrays by name; of a store, they are read when they are asked for.
    start, stop
        Which stretch of them.
    """

    columns: Mapping[str, NDArray[Any]]
    start: int = 0
    stop: int = 0

    def __len__(self) -> int:
        return self.stop - self.start

    def array(self, name: str) -> NDArray[Any]:
        """One column."""
        return self.columns[name][self.start : self.stop]

    def __getitem__(self, name: str) -> list[Any]:
        """One column, as plain Python values."""
        values: list[Any] = self.array(name).tolist()
        return values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows) or len(self) != len(other):
            return NotImplemented if not isinstance(other, Rows) else False
        return not len(self) or all(
            name in other.columns and self[name] == other[name] for name in self.columns
        )

    __hash__ = None  # type: ignore[assignment]


NO_ROWS = Rows({})


def joined(column: Column, rows: Iterable[Rows], name: str) -> NDArray[Any]:
    """One column of several rows, one after the other."""
    arrays = [each.array(name) for each in rows if len(each)]
    return np.concatenate(arrays) if arrays else column.array(())
