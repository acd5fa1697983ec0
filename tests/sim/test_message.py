"""Parts, messages and usage."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Kind, Message, Part, Source, Usage, verbatim

COUNT = st.integers(0, 10**6)
USAGES = st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT)
NAMELESS: list[Kind] = ["verbatim", "truncated", "stub", "summary", "recovered", "memory"]


@pytest.mark.parametrize("kind", NAMELESS)
def test_what_stands_for_something_says_for_what(kind):
    with pytest.raises(ValueError, match=f"a {kind} part needs the messages"):
        Part("text", "words", kind, ())


@pytest.mark.parametrize("kind", ["synthetic", "opaque"])
def test_what_stands_for_nothing_needs_no_source(kind):
    assert Part("text", "words", kind, ()).sources == ()


def test_a_part_of_a_script_is_its_own_source():
    part = verbatim("m1", "tool_result", "ok", name="ls", call_id="c1", is_error=True, size=3)
    assert part.kind == "verbatim"
    assert part.sources == (Source("m1", -1, 0, -1),)
    assert (part.name, part.call_id, part.is_error, part.size) == ("ls", "c1", True, 3)


def test_nothing_can_be_changed():
    part = verbatim("m1", "text", "hello")
    message = Message("m1", "user", (part,))
    for thing, field in [
        (part, "text"),
        (message, "id"),
        (part.sources[0], "id"),
        (Usage(), "output"),
    ]:
        with pytest.raises(AttributeError):
            setattr(thing, field, "other")


@pytest.mark.parametrize(
    ("role", "meta", "starts"),
    [
        ("user", False, True),
        ("user", True, False),
        ("assistant", False, False),
        ("tool", False, False),
    ],
)
def test_a_turn_starts_where_a_person_speaks(role, meta, starts):
    assert Message("m", role, (), meta=meta).starts_turn is starts  # type: ignore[arg-type]


def test_the_text_of_a_message_is_that_of_its_parts():
    parts = tuple(verbatim("m", "text", words) for words in ["one", "", "two"])
    assert Message("m", "user", parts).text == "one\ntwo"
    assert Message("m", "user", ()).text == ""


@given(USAGES)
def test_every_prompt_token_has_one_class(usage):
    assert usage.cache_write == usage.cache_write_5m + usage.cache_write_1h
    assert usage.prompt == usage.uncached + usage.cache_read + usage.cache_write


@given(USAGES, USAGES)
def test_usages_add_up_class_by_class(one, other):
    pairs = zip(msgspec.structs.astuple(one), msgspec.structs.astuple(other), strict=True)
    assert msgspec.structs.astuple(one + other) == tuple(a + b for a, b in pairs)
    assert one + Usage() == one
