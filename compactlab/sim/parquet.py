"""Columns to parquet, the same bytes on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from compactlab.sim.tables.table import Column, Type

if TYPE_CHECKING:
    import pyarrow as pa

# Whole numbers as differences of bits: half of what plain or dictionary pages take.
_PACKED = "DELTA_BINARY_PACKED"


def packed(columns: Mapping[str, Column], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Write a table as parquet.

    Parameters
    ----------
    columns
        Its columns by name.
    arrays
        Their values, of one length.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = _types()
    table = pa.table(
        {name: _array(arrays[name], types[column.type]) for name, column in columns.items()}
    )
    texts = [name for name, column in columns.items() if column.type == "text"]
    counts = {name: _PACKED for name, column in columns.items() if column.type == "count"}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        use_dictionary=texts,
        column_encoding=counts,
        write_statistics=False,
    )
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _array(values: NDArray[Any], type: pa.DataType) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, type)
    except UnicodeEncodeError:  # half a character, which no table can hold
        return pa.array([_whole(value) for value in values], type)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return list(map(_whole, value))


def _types() -> dict[Type, pa.DataType]:
    import pyarrow as pa

    return {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "count": pa.int64(),
        "number": pa.float64(),
        "flag": pa.bool_(),
    }
