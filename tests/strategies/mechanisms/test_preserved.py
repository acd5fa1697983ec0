"""The turns that are kept under a summary."""

import pytest

from compactlab.sim.core.message import Message, Source, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies.openclaw.kept import TURNS_HEADING, split_turns, turns_section
from compactlab.strategies.pi.summary import text_of

NEWEST = " ".join(f"u{n} a{n + 1}" for n in range(5, 29, 2))


@pytest.mark.parametrize(
    ("script", "turns", "parted"),
    [
        ("uauaua", 1, "u1 a2 u3 a4 | u5 a6"),
        ("uauaua", 2, "u1 a2 | u3 a4 u5 a6"),
        ("uauaua", 0, "u1 a2 u3 a4 u5 a6 | "),
        ("ucrcra", 1, " | u1 c2 r3 c4 r5 a6"),
        ("aaaaua", 2, "a1 a2 | a3 a4 u5 a6"),  # fewer turns: the newest, twice as many
        ("ua" * 14, 12, "u1 a2 u3 a4 | " + NEWEST),
        ("oua", 1, " | u2 a3"),  # what is left is repaired: a result of no call is dropped
    ],
)
def test_so_many_turns_are_kept(moment, ids, script, turns, parted):
    old, kept = split_turns(moment(script).messages, turns)
    assert f"{ids(old)} | {ids(kept)}" == parted


def test_results_of_calls_that_are_kept_are_kept(moment, ids):
    """Of a long turn only its newest messages are, if there are fewer turns than should be."""
    old, kept = split_turns(moment("ucrcrcrcra").messages, 2)
    assert (ids(old), ids(kept)) == ("c2 r3 c4 r5", "u1 c6 r7 c8 r9 a10")


def line(*parts: tuple[str, str], role: str = "user", tool: str = "") -> str:
    made = tuple(verbatim("m", type, text, name=tool) for type, text in parts)
    return text_of(turns_section([Message("m", role, made)]))


@pytest.mark.parametrize(
    ("parts", "role", "told"),
    [
        ([("text", " hi ")], "user", "\n- User: hi"),
        ([("text", "a"), ("text", "b")], "assistant", "\n- Assistant: a\nb"),
        ([("tool_result", "ok")], "tool", "\n- Tool result (tool): ok"),
        (
            [("text", "a"), ("tool_call", "{}"), ("tool_call", "{}"), ("thinking", "hm")],
            "assistant",
            "\n- Assistant: a\n[non-text content: toolCall x2, thinking]",
        ),
        ([("image", "")], "user", "\n- User: [non-text content: image]"),
    ],
)
def test_a_message_is_a_line(parts, role, told):
    assert line(*parts, role=role) == TURNS_HEADING + told


def test_what_says_nothing_is_no_line():
    assert line(("text", " ")) == ""
    assert turns_section([]) == []


def test_a_long_line_is_cut():
    assert line(("text", "x" * 600)) == f"{TURNS_HEADING}\n- User: {'x' * 600}"
    assert line(("text", "x" * 601)) == f"{TURNS_HEADING}\n- User: {'x' * 600}..."


@pytest.mark.parametrize(
    ("words", "end"),
    [(598, "\n[..."), (599, "\n..."), (600, "...")],
)
def test_what_is_no_words_counts_to_its_length(words, end):
    text = line(("text", "x" * words), ("tool_call", "{}"), role="assistant")
    assert text == f"{TURNS_HEADING}\n- Assistant: {'x' * words}{end}"


def test_every_piece_says_where_it_comes_from():
    parts = (verbatim("m", "text", "  hello  "), verbatim("m", "tool_call", "{}"))
    _, _, words, _, rest = turns_section([Message("m", "assistant", parts)])
    assert (words.kind, words.sources) == ("verbatim", (Source("m", 0, 2, 7),))
    assert (rest.kind, rest.sources) == ("stub", (Source("m"),))
    cut = turns_section([Message("m", "user", (verbatim("m", "text", "x" * 700),))])[2]
    assert (cut.kind, cut.sources) == ("truncated", (Source("m", 0, 0, 600),))


def test_nothing_is_kept_of_nothing():
    assert split_turns(Messages(), 3) == (Messages(), [])
