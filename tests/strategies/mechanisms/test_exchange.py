"""Exchanges: a call stays with its results."""

import pytest

from compactlab.strategies.mechanisms.cut import exchanges


@pytest.mark.parametrize(
    ("script", "split"),
    [
        ("", []),
        ("uaua", ["u1", "a2", "u3", "a4"]),
        ("ucra", ["u1", "c2 r3", "a4"]),
        ("uc3rrrcra", ["u1", "c2 r3 r4 r5", "c6 r7", "a8"]),
        ("oua", ["o1", "u2", "a3"]),
        ("mac", ["m1", "a2", "c3"]),
    ],
)
def test_an_answer_and_the_results_of_its_calls_are_one(moment, ids, script, split):
    assert [ids(exchange) for exchange in exchanges(moment(script).messages)] == split


def test_a_result_that_comes_late_is_of_the_exchange_of_its_call(moment, ids):
    """A reminder of the client may stand between a call and its result."""
    found = [ids(exchange) for exchange in exchanges(moment("ucmra").messages)]
    assert all("r4" in exchange for exchange in found if "c2" in exchange)
