"""Who spoke, in a transcript of Claude Code: a person, or the client in the person's place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation, Rewind

Transcript = Callable[..., Path]


def typed(uuid: str, parent: str | None, text: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "uuid": uuid,
        "parentUuid": parent,
        "message": {"content": text},
        **more,
    }


def attached(uuid: str, parent: str | None, **attachment: Any) -> dict[str, Any]:
    return {"type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": attachment}


def read(path: Path) -> Conversation:
    (conversation,) = transcripts.read(path)
    return conversation


@pytest.mark.parametrize(
    "words",
    [
        "<local-command-caveat>mind</local-command-caveat>",
        "<command-name>/clear</command-name>",
        "<bash-input>ls</bash-input>",
        "<task-notification>done</task-notification>",
        "[Request interrupted by user]",
    ],
)
def test_what_nobody_typed_starts_no_turn(transcript: Transcript, words: str) -> None:
    assert read(transcript(typed("u1", None, words))).turns == 0


def test_the_client_may_say_that_nobody_typed_it(transcript: Transcript) -> None:
    path = transcript(
        typed("u1", None, "hi", origin={"kind": "human"}),
        typed("u2", "u1", "wake up", origin={"kind": "scheduler"}),
        typed("u3", "u2", "Base directory of this skill", isMeta=True),
    )
    assert [message.meta for message in read(path).messages] == [False, True, True]


def test_attachments_with_text_are_messages(transcript: Transcript) -> None:
    path = transcript(
        attached("x1", None, type="hook_success", content="be kind"),
        attached("x2", "x1", type="task_reminder", content=[]),
        attached("x3", "x2", type="queued_command", prompt="and in green"),
    )
    messages = read(path).messages
    assert [(m.text, m.meta) for m in messages] == [("be kind", True), ("and in green", False)]


def test_a_prompt_that_is_typed_anew_before_any_answer_replaces_the_first(
    transcript: Transcript,
) -> None:
    path = transcript(
        typed("u1", None, "hi"),
        answered("a1", "u1", "hello"),
        typed("u2", "a1", "make it green"),
        typed("u3", "a1", "make it blue"),
    )
    conversation = read(path)
    assert [e.to for e in conversation.events if isinstance(e, Rewind)] == ["a1"]
    assert [m.text for m in conversation.messages][-1] == "make it blue"


def answered(uuid: str, parent: str, text: str) -> dict[str, Any]:
    message = {
        "id": uuid,
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message}
