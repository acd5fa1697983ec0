"""Which texts leave a fact usable: the cases that the reader of statements was written with."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from compactlab.sim.core.conversation import Fact
from compactlab.sim.facts.wording import Spoken, Wording

CASES = tomllib.loads(Path(__file__).with_name("said.toml").read_text("utf-8"))["case"]


def spoken(case: dict[str, Any], text: str) -> Spoken:
    fact = Fact("f", "entity", case["key"], case["value"], polarity=case.get("polarity", "is"))
    return Wording(text).says(fact)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['key']}-{case['value']}")
def test_a_text_leaves_a_fact_usable_or_does_not(case: dict[str, Any]) -> None:
    assert spoken(case, case["text"]).intact == case["kept"]


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: f"{case['key']}-{case['value']}")
def test_what_else_a_text_says_makes_no_difference(case: dict[str, Any]) -> None:
    aside = f"Zebras graze.\n\n{case['text']}\n\nGiraffes sleep."
    assert spoken(case, aside).intact == case["kept"]


KEPT = [case for case in CASES if case["kept"] and case.get("polarity", "is") == "is"]


@pytest.mark.parametrize("case", KEPT[::5], ids=lambda case: f"{case['key']}-{case['value']}")
def test_another_value_or_a_denial_is_never_kept(case: dict[str, Any]) -> None:
    key, value = case["key"], case["value"]
    for text in (
        f"The {key} is not {value}.",
        f"The {key} used to be {value}.",
        f"{value} was rejected as the {key}.",
        f"The {key} is no longer {value}.",
        f"Is the {key} {value}?",
        f"The {key} is probably {value}.",
        f"If all else fails, the {key} is {value}.",
        f"The {key} was left open. Elsewhere we saw {value}.",
    ):
        assert not spoken(case, text).intact, text
    assert spoken(case, f"The {key} is {value}.").intact


def test_a_long_line_of_data_is_read_in_pieces() -> None:
    text = "port " + ", ".join(str(number) for number in range(3_000))
    fact = Fact("f", "entity", "port", "8123")
    assert not Wording(text).says(fact).intact


@pytest.mark.parametrize("number", ["77e9999999", "9" * 100_000, "1e-99999999", "12e5" * 1_000])
def test_no_number_takes_long(number: str) -> None:
    assert spoken({"key": "port", "value": number}, f"port: {number}").key


@pytest.mark.parametrize(
    "text", ["a-" * 5_000, "a." * 5_000, "_" * 10_000, "1." * 5_000, "/" * 5_000, "Ab1" * 5_000]
)
def test_no_text_takes_long(text: str) -> None:
    assert spoken({"key": "port", "value": "8123"}, f"port {text} port: 8123").key


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        ("port", "8123", True),
        ("port", "15", False),
        ("limit", "15", True),
        ("limit", "8123", False),
    ],
)
def test_a_value_belongs_to_the_nearest_key(key: str, value: str, kept: bool) -> None:
    assert spoken({"key": key, "value": value}, "The port 8123 limit 15 holds.").intact == kept
