"""Entries further back than a read walks: which are reached, and which are to blame."""

import msgspec

from compactlab.sim.cache import Anthropic
from compactlab.sim.core.message import Message
from compactlab.sim.core.view import View
from tests.sim.drawn import Client, Request, sized, text

START = View().append(sized("start", 1000))


def client(**figures: object) -> Client:
    return Client(Anthropic(minimum=0, **figures).open())  # type: ignore[arg-type]


def test_an_entry_that_expired_out_of_reach_is_not_to_blame_for_an_edit():
    """The start's entry dies unread; what is cut behind it was sent five minutes ago."""
    agent = client()
    messages = [sized(f"m{number}", 10) for number in range(30)]
    agent.send(Request(START))
    agent.send(Request(START.append(*messages), 10))
    edited = START.append(*messages[:10], *(sized(f"n{number}", 10) for number in range(30)))
    assert agent.send(Request(edited, 295)).missed == ()


def test_it_is_to_blame_where_nothing_else_has_changed():
    agent = client()
    agent.send(Request(START))
    longer = START.append(sized("new", *[10] * 30))
    assert agent.send(Request(longer, 301)).missed == (("ttl_expired", 1000),)


def test_a_run_is_walked_over_down_to_the_system_prompt():
    agent = client(marks=("last",))
    system = View((text("", size=500),))
    agent.send(Request(system))
    results = [msgspec.structs.replace(text("", size=10), type="tool_result") for _ in range(30)]
    run = system.append(Message("run", "tool", tuple(results)))
    assert agent.send(Request(run)).read == 500


def test_what_another_prompt_lacked_is_looked_for_anew():
    """Where the first prompt ends no entry, the third has one, which only a run leads to."""
    agent = client(marks=("last",))
    agent.send(Request(View().append(*(sized(f"m{number}", 10) for number in range(40)))))
    system = View((text("", size=500),))
    agent.send(Request(system))
    results = [msgspec.structs.replace(text("", size=10), type="tool_result") for _ in range(30)]
    run = system.append(Message("run", "tool", tuple(results)))
    assert agent.send(Request(run)).read == 500


def test_an_entry_is_found_where_a_longer_prompt_had_none_before():
    agent, rest = client(), [sized(f"m{number}", 10) for number in range(200)]
    for view in (START.append(*rest), START, START.append(*rest[:170], sized("new", *[10] * 30))):
        last = agent.send(Request(view))
    assert last.missed == (("lookback_miss", 1000),)
