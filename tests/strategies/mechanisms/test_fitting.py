"""A request that is larger than the window leaves the oldest messages out."""

from compactlab.strategies.mechanisms.handover import fitting


def test_what_fits_is_sent_as_it_is(moment):
    now = moment("uaua", size=400, window=2000)
    assert fitting(now.view, now.host, "sum it up") is now.view


def test_the_oldest_are_left_out_until_it_fits(moment, ids):
    now = moment("uaua", size=400, window=300)
    assert ids(fitting(now.view, now.host, "sum it up").messages) == "u3 a4"


def test_no_result_comes_first(moment, ids):
    now = moment("ucrcra", size=400, window=360)
    assert ids(fitting(now.view, now.host, "").messages) == "c4 r5 a6"
    now = moment("ucrcra", size=400, window=460)
    assert ids(fitting(now.view, now.host, "").messages) == "c4 r5 a6"


def test_the_newest_message_always_stays(moment, ids):
    now = moment("uau", size=400, window=50)
    assert ids(fitting(now.view, now.host, "").messages) == "u3"
