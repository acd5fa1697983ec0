"""What summaries preserve of what a strategy exposes, reckoned on paper and by law."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.reports.analysis.comparison import Row, comparisons
from compactlab.reports.analysis.preservation import Preservation, preservation
from compactlab.sim.store.results import Results
from tests.reports.conftest import KEPT, SUMMED, make


def memory(pairs: Sequence[tuple[float, float]], side: float = 0.1) -> Preservation:
    """Of a strategy that recalls so much in each conversation, and so much without content."""
    runs = []
    for number, (own, junk) in enumerate(pairs):
        runs.append(make("keep_all()", KEPT, f"c{number:03}"))
        runs.append(make("sum()", SUMMED, f"c{number:03}", cut=[2], side=side, need=own, junk=junk))
    (comparison,) = comparisons(Results(runs, {}))
    row = comparison.row("sum")
    assert row is not None
    return preservation(comparison, row)


def test_half_of_what_is_exposed_is_kept():
    found = memory([(0.7, 0.4)] * 12)
    recall, exposure, kept = found.recall(), found.exposure, found.preserved()
    assert recall is not None
    assert exposure is not None
    assert kept is not None
    assert recall.value == pytest.approx(0.7)
    assert exposure.value == pytest.approx(0.6)
    assert kept.value == pytest.approx(0.5)
    # Twelve conversations that are all alike say too little of a thirteenth.
    assert (kept.low, kept.high) == (None, None)


def varied(count: int, shift: float = 0.0) -> list[tuple[float, float]]:
    """Half of what is exposed is kept on the average, more in some conversations than in others."""
    return [(0.7 + 0.1 * (-1) ** n + shift, 0.4 + 0.05 * (n % 3)) for n in range(count)]


def test_where_many_conversations_differ_resamples_tell_how_much_is_kept():
    few, many = (memory(varied(count)).preserved() for count in (59, 60))
    assert few is not None
    assert many is not None
    assert many.low is not None
    assert many.high is not None
    assert 0.4 < many.low < many.value < many.high < 0.6
    # Below, what a conversation like none of these might lose counts as well.
    assert few.low is not None
    assert few.low < many.low - 0.05


def test_where_one_conversation_makes_the_difference_no_resample_is_asked():
    """The interval holds for any distribution, so it is wider than the other summaries suggest."""
    kept = memory([(1.0, 0.1)] * 59 + [(0.1, 0.1)]).preserved()
    assert kept is not None
    assert kept.low is not None
    assert kept.high is not None
    assert kept.low < 0.92 < kept.value < kept.high


def test_summaries_that_are_worse_than_none_preserve_less_than_nothing():
    kept = memory([(0.1, 0.4)] * 12).preserved()
    assert kept is not None
    assert kept.value == pytest.approx(-0.5)


def test_an_oracle_is_judged_in_the_same_way():
    ceiling = memory([(0.7, 0.4)] * 12).preserved("oracle")
    assert ceiling is not None
    assert ceiling.value == 1.0


@pytest.mark.parametrize("pairs", [[(1.0, 1.0)] * 12, [(0.9, 1.0)] * 0])
def test_where_nothing_is_exposed_nothing_is_preserved(pairs):
    if pairs:
        assert memory(pairs).preserved() is None
    row = Row("a()", "a", (make("a()", KEPT),), {}, False, {}, False, 0)
    assert Preservation(row, 20_000).preserved() is None


def test_fewer_than_ten_conversations_have_no_interval():
    well = [(1.0, 0.1)] * 10
    few, enough = (memory(each).preserved() for each in (well[:9], well))
    assert few is not None
    assert enough is not None
    assert (few.low, few.high) == (None, None)
    assert enough.low is not None


shares = st.integers(0, 100).map(lambda n: n / 100)
talks = st.lists(st.tuples(shares, shares), min_size=10, max_size=35)


@settings(max_examples=40, deadline=None)
@given(talks)
def test_misses_are_exposure_times_what_is_lost_of_it(pairs):
    found = memory(pairs)
    own, junk = (np.array(each) for each in zip(*pairs, strict=True))
    recall, kept, exposure = found.recall(), found.preserved(), found.exposure
    assert recall is not None
    assert exposure is not None
    assert recall.value == pytest.approx(own.mean())
    if kept is None:
        assert junk.min() == 1
        return
    assert 1 - recall.value == pytest.approx(exposure.value * (1 - kept.value), abs=1e-6)
    if kept.low is not None and kept.high is not None:
        assert kept.low <= kept.value <= kept.high <= 1 + 1e-9


@settings(max_examples=40, deadline=None)
@given(talks, shares, shares)
def test_the_more_is_claimed_the_less_sure_it_is(pairs, one, other):
    found = memory(pairs)
    less, more = sorted((one, other))
    assert found.p_recalls(less) <= found.p_recalls(more) + 1e-12
    assert found.p_preserves(less) <= found.p_preserves(more) + 1e-12


def test_a_claim_of_preservation_is_rejected_by_its_interval_and_its_test_alike():
    rng = np.random.default_rng(3)
    for _ in range(20):
        junk = rng.uniform(0, 0.6, 40)
        own = 1 - (1 - junk) * rng.uniform(0, 0.5)
        found = memory(list(zip(own.round(4).tolist(), junk.round(4).tolist(), strict=True)))
        kept = found.preserved()
        assert kept is not None
        assert kept.low is not None
        # The test holds for any distribution, so it is the stricter one of the two.
        if found.p_preserves(0.5) <= 0.025:
            assert kept.low > 0.5
