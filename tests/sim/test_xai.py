"""xAI: reads in steps of 128 from the first on, entries that may go, nothing to pay for writes."""

from compactlab.sim.cache import Lookup, Xai
from compactlab.sim.core.view import View
from tests.sim.drawn import Client, Request, sized

START = View().append(sized("start", 300))


def test_a_short_prefix_is_read_too():
    client = Client(Xai().open())
    client.send(Request(START))
    assert client.send(Request(START)) == Lookup(256, missed=(("grid", 300),))


def test_what_went_with_time_or_another_server_is_named():
    client = Client(Xai().open())
    client.send(Request(START))
    late = client.send(Request(START, after=601))
    assert late == Lookup(missed=(("ttl_expired", 256), ("grid", 300)))
    elsewhere = client.send(Request(START, lost=True))
    assert elsewhere == Lookup(missed=(("eviction", 256), ("grid", 300)))
