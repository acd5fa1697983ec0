"""Anthropic's cache: it agrees with a naive one everywhere, and with the documented examples."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim import cache
from compactlab.sim.cache import Anthropic, Lookup
from compactlab.sim.cache.causes import CAUSES, explain
from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.message import Message
from compactlab.sim.core.view import View
from tests.sim.drawn import (
    GAP,
    LATENCY,
    LOST,
    PARTS,
    QUICK,
    Client,
    requests,
    sized,
    text,
)
from tests.sim.reference_cache import ReferenceCache, without_old_thoughts

MARKS: list[tuple[str, ...]] = [
    ("system", "last"), ("system", "last"), ("last",), ("auto",), ("system",), ("tools",),
    ("tools", "system", "last", "auto"), ("system:1h", "last:5m"), ("system:1h", "auto"),
    ("tools:1h", "system", "last:5m"), ("tools:1h", "last"), ("context", "last"),
    ("tools", "system", "context", "last"), ("tools:1h", "system:1h", "context:5m", "last:5m"),
]  # fmt: skip
# Refused as soon as the client asks for an hour.
FRAIL: list[tuple[str, ...]] = [("system:5m", "last"), ("system:1h", "last", "auto:5m")]
FIGURES = {
    "minimum": st.sampled_from([0, 1, 15, 60, 700]),
    "lookback": st.sampled_from([1, 2, 5, 20]),
    "runs_are_one": st.booleans(),
    "share": st.sampled_from([1.0, 1.0, 0.5]),
}
POLICIES = st.one_of(
    st.builds(
        Anthropic, marks=st.sampled_from(MARKS), ttl=st.sampled_from(["5m", "1h"]), **FIGURES
    ),
    st.builds(Anthropic, marks=st.sampled_from(FRAIL), **FIGURES),
)


class Session:
    """A client that sends one view after the other to one cache."""

    def __init__(self, **figures: object) -> None:
        self.policy = Anthropic(**{"minimum": 0, **figures})  # type: ignore[arg-type]
        self.cache, self.prompt = self.policy.open(), Prompt(QUICK)

    def send(self, view: View, at: float = 0.0, ttl: str = "", mark: int = 0) -> Lookup:
        self.prompt.move(view)
        lookup = self.cache.request(cache.Request(self.prompt, at, ttl, mark=mark))
        self.prompt.mark_sent()
        return lookup


def crowd(id: str, blocks: int) -> Message:
    return sized(id, *[10] * blocks)


START = View().append(sized("start", 1000))


def outcome(ask: Callable[[], Lookup]) -> tuple[int, ...] | str:
    """What is read and written; or that the provider refuses."""
    try:
        told = ask()
    except ValueError:
        return "HTTP 400"
    return told.read, told.write_5m, told.write_1h


@given(POLICIES, requests(), st.booleans())
@settings(max_examples=400)
def test_it_agrees_with_a_naive_cache_at_every_call(policy, session, strips):
    naive, client = ReferenceCache(policy, QUICK), Client(policy.open(), strips=strips)
    for request in session:
        told = outcome(lambda request=request: client.send(request))
        seen = replace(request, view=without_old_thoughts(request.view)) if strips else request
        assert told == outcome(lambda seen=seen: naive.request(seen, client.now))


@given(POLICIES, requests())
def test_what_was_missed_is_said_in_ascending_order_and_lies_beyond_what_was_read(policy, session):
    client = Client(policy.open())
    for request in session:
        with suppress(ValueError):
            told = client.send(request)
            ends = [told.read, *(tokens for _, tokens in told.missed)]
            assert ends == sorted(ends)
            assert {cause for cause, _ in told.missed} <= set(CAUSES)
            assert ends[-1] <= client.prompt.tokens


# Parts without an image: the first one changes what is already there.
SPOKEN = PARTS.filter(lambda parts: all(part.type != "image" for part in parts))


@given(POLICIES, st.lists(st.tuples(SPOKEN, GAP, LATENCY, LOST), max_size=8))
@settings(max_examples=300)
def test_of_what_only_grows_nothing_is_unexplained_whatever_the_client_marks(policy, session):
    opened, prompt, now, view = policy.open(), Prompt(QUICK), 0.0, View((text("An agent."),))
    for parts, after, latency, lost in session:
        now += after
        new = Message(f"at {now}", "assistant", parts)
        view = view.append(new)
        prompt.move(view)
        told = opened.request(cache.Request(prompt, now, latency=latency, lost=lost))
        assert "unexplained" not in explain(prompt, told, [new.id], "append")
        prompt.mark_sent()


@pytest.mark.parametrize(("added", "read"), [(10, 1000), (15, 1000), (19, 1000), (20, 0), (35, 0)])
def test_a_read_walks_twenty_positions_the_mark_included(added, read):
    session = Session()
    session.send(START)
    assert session.send(START.append(crowd("new", added))).read == read


def test_what_lay_too_far_back_and_was_dead_anyway_had_expired():
    session = Session()
    session.send(START)
    late = session.send(START.append(crowd("new", 30)), 301)
    assert late == Lookup(0, 1300, missed=(("ttl_expired", 1000),))


def test_an_entry_at_the_system_prompt_is_found_however_much_is_added():
    session = Session()
    system = View((text("", size=500),))
    session.send(system.append(sized("start", 100)))
    far = session.send(system.append(sized("start", 100), crowd("new", 30)))
    assert far == Lookup(500, 400, missed=(("lookback_miss", 600),))


@pytest.mark.parametrize(("ttl", "life"), [("5m", 300.0), ("1h", 3600.0)])
def test_an_entry_is_alive_to_the_second_and_dead_after(ttl, life):
    for wait, read in [(life, 1000), (life + 0.001, 0)]:
        session = Session()
        session.send(START, 50.0, ttl)
        assert session.send(START, 50.0 + wait, ttl).read == read


def test_a_dead_entry_is_the_cause_and_is_written_anew():
    session = Session()
    session.send(START)
    late = session.send(START, 301)
    assert late == Lookup(0, 1000, missed=(("ttl_expired", 1000),))
    assert session.send(START, 601).read == 1000


def test_both_lifetimes_in_one_session():
    session, longer = Session(), START.append(sized("more", 10))
    session.send(START, 0, "1h")
    assert session.send(longer, 0, "5m") == Lookup(1000, 10)
    assert session.send(longer, 301, "5m") == Lookup(1000, 10, 0, (("ttl_expired", 1010),))


def test_what_died_within_reach_hides_what_lives_out_of_reach():
    session, longer = Session(), START.append(crowd("more", 25))
    session.send(START, 0, "1h")
    session.send(longer, 0, "5m")
    late = session.send(longer, 301, "5m")
    assert late == Lookup(0, 1250, missed=(("ttl_expired", 1250),))


def test_a_short_prefix_is_not_stored_until_it_is_long_enough():
    session = Session(minimum=1000)
    short = View().append(sized("a", 600))
    enough = short.append(sized("b", 400))
    assert session.send(short) == Lookup()
    assert session.send(enough) == Lookup(0, 1000, 0, (("below_minimum", 600),))
    assert session.send(enough.append(sized("c", 5))) == Lookup(1000, 5)


def test_a_beginning_survives_a_compaction_only_under_a_mark_of_its_own():
    """Without one it was stored when it was the end, and nobody has read it for minutes."""
    front = START.append(sized("front", 500))
    long = front.append(crowd("more", 15), crowd("and more", 15))
    for mark, read in ((0, 0), (2, 1500)):
        agent = Session()
        for minute, view in enumerate((front, long, long.append(sized("next", 1)))):
            agent.send(view, 200.0 * minute, mark=mark)
        assert agent.send(front.append(sized("summary", 300)), 600.0, mark=mark).read == read


def test_a_mark_of_its_own_is_dropped_where_four_are_set():
    agent = Session(marks=("tools", "system", "context", "last"))
    agent.send(START.append(sized("long", 900)), mark=1)
    assert agent.send(START.append(sized("short", 9))).read == 0


def test_a_miss_behind_dead_system_blocks_names_the_rest_too():
    """The system's entry is dead, and so is that of the last prompt, 25 positions back."""
    session = Session()
    before = View((text("", size=500),)).append(sized("start", 100))
    session.send(before)
    late = session.send(before.append(crowd("new", 25)), 301)
    assert late.write_5m == 850
    assert late.missed[-1] == ("ttl_expired", 600)
