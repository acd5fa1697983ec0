"""No worse is what has been shown to be no worse, and not what could not be told apart."""

from collections.abc import Callable

import numpy as np
import pytest

from compactlab.reports.analysis.comparison import RECALL as RECALLS
from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.analysis.contrast import MARGINS, Contrast, contrasts

Contrasted = Callable[..., Contrast]

RECALL = "recall_20k"


def spread(middle: float, count: int) -> list[float]:
    """Values with that mean, a hundredth around it."""
    return (middle + np.resize([0.01, -0.01], count)).tolist()


@pytest.mark.parametrize("count", [10, 30])
def test_the_worse_end_of_the_interval_has_to_lie_within_the_margin(
    count: int, contrasted: Contrasted
) -> None:
    near = contrasted(RECALL, spread(0.79, count), [0.95] * count)
    assert near.low is not None
    assert (near.margin, near.no_worse) == (pytest.approx(0.2), True)
    assert near.low > -0.2
    far = contrasted(RECALL, spread(0.753, count), [0.95] * count)
    assert far.estimate is not None
    assert far.estimate > -0.2
    assert far.no_worse is False


def test_much_better_is_no_worse(contrasted: Contrasted) -> None:
    assert contrasted("cost_usd", spread(0.5, 12), [1.0] * 12).no_worse


def test_what_is_the_same_on_the_average_may_be_worse(contrasted: Contrasted) -> None:
    theirs = [1.0, 5.0, 2.0, 8.0, 1.0, 3.0] * 2
    found = contrasted("cost_usd", theirs[1:] + theirs[:1], theirs)
    assert found.estimate == 1
    assert found.no_worse is False


@pytest.mark.parametrize("count", [1, 6, 9])
def test_less_than_ten_conversations_cannot_tell(count: int, contrasted: Contrasted) -> None:
    assert contrasted(RECALL, spread(0.9, count), [0.5] * count).no_worse is None
    assert contrasted("cost_usd", spread(0.5, count), [1.0] * count).no_worse is None


def test_at_the_margin_nothing_is_shown(contrasted: Contrasted) -> None:
    assert contrasted(RECALL, [0.75] * 12, [0.95] * 12).no_worse is False
    assert contrasted("cost_usd", [3 * 1.02] * 12, [3.0] * 12).no_worse is False


def test_more_is_worse_only_where_less_is_better(compared: Callable[..., Comparison]) -> None:
    metrics = ["forward_need", "occupancy_intact", "amnesia"]
    table = {
        "ours()": dict.fromkeys(metrics, spread(0.9, 12)),
        "theirs()": dict.fromkeys(metrics, spread(0.8, 12)[::-1]),
    }
    comparison = compared(table)
    reference = next(row for row in comparison.rows if row.spec == "theirs()")
    found = contrasts(comparison, reference, metrics, dict.fromkeys(metrics, 0.05))
    assert [found["ours()", metric].no_worse for metric in metrics] == [True, None, False]
    # Nobody set a margin for these.
    plain = contrasts(comparison, reference, metrics)
    assert {own.margin for own in plain.values()} == {own.no_worse for own in plain.values()}
    assert set(MARGINS) == {"cost_usd", *RECALLS.values()}
