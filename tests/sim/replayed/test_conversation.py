"""A script and its name: what it counts, and what its digest notices."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from compactlab.sim.core.conversation import (
    Compaction,
    Fact,
    Need,
    PassedOver,
    Rewind,
    SideRequest,
)
from compactlab.sim.core.message import Call, Source, Usage, verbatim


def tale(kit: Any) -> Any:
    story = (
        kit.Story().user("1").acts().result("r").answer("1").client("env").user("2").aborted("x")
    )
    return story.rewind("a2").compacted("so far").user("3").answer("3").script()


def test_it_counts_what_is_in_it(kit):
    script = tale(kit)
    assert kit.ids_of(script.messages) == "u1 a1 r1 a2 m1 u2 x1 u3 a3"
    assert kit.ids_of(script.calls) == "a1 a2 a3"
    assert script.turns == 3
    assert len(list(script.compactions)) == 1


def test_what_has_no_seed_was_recorded(kit):
    assert not tale(kit).recorded
    assert replace(tale(kit), seed=-1).recorded


def test_the_digest_is_sixteen_hex_digits_and_always_the_same(kit):
    digest = tale(kit).digest
    assert digest == tale(kit).digest
    assert len(digest) == 16
    assert int(digest, 16) >= 0


def test_what_no_replay_sees_does_not_change_the_digest(kit):
    script = tale(kit)
    other = replace(
        script,
        id="other",
        source="elsewhere",
        format="pi",
        seed=-1,
        parent="session",
        side_requests=(SideRequest("advisor", Call()),),
        passed_over=(PassedOver("record 'poem'", 1, 40),),
    )
    assert other.digest == script.digest
    known = script.calls[0].call
    named = msgspec.structs.replace(known, id="msg_1", inherited=True)
    assert changed(script, 1, call=named).digest == script.digest


def changed(script: Any, place: int, **fields: Any) -> Any:
    events = list(script.events)
    events[place] = msgspec.structs.replace(events[place], **fields)
    return replace(script, events=tuple(events))


CHANGES = {
    "a text": lambda s: changed(s, 0, parts=(verbatim("u1", "text", "another"),)),
    "an id": lambda s: changed(s, 0, id="u9"),
    "a time": lambda s: changed(s, 0, time=1.0),
    "who spoke": lambda s: changed(s, 4, meta=False),
    "a call": lambda s: changed(s, 3, call=None),
    "what a compaction cost": lambda s: changed(s, 8, call=Call(usage=Usage(output=1))),
    "an event less": lambda s: replace(s, events=s.events[:-1]),
    "another order": lambda s: replace(s, events=s.events[::-1]),
    "a rewind": lambda s: replace(s, events=(*s.events, Rewind("u1"))),
    "a compaction": lambda s: replace(s, events=(*s.events, Compaction())),
    "the system prompt": lambda s: replace(s, system=(verbatim("s", "text", "be brief"),)),
    "a fact": lambda s: replace(s, facts=(Fact("f", "goal", "k", "v", (Source("u1"),)),)),
    "a need": lambda s: replace(s, needs=(Need("f", "a1"),)),
    "where it begins": lambda s: replace(s, starts_inside=True),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_replay_can_see_changes_the_digest(change, kit):
    assert change(tale(kit)).digest != tale(kit).digest


def test_all_these_changes_have_digests_of_their_own(kit):
    assert len({change(tale(kit)).digest for change in CHANGES.values()}) == len(CHANGES)


def test_an_empty_script_is_one_too(kit):
    empty = kit.Story().script()
    assert (empty.messages, empty.calls, empty.turns) == ((), (), 0)
    assert len(empty.digest) == 16
