"""A difference is told in its direction, with its ends, and never as more than it is."""

from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from compactlab.reports.analysis.contrast import Contrast
from compactlab.reports.analysis.strength import (
    bill,
    least,
    signed,
    signed_points,
    spread,
)

BILL = Contrast(
    "cost_usd", "ours()", "keep_all()", 40, "ratio", 0.69, 0.63, 0.76, "BCa", 0.001, 0.01, "Holm",
    30, 0, 10, 0.5, 0.05, 0.02, True,
)  # fmt: skip
SHARE = replace(
    BILL, metric="recall_20k", kind="difference", estimate=0.04, low=0.021, high=0.06, margin=0.03
)


@pytest.mark.parametrize(
    ("estimate", "low", "high", "told", "cell"),
    [
        (0.69, 0.63, 0.76, "31% less than all (24% to 37% less)", "-31% (-37.0 to -24.0)"),
        (1.2, 1.05, 1.4, "20% more than all (5% to 40% more)", "+20% (+5.0 to +40.0)"),
        (1.01, 0.97, 1.04, "1% more than all (3% less to 4% more)", "+1% (-3.0 to +4.0)"),
        (0.5, 0.499, 0.501, "50% less than all (49.9% to 50.1% less)", "-50% (-50.1 to -49.9)"),
        (1.0, 1.0, 1.0, "as much as all", "0%"),
        (0.69, None, None, "31% less than all", "-31%"),
    ],
)
def test_a_bill(estimate, low, high, told, cell):
    contrast = replace(BILL, estimate=estimate, low=low, high=high)
    assert bill(contrast, "all") == told
    assert signed(contrast) == cell


def test_a_share():
    assert signed_points(SHARE) == "+2.1 to +6.0"
    assert signed_points(replace(SHARE, estimate=0.0, low=-0.01, high=0.02)) == "-1.0 to +2.0"
    assert signed_points(replace(SHARE, low=None, high=None)) == ""


def test_what_has_no_figure_has_no_words():
    assert bill(None, "all") == ""
    assert bill(replace(BILL, estimate=None), "all") == ""
    dollars = replace(BILL, kind="difference", estimate=-0.5, low=None, high=None)
    assert bill(dollars, "all") == snapshot("0.50 USD a conversation less than all")
    assert (spread(dollars), signed(dollars)) == ("no figure", "")
    assert spread(replace(BILL, low=None, high=None)) == "31.0% less"


def test_no_dollars_are_neither_more_nor_less():
    nothing = replace(BILL, kind="difference", estimate=0.0, low=0.0, high=0.0)
    assert bill(nothing, "all") == snapshot("as much as all")


def test_what_rounds_to_nothing_has_no_minus():
    near = replace(BILL, estimate=0.9996, low=0.9997, high=1.0002)
    assert signed(near) == "0% (+0.0 to +0.0)"
    assert signed_points(replace(SHARE, low=-0.0001, high=0.02)) == "+0.0 to +2.0"


def test_a_size_has_the_unit_of_what_it_is_a_size_of():
    assert least(BILL, 0.062) == snapshot("6.2% of the cost")
    assert least(replace(BILL, kind="difference"), 0.293) == "0.29 USD a conversation"
    assert least(SHARE, 0.05) == snapshot("5.0 points of recall")
    assert least(SHARE, 0.0003) == snapshot("<0.1 points of recall")
