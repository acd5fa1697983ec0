"""No result is parted from its call."""

import pytest

from compactlab.strategies.mechanisms.cut import parted


@pytest.mark.parametrize(
    ("script", "index", "parts"),
    [
        ("uacra", 2, ("u1 a2", "c3 r4 a5")),
        ("uc2rmra", 3, ("u1 c2 r3 r5", "m4 a6")),  # a late result goes with its call
        ("uaoa", 1, ("u1", "a2 o3 a4")),  # that of no call stays where it was
    ],
)
def test_it_is_parted_at_the_index_but_for_late_results(moment, ids, script, index, parts):
    assert tuple(map(ids, parted(moment(script).messages, index))) == parts
