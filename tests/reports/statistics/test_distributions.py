"""Shares and quantiles are those of scipy, which is no dependency: it would be a third of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri, stdtrit

from compactlab.reports.analysis.distributions import (
    normal_quantile,
    normal_share,
    student_quantiles,
)


@given(points=st.lists(st.floats(-8, 8), max_size=5))
def test_shares_of_a_normal_distribution(points: list[float]) -> None:
    """To a float of the whole: of 10,000 resamples none is told apart by less."""
    assert normal_share(np.array(points)) == pytest.approx(ndtr(points), rel=0, abs=1e-15)


@given(shares=st.lists(st.floats(1e-9, 1 - 1e-9), max_size=5))
def test_quantiles_of_a_normal_distribution(shares: list[float]) -> None:
    points = [normal_quantile(share) for share in shares]
    assert points == pytest.approx(ndtri(shares), rel=1e-9, abs=1e-12)


@given(freedom=st.floats(1, 1e7), share=st.sampled_from([0.8, 0.95, 0.975]))
def test_quantiles_of_students_t_with_any_degrees_of_freedom(freedom: float, share: float) -> None:
    (quantile,) = student_quantiles(np.array([freedom]), share)
    assert quantile == pytest.approx(stdtrit(freedom, share), rel=1e-10)
