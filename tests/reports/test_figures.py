"""Numbers and foreign texts, as they are written."""

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.render.text import (
    NONE,
    clean,
    counted,
    exact,
    listed,
    plain,
    shorten,
    show,
)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "USD", "0"),
        (0.000123, "USD", "0.00012"),
        (0.996, "USD", "1.00"),
        (-12.345, "USD", "-12.35"),
        (256_201.5, "USD", "256,201.50"),
        (0, "tokens", "0"),
        (-239, "tokens", "-239"),
        (999, "tokens", "999"),
        (999_960, "tokens", "1.00M"),
        (20_667_123, "tokens", "20.7M"),
        (0.0, "share", "0%"),
        (0.0001, "share", "<0.1%"),
        (0.9996, "share", ">99.9%"),
        (1.0, "share", "100%"),
        (1_025.1, "ratio", "1,025"),
        (2_054.0, "calls", "2,054"),
        (math.nan, "share", NONE),
        (math.inf, "USD", NONE),
    ],
)
def test_a_figure_is_as_short_as_it_can_be_compared(value, unit, text):
    assert show(value, unit) == text


def test_the_full_figure_is_there_to_point_at():
    assert exact(0.1 + 0.2) == "0.30000000000000004"
    assert exact(1_641_728.0) == "1,641,728"
    assert exact(None) == exact(math.inf) == ""


@given(st.floats() | st.none())
def test_machines_get_numbers_or_nothing(value):
    got = plain(value)
    assert got is None or got == value


@given(st.text())
def test_a_cleaned_text_has_nothing_unseen(text):
    assert not {unicodedata.category(c) for c in clean(text)} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    assert len(clean(text)) == len(text)
    assert clean(clean(text)) == clean(text)


@given(st.text(), st.integers(3, 60))
def test_a_shortened_text_fits_and_keeps_its_ends(text, size):
    short = shorten(text, size)
    assert len(short) <= size
    assert text.startswith(short.partition("…")[0]) or "…" in text


def test_words():
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert counted(2, "strategy") == "2 strategies"


def test_every_cause_has_a_look_of_its_own():
    from compactlab.reports.charts.palette import cause_colours
    from compactlab.sim.cache.causes import CAUSES

    looks = cause_colours()
    assert set(looks) == set(CAUSES)
    assert len(set(looks.values())) == len(CAUSES)


def test_side_calls_are_in_the_chart_of_causes(make):
    from compactlab.reports.analysis.aggregate import causes_of

    assert causes_of([make("auto_compact()", side=0.5)])["compaction_call"] == 700
    assert causes_of([make("auto_compact()")])["compaction_call"] == 0
