"""Gemini's implicit cache: a minimum by model, no grid that is known, no promise."""

import pytest

from compactlab.sim.cache import Gemini, Lookup
from compactlab.sim.core.view import View
from tests.sim.drawn import Client, Request, sized


@pytest.mark.parametrize(("minimum", "read"), [(2048, 3000), (3000, 3000), (3001, 0), (4096, 0)])
def test_the_minimum_is_the_models(minimum, read):
    client, view = Client(Gemini(minimum=minimum).open()), View().append(sized("a", 3000))
    client.send(Request(view))
    lookup = client.send(Request(view.append(sized("b", 7))))
    assert lookup.read == read
    assert lookup.missed == (() if read else (("below_minimum", 3000),))


def test_the_same_prompt_again_is_read_but_for_its_last_token():
    client, view = Client(Gemini().open()), View().append(sized("a", 5000))
    client.send(Request(view))
    assert client.send(Request(view)) == Lookup(4999, missed=(("grid", 5000),))
