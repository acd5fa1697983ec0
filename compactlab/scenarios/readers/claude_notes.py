"""What Claude Code records beside messages: texts that it attaches, and signs of a restart."""

from __future__ import annotations

from typing import Any

import msgspec

from compactlab.scenarios.readers.jsonl import Lines, decode
from compactlab.scenarios.readers.shapes import dict_of
from compactlab.scenarios.readers.unread import characters_of
from compactlab.sim.core.errors import InputError

QUEUED = "queued_command"  # a prompt typed while the agent was working
SYSTEM_PROMPT = "prompt_snapshot"  # the system prompt and the tools as sent

# Attachments for the user or the client; they are never sent to the model.
_UNSEEN = (
    "command_permissions", "hook_system_message", "hook_cancelled", "hook_non_blocking_error",
    "hook_error_during_execution", "dynamic_skill", "deferred_tools_record", SYSTEM_PROMPT,
)  # fmt: skip
# Thoughts that the client removed from a request, identified by an undocumented hash.
_EDITS = ("thinking_drop", "thinking_stripped")
# Text fields by type; the first existing one is used.
_FIELDS = (
    "content", "snippet", "prompt", "addedBlocks", "addedLines", "skills", "planContent",
    "blockingError", "files", "text", "message",
)  # fmt: skip
# Types that must have text for the model, if only an empty list.
_WORDED = (
    "agent_listing_delta", "deferred_tools_delta", "edited_text_file", "file",
    "hook_additional_context", "hook_success", "invoked_skills", "mcp_instructions_delta",
    "nested_memory", QUEUED, "skill_listing", "task_reminder", "todo_reminder",
)  # fmt: skip
_INSIDE = ("content", "text", "file", "blockingError")
# Fields that describe an attachment, without text for the model.
_KNOWN = (
    *_FIELDS, "allowedTools", "context", "hookSpecificOutput", "outputFilePath", "stdout",
    "stderr", "toolUseID",
)  # fmt: skip


def attached_text(
    attachment: dict[str, Any], lines: Lines, rendered: Any = None
) -> tuple[str, bool]:
    """Return the text of an attachment, and whether a person typed it.

    A prompt typed while the agent was working is an attachment of type ``queued_command``. Since
    2.1.23x, a line has the complete text for the model (``rendered``). In older logs, texts that
    the client adds around the content are not recorded, so they are missing here.
    """
    kind = attachment.get("type")
    if kind in _EDITS:
        lines.pass_over(f"attachment {kind!r}", attachment)
        return "", False
    if kind in _UNSEEN:
        return "", False
    typed = kind == QUEUED and dict_of(attachment.get("origin")).get("kind") in (None, "human")
    if not typed and (shown := _text(rendered)):
        return shown, False
    text = _own_text(attachment, kind, lines)
    label = attachment.get("filename") or attachment.get("path")
    if text and isinstance(label, str):
        text = f"{label}\n{text}"
    return text, typed


def _own_text(attachment: dict[str, Any], kind: Any, lines: Lines) -> str:
    """Return the first text of an attachment; other content is counted."""
    given = {field: attachment[field] for field in _FIELDS if attachment.get(field) is not None}
    deep = any(isinstance(value, dict) for value in attachment.values())
    untold = not given and (deep if not kind else kind in _WORDED)
    unread = untold or not all(map(_holds, given.values()))
    if unread and lines.strict:
        raise InputError(f"an attachment of type {kind!r} has its text under no known name")
    first = next((field for field in given if _text(given[field])), "")
    # The client turns lists of records, such as tasks, into text that is not recorded.
    left = attachment if untold else [given[field] for field in given if field != first]
    if not lines.strict and characters_of(left):
        lines.pass_over(f"attachment {kind!r}", left)
    if not untold:
        lines.pass_over_fields(attachment, _KNOWN, f"an attachment of type {kind!r}")
    return _text(given.get(first))


def _holds(value: Any) -> bool:
    """Whether an object has its text or its file in a known field."""
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


class _Progress(msgspec.Struct):
    data: dict[str, Any] | None = None


_PROGRESS = msgspec.json.Decoder(_Progress)
# The hook events of a client that was restarted within a session. Other session starts are
# compactions and clearings.
_STARTS = ("SessionStart:resume", "SessionStart:startup")


class Starts:
    """Whether the client was restarted since the last answer.

    A new process builds the system prompt anew, so that the cached prefix of a request ends before
    it. There are two signs: a session-start hook has run; or the user speaks after a finished
    answer, and the stop hooks have left no line, although they did so earlier in this session,
    because a closed client had no time to write it.
    """

    def __init__(self) -> None:
        self._anew = self._stops = self._stopped = self._finished = False

    def progress(self, data: bytes) -> None:
        if b"SessionStart:" in data:
            self.saw((decode(data, _PROGRESS).data or {}).get("hookName"))

    def saw(self, hook: Any) -> None:
        """Take the name of a hook that has run."""
        self._anew |= hook in _STARTS

    def stopped(self) -> None:
        """Note that the stop hooks have run."""
        self._stops = self._stopped = True

    def broken_off(self) -> None:
        """Note that the agent was interrupted; then no stop hook runs."""
        self._finished = False

    def spoken(self) -> None:
        self._anew |= self._finished and self._stops and not self._stopped

    def answered(self) -> bool:
        """At the first line of an answer, return whether the client was restarted before it."""
        anew = self._anew
        self._anew = self._stopped = self._finished = False
        return anew

    def finish(self, asks: bool) -> None:
        """Take a line of an answer: whether it calls a tool."""
        self._finished = not asks
