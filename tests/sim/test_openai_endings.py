"""OpenAI's cache from GPT-5.6 on: it agrees with a naive one, and with what the guide says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.cache import Lookup, OpenaiEndings, Settings
from compactlab.sim.cache.prompt import CLIENT_CONTEXT
from compactlab.sim.core.message import Message, Role
from compactlab.sim.core.view import View
from tests.sim.drawn import (
    Client,
    Request,
    requests,
    sized,
    text,
)
from tests.sim.reference_endings import ReferenceEndings

MARKS: list[tuple[str, ...]] = [
    (),
    ("system",),
    ("last",),
    ("context", "before"),
    ("system", "context", "before", "last"),
]
POLICIES_DRAWN = st.builds(
    OpenaiEndings,
    minimum=st.sampled_from([0, 1, 15, 60, 700]),
    mode=st.sampled_from(["implicit", "implicit", "explicit"]),
    marks=st.sampled_from(MARKS),
    lookback=st.sampled_from([1, 2, 5, 80]),
    idle=st.sampled_from([299.0, 1800.0]),
)
SYSTEM = View((text("", size=500),))


def client(**figures: object) -> Client:
    return Client(OpenaiEndings(**{"minimum": 0, **figures}).open())  # type: ignore[arg-type]


def said(role: Role, *sizes: int) -> Message:
    return sized(f"{role} {sizes}", *sizes, role=role)


@settings(max_examples=300)
@given(POLICIES_DRAWN, requests())
def test_it_agrees_with_a_naive_cache_at_every_call(policy, session):
    naive, real = ReferenceEndings(policy), Client(policy.open())
    for request in session:
        told = real.send(request)
        assert Lookup(told.read, told.write_5m) == naive.request(request, real.now)
        assert (told.write_1h, told.storage) == (0, 0)


@given(POLICIES_DRAWN, requests())
def test_what_is_sent_twice_is_read_up_to_its_last_written_end(policy, session):
    real = Client(policy.open())
    for request in session:
        first = real.send(Request(request.view, request.after))
        again = real.send(Request(request.view))
        assert again.write_5m == 0
        assert again.read == first.read + first.write_5m


def test_what_stands_behind_the_last_end_is_plain_input():
    agent = client()
    view = SYSTEM.append(said("user", 100), said("assistant", 30))
    assert agent.send(Request(view)) == Lookup(0, 600)
    assert agent.send(Request(view)) == Lookup(600, 0, missed=(("grid", 630),))


def test_an_answer_is_written_with_the_result_that_follows_it():
    agent = client()
    asked = SYSTEM.append(said("user", 100))
    assert agent.send(Request(asked)) == Lookup(0, 600)
    worked = asked.append(said("assistant", 30), said("tool", 70))
    assert agent.send(Request(worked)) == Lookup(600, 100)
    assert agent.send(Request(worked.append(said("assistant", 5), said("user", 1)))).read == 700


def test_within_a_run_of_tool_outputs_nothing_ends():
    agent = client(marks=())
    half = SYSTEM.append(said("user", 100), said("assistant", 30), said("tool", 70))
    assert agent.send(Request(half)) == Lookup(0, 700)
    whole = agent.send(Request(half.append(said("tool", 80))))
    assert whole == Lookup(0, 780, missed=(("grid", 700),))


def test_nothing_is_rounded():
    agent = client()
    agent.send(Request(SYSTEM.append(sized("odd", 523))))
    assert agent.send(Request(SYSTEM.append(sized("odd", 523), sized("more", 10)))).read == 1023


def test_a_prefix_below_1024_tokens_is_not_written():
    agent = Client(OpenaiEndings().open())
    short = View().append(sized("short", 1023))
    enough = short.append(sized("more", 1))
    assert agent.send(Request(short)) == Lookup()
    assert agent.send(Request(short)) == Lookup(missed=(("below_minimum", 1023),))
    assert agent.send(Request(enough)) == Lookup(0, 1024, missed=(("below_minimum", 1023),))
    assert agent.send(Request(enough)) == Lookup(1024)


@pytest.mark.parametrize(("minimum", "cause"), [(631, "below_minimum"), (630, "grid")])
def test_what_is_as_long_as_the_minimum_is_not_below_it(minimum, cause):
    agent, view = client(minimum=minimum), SYSTEM.append(said("user", 100), said("assistant", 30))
    agent.send(Request(view))
    assert agent.send(Request(view)) == Lookup(missed=((cause, 630),))


def test_a_compaction_leaves_the_developer_block():
    agent = client()
    agent.send(Request(SYSTEM.append(sized("old", 900))))
    assert agent.send(Request(SYSTEM.append(sized("summary", 50)))) == Lookup(500, 50)


def test_what_the_client_adds_behind_it_is_a_message():
    context = View((*SYSTEM.system, text("", size=40, name=CLIENT_CONTEXT)))
    for marks, read in [((), 0), (("system",), 500), (("context",), 540)]:
        agent = client(marks=marks)
        agent.send(Request(context.append(sized("old", 900))))
        assert agent.send(Request(context.append(sized("summary", 50)))).read == read


def test_four_writes_and_the_foremost_is_dropped():
    everywhere = ("system", "context", "before", "last")
    view = View((*SYSTEM.system, text("", size=40, name=CLIENT_CONTEXT)))
    view = view.append(sized("a", 10), sized("b", 10))
    front = View(SYSTEM.system)
    for mode, read in [("implicit", 0), ("explicit", 500)]:
        agent = client(marks=everywhere, mode=mode)
        agent.send(Request(view))
        assert agent.send(Request(front.append(sized("other", 7)))).read == read


def test_without_a_mark_the_explicit_mode_caches_nothing():
    agent = client(mode="explicit", marks=())
    view = SYSTEM.append(sized("a", 10))
    assert agent.send(Request(view)) == Lookup()
    assert agent.send(Request(view)) == Lookup(missed=(("no_cache", 510),))


def test_caching_the_system_prompt_alone_leaves_the_rest_to_the_input_price():
    agent = client(mode="explicit", marks=("system",), lookback=1)
    view = SYSTEM.append(sized("a", 10))
    assert agent.send(Request(view)) == Lookup(0, 500)
    longer = view.append(*(sized(f"m{n}", 10) for n in range(100)))
    assert agent.send(Request(longer)) == Lookup(500, missed=(("grid", 510),))


@pytest.mark.parametrize(("added", "read"), [(79, 1000), (80, 0)])
def test_a_read_looks_at_eighty_ends(added, read):
    agent, start = client(marks=()), View().append(sized("start", 1000))
    agent.send(Request(start))
    far = start.append(*(sized(f"m{n}", 10) for n in range(added)))
    told = agent.send(Request(far))
    assert told.read == read
    assert told.missed == (() if read else (("lookback_miss", 1000),))


def test_blocks_do_not_count_only_ends_do():
    agent, start = client(marks=()), View().append(sized("start", 1000))
    agent.send(Request(start))
    assert agent.send(Request(start.append(sized("crowd", *[1] * 500)))).read == 1000


def test_what_the_request_marks_is_looked_at_however_far_it_is():
    agent = client()
    agent.send(Request(SYSTEM.append(sized("start", 100))))
    edited = SYSTEM.append(*(sized(f"m{n}", 10) for n in range(200)))
    assert agent.send(Request(edited)).read == 500


@pytest.mark.parametrize(("wait", "read"), [(1800.0, 600), (1800.5, 0)])
def test_thirty_minutes_from_the_last_use(wait, read):
    agent, view = client(), SYSTEM.append(sized("a", 100))
    agent.send(Request(view))
    assert agent.send(Request(view, 1500.0)).read == 600  # refreshed, for nothing
    told = agent.send(Request(view, wait))
    assert told.read == read
    assert told.missed == (() if read else (("ttl_expired", 600),))


def test_what_a_request_marks_again_lives_on_too():
    agent = client()
    agent.send(Request(SYSTEM.append(sized("a", 100))))
    agent.send(Request(SYSTEM.append(sized("a", 100), sized("b", 100)), 1500.0))
    assert agent.send(Request(SYSTEM.append(sized("other", 7)), 1500.0)).read == 500


def test_parallel_first_requests_all_write():
    agent, request = client(), Request(SYSTEM.append(sized("a", 100)), latency=5.0)
    assert agent.send(request) == Lookup(0, 600)
    assert agent.send(request) == Lookup(0, 600, missed=(("concurrent_cold", 600),))
    assert agent.send(Request(request.view, 5.0)) == Lookup(600)


def test_a_lost_request_writes_anew():
    agent, view = client(), SYSTEM.append(sized("a", 100))
    agent.send(Request(view))
    assert agent.send(Request(view, lost=True)) == Lookup(0, 600, missed=(("eviction", 600),))


def test_other_settings_find_nothing_and_the_grid_is_not_to_blame():
    agent, view = client(), SYSTEM.append(sized("a", 100))
    agent.send(Request(view))
    assert agent.send(Request(view, settings=Settings("other tools"))) == Lookup(0, 600)


def test_an_edit_is_to_blame_for_what_it_costs():
    agent = client(marks=())
    agent.send(Request(SYSTEM.append(sized("a", 100), sized("b", 100))))
    edited = agent.send(Request(SYSTEM.append(sized("a", 100), sized("c", 100))))
    assert edited == Lookup(0, 700)
