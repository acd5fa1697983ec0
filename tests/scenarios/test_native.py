"""compactlab's own format: what is written is read again, and what is wrong is named."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.scenarios.readers import jsonl, native
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import (
    Compaction,
    Conversation,
    Fact,
    Need,
    PassedOver,
    Rewind,
    SideRequest,
)
from compactlab.sim.core.message import Call, Message, Part, Source, Usage, verbatim

Record = dict[str, Any]

HEADER = {"type": "conversation", "version": 1, "id": "c"}

# ------------------------------------------------------------------ any conversation there may be

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
COUNT = st.integers(0, 10**9)
TIME = st.floats(0, 4e9)
KIND = st.sampled_from(["truncated", "stub", "summary", "recovered", "memory", "opaque"])
USAGE = st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT)
LIFETIME = st.sampled_from(["", "5m", "1h"])
KNOWN = {"id": TEXT, "inherited": st.booleans()}
CALL = st.builds(Call, TEXT, st.none() | USAGE, LIFETIME, **KNOWN)
BESIDE = st.lists(st.builds(SideRequest, TEXT, CALL, TIME, COUNT), max_size=2).map(tuple)
PASSED = st.lists(st.builds(PassedOver, TEXT, COUNT, COUNT, COUNT), max_size=2).map(tuple)
TYPE = st.sampled_from(["text", "thinking", "tool_call", "tool_result", "image"])
SOURCE = st.builds(Source, TEXT, st.integers(-1, 5), COUNT, st.integers(-1, 99))
MADE = st.builds(Part, TYPE, TEXT, KIND, st.lists(SOURCE, min_size=1).map(tuple), TEXT, size=COUNT)
SYNTHETIC = st.builds(Part, TYPE, TEXT, st.just("synthetic"), st.just(()), handle=TEXT)


def messages(id: str) -> st.SearchStrategy[Message]:
    own = st.builds(verbatim, st.just(id), TYPE, TEXT, name=TEXT, is_error=st.booleans())
    elsewhere = st.builds(verbatim, st.just("another"), TYPE, TEXT, call_id=TEXT)
    parts = st.lists(own | elsewhere | MADE | SYNTHETIC, min_size=1, max_size=3).map(tuple)
    role = st.sampled_from(["user", "assistant", "tool"])
    return st.builds(Message, st.just(id), role, parts, TIME, st.booleans(), st.none() | CALL)


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    ids = draw(st.lists(TEXT.filter(bool), min_size=1, max_size=5, unique=True))
    said = [draw(messages(id)) for id in ids]
    events: list[Any] = []
    for message in said:
        events.append(message)
        earlier = st.sampled_from(["", *(e.id for e in events if isinstance(e, Message))])
        inserted = st.lists(messages("s"), max_size=2).map(tuple)
        compaction = st.builds(Compaction, inserted, earlier, TIME, TEXT, COUNT, st.none() | CALL)
        events += draw(st.lists(st.builds(Rewind, earlier) | compaction, max_size=2))
    id = st.sampled_from(ids)
    origin = st.lists(st.builds(Source, id, st.sampled_from([-1, 0])), max_size=2).map(tuple)
    more = {"scope": st.just("session") | id, "polarity": st.sampled_from(["is", "must_not"])}
    fact = {"origin": origin, "deleted_at": st.just("") | id, "decoy": st.booleans(), **more}
    first = draw(st.builds(Fact, st.just("f1"), st.just("decision"), TEXT, TEXT, **fact))
    second = Fact("f2", "goal", "k", "v", supersedes=("f1",), depends_on=("f1", "f2"))
    replies = [message.id for message in said if message.role == "assistant"]
    needs = tuple(Need("f1", at, draw(TEXT)) for at in replies)
    system = draw(st.lists(MADE | SYNTHETIC | messages("system").map(lambda m: m.parts[0])))
    origin_of = st.tuples(st.booleans(), TEXT, st.integers(-1, 99), TEXT, st.booleans(), TEXT)
    header = st.tuples(origin_of, BESIDE, PASSED).map(lambda drawn: (*drawn[0], *drawn[1:]))
    labels = ((first, second), needs)
    return Conversation(
        draw(TEXT), draw(TEXT), tuple(events), tuple(system), *labels, *draw(header)
    )


@settings(max_examples=30)
@given(first=conversations(), second=conversations())
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, first: Conversation, second: Conversation
) -> None:
    path = tmp_path_factory.mktemp("native") / "some.jsonl"
    with path.open("wb") as stream:
        native.write(first, stream)
        native.write(second, stream)
    assert list(native.read(jsonl.Lines(path))) == [first, second]
    native.write(second, path)
    assert [c.digest for c in transcripts.read(path)] == [second.digest]


# ------------------------------------------------------------------------------ what stands in docs


def example(root: Path) -> str:
    formats = (root / "docs" / "formats.md").read_text("utf-8")
    found = re.search(r"```jsonl\n(.*?)```", formats, re.DOTALL)
    assert found
    return found[1]


def test_the_example_in_the_documents_is_read(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "example.jsonl"
    path.write_text(example(root))
    (conversation,) = transcripts.read(path)
    assert (conversation.id, conversation.format) == ("deploy-1", "native")
    assert conversation.source == str(path)
    assert [m.id for m in conversation.messages] == ["u1", "a1", "t1", "a2", "u2", "u3", "a3"]
    assert conversation.messages[0].parts[0].sources == (Source("u1"),)
    assert conversation.system[0].sources == (Source("system"),)
    target = conversation.facts[0]
    (origin,) = target.origin
    assert conversation.messages[0].text[origin.start : origin.end] == target.value
    assert [need.at for need in conversation.needs] == ["a3"]
    stream = io.BytesIO()
    native.write(conversation, stream)
    assert len(stream.getvalue().splitlines()) == len(example(root).splitlines())


def test_written_lines_leave_out_what_goes_without_saying() -> None:
    stream = io.BytesIO()
    message = Message("a", "user", (verbatim("a", "text", "hi"),))
    native.write(Conversation("c", "native", (message,)), stream)
    header, line = map(json.loads, stream.getvalue().splitlines())
    assert header == {**HEADER, "source": ""}
    text = {"type": "text", "text": "hi"}
    assert line == {"type": "message", "id": "a", "role": "user", "parts": [text]}
