"""A provider that stores nothing."""

from hypothesis import given

from compactlab.sim.cache import NoCache
from tests.sim.drawn import Request, billed, model_under, requests


@given(requests())
def test_no_cache_reads_and_writes_nothing(session):
    for bill in billed(model_under(NoCache()), session):
        assert bill.usage.cache_read == bill.usage.cache_write == 0
        assert bill.usage.uncached == bill.usage.prompt


@given(requests())
def test_what_was_sent_before_is_fresh_for_want_of_a_cache(session):
    twice = [*session, Request(session[-1].view)]
    *_, again = billed(model_under(NoCache()), twice)
    assert again.causes in ({"no_cache": again.usage.prompt}, {})
