"""Real frameworks beside our built-ins: pieces of messages, edits, and one framework for real."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from pieces import edits, ids, pieces
from real_programs import Read, said, same

from compactlab.sim.core.message import Part, Source, plain
from tests.examples.conftest import EXAMPLES


def part(type: str, text: str = "said") -> dict[str, Any]:
    return {"type": type, "text": text}


def message(id: str, role: str, *types: str) -> dict[str, Any]:
    return {"id": id, "role": role, "parts": [part(each) for each in types]}


VIEWS = st.lists(
    st.sampled_from(
        [
            ("user", "text"),
            ("user", "text", "image"),
            ("assistant", "thinking", "text", "tool_call", "tool_call"),
            ("tool", "tool_result"),
            ("tool", "tool_result", "image", "tool_result", "tool_result"),
            ("tool", "text", "tool_result"),
        ]
    ),
    max_size=6,
).map(lambda kinds: [message(f"m{n}", *kind) for n, kind in enumerate(kinds)])


@given(view=VIEWS)
def test_pieces_are_all_parts_of_a_view_each_once(view):
    cut = list(pieces(view))
    assert [p for piece in cut for p in piece.parts] == [p for m in view for p in m["parts"]]
    assert ids(piece.key for piece in cut) == [m["id"] for m in view]
    assert all(sum(p["type"] == "tool_result" for p in piece.parts) <= 1 for piece in cut)


@given(view=VIEWS, data=st.data())
def test_edits_say_what_is_left_of_a_view(view, data):
    cut = list(pieces(view))
    kept = [piece for piece in cut if data.draw(st.booleans())]
    told: list[Any] = []
    for edit in edits([piece.key for piece in kept], cut):
        known = {m["id"]: m for m in view}
        if isinstance(edit, str):
            told += known[edit]["parts"]
        else:
            told += [known[edit["id"]]["parts"][index] for index in edit["parts"]]
    assert list(map(id, told)) == [id(p) for piece in kept for p in piece.parts]


def test_a_piece_with_another_text_changes_its_own_part_alone():
    view = [message("m1", "tool", "tool_result", "tool_result"), message("m2", "user", "text")]
    cut = list(pieces(view))
    new = {"role": "user", "parts": [{"text": "so far"}]}
    assert edits([new, "m1#0", ("m1#1", "[cleared]"), "m2#0"], cut) == [
        new,
        {"id": "m1", "parts": [0, {"part": 1, "text": "[cleared]"}]},
        "m2",
    ]


def test_prompts_are_the_same_where_leads_differ_and_what_was_said_does_not():
    ours, theirs = Read(all=1, said=5), Read(all=2, said=5)
    assert same([ours], [theirs])
    assert same([Read(1, 5)], [Read(1, 6)])
    assert not same([ours], [Read(all=3, said=6)])
    assert not same([ours], [theirs, theirs])


def test_of_what_lies_in_a_file_the_spans_that_are_left_count():
    spans = (Source("m1", 0, 0, 8), Source("m1", 0, 90, 99))
    one = Part("tool_result", "beginning (see a.txt) end", "truncated", spans, handle="a.txt")
    other = Part("tool_result", "beginning ... end", "truncated", spans, handle="b.txt")
    assert said(one) == said(other)
    assert said(one) != said(structs.replace(one, sources=spans[:1]))
    assert said(structs.replace(one, handle="")) == one.text
    assert said(plain("So far:")) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "session", "calls"),
    [("strands", "5e-5207b424e2-0", 248), ("gemini-cli", "13-340918e71b-0", 151)],
)
def test_a_framework_and_our_built_in_send_the_same_prompts(shared, tmp_path, name, session, calls):
    recorded = shared / "recorded" / "entireio-cli" / f"{session}.jsonl"
    rows = tmp_path / "rows.json"
    program = [sys.executable, EXAMPLES / "real_programs.py", recorded, "--only", name]
    run = subprocess.run([*program, "--json", rows], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    if not json.loads(rows.read_text()):  # the package cannot be had
        pytest.skip(run.stdout.splitlines()[-1])
    (row,) = json.loads(rows.read_text())
    assert row["equal"] == row["calls"] == calls
    # Gemini CLI's requests for summaries are text there, and messages here.
    assert abs(row["usd_apart"]) <= (0.01 * row["usd"] if name == "gemini-cli" else 0)


@pytest.mark.slow
def test_adk_and_our_ranges_send_the_same_prompts(shared, tmp_path):
    session = shared / "recorded" / "entireio-cli" / "77-8aa463e2ba-0.jsonl"
    rows = tmp_path / "rows.json"
    program = [sys.executable, EXAMPLES / "real_programs.py", session, "--only", "adk"]
    run = subprocess.run([*program, "--json", rows], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    if not (found := json.loads(rows.read_text())):  # the package cannot be had
        pytest.skip(run.stdout.splitlines()[-1])
    assert [row["equal"] for row in found] == [180, 180]
