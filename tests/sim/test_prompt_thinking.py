"""A model that drops the thinking of earlier turns is sent what would be built without it."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.blocks import Blocks
from compactlab.sim.core.message import Message, PartType, Role
from compactlab.sim.core.view import View
from tests.sim.drawn import QUICK, part, text, views
from tests.sim.reference_cache import blocks_of as content_of
from tests.sim.reference_cache import shared_blocks, sizes_of, without_old_thoughts


def shape(prompt: Prompt) -> tuple[object, ...]:
    return (
        prompt.symbols,
        prompt.totals,
        prompt.tokens,
        prompt.keys,
        prompt.starts,
        prompt.front,
        prompt.tools,
    )


def built_anew(view: View) -> Prompt:
    """The prompt of a view whose old thinking was taken out by hand."""
    prompt = Prompt(QUICK, blocks=Blocks(QUICK))
    prompt.move(without_old_thoughts(view))
    return prompt


@given(views(12), st.booleans())
def test_moving_step_by_step_equals_taking_the_thinking_out_by_hand(steps, known):
    blocks = Blocks(QUICK)
    if known:  # by another prompt that has come first
        for view in steps:
            Prompt(QUICK, blocks=blocks).move(view)
    moved = Prompt(QUICK, strips=True, blocks=blocks)
    for view in steps:
        moved.move(view)
        assert shape(moved) == shape(built_anew(view))
        assert moved.view is view


@given(views(12), st.data())
def test_keys_that_were_asked_for_in_between_change_nothing(steps, data):
    moved = Prompt(QUICK, strips=True, blocks=Blocks(QUICK))
    for view in steps:
        moved.move(view)
        if moved.symbols and data.draw(st.booleans()):
            moved.key(data.draw(st.integers(0, len(moved.symbols) - 1)))
        if data.draw(st.booleans()):
            assert moved.keys == built_anew(view).keys


@given(views(12), st.data())
def test_what_was_sent_is_told_from_the_prompt_without_its_thinking(steps, data):
    prompt, last = Prompt(QUICK, strips=True, blocks=Blocks(QUICK)), View()
    for view in steps:
        prompt.move(view)
        bare = without_old_thoughts(view)
        if data.draw(st.booleans(), "asked"):
            shared = shared_blocks(content_of(last), content_of(bare))
            assert prompt.agreed == shared
            assert prompt.sent == sum(sizes_of(bare, QUICK)[:shared])
        if data.draw(st.booleans(), "sent"):
            prompt.mark_sent()
            last = bare


@given(views(12))
def test_stripped_is_the_first_message_that_lost_or_regained_its_thinking(steps):
    """Of those that stood in the last prompt, too: what comes without it has not lost it."""
    prompt = Prompt(QUICK, strips=True, blocks=Blocks(QUICK))
    for last, view in itertools.pairwise([View(), *steps]):
        prompt.move(view)
        same, gone, come = last.messages.edit(view.messages)
        turn = [turn_of(last), turn_of(view)]
        pairs = [(i, i) for i in range(same)]
        pairs += [(gone + i, come + i) for i in range(len(last.messages) - gone)]
        changed = [
            there
            for here, there in pairs
            if any(p.type == "thinking" for p in view.messages[there].parts)
            and (here < turn[0]) != (there < turn[1])
        ]
        assert prompt.stripped == min(changed, default=None)


def turn_of(view: View) -> int:
    """Where the last turn starts; 0 if there is none."""
    return max((i for i, m in enumerate(view.messages) if m.starts_turn), default=0)


# What the last move took out


def said(id: str, *types: PartType, role: Role = "assistant") -> Message:
    return Message(id, role, tuple(part(type, "x" * 50, origin=id) for type in types))


ASK, THINK = said("u1", "text", role="user"), said("a1", "thinking", "text")
AGAIN, LATER = said("u2", "text", role="user"), said("a2", "thinking", "text")


def test_a_new_turn_takes_the_thinking_of_the_last_one():
    prompt, view = Prompt(QUICK, strips=True), View().append(ASK, THINK)
    moves = [
        (view, None),
        (view.append(AGAIN), 1),
        (view.append(AGAIN, LATER), None),
        (view.append(AGAIN, LATER, said("u3", "text", role="user")), 3),
        (view.append(AGAIN, LATER), 3),
        (view, 1),
    ]
    for moved, stripped in moves:
        prompt.move(moved)
        assert prompt.stripped == stripped


def test_thinking_that_was_never_there_is_not_taken_out():
    prompt, view = Prompt(QUICK, strips=True), View().append(ASK, THINK, AGAIN)
    prompt.move(view)
    assert (prompt.stripped, len(prompt.symbols)) == (None, 3)


def test_where_nobody_has_spoken_what_comes_in_front_starts_no_turn():
    """A session that was cut in the middle of a turn, with something put before it."""
    blocks = Blocks(QUICK)
    prompt = Prompt(QUICK, strips=True, blocks=blocks)
    first = said("a0", "thinking", "text")
    for messages in ((THINK,), (LATER, THINK), (first, LATER, THINK)):
        view = View().append(*messages)
        prompt.move(view)
        assert (shape(prompt), prompt.stripped) == (shape(built_anew(view)), None)
    prompt.move(view.append(AGAIN))
    assert prompt.stripped == 0


def test_another_system_prompt_takes_no_thinking_out():
    prompt, view = Prompt(QUICK, strips=True), View().append(ASK, THINK, AGAIN)
    for moved in (view, view.with_system(text("another"))):
        prompt.move(moved)
        assert prompt.stripped is None
    prompt.move(view.append(LATER, said("u3", "text", role="user")))
    assert prompt.stripped is None  # it came, and was gone, in one move
