"""The smallest difference that could have been seen."""

import math
import re

import numpy as np
import pytest

from compactlab.reports.analysis.bootstrap import effective, smallest_share
from compactlab.reports.analysis.significance import conversations_needed, two_sided

# Points by discordance and pairs, as the project's notes on metrics have them.
TABLE = [
    (0.1, 100, 8.8), (0.1, 500, 4.0), (0.1, 1_000, 2.8), (0.1, 5_000, 1.3),
    (0.2, 50, 17.3), (0.2, 100, 12.4), (0.2, 500, 5.6), (0.2, 1_000, 4.0),
    (0.3, 100, 15.2), (0.3, 500, 6.8),
]  # fmt: skip


@pytest.mark.parametrize(("discordance", "pairs", "points"), TABLE)
def test_the_table_of_the_notes_comes_back(discordance, pairs, points):
    found = smallest_share(pairs, discordance)
    assert found is not None
    assert round(100 * found, 1) == points


def test_a_difference_is_never_more_than_all_that_are_discordant():
    assert smallest_share(20, 0.1) is None
    assert smallest_share(1_000, 0.0) is None
    assert (smallest_share(40, 0.3) or 1) <= 0.3


def test_facts_of_one_conversation_are_worth_less_than_their_number():
    # Ten facts each that resemble each other by a fifth: 1 + 9 / 5.
    assert effective(1_000, 100, 0.2) == pytest.approx(1_000 / 2.8)
    assert effective(100, 100, 0.9) == 100


def test_a_mean_of_differences_is_told_by_their_spread(contrasted):
    differences = np.resize([0.1, -0.1, 0.2], 30)
    found = contrasted("amnesia_need", (0.5 + differences).tolist(), [0.5] * 30)
    spread = np.std(differences, ddof=1) / math.sqrt(30)
    # Student's t with 29 degrees of freedom: 2.0452 and 0.8542.
    assert found.detectable == pytest.approx((2.0452 + 0.8542) * spread, rel=1e-4)


@pytest.mark.parametrize("number", [10, 12, 30])
@pytest.mark.parametrize("metric", ["cost_usd", "recall_20k", "tokens_rewritten"])
def test_it_is_of_the_width_of_the_interval_beside_it(metric, number, contrasted):
    """More than half of the width, and less than all of it, whatever the figures are."""
    draws, seen = np.random.default_rng(number), 0
    for _ in range(20):
        ours, theirs = draws.beta(0.5, 0.5, number), draws.uniform(0.5, 1.0, number)
        found = contrasted(metric, ours.tolist(), theirs.tolist())
        if found.low is not None and found.high is not None and found.low < found.high:
            width = found.high - found.low
            assert width / 2 < (found.detectable or 0) < width
            seen += 1
    assert seen


def test_a_ratio_is_told_as_a_share_of_the_reference(contrasted):
    theirs = np.resize([1.0, 2.0, 4.0], 12)
    ours = theirs * np.resize([0.5, 0.7], 12)
    found = contrasted("cost_usd", ours.tolist(), theirs.tolist())
    spread = np.std(ours - ours.sum() / theirs.sum() * theirs, ddof=1)
    share = (2.2010 + 0.8755) * spread / theirs.mean() / math.sqrt(12)
    # By the width of a bootstrap's interval, which is that of Student's t but for the draws.
    assert found.detectable == pytest.approx(share, rel=0.02)
    dearer = contrasted("cost_usd", (1_000 * ours).tolist(), (1_000 * theirs).tolist())
    assert dearer.detectable == pytest.approx(found.detectable, rel=1e-6)


def test_the_page_tells_how_many_conversations_are_needed(root):
    page = (root / "docs" / "statistics.md").read_text("utf-8").partition("cannot tell")[2]
    rows = re.findall(r"^\| (\d+)[^|]* \| ([\d.]+) \|.*\| (\d+) \|$", page, re.MULTILINE)
    assert len(rows) == 9
    for conversations, smallest, too_many in ((int(n), float(p), int(k)) for n, p, k in rows):
        every = np.ones((1, conversations))
        assert two_sided(every)[0] == pytest.approx(smallest, rel=0.03)
        needed = [conversations_needed(too_many - n) for n in (0, 1) if too_many > n]
        assert needed[0] is None or needed[0] > conversations
        assert all(number is not None and number <= conversations for number in needed[1:])


def test_of_five_conversations_nothing_can_be_told(contrasted):
    ours, theirs = [0.1, 0.2, 0.3, 0.4, 0.5, 0.3], [0.3, 0.1, 0.1, 0.1, 0.1, 0.2]
    assert contrasted("amnesia_need", ours[:5], theirs[:5]).detectable is None
    assert contrasted("amnesia_need", ours, theirs).detectable is not None
