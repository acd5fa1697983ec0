"""A prompt that moves from view to view is the prompt that would be built anew."""

import itertools
from typing import ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.cache.prompt import CLIENT_CONTEXT, Prompt
from compactlab.sim.core.blocks import blocks_of as memory_of
from compactlab.sim.core.blocks import forget_blocks
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import View
from tests.sim.drawn import MESSAGES, QUICK, copied, sized, text, views
from tests.sim.reference_cache import blocks_of, shared_blocks, sizes_of


def prompt_of(*steps: View, tokenizer: Tokenizer = QUICK) -> Prompt:
    prompt = Prompt(tokenizer)
    for view in steps:
        prompt.move(view)
    return prompt


def shape(prompt: Prompt) -> tuple[object, ...]:
    return (prompt.view, prompt.keys, prompt.totals, prompt.starts, prompt.front, prompt.tokens)


@given(views())
def test_moving_step_by_step_equals_building_anew(steps):
    moved = Prompt(QUICK)
    for view in steps:
        moved.move(view)
        assert shape(moved) == shape(prompt_of(view))


@given(views())
def test_totals_add_up_and_messages_start_where_they_start(steps):
    view = steps[-1]
    prompt, lengths = prompt_of(*steps), [len(m.parts) for m in view.messages]
    assert prompt.totals == list(itertools.accumulate(sizes_of(view, QUICK)))
    assert [*prompt.starts, len(prompt.keys)] == list(
        itertools.accumulate(lengths, initial=len(view.system))
    )


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 4), st.integers(0, 4)), max_size=4))
def test_keys_behind_an_edit_are_those_of_the_prompt_built_anew(edits):
    """Long ones are moved, and only the last of them is known before."""
    view = View((text("system"),)).append(*(sized(f"m{n}", *[n] * (n % 3 + 1)) for n in range(90)))
    prompt = prompt_of(view)
    for start, gone, come in edits:
        prompt.key(len(prompt.symbols) - 1)
        new = [sized(f"new{n}", start, n) for n in range(come)]
        messages = [*view.messages[:start], *new, *view.messages[start + gone :], sized("end", 1)]
        view = view.with_messages(messages)
        prompt.move(view)
        prompt.key(len(prompt.symbols) - 1)
    assert shape(prompt) == shape(prompt_of(view))


@given(views(), st.data())
def test_sent_is_what_is_shared_with_the_prompt_that_was_last_sent(steps, data):
    prompt, last = Prompt(QUICK), View()
    for view in steps:
        prompt.move(view)
        if data.draw(st.booleans(), "asked"):
            shared = shared_blocks(blocks_of(last), blocks_of(view))
            assert prompt.sent == sum(sizes_of(view, QUICK)[:shared])
        if data.draw(st.booleans(), "sent"):
            prompt.mark_sent()
            last = view


def test_a_prompt_that_was_sent_and_comes_back_has_been_sent():
    view = View((text("", size=500),)).append(sized("a", 10), sized("b", 20))
    prompt = prompt_of(view)
    assert prompt.sent == 0
    prompt.mark_sent()
    for other, sent in [(View(), 0), (view.with_messages(view.messages[:1]), 510), (view, 530)]:
        prompt.move(other)
        assert prompt.sent == sent


def test_what_was_sent_before_the_last_time_does_not_count():
    view = View().append(sized("a", 10), sized("b", 20))
    prompt = prompt_of(view)
    for sent in (view, view.with_messages(view.messages[:1])):
        prompt.move(sent)
        prompt.mark_sent()
    prompt.move(view)
    assert prompt.sent == 10


@given(views())
def test_keys_are_equal_exactly_as_far_as_the_contents_are(steps):
    prompt = Prompt(QUICK)
    for view, other in itertools.pairwise(steps):
        mine, its = prompt_of(view), prompt_of(other)
        equal = [a == b for a, b in zip(mine.keys, its.keys, strict=False)]
        shared = shared_blocks(blocks_of(view), blocks_of(other))
        assert equal == [True] * shared + [False] * (len(equal) - shared)
        prompt.move(view)


@given(MESSAGES)
def test_messages_of_equal_content_share_the_prefix(message):
    prompt = prompt_of(View().append(message))
    prompt.mark_sent()
    prompt.move(View().append(copied(message), sized("b", 1)))
    assert prompt.sent == QUICK.message(message)


def test_provenance_and_time_are_not_part_of_what_is_read():
    part = Part("text", "so far so good", "synthetic", ())
    one, other = (
        View().append(Message("a", "user", (text("so far so good"),))),
        View().append(Message("b", "user", (part,), time=9.0, meta=True)),
    )
    assert prompt_of(one).keys == prompt_of(other).keys


def test_everything_that_is_read_makes_a_difference():
    plain = Part("tool_result", "ok", "synthetic", (), "ls", "c1")
    changes: list[dict[str, object]] = [
        {"type": "text"}, {"text": "no"}, {"name": "cat"}, {"call_id": "c2"},
        {"is_error": True}, {"size": 3},
    ]  # fmt: skip
    parts = [plain, *(msgspec.structs.replace(plain, **change) for change in changes)]
    prompts = [prompt_of(View().append(Message("m", "tool", (part,)))) for part in parts]
    prompts.append(prompt_of(View().append(Message("m", "user", (plain,)))))
    prompts.append(prompt_of(View((plain,))))
    assert len({prompt.keys[0] for prompt in prompts}) == len(prompts) == 9


def test_the_order_of_blocks_makes_a_difference_to_all_that_follows():
    one = prompt_of(View().append(sized("a", 1), sized("b", 1), sized("c", 1)))
    other = prompt_of(View().append(sized("b", 1), sized("a", 1), sized("c", 1)))
    assert not set(one.keys) & set(other.keys)


def test_what_has_no_text_is_named_by_where_it_comes_from():
    here, there = (prompt_of(View().append(sized(id, 40))) for id in ("a", "b"))
    assert here.totals == there.totals
    assert here.keys != there.keys


@pytest.mark.parametrize(
    ("text", "name", "call"),
    [("False\x1ft", "ls", "c"), ("t", "l", "sc\x1fFalse"), ("t", "ls", "c\x1fFals")],
)
def test_parts_that_only_look_alike_when_written_in_a_row_are_different(text, name, call):
    """Whatever separates the fields of a block can occur in a text, too."""
    one = Part("tool_result", "t", "synthetic", (), "ls", "c\x1fFalse")
    other = Part("tool_result", text, "synthetic", (), name, call)
    keys = [prompt_of(View().append(Message("m", "tool", (part,)))).keys for part in (one, other)]
    assert keys[0] != keys[1]


# What a client adds to each session


def test_the_front_ends_where_the_clients_context_starts():
    tools, own, more = text("tools"), text("cwd: /", name=CLIENT_CONTEXT), text("date")
    assert prompt_of(View((tools, tools))).front == 2
    assert prompt_of(View((tools, own, more))).front == 1
    assert prompt_of(View((own,))).front == 0
    assert prompt_of(View((tools,)), View()).front == 0


def test_another_name_is_no_clients_context():
    assert prompt_of(View((text("tools", name="client"),))).front == 1


@given(views())
def test_a_message_ends_with_all_that_came_before_it(steps):
    view, prompt = steps[-1], prompt_of(*steps)
    ends = [*prompt.starts, len(prompt.symbols)]
    end = sum(map(QUICK.part, view.system))
    for index, message in zip(ends, [*view.messages, None], strict=True):
        assert (prompt.totals[index - 1] if index else 0) == end
        end += QUICK.message(message) if message else 0


class Spy(Tokenizer):
    """A tokenizer that tells what it was asked to count."""

    asked: ClassVar[list[str]] = []

    def part(self, part: Part) -> int:
        self.asked.append(part.text)
        return super().part(part)


def test_a_message_is_counted_once_however_often_and_by_whomever_it_is_sent():
    texts = [f"text {call}" for call in range(20)]
    one, other, view = Prompt(Spy()), Prompt(Spy()), View((text("system"),))
    for words in texts:
        view = view.append(Message(words, "user", (text(words),)))
        for prompt, first in [(one, 0), (one, 3), (other, 1)]:
            prompt.move(View(view.system, view.messages[first:]))
    assert sorted(Spy.asked) == sorted(["system", "system", *texts])
    forget_blocks()


def test_what_was_forgotten_is_counted_again_and_comes_to_the_same():
    view = View().append(sized("a", 10), Message("b", "user", (text("hello world"),)))
    before = prompt_of(view)
    forget_blocks()
    assert shape(prompt_of(view)) == shape(before)


@given(MESSAGES)
def test_the_memory_of_blocks_says_what_the_tokenizer_says(message):
    blocks = memory_of(QUICK)
    for _ in range(2):
        assert blocks.tokens(message) == QUICK.message(message)
        [(symbols, tokens)] = blocks.of([message])
        assert [*tokens] == [*map(QUICK.part, message.parts)]
        assert len(symbols) == len(tokens)
