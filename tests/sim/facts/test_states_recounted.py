"""The states that are kept up to date from call to call are those that one finds by looking at the
whole prompt each time.
"""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.view import Messages
from compactlab.sim.facts import STATES, Tracker, ledger_of
from tests.sim.facts.drawn_facts import script, session
from tests.sim.facts.reference_states import World, due_at, state
from tests.sim.facts.told import due

# What is drawn is drawn by Python from a seed: quick, and small enough to be read as it is.
SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=250, deadline=None)
@given(SEEDS)
def test_every_state_at_every_call_is_the_one_of_the_reference(seed: int) -> None:
    draw = Random(seed)
    talk, sent = session(draw)
    ledger = ledger_of(talk)
    stored: dict[str, str] = {}
    tracker = Tracker(ledger, stored)
    heard = noted = 0
    for each in sent:
        stored.update(each.stored)
        for message in each.created[heard:]:
            tracker.hear(message)
        tracker.remember(each.notes[noted:])
        heard, noted = len(each.created), len(each.notes)
        found = tracker.move(each.view)
        world = World(talk, each.stored, each.notes, each.created)
        assert {fact.id: found.of(n) for n, fact in enumerate(talk.facts)} == {
            fact.id: state(fact, each.view, world) for fact in talk.facts
        }


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_what_is_due_is_what_the_way_to_the_call_tells(seed: int) -> None:
    talk = script(Random(seed))
    for at in (*(answer.id for answer in talk.calls), ""):
        assert due(talk, at) == due_at(talk, at)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_each_fact_is_in_exactly_one_state(seed: int) -> None:
    draw = Random(seed)
    talk, sent = session(draw)
    tracker = Tracker(ledger_of(talk))
    for each in sent:
        found = tracker.move(each.view)
        assert found._fields == STATES
        assert sum(bits.bit_count() for bits in found) == len(talk.facts)
        assert sum(found) == (1 << len(talk.facts)) - 1


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_how_one_got_there_makes_no_difference(seed: int) -> None:
    draw = Random(seed)
    talk, sent = session(draw)
    ledger = ledger_of(talk)
    wandering = Tracker(ledger)
    for each in draw.sample(sent, len(sent)):
        assert wandering.move(each.view) == Tracker(ledger).move(each.view)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_more_of_the_log_never_means_less_is_known(seed: int) -> None:
    draw = Random(seed)
    talk, sent = session(draw)
    if not sent:
        return
    view = draw.choice(sent).view
    messages = list(view.messages)
    tracker = Tracker(ledger_of(talk))
    known = tracker.move(view).kept
    for message in talk.messages:
        messages.insert(draw.randint(0, len(messages)), message)
        more = tracker.move(view.with_messages(Messages(messages))).kept
        assert more & known == known
        known = more


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_who_keeps_all_knows_all_that_is_due_verbatim(seed: int) -> None:
    talk = script(Random(seed))
    ledger = ledger_of(talk)
    tracker = Tracker(ledger)
    way: list[str] = []
    kept = Messages()
    for event in talk.events:
        if hasattr(event, "to"):
            stop = way.index(event.to) + 1 if event.to else 0
            way, kept = way[:stop], kept[:stop]
            continue
        assert hasattr(event, "id")
        if event.call is not None:
            due = ledger.moments[event.id].due
            assert tracker.change(*tracker._messages.difference(kept), ()).verbatim & due == due
            tracker._messages = kept
        way.append(event.id)
        kept = kept.append(event)
