"""What Claude Code attaches: the text that the model saw, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import claude_notes
from compactlab.scenarios.readers.jsonl import Lines


def attached_text(attachment: dict[str, Any], rendered: Any = None) -> tuple[str, bool]:
    return claude_notes.attached_text(attachment, Lines(Path("story.jsonl")), rendered)


SEEN: list[tuple[dict[str, Any], str]] = [
    ({"type": "hook_success", "content": "be kind", "stdout": "x"}, "be kind"),
    ({"type": "hook_additional_context", "content": ["one", "two"]}, "one\ntwo"),
    ({"type": "edited_text_file", "filename": "a.py", "snippet": "1 pass"}, "a.py\n1 pass"),
    ({"type": "nested_memory", "path": "R.md", "content": {"content": "tabs"}}, "R.md\ntabs"),
    ({"type": "deferred_tools_delta", "addedLines": ["Cron", "Web"]}, "Cron\nWeb"),
    ({"type": "mcp_instructions_delta", "addedBlocks": ["use it"]}, "use it"),
    ({"type": "file", "content": {"type": "text", "file": {"content": "pass"}}}, "pass"),
    ({"type": "invoked_skills", "skills": [{"name": "x", "content": "do"}]}, "do"),
    ({"type": "something_new", "text": "new"}, "new"),
]
UNSEEN: list[dict[str, Any]] = [
    {"type": "hook_system_message", "content": "linked"},
    {"type": "command_permissions", "allowedTools": ["Bash"]},
    {"type": "task_reminder", "content": [], "itemCount": 0},
    {"type": [], "content": 5},
    {},
]


@pytest.mark.parametrize(("attachment", "text"), SEEN)
def test_what_the_model_saw(attachment: dict[str, Any], text: str) -> None:
    assert attached_text(attachment) == (text, False)


@pytest.mark.parametrize("attachment", UNSEEN)
def test_what_it_did_not_see(attachment: dict[str, Any]) -> None:
    assert attached_text(attachment) == ("", False)


def test_what_was_rendered_is_what_the_model_saw() -> None:
    rendered = [{"content": "<system-reminder>be kind</system-reminder>"}]
    shown = "<system-reminder>be kind</system-reminder>"
    assert attached_text({"type": "hook_success", "content": "x"}, rendered) == (shown, False)
    assert attached_text({"type": "queued_command", "prompt": "stop"}, rendered) == ("stop", True)
    noted = {"type": "queued_command", "prompt": "done", "origin": {"kind": "task-notification"}}
    assert attached_text(noted, rendered) == (shown, False)


def test_a_prompt_that_waited_was_typed() -> None:
    assert attached_text({"type": "queued_command", "prompt": "stop"}) == ("stop", True)
    blocks = [{"type": "text", "text": "stop"}]
    assert attached_text({"type": "queued_command", "prompt": blocks}) == ("stop", True)
