"""What a log knows of files, without opening any."""

import json
from typing import Any

import pytest

from compactlab.sim.core.message import Message, verbatim
from compactlab.strategies.claude_code import attached, known_files


def log(*uses: tuple[str, dict[str, Any], str], failed: bool = False) -> list[Message]:
    """Calls, each with its result; `c1`, `r1`, `c2` and so on."""
    told = []
    for n, (name, arguments, result) in enumerate(uses, 1):
        call = verbatim(f"c{n}", "tool_call", json.dumps(arguments), name=name, call_id=f"{n}")
        said = verbatim(f"r{n}", "tool_result", result, call_id=f"{n}", is_error=failed)
        told += [Message(f"c{n}", "assistant", (call,)), Message(f"r{n}", "tool", (said,))]
    return told


def known(*uses, **more) -> list[tuple[str, str, list[str]]]:
    return [
        (file.path, file.text, [source.id for source in file.sources])
        for file in known_files(log(*uses, **more))
    ]


def test_what_was_read_is_known_without_the_numbers_of_its_lines():
    assert known(("Read", {"file_path": "a.py"}, "     1→x = 1\n    12→y = 2")) == [
        ("a.py", "x = 1\ny = 2", ["r1"])
    ]


def test_what_was_written_is_known_from_the_call():
    assert known(("write", {"path": "a.py", "content": "x = 1"}, "ok")) == [
        ("a.py", "x = 1", ["c1"])
    ]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Edit", {"file_path": "a", "old_string": "x = 1", "new_string": "x = 2"}),
        ("edit", {"path": "a", "oldText": "x = 1", "newText": "x = 2"}),
        ("edit", {"filePath": "a", "oldString": "x = 1", "newString": "x = 2"}),
        ("MultiEdit", {"path": "a", "edits": [{"old_string": "1", "new_string": "2"}]}),
    ],
)
def test_an_edit_is_put_in_where_its_old_text_stands(tool, arguments):
    read = ("read", {"path": "a"}, "x = 1\nx = 1")
    assert known(read, (tool, arguments, "ok")) == [("a", "x = 2\nx = 1", ["r1", "c2"])]


def test_an_edit_of_what_is_not_known_changes_the_order_alone():
    edit = ("edit", {"path": "b", "oldText": "old", "newText": "new"}, "ok")
    read = ("read", {"path": "a"}, "x")
    assert known(edit, read) == [("b", "", []), ("a", "x", ["r2"])]


def test_a_piece_does_not_take_the_place_of_the_whole():
    whole, piece = ("read", {"path": "a"}, "1\n2\n3"), ("read", {"path": "a", "limit": 1}, "1")
    assert known(whole, piece) == [("a", "1\n2\n3", ["r1"])]
    assert known(piece, whole) == [("a", "1\n2\n3", ["r2"])]
    assert known(piece) == [("a", "1", ["r1"])]


def test_the_most_recently_modified_come_first_then_the_most_recently_read():
    write = [("write", {"path": path, "content": "x"}, "ok") for path in "ab"]
    read = [("read", {"path": path}, "x") for path in "cda"]
    assert [path for path, _, _ in known(*write, *read)] == ["b", "a", "d", "c"]


def test_what_failed_has_not_happened():
    assert known(("read", {"path": "a"}, "no such file"), failed=True) == []


@pytest.mark.parametrize("text", ["no json", "[1]", '{"path": 3}', "{}"])
def test_calls_of_any_make_are_survived(text):
    call = verbatim("c", "tool_call", text, name="read", call_id="1")
    said = verbatim("r", "tool_result", "x", call_id="1")
    assert known_files([Message("c", "assistant", (call,)), Message("r", "tool", (said,))]) == []


def test_files_are_attached_whole_or_by_their_path_alone():
    told = log(
        ("write", {"path": "long.py", "content": "x" * 100}, "ok"),
        ("write", {"path": "short.py", "content": "y"}, "ok"),
        ("edit", {"path": "unknown.py", "oldText": "a", "newText": "b"}, "ok"),
    )
    parts = attached(told, len, 5, 99)
    assert [(part.kind, part.handle) for part in parts] == [
        ("synthetic", ""),
        ("recovered", "short.py"),
        ("stub", "long.py"),
    ]
    assert attached(told, len, 1, 99) == parts[:2]
