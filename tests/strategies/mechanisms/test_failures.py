"""Tools that reported failure, under a summary."""

import pytest

from compactlab.sim.core.message import Message, verbatim
from compactlab.strategies.openclaw.safeguard import failure_section, tool_failures
from compactlab.strategies.pi.summary import text_of


def result(text: str, call: str = "1", failed: bool = True, tool: str = "bash") -> Message:
    id = f"r{call}"
    part = verbatim(id, "tool_result", text, name=tool, call_id=call, is_error=failed)
    return Message(id, "tool", (part,))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (" no\tsuch\n\nfile\N{NO-BREAK SPACE}", "no such file"),
        ("", "failed (no output)"),
        ("x" * 240, "x" * 240),
        ("x" * 241, "x" * 237 + "..."),
    ],
)
def test_a_failure_is_told_in_a_line(text, told):
    (failure,) = tool_failures([result(text)])
    assert failure.text == told


def test_only_what_failed_and_of_each_call_the_first():
    told = [result("a"), result("b"), result("c", "2", failed=False), result("d", "")]
    assert [failure.text for failure in tool_failures(told)] == ["a"]


def test_a_tool_without_a_name_is_a_tool():
    (failure,) = tool_failures([result("a", tool="  ")])
    assert text_of(failure_section([failure])) == "\n\n## Tool Failures\n- tool: a"


@pytest.mark.parametrize(
    ("details", "line"),
    [
        ({"exitCode": 2, "status": "timeout"}, "- bash (status=timeout exitCode=2): x"),
        ({"exitCode": "2"}, "- bash: x"),
        ({"exitCode": True}, "- bash: x"),
        ({"exitCode": float("nan")}, "- bash: x"),
        ({"exitCode": 1.5}, "- bash (exitCode=1.5): x"),
        ("failed", "- bash: x"),
    ],
)
def test_what_the_client_knows_beside_is_told_too(details, line):
    section = failure_section(tool_failures([result("x")], lambda message: details))
    assert text_of(section).endswith(line)


def test_after_eight_it_only_says_how_many_more():
    section = failure_section(tool_failures([result(f"e{n}", str(n)) for n in range(10)]))
    assert text_of(section).endswith("- bash: e7\n- ...and 2 more")
    assert [p.sources[0].id for p in section if p.sources] == [f"r{n}" for n in range(8)]


def test_nothing_failed():
    assert failure_section(tool_failures([result("a", failed=False)])) == []
