"""Specs: what is written can be read back, and what is typed wrongly is told plainly."""

import string
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.spec import build, label_of, parse_spec, snake_case, spec_of
from tests.lines import refusal, refusals


@dataclass(frozen=True)
class SlidingWindow:
    keep: int = 20
    share: float = 0.5
    pin: bool = False
    words: str = "so far"
    marks: tuple[str, ...] = ()
    most: int | None = None
    ttl: Literal["5m", "1h"] = "5m"
    memo: dict[str, int] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Picky:
    keep: int

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError("keep must be at least 1")


WINDOWS = st.builds(
    SlidingWindow,
    keep=st.integers(),
    share=st.floats(allow_nan=False, allow_infinity=False),
    pin=st.booleans(),
    words=st.text(st.characters(codec="utf-8")) | st.text("()='\"\\,#{}", max_size=8),
    marks=st.lists(st.text(string.printable, max_size=5), max_size=3).map(tuple),
    most=st.none() | st.integers(),
    ttl=st.sampled_from(["5m", "1h"]),
)


@given(WINDOWS)
def test_a_spec_builds_what_it_was_written_from(window):
    for written in (spec_of(window), label_of(window)):
        name, arguments = parse_spec(written)
        assert name == "sliding_window"
        assert build(SlidingWindow, arguments) == window


def test_a_spec_names_all_fields_and_a_label_those_that_were_chosen():
    window = SlidingWindow(keep=3, memo={"a": 1})
    assert spec_of(window) == (
        "sliding_window(keep=3, share=0.5, pin=False, words='so far', "
        "marks=(), most=None, ttl='5m')"
    )
    assert label_of(window) == "sliding_window(keep=3)"
    assert label_of(SlidingWindow()) == "sliding_window"


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("KeepAll", "keep_all"),
        ("X", "x"),
        ("LLMSummary", "llmsummary"),
        ("Top3Parts", "top3_parts"),
    ],
)
def test_names_are_in_snake_case(name, snake):
    assert snake_case(name) == snake


@pytest.mark.parametrize(
    ("typed", "means"),
    [
        ("keep_all", ("keep_all", {})),
        ("  keep_all()  ", ("keep_all", {})),
        ("w(keep=1) ", ("w", {"keep": 1})),
        ("w( keep = -3 ,)", ("w", {"keep": -3})),
        ("w(a=')', b='(')", ("w", {"a": ")", "b": "("})),
        ("w(a=[1, {'b': None}])", ("w", {"a": [1, {"b": None}]})),
    ],
)
def test_what_is_typed_is_understood(typed, means):
    assert parse_spec(typed) == means


@pytest.mark.parametrize(
    "typed",
    [
        "w(", "w(keep=1", "w(keep=1))", "w(20)", "w(*[1])", "w(**{'a': 1})", "w(a=)",
        "w(a=b)", "w(a=1+)", "w(a=f'{1}')", "w(a=1 if 1 else 2)", "w(a:=1)", "w(a=1) + v(b=2)",
        "w(a='\ud800')", "w(\0)", "w(a=1#)", "w(a=" + "[" * 400 + ")", "w(a=" + "9" * 5000 + ")",
        "w(a=" + "-" * 20_000 + "1)",
        "w(a=1)(b=2)", "w(a=1).v(b=2)", "w(a=1)[0](b=2)",  # no argument is dropped in silence
        "w(keep=1, keep=2)", "w(a={[]})", "w(a={[]: 1})", "w(a={{}})",
    ],
)  # fmt: skip
def test_garbage_is_refused(typed):
    with pytest.raises(UsageError):
        parse_spec(typed)


@given(st.text("w(a=1, '\"[]{}:.#\\)\n", max_size=12))
def test_whatever_is_typed_is_read_or_refused(typed):
    try:
        name, arguments = parse_spec(typed)
    except UsageError:
        return
    assert isinstance(name, str)
    assert all(isinstance(key, str) for key in arguments)


@pytest.mark.parametrize("typed", ["a={}", "a=[{}]", "**{{'a': {}}}", "a=0) or f(b={}"])
def test_nothing_is_executed(typed, tmp_path):
    touched = tmp_path / "touched"
    code = typed.format(f"__import__('pathlib').Path({str(touched)!r}).touch()")
    with pytest.raises(UsageError):
        parse_spec(f"w({code})")
    assert not touched.exists()


WRONG: list[dict[str, object]] = [
    {"kepe": 1},
    {"keep": "20"},
    {"keep": 2.0},
    {"keep": True},
    {"share": "half"},
    {"share": False},
    {"pin": 1},
    {"words": 1},
    {"ttl": "1d"},
    {"ttl": []},
]


def test_a_wrong_field_is_named(golden):
    golden("faults/fields.txt", refusals(UsageError, partial(build, SlidingWindow), WRONG))


def test_a_whole_number_is_a_number():
    assert build(SlidingWindow, {"share": 1}).share == 1


def test_what_a_class_refuses_is_a_users_error():
    assert refusal(UsageError, lambda: build(Picky, {"keep": 0})) == snapshot(
        "picky: keep must be at least 1"
    )


def test_a_missing_field_is_named():
    with pytest.raises(UsageError, match=r"picky: .*'keep'"):
        build(Picky, {})
