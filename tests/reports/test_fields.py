"""Fields are declared once: the table, JSON and CSV of rows have the same."""

import csv
import json
from dataclasses import dataclass
from enum import Enum
from io import StringIO
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.render.document import with_names
from compactlab.reports.render.fields import Field, as_data, csv_of, data_of, hidden, table_of


class Span(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    label: str
    cost: float | None
    span: Span | None = None
    right: bool = True
    notes: tuple[str, ...] = ("a", "b")


FIELDS = (
    Field("name", "label", "strategy", words=True),
    Field("cost_usd", "cost", "cost", "USD", rank=2, group="input"),
    Field("", "span", "interval", write=lambda span: "none" if span is None else f"{span.low:g}"),
    Field("double", lambda row: row.cost and 2 * row.cost, text=lambda row: f"2 x {row.label}"),
    *hidden("right", "notes", **{"span.low": "span.low", "span.high": "span.high"}),
)
ROWS = [Row("=x|y", 0.125, Span(0.0, 0.5)), Row("z", None, right=False, notes=())]


def test_a_table_has_what_is_shown_as_its_fields_write_it():
    table = table_of(FIELDS, ROWS)
    heads = [(column.heading, column.words, column.rank) for column in table.columns]
    assert heads[:2] == [("strategy", True, 0), ("input cost", False, 2)]
    assert heads[2:] == [("interval", False, 0), ("double", False, 0)]
    cells = [[with_names(str(cell)) for cell in row.cells] for row in table.rows]
    assert cells == [["=x|y", "0.12", "0", "2 x =x|y"], ["z", "–", "none", "2 x z"]]  # noqa: RUF001


def test_json_and_csv_have_what_has_a_name():
    first, second = (data_of(FIELDS, row) for row in ROWS)
    assert first == {
        "name": "=x|y", "cost_usd": 0.125, "double": 0.25, "right": True, "notes": ["a", "b"],
        "span": {"low": 0, "high": 0.5},
    }  # fmt: skip
    assert second["span"] == {"low": None, "high": None}
    one, other = csv.DictReader(StringIO(csv_of(FIELDS, ROWS)))
    assert one == {
        "name": "'=x|y", "cost_usd": "0.125", "double": "0.25", "right": "1", "notes": "a b",
        "span.low": "0", "span.high": "0.5",
    }  # fmt: skip
    assert (other["cost_usd"], other["right"], other["span.low"]) == ("", "0", "")


def test_a_field_that_a_row_does_not_have_is_an_error():
    with pytest.raises(AttributeError, match="lable"):
        data_of([Field("lable")], ROWS[0])


class Kind(Enum):
    ONE = "one"


class Record(msgspec.Struct):
    value: Any


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=8))
def test_whatever_is_in_a_record_is_strict_json(value):
    data = as_data({"row": Row("a", 1.0), "kind": Kind.ONE, "record": Record(value)})
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert (data["kind"], data["row"]["span"], data["row"]["notes"]) == ("one", None, ["a", "b"])
