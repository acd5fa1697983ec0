"""Gemini's implicit cache: a minimum by model, no grid that is known, no promise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.cache import POLICIES, Gemini, Lookup
from compactlab.sim.core.view import View
from tests.sim.drawn import Client, Request, requests, sized
from tests.sim.reference_prefixes import agree

FIGURES = st.builds(
    Gemini, minimum=st.sampled_from([0, 500, 2048, 4096]), idle=st.sampled_from([60.0, 3600.0])
)


@given(FIGURES, requests())
def test_it_agrees_with_a_naive_cache_at_every_call(policy: Gemini, session: list[Request]) -> None:
    agree(policy, session)


@pytest.mark.parametrize(("minimum", "read"), [(2048, 3000), (3000, 3000), (3001, 0), (4096, 0)])
def test_the_minimum_is_the_models(minimum: int, read: int) -> None:
    client, view = Client(Gemini(minimum=minimum).open()), View().append(sized("a", 3000))
    client.send(Request(view))
    lookup = client.send(Request(view.append(sized("b", 7))))
    assert lookup.read == read
    assert lookup.missed == (() if read else (("below_minimum", 3000),))


def test_the_same_prompt_again_is_read_but_for_its_last_token() -> None:
    client, view = Client(Gemini().open()), View().append(sized("a", 5000))
    client.send(Request(view))
    assert client.send(Request(view)) == Lookup(4999, missed=(("grid", 5000),))


def test_the_policy_is_known_and_says_its_figures() -> None:
    assert POLICIES.find("gemini") is Gemini
    assert Gemini().spec == "gemini(grid=1, minimum=4096, idle=3600.0, loss=0.0)"
    assert (Gemini().lifetime("1h"), Gemini(loss=0.5).loss) == (3600, 0.5)
    assert Gemini(minimum=2048).shortened(0.5) == Gemini(minimum=2048, idle=1800)
