"""Lines beside the transcript: read, written, brought up to date and shown."""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.scenarios.catalogue import SCENARIOS, sources
from compactlab.sim.core.message import Message, verbatim
from compactlab.sim.core.tokens import utf16_length
from compactlab.strategies.openclaw.sidecar import (
    HEADER,
    INSTRUCTION,
    Item,
    Sidecar,
    block,
    dump,
    is_needed,
    load,
    shortened,
    update,
)

EMPTY = Sidecar(0, (), 1)
NOW = 1_769_904_000_000


def says(text: str, role="user", **more) -> Message:
    return Message(text[:9] or "empty", role, (verbatim("m", "text", text),), **more)


def texts(state: Sidecar) -> list[str]:
    return [item.text for item in state.items]


HELLO = [says("hello"), says("hi there", "assistant"), says("bye")]


class TestFile:
    """What is read and written."""

    @pytest.mark.parametrize(
        "file",
        [
            None,
            "",
            "no json",
            "null",
            "5",
            '"x"',
            "[1]",
            '{"items": NaN}',
            "{" * 100_000,
            "\ufeff{}",
        ],
    )
    def test_what_makes_no_sense_is_empty(self, file):
        assert load(file, NOW) == Sidecar(0, (), NOW)

    @pytest.mark.parametrize(
        ("count", "read"),
        [("2.9", 2), ("-1", 0), ("-0", 0), ('"3"', 0), ("true", 0), ("1e999", 0), ("7", 7)],
    )
    def test_a_count_is_a_whole_number_that_is_not_negative(self, count, read):
        assert load(f'{{"lastProcessedMessageCount": {count}}}', NOW).processed == read

    def test_lines_that_are_no_text_are_left_out_and_any_version_will_do(self):
        state = load('{"version": 99, "items": ["a", 1, null, "b"], "updatedAt": 5}', NOW)
        assert (texts(state), state.version, state.updated) == (["a", "b"], 1, 5)

    def test_ids_are_known_only_if_there_is_one_for_each_line(self):
        file = '{"items": ["a", "b"]}'
        assert [item.id for item in load(file, NOW, ["m1", "m2"]).items] == ["m1", "m2"]
        assert [item.id for item in load(file, NOW, ["m1"]).items] == ["", ""]

    def test_it_is_written_as_javascript_writes_it(self):
        state = Sidecar(1e21, (Item('"\x01é\u2028\ud83d…'),), 1)
        assert dump(state, 5) == (
            '{\n  "version": 1,\n  "lastProcessedMessageCount": 1e+21,\n  "items": [\n'
            '    "\\"\\u0001é\u2028\\ud83d…"\n  ],\n  "updatedAt": 5\n}\n'
        )
        assert '"items": [],' in dump(EMPTY, 5)

    @given(st.lists(st.text()), st.integers(0, 2**53))
    def test_what_was_written_is_read_again(self, lines, count):
        written = dump(Sidecar(count, tuple(map(Item, lines)), 3), NOW)
        assert load(written, 1) == Sidecar(count, tuple(map(Item, lines)), NOW)
        assert json.loads(written)["items"] == lines


class TestUpdate:
    """What becomes of new messages."""

    def test_each_message_has_a_line_and_remembers_where_it_is_from(self):
        state = update(EMPTY, HELLO, NOW)
        assert texts(state) == ["User: hello", "Assistant: hi there", "User: bye"]
        assert [item.id for item in state.items] == ["hello", "hi there", "bye"]
        assert (state.processed, state.updated) == (3, NOW)

    def test_where_nothing_is_new_it_is_the_same_state(self):
        for count in (3, 4, 99):
            state = Sidecar(count, (Item("User: gone"),), 1)
            assert update(state, HELLO, NOW) is state

    def test_hardened_it_begins_anew_when_there_are_fewer(self):
        state = Sidecar(4, (Item("User: gone"),), 1)
        assert texts(update(state, HELLO, NOW, hardened=True))[0] == "User: hello"
        assert update(Sidecar(4, (), 1), [], NOW, hardened=True).processed == 0

    def test_hardened_as_many_are_nothing_new_whoever_they_are(self):
        state = Sidecar(3, (Item("User: gone"),), 1)
        assert update(state, HELLO, NOW, hardened=True) is state

    def test_hardened_it_does_not_read_what_it_has_written(self):
        echo = [says(f"  {HEADER}\nwords\n\nmy question"), says("ok", "assistant")]
        assert texts(update(EMPTY, echo, NOW, hardened=True)) == ["Assistant: ok"]
        assert texts(update(EMPTY, echo, NOW))[0] == f"User: {HEADER} words my question"

    @pytest.mark.parametrize("hardened", [True, False])
    def test_repetitions_are_found_only_against_the_last_old_line(self, hardened):
        same = [says("hi"), says("hi"), says("ho"), says("hi")]
        old = Sidecar(0, (Item("User: hi"),), 1)
        assert texts(update(old, same, NOW, hardened=hardened)) == ["User: hi", "User: ho"]
        assert texts(update(EMPTY, same, NOW, hardened=hardened)) == [
            "User: hi", "User: hi", "User: ho", "User: hi"
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("most", "kept"),
        [(None, 3), (2, 2), (2.9, 2), (0, 1), (-5, 1), (math.nan, 3), (math.inf, 3)],
    )
    def test_the_newest_lines_are_kept(self, most, kept):
        assert texts(update(EMPTY, HELLO, NOW, max_items=most)) == [
            "User: hello", "Assistant: hi there", "User: bye"
        ][3 - kept :]  # fmt: skip

    def test_blanks_are_those_of_javascript(self):
        assert texts(update(EMPTY, [says("\ufeffa\n\x1cb\x85 c\xa0")], NOW)) == [
            "User: a \x1cb\x85 c"
        ]

    @given(st.lists(st.sampled_from(["a", "b\N{ROCKET}", " ", "word " * 90, "x" * 300])))
    def test_a_line_is_never_too_long_however_a_message_is_cut_up(self, words):
        parts = tuple(verbatim("m", "text", text) for text in words)
        one = " ".join(" ".join(words).split())
        state = update(EMPTY, [Message("m", "user", parts)], NOW)
        assert texts(state) == ([f"User: {shortened(one, 220)}"] if one else [])


class TestBlock:
    """What is shown."""

    def test_the_header_is_as_long_as_in_the_original(self):
        assert len(f"{HEADER}\n{INSTRUCTION}") == 104

    def test_without_lines_there_is_none(self):
        assert block([]) is None

    @pytest.mark.parametrize(
        ("limit", "length"), [(0, 1), (1, 1), (50, 50), (104, 104), (112, 104)]
    )
    def test_where_no_line_fits_there_is_the_header_as_far_as_it_goes(self, limit, length):
        shown = block([Item("User: aa")], limit)
        assert (len(shown.text), shown.items) == (length, ())

    @given(st.lists(st.text(max_size=60).map(Item), min_size=1), st.integers(100, 700))
    def test_the_newest_that_fit_are_shown(self, items, limit):
        shown = block(items, limit)
        assert utf16_length(shown.text) <= limit
        count = len(shown.items)
        assert list(shown.items) == items[len(items) - count :]
        if limit > 104 and count < len(items):
            one_more = [f"- {item.text}\n" for item in items[len(items) - count - 1 :]]
            assert 105 + sum(map(utf16_length, one_more)) > limit

    @pytest.mark.parametrize("limit", [math.nan, math.inf])
    def test_without_a_limit_all_are_shown(self, limit):
        items = [Item("User: " + "a" * 200)] * 20
        assert len(block(items, limit).items) == 20


def test_hardened_it_is_shown_when_something_is_missing_or_the_window_fills():
    assert is_needed(trimmed=True, pressure=0.0)
    assert is_needed(trimmed=False, pressure=0.72)
    assert not is_needed(trimmed=False, pressure=0.7199)


def test_lines_of_scenarios_hardly_ever_repeat():
    """What the comparison with the old lines alone costs; the figure of docs/dev/measured.md."""
    lines = repeated = 0
    for source in sources([f"{name}(tokens=20000)" for name in sorted(SCENARIOS)])[0]:
        for told in source.conversations():
            state = Sidecar(0, (), NOW)
            for index, message in enumerate(told.messages):
                if message.starts_turn:
                    state = update(state, told.messages[:index], NOW, max_items=math.inf)
            lines += len(state.items)
            repeated += sum(one == other for one, other in pairwise(texts(state)))
    assert (lines, repeated) == snapshot((792, 0))
