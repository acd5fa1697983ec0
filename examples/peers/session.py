"""Writes one made-up session of a coding agent in the forms in which the tools read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.scenarios.readers import native
from compactlab.sim.core.conversation import Conversation, Fact

KEEP = 20  # messages in a sliding window
CANARIES = 20  # as many as compaction-conformance-kit's own session has

# What a fact is to compaction-conformance-kit; anything else is a ``fact`` there, too.
CANARY_TYPES = {
    "prohibition": "safety_rule",
    "constraint": "hard_constraint",
    "goal": "goal_state",
    "open_loop": "goal_state",
    "preference": "user_preference",
}


def session(messages: int) -> Conversation:
    """A made-up session of about so many messages, 250 tokens (o200k) each."""
    return CodingAgent(turns=max(1, messages // 25), tokens=messages * 250).conversation(seed=0)


def write(conversation: Conversation, folder: Path) -> None:
    """Write a conversation into a folder, the same messages in each of the files.

    ``conversation.jsonl`` is compactlab's own format, facts included. ``messages.json`` has the
    messages as roles and texts, at which of them a call is answered, and the size of a window;
    ``transcript.jsonl`` and ``canaries.json`` are what compaction-conformance-kit reads.
    """
    folder.mkdir(parents=True, exist_ok=True)
    native.write(conversation, folder / "conversation.jsonl")
    said = [{"role": message.role, "content": message.text} for message in conversation.messages]
    script = {"keep": KEEP, "messages": said, "calls": calls(conversation)}
    lines = "".join(json.dumps(each) + "\n" for each in said)
    canaries = [canary(fact) for fact in stated(conversation)[:CANARIES]]
    (folder / "messages.json").write_text(json.dumps(script), "utf-8")
    (folder / "transcript.jsonl").write_text(lines, "utf-8")
    (folder / "canaries.json").write_text(json.dumps(canaries), "utf-8")


def calls(conversation: Conversation) -> list[int]:
    """Before which messages the model is called: a call's context is what stands in front."""
    return [n for n, message in enumerate(conversation.messages) if message.call is not None]


def stated(conversation: Conversation) -> list[Fact]:
    return [fact for fact in conversation.facts if not fact.decoy]


def canary(fact: Fact) -> dict[str, Any]:
    return {
        "id": fact.id,
        "type": CANARY_TYPES.get(fact.kind, "fact"),
        "content": f"{fact.key}: {fact.value}",
        "required_tokens": [fact.value],
    }
