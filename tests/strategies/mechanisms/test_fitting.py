"""A request that is larger than the window leaves the oldest messages out."""

import pytest

from compactlab.strategies.mechanisms.handover import fitting


def test_what_fits_is_sent_as_it_is(moment):
    now = moment("uaua", size=400, window=2000)
    assert fitting(now.view, now.host, "sum it up") is now.view


@pytest.mark.parametrize(
    ("script", "window", "left"),
    [
        ("uaua", 300, "u3 a4"),
        ("ucrcra", 360, "c4 r5 a6"),
        ("ucrcra", 460, "c4 r5 a6"),  # no result comes first
        ("uau", 50, "u3"),  # the newest always stays
    ],
)
def test_the_oldest_are_left_out_until_it_fits(moment, ids, script, window, left):
    now = moment(script, size=400, window=window)
    assert ids(fitting(now.view, now.host, "sum it up").messages) == left
