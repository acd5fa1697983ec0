"""Shares and quantiles are those of scipy, which is no dependency: it would be a third of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri, stdtrit

from compactlab.reports.analysis.bootstrap import (
    normal_quantile,
    normal_share,
    student_quantiles,
)


@given(points=st.lists(st.floats(-8, 8), max_size=5))
def test_shares_of_a_normal_distribution(points):
    """To a float of the whole: of 10,000 resamples none is told apart by less."""
    assert normal_share(np.array(points)) == pytest.approx(ndtr(points), rel=0, abs=1e-15)


@given(shares=st.lists(st.floats(1e-9, 1 - 1e-9), max_size=5))
def test_quantiles_of_a_normal_distribution(shares):
    points = [normal_quantile(share) for share in shares]
    assert points == pytest.approx(ndtri(shares), rel=1e-9, abs=1e-12)


SHARES = (0.55, 0.8, 0.95, 0.975, 0.9995)


@given(freedom=st.floats(1, 1e7), share=st.sampled_from(SHARES))
def test_quantiles_of_students_t_with_any_degrees_of_freedom(freedom, share):
    (quantile,) = student_quantiles(np.array([freedom]), share)
    assert quantile == pytest.approx(stdtrit(freedom, share), rel=1e-12)


@pytest.mark.parametrize("share", SHARES)
def test_quantiles_of_students_t_over_a_grid(share):
    """As far as scipy is right itself: within 1e-13."""
    grid = np.concatenate([np.arange(1.0, 200.0), np.geomspace(1, 1e7, 100)])
    assert student_quantiles(grid, share) == pytest.approx(stdtrit(grid, share), rel=1e-13)


@pytest.mark.parametrize(
    ("freedom", "share", "quantile"),
    [
        (1.0, 0.975, 12.70620473617469331410164), (3.0, 0.8, 0.9784723123633046524196651),
        (9.0, 0.975, 2.262157162798204999202853), (11.25, 0.975, 2.195032427275849157472961),
        (29.5, 0.95, 1.69817763883800540928683), (99.0, 0.8, 0.845267031953496980416237),
        (1234.5, 0.975, 1.961887483331345218197609), (1e6, 0.9995, 3.290536461248722116544334),
    ],
)  # fmt: skip
def test_quantiles_of_students_t_are_the_nearest_floats(freedom, share, quantile):
    """Of values that another library computed with 50 digits."""
    assert student_quantiles(np.array([freedom]), share).tolist() == [quantile]
