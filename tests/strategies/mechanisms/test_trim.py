"""A tool's result made shorter."""

from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.tokens import utf16_length
from compactlab.strategies.openclaw.pruning import cleared, trimmed

TEXT = st.text("ab\N{ROCKET}\n\u00e9", max_size=40)


def result(*texts: str, **more: object) -> Message:
    """What the tool `read` answered to a call, in so many texts."""
    more = {"name": "read", "call_id": "c1", **more}
    return Message("r1", "tool", tuple(verbatim("r1", "tool_result", t, **more) for t in texts))


def pictured(*texts: str) -> Message:
    """The same, with an image."""
    said = result(*texts)
    return Message("r1", "tool", (*said.parts, verbatim("r1", "image", "", size=1200)))


def ends(message: Message, most: int = 10, head: int = 3, tail: int = 2, **more: bool) -> Message:
    return trimmed(message, most, head, tail, **({"images": True} | more))


def spans(message: Message) -> list[tuple[int, int, int]]:
    return [(source.part, source.start, source.end) for source in message.parts[0].sources]


def test_head_and_tail_stay_and_a_note_says_so():
    (part,) = ends(result("abcdefghijk")).parts
    note = "[Tool result trimmed: kept first 3 chars and last 2 chars of 11 chars.]"
    assert part.text == f"abc\n...\njk\n\n{note}"
    assert (part.type, part.kind, part.name, part.call_id) == (
        "tool_result",
        "truncated",
        "read",
        "c1",
    )


def test_it_says_what_it_is_a_piece_of():
    assert spans(ends(result("abcdefghijk"))) == [(0, 0, 3), (0, 9, -1)]
    assert {source.id for source in ends(result("abcdefghijk")).parts[0].sources} == {"r1"}


def test_what_is_short_enough_is_left_alone():
    at_most, hardly_longer = result("abcdefghij"), result("abcdefghijk")
    assert ends(at_most) is at_most
    assert trimmed(hardly_longer, 10, 6, 5, images=True) is hardly_longer


def test_a_failure_and_a_handle_stay_what_they_are():
    part = ends(result("abcdefghijk", is_error=True, handle="file")).parts[0]
    assert (part.is_error, part.handle) == (True, "file")


def test_several_texts_are_cut_as_one():
    message = ends(result("ab", "cdefgh", "ijkl"), 10, 4, 6)
    assert message.parts[0].text.startswith("ab\nc\n...\nh\nijkl\n\n[")
    assert spans(message) == [(0, 0, -1), (1, 0, 1), (1, 5, -1), (2, 0, -1)]


def test_a_head_or_a_tail_of_nothing():
    assert spans(ends(result("abcdefghijk"), 10, 3, 0)) == [(0, 0, 3)]
    assert spans(ends(result("abcdefghijk"), 10, 0, 2)) == [(0, 9, -1)]
    (part,) = ends(result("abcdefghijk"), 10, 0, 0).parts
    assert (part.kind, part.sources) == ("stub", (Source("r1"),))


def test_a_cut_may_go_through_a_pair_of_code_units_and_stands_for_neither_half():
    rockets = "a" + "\N{ROCKET}" * 6
    message = ends(result(rockets), 10, 4, 3)
    assert message.parts[0].text.startswith("a\N{ROCKET}\ud83d\n...\n\ude80\N{ROCKET}\n")
    assert spans(message) == [(0, 0, 2), (0, 6, -1)]


def test_a_line_takes_the_place_of_images_however_short_it_is():
    (part,) = ends(pictured("tiny"), 4000).parts
    assert part.text == "tiny\n[image removed during context pruning]"
    assert (part.kind, part.sources) == ("truncated", (Source("r1", 0),))
    assert ends(pictured(), 4000).parts[0].kind == "stub"


def test_where_images_stay_their_result_does():
    message = pictured("a" * 100)
    assert ends(message, images=False) is message


def test_a_piece_of_a_piece_stands_for_what_that_stood_for():
    once = ends(result("abcdefghijk" * 9))
    assert ends(once).parts[0].sources == once.parts[0].sources


def test_what_was_made_up_stays_made_up():
    missing = Part("tool_result", "nothing was found here", "synthetic", (), "read", "c1")
    made = Message("r1", "tool", (missing,))
    assert ends(made).parts[0].kind == cleared(made, "gone").parts[0].kind == "synthetic"


def test_what_is_cleared_keeps_its_call():
    (part,) = cleared(pictured("ab", "cd"), "gone").parts
    assert (part.text, part.kind, part.call_id, part.name) == ("gone", "stub", "c1", "read")
    assert part.sources == (Source("r1"),)


@settings(max_examples=200)
@given(
    texts=st.lists(TEXT, min_size=1, max_size=4), head=st.integers(0, 30), tail=st.integers(0, 30)
)
def test_the_spans_are_what_is_left_of_each_text(texts, head, tail):
    message = result(*texts)
    shorter = trimmed(message, 20, head, tail, images=True)
    whole = "\n".join(texts)
    if shorter is message:
        assert utf16_length(whole) <= max(20, head + tail)
        return
    text = shorter.parts[0].text
    for part, start, end in spans(shorter) if shorter.parts[0].kind == "truncated" else ():
        said = texts[part]
        assert said[start : end if end >= 0 else None] in text
    begins, _, rest = text.partition("\n...\n")
    assert utf16_length(begins) == head or "\n...\n" in whole
    assert f"of {utf16_length(whole)} chars.]" in rest
