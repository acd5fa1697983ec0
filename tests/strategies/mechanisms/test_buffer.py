"""The recency buffer: which messages, and how they are written."""

import pytest

from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.strategies.openclaw.kept import BUFFER_HEADING, buffer_section, buffered, quoted
from compactlab.strategies.pi.summary import text_of


@pytest.mark.parametrize(
    ("keep_messages", "keep_tokens", "count"),
    [
        (10, 2000, 5),
        (3, 2000, 3),
        (0, 2000, 0),
        (10, 200, 2),  # as much as that is allowed
        (10, 199, 1),
        (10, 0, 1),  # the newest is always kept
        (1, 0, 1),
    ],
)
def test_whichever_limit_is_hit_first_and_the_newest_message_always(
    moment, keep_messages, keep_tokens, count
):
    assert buffered(moment("uauau", size=400).messages, keep_messages, keep_tokens) == count


def test_what_weighs_nothing_goes_in_with_the_newest(moment):
    told = moment("uau", sizes={"a2": 0, "u3": 0}, size=400).messages
    assert buffered(told, 10, 0) == 2


def test_only_words_survive():
    call = verbatim("c1", "tool_call", "{}", name="read")
    thought = verbatim("c1", "thinking", "hm")
    image = verbatim("c1", "image", "", size=900)
    told = Message("c1", "assistant", (thought, call, image))
    assert text_of(quoted(told)) == "**Assistant:** "


@pytest.mark.parametrize(
    ("role", "origin", "text"),
    [
        ("user", "", "**User:** one\ntwo"),
        ("assistant", "", "**Assistant:** one\ntwo"),
        ("tool", "", "**toolResult:** one\ntwo"),
        ("user", "custom", "**custom:** one\ntwo"),
        ("user", "system", "**system:** one\ntwo"),
        ("user", "bashExecution", "**bashExecution:** "),
        ("user", "compactionSummary", "**compactionSummary:** "),
    ],
)
def test_a_message_is_told_with_its_role(role, origin, text):
    parts = tuple(verbatim("m", "text", words) for words in ("one", "two"))
    assert text_of(quoted(Message("m", role, parts, origin=origin))) == text


def test_words_keep_their_provenance():
    said = Message("m", "user", (verbatim("m", "text", "hello"),))
    label, words = quoted(said)
    assert (label.kind, label.sources) == ("synthetic", ())
    assert words == Part("text", "hello", "verbatim", (Source("m"),))


def test_the_section_has_a_heading_and_a_blank_line_between_two(moment):
    text = text_of(buffer_section(moment("ua", size=8).messages))
    assert text == f"{BUFFER_HEADING}**User:** u1 says:\n\n**Assistant:** a2 says:"
    assert buffer_section([]) == []
