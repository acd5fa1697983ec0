"""No result is parted from its call."""

from compactlab.strategies.mechanisms.cut import parted


def test_what_is_not_late_is_parted_at_the_index(moment, ids):
    now = moment("uacra")
    old, rest = parted(now.messages, 2)
    assert (ids(old), ids(rest)) == ("u1 a2", "c3 r4 a5")


def test_a_late_result_goes_with_its_call(moment, ids):
    old, rest = parted(moment("uc2rmra").messages, 3)
    assert (ids(old), ids(rest)) == ("u1 c2 r3 r5", "m4 a6")


def test_a_result_of_no_call_stays_where_it_was(moment, ids):
    old, rest = parted(moment("uaoa").messages, 1)
    assert (ids(old), ids(rest)) == ("u1", "a2 o3 a4")
