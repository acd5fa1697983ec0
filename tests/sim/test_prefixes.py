"""The tree of prompts: it agrees with a list of all prefixes, and touches only what changed."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.cache import CachePolicy, Gemini, OpenaiGrid, Paged, Xai
from compactlab.sim.cache import Request as Asked
from compactlab.sim.cache.prefixes import Automatic, Prefixes, _most
from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.view import View
from tests.sim.drawn import QUICK, Client, Request, billed, growing, model_under, requests, sized
from tests.sim.reference_cache import sizes_of
from tests.sim.reference_prefixes import ReferencePrefixes, agree

ANY = st.builds(
    Automatic,
    grid=st.sampled_from([1, 16, 128]),
    minimum=st.sampled_from([0, 60, 1024]),
    idle=st.sampled_from([0.0, 299.0, 300.0, 1800.0]),
)
EASY: list[CachePolicy] = [OpenaiGrid(minimum=0), Xai(), Gemini(minimum=0), Paged()]
START = View().append(sized("start", 1000))


# Against a list of all prefixes


@given(ANY, requests())
@settings(max_examples=150)
def test_it_agrees_with_a_naive_cache_at_every_call(policy, session):
    agree(policy, session)


@given(ANY, requests(20))
def test_what_it_has_forgotten_changes_no_read(policy, session):
    """The memory of what is gone is for causes only, and never says more than was sent."""
    held, naive = Prefixes(idle=policy.idle), ReferencePrefixes(policy.idle)
    prompt, now = Prompt(QUICK), 0.0
    with mock.patch("compactlab.sim.cache.prefixes._REMEMBERED", 3):
        for request in session:
            now += request.after
            prompt.move(request.view)
            if prompt.totals:
                asked = Asked(prompt, now, "", request.settings, request.latency)
                found, said = held.send(asked), naive.request(request, now)
                assert (found.readable, found.stored) == (said.readable, said.stored)
                assert found.stored <= found.known <= said.ever
            prompt.mark_sent()


@pytest.mark.parametrize("policy", EASY)
@given(session=requests())
def test_a_prompt_sent_twice_at_once_is_read_but_for_its_last_step(policy, session):
    client, step = Client(policy.open()), {OpenaiGrid: 128, Xai: 128, Gemini: 1, Paged: 16}
    for request in session:
        client.send(Request(request.view, request.after))
        again = client.send(Request(request.view))
        left = sum(sizes_of(request.view, QUICK)) - again.read
        assert 0 <= left <= step[type(policy)]
        assert left or not again.read


@pytest.mark.parametrize("policy", EASY)
@given(grown=growing())
def test_a_session_that_only_grows_reads_more_at_every_call(policy, grown):
    client = Client(policy.open())
    reads = [client.send(Request(view)).read for view in grown]
    assert reads == sorted(reads)


@pytest.mark.parametrize("policy", [OpenaiGrid(), Xai(), Gemini(minimum=500), Paged(2000)])
@given(grown=growing(), gap=st.sampled_from([0.0, 1.0, 700.0, 4000.0]))
def test_of_what_only_grows_nothing_is_unexplained(policy, grown, gap):
    bills = billed(model_under(policy), [Request(view, gap) for view in grown])
    assert not any("unexplained" in bill.causes for bill in bills)
    for bill in bills:
        assert sum(bill.causes.values()) == bill.usage.prompt - bill.usage.cache_read


@pytest.mark.parametrize("policy", EASY)
@given(mine=requests(5), other=requests(5))
def test_a_shared_cache_never_reads_less_than_a_private_one(policy, mine, other):
    shared = policy.open()
    client, neighbour, alone = Client(shared), Client(shared), Client(policy.open())
    for request, its in zip(mine, other, strict=False):
        neighbour.now = max(neighbour.now, client.now)
        neighbour.send(Request(its.view, 0.0))
        assert client.send(request).read >= alone.send(request).read


class Spy(Prompt):
    """A prompt that counts how often a key is asked for."""

    asked = 0

    def key(self, block: int) -> int:
        Spy.asked += 1
        return super().key(block)


def asked(prefixes: Prefixes, prompt: Prompt, view: View, at: float = 0.0) -> int:
    """How many keys a request takes."""
    prompt.move(view)
    Spy.asked = 0
    prefixes.send(Asked(prompt, at))
    prompt.mark_sent()
    return Spy.asked


def test_a_call_costs_the_same_however_long_the_session_is():
    prefixes, prompt, view = Prefixes(), Spy(QUICK), START
    costs = set()
    for call in range(1000):
        view = view.append(sized(f"m{call}", 10))
        costs.add(asked(prefixes, prompt, view))
    assert max(costs) <= 5


def test_an_edit_costs_what_follows_it():
    prefixes, prompt = Prefixes(), Spy(QUICK)
    view = START.append(*(sized(f"m{n}", 10) for n in range(1000)))
    asked(prefixes, prompt, view)
    edited = view.with_messages([*view.messages[:990], sized("new", 10), *view.messages[991:]])
    assert asked(prefixes, prompt, edited) <= 30


def test_a_prompt_larger_than_the_cache_is_not_stored_over_and_over():
    prefixes, prompt = Prefixes(capacity=100, page=16), Spy(QUICK)
    view = View().append(*(sized(f"m{n}", 16) for n in range(1000)))
    asked(prefixes, prompt, view)
    for call in range(20):
        view = view.append(sized(f"new{call}", 16))
        assert asked(prefixes, prompt, view) <= 5


def test_what_expires_costs_once():
    prefixes, prompt = Prefixes(idle=10.0), Spy(QUICK)
    view = START.append(*(sized(f"m{n}", 10) for n in range(1000)))
    asked(prefixes, prompt, view)
    assert asked(prefixes, prompt, START, 100.0) <= 10
    assert asked(prefixes, prompt, START, 101.0) <= 10


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_the_largest_number_is_found_from_anywhere(found, near, most):
    found, near = min(found, most), min(near, most)
    assert _most(lambda n: n <= found, near, most) == found


# What is remembered of what is gone


def test_what_went_first_is_forgotten_first_and_the_deepest_before_the_rest():
    prefixes, now = Prefixes(idle=10.0), iter(range(100, 1000, 100))
    two = START.append(sized("b", 20))
    three, other = two.append(sized("c", 30)), View().append(sized("other", 40))
    with mock.patch("compactlab.sim.cache.prefixes._REMEMBERED", 3):
        for view in (two, three, other, View().append(sized("last", 50))):
            prompt = Prompt(QUICK)
            prompt.move(view)
            prefixes.send(Asked(prompt, next(now)))
        prompt = Prompt(QUICK)
        prompt.move(three)
        assert prefixes.send(Asked(prompt, next(now))).known == 1000
