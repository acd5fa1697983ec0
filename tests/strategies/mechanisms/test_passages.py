"""A log is cut into passages for a search: nothing is lost, and each says where it stands."""

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, plain, verbatim
from compactlab.strategies.mechanisms.passages import passages
from tests.told import said

words = st.text(st.sampled_from("abc \n"), max_size=300)


@given(words, st.integers(1, 50))
def test_the_passages_together_are_the_text_but_for_blanks(text, chars):
    found = list(passages([said("m", text)], chars))
    assert all(0 < len(passage.text) <= chars for passage in found)
    assert all(text[p.source.start : p.source.end] == p.text for p in found)
    assert "".join("".join(p.text for p in found).split()) == "".join(text.split())


def test_a_passage_ends_at_a_line_or_at_a_word_and_else_where_it_must():
    told = said("m", "one two\nthree four five\nsixseveneight")
    ends = ["one two\n", "three four ", "five\n", "sixseveneigh", "t"]
    assert [p.text for p in passages([told], 12)] == ends


def test_thinking_images_and_what_the_client_adds_are_not_searched():
    parts = (
        verbatim("m", "thinking", "hm"),
        verbatim("m", "image", "", size=100),
        plain("a reminder"),
        Part("text", "", "opaque", (), size=10),
        verbatim("m", "tool_call", "{}", name="read", call_id="c"),
    )
    (passage,) = passages([Message("m", "assistant", parts)], 100)
    assert (passage.text, passage.source.part) == ("{}", 4)
