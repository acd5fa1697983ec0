"""Caches that a client makes by name: reads, makings, and storage to the second."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.cache import Explicit, Lookup, Settings
from compactlab.sim.cache.prompt import CLIENT_CONTEXT, TOOLS
from compactlab.sim.core.message import Message, Usage
from compactlab.sim.core.view import View
from tests.sim.drawn import (
    QUICK,
    Client,
    Request,
    billed,
    model_under,
    requests,
    sized,
    text,
)
from tests.sim.reference_cache import sizes_of
from tests.sim.reference_named import ReferenceNamed

POLICIES_DRAWN = st.builds(
    Explicit,
    what=st.sampled_from(["system", "history", "history"]),
    minimum=st.sampled_from([0, 1, 15, 60, 700]),
    ttl=st.sampled_from([299.0, 3600.0]),
    renew=st.sampled_from([0.0, 0.2, 2.0]),
)
SYSTEM = View((text("", size=4000, name=TOOLS), text("", size=1000)))


def client(**figures: object) -> Client:
    return Client(Explicit(**figures).open())  # type: ignore[arg-type]


def worked(id: str, *sizes: int) -> Message:
    """What an agent does of itself: no turn starts with it."""
    return sized(id, *sizes, role="assistant")


@settings(max_examples=150)
@given(POLICIES_DRAWN, requests())
def test_it_agrees_with_a_naive_client_at_every_call(policy, session):
    naive, real, storage = ReferenceNamed(policy), Client(policy.open()), 0
    for request in session:
        told = real.send(request)
        assert told.read == naive.request(request, real.now)
        assert (told.write_5m, told.write_1h) == (0, 0)
        assert told.storage >= 0
        storage += told.storage
        assert storage == pytest.approx(naive.held(real.now), abs=1)


@given(requests())
def test_what_is_sent_twice_is_read_as_far_as_it_is_stored(session):
    real = Client(Explicit("history", minimum=1, renew=0.0).open())
    for request in session:
        view = request.view
        real.send(Request(view, request.after))
        turns = [index for index, message in enumerate(view.messages) if message.starts_turn]
        before = view.with_messages(view.messages[: turns[-1] if turns else 0])
        assert real.send(Request(view)).read >= sum(sizes_of(before, QUICK))


def test_the_first_request_makes_the_cache_and_the_others_read_it():
    agent = client()
    view = SYSTEM.append(sized("a", 100))
    assert agent.send(Request(view)) == Lookup()
    longer = view.append(sized("b", 100))
    assert agent.send(Request(longer, 10.0)) == Lookup(
        5000, storage=50_000, missed=(("grid", 5100),)
    )


def test_below_the_minimum_none_is_made():
    agent, view = client(minimum=5001), SYSTEM.append(sized("a", 100))
    agent.send(Request(view))
    again = agent.send(Request(view, 10.0))
    assert again == Lookup(missed=(("below_minimum", 5000), ("grid", 5100)))


def test_what_the_client_adds_is_not_part_of_the_system_prompt():
    agent = client()
    view = View((*SYSTEM.system, text("", size=40, name=CLIENT_CONTEXT)))
    agent.send(Request(view.append(sized("a", 100))))
    assert agent.send(Request(view.append(sized("summary", 9)))).read == 5000


def test_a_history_is_stored_up_to_the_last_whole_turn():
    agent = client(what="history", renew=0.0)
    first = SYSTEM.append(sized("question", 1000), worked("answer", 1000))
    assert agent.send(Request(first)) == Lookup()  # makes one of the system prompt
    second = first.append(sized("next", 10))
    assert agent.send(Request(second)).read == 0  # makes one of all that was before
    assert agent.send(Request(second.append(worked("work", 500)))).read == 7000


def test_a_longer_one_is_made_when_it_is_worth_it():
    agent = client(what="history", renew=0.2)
    view = SYSTEM.append(sized("question", 980))
    agent.send(Request(view))
    for turn, read in [(1, 5000), (2, 0), (3, 6010), (4, 6010)]:
        view = view.append(worked(f"work {turn}", 10), sized(f"turn {turn}", 10))
        assert agent.send(Request(view)).read == read


def test_what_was_in_the_old_one_is_paid_for_again():
    agent = client(what="history", renew=0.0)
    agent.send(Request(SYSTEM.append(sized("question", 1000))))
    longer = SYSTEM.append(sized("question", 1000), sized("next", 10))
    assert agent.send(Request(longer)) == Lookup(missed=(("grid", 6000),))


def test_a_changed_prefix_needs_a_new_one_and_the_change_is_to_blame():
    agent = client()
    agent.send(Request(SYSTEM.append(sized("a", 100))))
    other = View((SYSTEM.system[0], text("", size=2000)))
    assert agent.send(Request(other.append(sized("a", 100)))) == Lookup()
    assert agent.send(Request(other.append(sized("a", 100)))).read == 6000


def test_other_settings_need_another_one():
    agent, view = client(), SYSTEM.append(sized("a", 100))
    agent.send(Request(view))
    assert agent.send(Request(view, settings=Settings("other tools"))).read == 0


def test_two_clients_share_what_one_of_them_made():
    one = client()
    other = Client(one.cache)
    one.send(Request(SYSTEM.append(sized("a", 100))))
    assert other.send(Request(SYSTEM.append(sized("b", 100)), 1.0)).read == 5000


def test_a_cache_of_a_part_of_the_system_prompt_is_of_no_use():
    one = client(minimum=1)
    other = Client(one.cache)
    tools = SYSTEM.system[0]
    one.send(Request(View((tools,))))
    with_prompt = View((tools, text("", size=10)))
    assert other.send(Request(with_prompt)).read == 0
    assert other.send(Request(with_prompt)).read == 4010


def test_a_request_of_another_kind_leaves_the_cache_alone():
    main = client()
    side = Client(main.cache)
    view, own = SYSTEM.append(sized("a", 100)), View((text("", size=9000),))
    main.send(Request(view))
    assert side.send(Request(own.append(sized("summarise", 10)))).read == 0
    assert main.send(Request(view)).read == 5000


def test_a_lost_request_reads_nothing():
    agent, view = client(), SYSTEM.append(sized("a", 100))
    agent.send(Request(view))
    lost = agent.send(Request(view, lost=True))
    assert lost == Lookup(missed=(("eviction", 5000), ("grid", 5100)))


def test_each_use_gives_another_hour_and_is_charged_for_the_time_before():
    agent, view = client(), SYSTEM.append(sized("a", 100))
    agent.send(Request(view))
    for _ in range(3):
        told = agent.send(Request(view, 3600.0))
        assert (told.read, told.storage) == (5000, 5000 * 3600)


def test_one_that_nobody_used_is_held_for_its_hour_and_no_longer():
    agent, view = client(), SYSTEM.append(sized("a", 100))
    agent.send(Request(view))
    late = agent.send(Request(view, 10_000.0))
    expired = (("ttl_expired", 5000), ("grid", 5100))
    assert late == Lookup(missed=expired, storage=5000 * 3600)


def test_a_longer_one_takes_the_place_of_the_one_before():
    agent = client(what="history", renew=0.0)
    view = SYSTEM.append(sized("question", 1000))
    agent.send(Request(view))
    view = view.append(sized("next", 10))
    assert agent.send(Request(view, 100.0)).storage == 5000 * 100
    assert agent.send(Request(view, 100.0)).storage == 6000 * 100


def test_parts_of_a_second_are_not_lost():
    agent, view = client(minimum=1), View((text("", size=1),)).append(sized("a", 100))
    told = [agent.send(Request(view, 0.25)).storage for _ in range(9)]
    assert told == [0, 0, 0, 0, 1, 0, 0, 0, 1]


def test_storage_comes_to_the_bill():
    view = SYSTEM.append(sized("a", 100))
    bills = billed(model_under(Explicit()), [Request(view), Request(view, 60.0)])
    assert bills[0].usage == Usage(uncached=5100)
    assert bills[1].usage == Usage(uncached=100, cache_read=5000, storage=300_000)


def test_reminders_start_no_turn():
    agent = client(what="history", renew=0.0)
    reminder = msgspec.structs.replace(sized("reminder", 10), meta=True)
    view = SYSTEM.append(sized("question", 1000), reminder)
    agent.send(Request(view))
    assert agent.send(Request(view)).read == 5000
