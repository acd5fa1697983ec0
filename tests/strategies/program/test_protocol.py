"""The protocol is what its page and its schema say."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.strategies.program import protocol
from compactlab.strategies.program.plain import drafts
from compactlab.strategies.program.protocol import (
    Answer,
    Begin,
    File,
    Greeting,
    Hello,
    Question,
    Summary,
    line_of,
    read_line,
    sent_message,
)

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "protocol.md").read_text(encoding="utf-8")


def test_the_schema_beside_the_page_is_that_of_the_code():
    stored = json.loads((DOCS / "protocol.schema.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(protocol.schema())), "make docs writes it anew"


def test_the_session_of_the_page_is_one():
    program = [read_line(line.encode()) for line in re.findall(r"^< (.*)$", PAGE, re.MULTILINE)]
    host = re.findall(r"^> (.*)$", PAGE, re.MULTILINE)
    kinds = (Greeting, Begin, Question, Question, Summary)
    read = [msgspec.json.decode(line, type=kind) for line, kind in zip(host, kinds, strict=True)]
    # As the host writes them.
    assert [line_of(each).decode().rstrip("\n") for each in read] == host
    assert isinstance(program[0], Hello)
    assert [p.id for p in program if isinstance(p, Answer)] == [1, 2]


def test_every_field_of_the_schema_is_on_the_page():
    definitions = protocol.schema()["$defs"]
    fields = {name for each in definitions.values() for name in each.get("properties", ())}
    assert not [name for name in sorted(fields) if not re.search(rf'[`"]{name}[`"]', PAGE)]


def test_a_message_is_one_line_however_lines_are_split():
    text = "one\u2028two\u2029three\x85four\nfive\rsix"
    (line,) = line_of(File(text)).decode().splitlines()
    assert json.loads(line)["text"] == text


def test_half_a_pair_of_surrogates_goes_there_and_back():
    message = Message("m", "user", (verbatim("m", "text", "cut \ud83d"),))
    line = line_of(
        Question(1, "before_call", ("m",), (sent_message(message, [3]),), 3, 9, 0, 0, None, {})
    )
    told = json.loads(line)["new"][0]["parts"][0]["text"]
    back = read_line(json.dumps({"type": "count", "text": told}).encode())
    assert back == protocol.CountText("cut \ud83d")


def test_what_is_its_own_and_usual_is_left_out():
    own = verbatim("m", "text", "hello")
    other = Part("text", "a", "summary", (Source("x"), Source("y", 1, 2, 3)), size=4)
    sent = json.loads(msgspec.json.encode(sent_message(Message("m", "user", (own, other)), (1, 5))))
    assert sent["parts"] == [
        {"type": "text", "text": "hello", "tokens": 1},
        {
            "type": "text",
            "text": "a",
            "kind": "summary",
            "sources": ["x", {"id": "y", "part": 1, "start": 2, "end": 3}],
            "size": 4,
            "tokens": 5,
        },
    ]
    assert sent["tokens"] == 6


@pytest.mark.parametrize("line", [b"", b"null", b"[]", b"{}", b'{"type":1}', b'{"type":"hello"}'])
def test_what_is_no_message_is_a_value_error(line):
    with pytest.raises(ValueError, match=r"."):
        read_line(line)


WORDS = st.sampled_from([
    "role", "content", "tool_calls", "tool_call_id", "function", "name", "arguments", "id", "type",
    "text", "input", "tool_use", "tool_result", "tool_use_id", "thinking", "image", "is_error",
    "user", "assistant", "tool",
])  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
)
ROLES = st.sampled_from(["user", "assistant", "tool", "function", "system", "x"])


@given(st.dictionaries(WORDS, ANYTHING, max_size=6), ROLES)
@settings(max_examples=1000)
def test_any_message_is_taken_or_what_is_wrong_with_it_is_said(message, role):
    try:
        made = list(drafts([{**message, "role": role}]))
    except ValueError as error:
        assert str(error).startswith("answered ")  # noqa: PT017
    else:
        assert all(isinstance(part.text, str) for draft in made for part in draft.parts)
