"""What Claude Code attaches to a prompt on its own: the text of it, as far as it is recorded."""

from __future__ import annotations

from typing import Any

from compactlab.scenarios.readers.jsonl import Lines
from compactlab.scenarios.readers.unread import characters_of
from compactlab.sim.core.errors import InputError

QUEUED = "queued_command"  # a prompt that was typed while the agent was at work
SYSTEM_PROMPT = "prompt_snapshot"  # the system prompt and the tools as they were sent

# Shown to the user, or kept for the client; never sent to the model.
_UNSEEN = (
    "command_permissions", "hook_system_message", "hook_cancelled", "hook_non_blocking_error",
    "hook_error_during_execution", "dynamic_skill", "deferred_tools_record", SYSTEM_PROMPT,
)  # fmt: skip
# Thoughts that the client left out of a request, by a hash that is not documented.
_EDITS = ("thinking_drop", "thinking_stripped")
# Where the various types keep their text; the first that is there is taken.
_FIELDS = (
    "content", "snippet", "prompt", "addedBlocks", "addedLines", "skills", "planContent",
    "blockingError", "files", "text", "message",
)  # fmt: skip
# What has words for the model, if only an empty list of them.
_WORDED = (
    "agent_listing_delta", "deferred_tools_delta", "edited_text_file", "file",
    "hook_additional_context", "hook_success", "invoked_skills", "mcp_instructions_delta",
    "nested_memory", QUEUED, "skill_listing", "task_reminder", "todo_reminder",
)  # fmt: skip
_INSIDE = ("content", "text", "file", "blockingError")
# Fields that tell of an attachment, and whose words the model is not sent.
_KNOWN = (
    *_FIELDS, "allowedTools", "context", "hookSpecificOutput", "outputFilePath", "stdout",
    "stderr", "toolUseID",
)  # fmt: skip


def attached_text(
    attachment: dict[str, Any], lines: Lines, rendered: Any = None
) -> tuple[str, bool]:
    """Find the text of an attachment, and say whether a person typed it.

    A prompt typed while the agent was at work comes as an attachment of type ``queued_command``.
    Since 2.1.23x a line has all that the model saw of it (``rendered``); before, client texts
    around the content are not recorded, and hence not in it.
    """
    kind = attachment.get("type")
    if kind in _EDITS:
        lines.pass_over(f"attachment {kind!r}", attachment)
        return "", False
    if kind in _UNSEEN:
        return "", False
    typed = kind == QUEUED and _from_a_person(attachment)
    if not typed and (shown := _text(rendered)):
        return shown, False
    text = _own_text(attachment, kind, lines)
    label = attachment.get("filename") or attachment.get("path")
    if text and isinstance(label, str):
        text = f"{label}\n{text}"
    return text, typed


def _own_text(attachment: dict[str, Any], kind: Any, lines: Lines) -> str:
    """The first text of an attachment; what else is there is counted."""
    given = {field: attachment[field] for field in _FIELDS if attachment.get(field) is not None}
    deep = any(isinstance(value, dict) for value in attachment.values())
    untold = not given and (deep if not kind else kind in _WORDED)
    unread = untold or not all(map(_holds, given.values()))
    if unread and lines.strict:
        raise InputError(f"an attachment of type {kind!r} has its text under no known name")
    first = next((field for field in given if _text(given[field])), "")
    # Of lists of records, such as tasks, the client makes words that are not recorded.
    left = attachment if untold else [given[field] for field in given if field != first]
    if not lines.strict and characters_of(left):
        lines.pass_over(f"attachment {kind!r}", left)
    if not untold:
        lines.pass_over_fields(attachment, _KNOWN, f"an attachment of type {kind!r}")
    return _text(given.get(first))


def _from_a_person(attachment: dict[str, Any]) -> bool:
    origin = attachment.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return kind in (None, "human")


def _holds(value: Any) -> bool:
    """Whether a field that is an object has its text, or its file, under a known name."""
    if not isinstance(value, dict):
        return True
    return any(key == "file" or _holds(value[key]) for key in _INSIDE if key in value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    if isinstance(value, dict):
        return next((text for field in _INSIDE if (text := _text(value.get(field)))), "")
    return ""
