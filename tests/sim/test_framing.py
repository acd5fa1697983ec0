"""What pi puts around what no person typed."""

import pytest

from compactlab.sim.core.message import Part, Source, branched, compacted, shell, verbatim

NOTES = Part("text", "so far", "summary", (Source("u1"),))


def text(parts: list[Part]) -> str:
    return "".join(part.text for part in parts)


def ran(output: str, **more) -> str:
    command = verbatim("m", "text", "make")
    return text(shell(command, verbatim("m", "text", output), **more))


def test_a_summary_stands_between_tags():
    lead, notes, end = compacted([NOTES])
    assert notes is NOTES
    assert lead.text.endswith("following summary:\n\n<summary>\n")
    assert end.text == "\n</summary>"
    assert {(part.kind, part.name) for part in (lead, end)} == {("synthetic", "frame")}


def test_that_of_a_branch_has_no_line_break_at_its_end():
    assert text(branched([NOTES])).endswith(" came back from:\n\n<summary>\nso far</summary>")


@pytest.mark.parametrize(
    ("output", "more", "told"),
    [
        ("ok", {}, "Ran `make`\n```\nok\n```"),
        ("", {}, "Ran `make`\n(no output)"),
        ("", {"exit_code": 0}, "Ran `make`\n(no output)"),
        ("", {"exit_code": 2}, "Ran `make`\n(no output)\n\nCommand exited with code 2"),
        (
            "ok",
            {"exit_code": 2, "cancelled": True, "full_output": "/tmp/all"},
            "Ran `make`\n```\nok\n```\n\n(command cancelled)"
            "\n\n[Output truncated. Full output: /tmp/all]",
        ),
    ],
)
def test_a_command_is_told_with_what_came_of_it(output, more, told):
    assert ran(output, **more) == told
