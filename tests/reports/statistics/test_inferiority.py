"""No worse is what has been shown to be no worse, and not what could not be told apart."""

import numpy as np
import pytest

from compactlab.reports.analysis.comparison import RECALL
from compactlab.reports.analysis.contrast import MARGINS, contrasts


def spread(middle: float, count: int) -> list[float]:
    """Values with that mean, a hundredth around it."""
    return (middle + np.resize([0.01, -0.01], count)).tolist()


@pytest.mark.parametrize(("count", "middle", "shown"), [(60, 0.9, True), (60, 0.82, False)])
def test_a_share_is_shown_to_be_no_worse_whatever_the_distribution_of_losses(
    count, middle, shown, contrasted
):
    found = contrasted("recall_20k", spread(middle, count), [1.0] * count)
    assert (found.margin, found.no_worse) == (pytest.approx(0.2), shown)
    assert found.estimate is not None
    assert found.estimate > -0.2


def test_of_money_the_worse_end_of_the_interval_has_to_lie_within_the_margin(contrasted):
    near = contrasted("cost_usd", spread(1.005, 12), [1.0] * 12)
    assert near.high is not None
    assert (near.margin, near.no_worse) == (0.02, near.high < 1.02)
    assert near.no_worse
    far = contrasted("cost_usd", spread(1.017, 12), [1.0] * 12)
    assert far.estimate is not None
    assert far.estimate < 1.02
    assert far.no_worse is False


def test_much_better_is_no_worse(contrasted):
    assert contrasted("cost_usd", spread(0.5, 12), [1.0] * 12).no_worse


def test_what_is_the_same_on_the_average_may_be_worse(contrasted):
    theirs = [1.0, 5.0, 2.0, 8.0, 1.0, 3.0] * 2
    found = contrasted("cost_usd", theirs[1:] + theirs[:1], theirs)
    assert found.estimate == 1
    assert found.no_worse is False


def test_less_than_ten_conversations_cannot_tell(contrasted):
    for count, told in ((1, None), (9, None), (10, False), (40, True)):
        assert contrasted("recall_20k", [0.9] * count, [0.9] * count).no_worse is told
        assert contrasted("cost_usd", [1.0] * 9, [2.0] * 9).no_worse is None


@pytest.mark.parametrize("count", [8, 12])
def test_at_the_margin_nothing_is_shown(count, contrasted):
    assert contrasted("recall_20k", [0.8] * count, [1.0] * count).no_worse in (None, False)
    assert contrasted("cost_usd", [3 * 1.02] * count, [3.0] * count).no_worse in (None, False)


def test_more_is_worse_only_where_less_is_better(compared):
    metrics = ["forward_need", "occupancy_intact", "amnesia"]
    table = {
        "ours()": dict.fromkeys(metrics, spread(0.9, 60)),
        "theirs()": dict.fromkeys(metrics, spread(0.8, 60)),
    }
    comparison = compared(table)
    reference = next(row for row in comparison.rows if row.spec == "theirs()")
    found = contrasts(comparison, reference, metrics, dict.fromkeys(metrics, 0.05))
    assert [found["ours()", metric].no_worse for metric in metrics] == [True, None, False]
    # Nobody set a margin for these.
    plain = contrasts(comparison, reference, metrics)
    assert {own.margin for own in plain.values()} == {own.no_worse for own in plain.values()}
    assert set(MARGINS) == {"cost_usd", *RECALL.values()}
