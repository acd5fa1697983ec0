"""What must hold whatever is said: other names for the same things change nothing."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from compactlab.sim.core.conversation import Conversation, Fact, Rewind
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import Messages, View
from compactlab.sim.facts import Tracker, ledger_of
from tests.sim.facts.drawn_facts import Sent, session

# Letters and digits that no word of polarity or order has, so that cuts through words stay cuts.
RENAMED = str.maketrans("0123456789bcpgkPB", "3456789012kqcbgCK")


def again(talk: Conversation, sent: list[Sent]) -> tuple[Conversation, list[View]]:
    """The same session in other words; messages that were left alone are left alone."""
    known: dict[int, Message] = {}

    def part(piece: Part) -> Part:
        return replace(piece, text=piece.text.translate(RENAMED))

    def other(event: Message | Rewind) -> Message | Rewind:
        if isinstance(event, Rewind):
            return event
        if id(event) not in known:
            known[id(event)] = replace(event, parts=tuple(map(part, event.parts)))
        return known[id(event)]

    def fact(each: Fact) -> Fact:
        names = tuple(name.translate(RENAMED) for name in each.aliases)
        key, value = each.key.translate(RENAMED), each.value.translate(RENAMED)
        return replace(each, key=key, value=value, aliases=names)

    facts = tuple(map(fact, talk.facts))
    told = Conversation(talk.id, talk.format, tuple(map(other, talk.events)), facts=facts)  # type: ignore[arg-type]
    systems = [tuple(map(part, each.view.system)) for each in sent]
    prompts = [Messages(map(other, each.view.messages)) for each in sent]  # type: ignore[arg-type]
    return told, [View(*view) for view in zip(systems, prompts, strict=True)]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_other_names_for_values_leave_all_states_as_they_are(seed: int) -> None:
    talk, sent = session(Random(seed))
    told, views = again(talk, sent)
    one, two = Tracker(ledger_of(talk)), Tracker(ledger_of(told))
    for each, view in zip(sent, views, strict=True):
        assert one.move(each.view) == two.move(view)
        assert one.ledger.moments[each.at] == two.ledger.moments[each.at]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_messages_in_a_prompt_makes_no_difference(seed: int) -> None:
    draw = Random(seed)
    talk, sent = session(draw)
    tracker = Tracker(ledger_of(talk))
    for each in sent:
        shuffled = draw.sample(list(each.view.messages), len(each.view.messages))
        assert tracker.move(each.view) == tracker.move(each.view.with_messages(shuffled))
