"""Many counters at once count like many counters one by one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.facts.tracker import Counts

SETS = st.integers(0, 2**70 - 1)


@given(st.data(), st.lists(SETS, max_size=20))
def test_counts_are_those_of_a_counter_for_each(data: st.DataObject, sets: list[int]) -> None:
    counts, plain, inside = Counts(), Counter[int](), list[int]()
    for things in sets:
        counts.add(things)
        inside.append(things)
        if data.draw(st.booleans()):
            counts.take(inside.pop(data.draw(st.integers(0, len(inside) - 1))))
        plain = Counter(n for held in inside for n in range(70) if held >> n & 1)
        assert counts.bits == sum(1 << n for n in plain)


def test_a_thousand_times_in_and_out() -> None:
    counts = Counts()
    for _ in range(1000):
        counts.add(0b101)
    for _ in range(999):
        counts.take(0b100)
        counts.take(0b001)
    assert counts.bits == 0b101
    counts.take(0b101)
    assert counts.bits == 0
