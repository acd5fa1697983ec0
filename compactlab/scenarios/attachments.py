"""What Claude Code attaches to a prompt on its own: the text of it, as far as it is recorded."""

from __future__ import annotations

from typing import Any

from compactlab.sim.errors import InputError

# Shown to the user, or kept for the client; never sent to the model.
_UNSEEN = (
    "command_permissions",
    "hook_system_message",
    "hook_cancelled",
    "hook_non_blocking_error",
    "hook_error_during_execution",
    "dynamic_skill",
)
# Where the various types keep their text; the first that is there is taken.
_FIELDS = (
    "content",
    "snippet",
    "prompt",
    "addedBlocks",
    "addedLines",
    "skills",
    "planContent",
    "blockingError",
    "files",
    "text",
    "message",
)
# What has words for the model, if only an empty list of them.
_WORDED = (
    "agent_listing_delta",
    "deferred_tools_delta",
    "edited_text_file",
    "file",
    "hook_additional_context",
    "hook_success",
    "invoked_skills",
    "mcp_instructions_delta",
    "nested_memory",
    "queued_command",
    "skill_listing",
    "task_reminder",
    "todo_reminder",
)
_INSIDE = ("content", "text", "file", "blockingError")


def attached_text(attachment: dict[str, Any]) -> tuple[str, bool]:
    r"""Find the text of an attachment, and say whether a person typed it.

    A prompt typed while the agent was at work comes as an attachment of type ``queued_command``.
    Client texts around the content are not recorded, and hence not in it.

    Examples
    --------
    >>> attached_text({"type": "edited_text_file", "filename": "a.py", "snippet": "1 pass"})
    ('a.py\n1 pass', False)
    >>> attached_text({"type": "hook_system_message", "content": "linked"})
    ('', False)

    Raises
    ------
    InputError
        If its words stand under no known name.
    """
    kind = attachment.get("type")
    if kind in _UNSEEN:
        return "", False
    given = [attachment[field] for field in _FIELDS if attachment.get(field) is not None]
    deep = any(isinstance(value, dict) for value in attachment.values())
    untold = not given and (deep if not kind else kind in _WORDED)
    if untold or not all(map(_holds, given)):
        raise InputError(f"an attachment of type {kind!r} has its text under no known name")
    text = next((text for field in _FIELDS if (text := _text(attachment.get(field)))), "")
    label = attachment.get("filename") or attachment.get("path")
    if text and isinstance(label, str):
        text = f"{label}\n{text}"
    return text, kind == "queued_command"


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
