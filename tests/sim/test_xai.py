"""xAI: reads in steps of 128 from the first on, entries that may go, nothing to pay for writes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.cache import POLICIES, Lookup, Xai
from compactlab.sim.core.view import View
from tests.sim.drawn import Client, Request, requests, sized
from tests.sim.reference_prefixes import agree

START = View().append(sized("start", 300))


@given(st.builds(Xai, idle=st.sampled_from([60.0, 600.0])), requests())
def test_it_agrees_with_a_naive_cache_at_every_call(policy: Xai, session: list[Request]) -> None:
    agree(policy, session)


def test_a_short_prefix_is_read_too() -> None:
    client = Client(Xai().open())
    client.send(Request(START))
    assert client.send(Request(START)) == Lookup(256, missed=(("grid", 300),))


def test_what_went_with_time_or_another_server_is_named() -> None:
    client = Client(Xai().open())
    client.send(Request(START))
    late = client.send(Request(START, after=601))
    assert late == Lookup(missed=(("ttl_expired", 256), ("grid", 300)))
    elsewhere = client.send(Request(START, lost=True))
    assert elsewhere == Lookup(missed=(("eviction", 256), ("grid", 300)))


def test_the_policy_is_known_and_says_its_figures() -> None:
    assert POLICIES.find("xai") is Xai
    assert Xai().spec == "xai(grid=128, minimum=0, idle=600.0, loss=0.0)"
    assert (Xai().lifetime(), Xai(loss=0.2).loss) == (600, 0.2)
    assert Xai().shortened(0.5) == Xai(idle=300)
