"""DeepSeek's cache: it agrees with a naive one, and with the examples of the guide."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.cache import Deepseek, DeepseekGrid, Lookup, Settings
from compactlab.sim.core.message import Message
from compactlab.sim.core.view import View
from tests.sim.drawn import QUICK, Client, Request, requests, sized
from tests.sim.reference_cache import sizes_of
from tests.sim.reference_units import ReferenceUnits

POLICIES_DRAWN = st.builds(
    Deepseek,
    interval=st.sampled_from([0, 0, 10, 64, 500]),
    grid=st.sampled_from([1, 1, 8, 128]),
    idle=st.sampled_from([299.0, 3600.0, 86_400.0]),
)
A, B, C, D = (sized(name, 1000) for name in "abcd")


def client(**figures: object) -> Client:
    return Client(Deepseek(**{"grid": 1, **figures}).open())  # type: ignore[arg-type]


def answer(size: int) -> Message:
    return sized(f"answer of {size}", size, role="assistant")


def prompt(*messages: Message) -> Request:
    return Request(View().append(*messages))


@settings(max_examples=150)
@given(POLICIES_DRAWN, requests())
def test_it_agrees_with_a_naive_cache_at_every_call(policy, session):
    naive, real = ReferenceUnits(policy), Client(policy.open())
    for request in session:
        told = real.send(request)
        assert Lookup(told.read) == naive.request(request, real.now)
        assert (told.write_5m, told.write_1h, told.storage) == (0, 0, 0)


@given(POLICIES_DRAWN, requests())
def test_what_is_sent_twice_is_read_whole(policy, session):
    real = Client(policy.open())
    for request in session:
        real.send(Request(request.view, request.after))
        whole = sum(sizes_of(request.view, QUICK))
        assert real.send(Request(request.view)).read == whole - whole % policy.grid


def test_of_three_that_begin_alike_the_third_is_the_first_to_read():
    agent = client()
    assert agent.send(prompt(A, B)) == Lookup()
    assert agent.send(prompt(A, C)) == Lookup(missed=(("grid", 1000),))
    assert agent.send(prompt(A, D)) == Lookup(1000)


def test_a_prompt_that_goes_on_reads_all_of_the_one_before():
    agent = client()
    agent.send(prompt(A, B))
    assert agent.send(prompt(A, B, C)) == Lookup(2000)


def test_the_answer_is_read_though_it_was_never_sent():
    agent = client()
    agent.send(prompt(A))
    assert agent.send(prompt(A, answer(70), B)) == Lookup(1070)


def test_what_a_step_leaves_out_has_not_expired():
    agent = client(grid=128)
    agent.send(prompt(A))
    assert agent.send(prompt(A, answer(10), B)) == Lookup(896, missed=(("grid", 1010),))


def test_an_answer_that_was_shortened_is_not_what_was_stored():
    agent = client()
    agent.send(prompt(A))
    part = msgspec.structs.replace(answer(70).parts[0], kind="truncated")
    short = Message("short", "assistant", (part,))
    assert agent.send(prompt(A, short, B)) == Lookup(1000)


def test_a_rewind_reads_up_to_where_an_earlier_request_ended():
    agent = client()
    agent.send(prompt(A))
    agent.send(prompt(A, answer(70), B))
    assert agent.send(prompt(A, answer(70), C)) == Lookup(1070)
    assert agent.send(prompt(A, D)) == Lookup(1000)


def test_every_so_many_tokens_there_is_a_unit():
    agent = client(interval=512)
    agent.send(prompt(A, B))
    assert agent.send(prompt(A, C)) == Lookup(512, missed=(("grid", 1000),))
    assert agent.send(prompt(A, C, D)) == Lookup(2000)


def test_in_a_long_answer_too():
    agent = client(interval=512)
    agent.send(prompt(A))
    agent.send(prompt(A, sized("answer", 600, 600, role="assistant"), B))
    begins_alike = sized("answer", 600, 500, role="assistant")
    assert agent.send(prompt(A, begins_alike, B)) == Lookup(1536, missed=(("grid", 1600),))


def test_reads_are_counted_in_steps():
    agent = client(grid=128)
    agent.send(prompt(A))
    assert agent.send(prompt(A, B)) == Lookup(896, missed=(("grid", 1000),))


@pytest.mark.parametrize(("wait", "read"), [(86_400.0, 1000), (86_401.0, 0)])
def test_a_unit_lives_for_a_day_from_its_last_use(wait, read):
    agent, request = client(), prompt(A)
    agent.send(request)
    agent.send(Request(request.view, 80_000.0))
    late = agent.send(Request(request.view, wait))
    assert late == Lookup(read, missed=() if read else (("ttl_expired", 1000),))


def test_parallel_first_requests_read_nothing():
    agent, request = client(), Request(prompt(A).view, latency=5.0)
    agent.send(request)
    assert agent.send(request) == Lookup(missed=(("concurrent_cold", 1000),))
    assert agent.send(Request(request.view, 5.0)) == Lookup(1000)


def test_a_lost_request_reads_nothing():
    agent, request = client(), prompt(A)
    agent.send(request)
    lost = agent.send(Request(request.view, lost=True))
    assert lost == Lookup(missed=(("eviction", 1000),))


def test_a_lost_request_keeps_no_unit_alive():
    """The prompt of the unit was sent again a minute ago, but the unit was not read."""
    agent, late = client(), 86_400.0
    for request in (prompt(A), prompt(A, B, C), Request(prompt(A, B, D).view, late, lost=True)):
        agent.send(request)
    again = agent.send(Request(prompt(A, D).view, 60.0))
    assert again == Lookup(missed=(("ttl_expired", 1000),))


def test_other_settings_are_another_prompt():
    agent, request = client(), prompt(A)
    agent.send(request)
    assert agent.send(Request(request.view, settings=Settings("other tools"))) == Lookup()


# Before V4


def test_older_models_read_any_common_prefix_in_steps_of_64():
    agent = Client(DeepseekGrid().open())
    agent.send(prompt(A, B))
    assert agent.send(prompt(A, C)) == Lookup(960, missed=(("grid", 1000),))
