"""The lists of files under a summary."""

import pytest

from compactlab.sim.core.message import Message, verbatim
from compactlab.strategies.pi.preparation import Files, file_section
from compactlab.strategies.pi.summary import text_of


def calls(*named: tuple[str, str], id: str = "c1", role: str = "assistant") -> Message:
    parts = (verbatim(id, "tool_call", arguments, name=tool) for tool, arguments in named)
    return Message(id, role, tuple(parts))


def noted(*messages: Message) -> Files:
    files = Files()
    files.note(messages)
    return files


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("read", '{"path":"a.py"}', {"a.py": "c1"}),
        ("Read", '{"path":"a.py"}', {}),
        ("read", '{"path":""}', {}),
        ("read", '{"path":7}', {}),
        ("read", '{"file":"a.py"}', {}),
        ("read", '["a.py"]', {}),
        ("read", "no JSON", {}),
        ("bash", '{"path":"a.py"}', {}),
    ],
)
def test_a_path_is_that_of_a_call_of_a_tool_with_that_very_name(tool, arguments, found):
    assert noted(calls((tool, arguments))).read == found


def test_only_answers_call_tools():
    assert noted(calls(("read", '{"path":"a.py"}'), role="user")).read == {}


def test_what_was_changed_is_no_longer_listed_as_read():
    files = noted(
        calls(("read", '{"path":"b"}'), ("read", '{"path":"a"}')),
        calls(("write", '{"path":"b"}'), ("edit", '{"path":"c"}'), id="c2"),
    )
    assert (list(files.only_read), list(files.modified)) == (["a"], ["b", "c"])
    assert files.carried() == Files({"a": "c1"}, {}, {"b": "c2", "c": "c2"})


def test_lists_are_sorted_by_utf_16_code_units():
    paths = ["\uff46.md", "\N{GRINNING FACE}.md", "a", "B", "10", "9"]
    assert list(Files(dict.fromkeys(paths, "")).only_read) == [
        "10", "9", "B", "a", "\N{GRINNING FACE}.md", "\uff46.md"
    ]  # fmt: skip


def test_the_section_names_the_messages_that_it_comes_from():
    before, paths, after = file_section(Files({"a": "c1", "b": "c2", "c": "c1"}))
    assert (before.kind, paths.kind, after.kind) == ("synthetic", "summary", "synthetic")
    assert [source.id for source in paths.sources] == ["c1", "c2"]
    assert text_of([before, paths, after]) == "\n\n<read-files>\na\nb\nc\n</read-files>"


def test_without_files_there_is_no_section():
    assert file_section(Files()) == []


def test_both_lists_stand_one_after_the_other():
    text = text_of(file_section(Files({"a": ""}, {"b": ""})))
    assert text.endswith("</read-files>\n\n<modified-files>\nb\n</modified-files>")
