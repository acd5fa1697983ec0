"""Write a synthetic session as a log of Claude Code, for whoever has none at hand.

``python examples/claude_session.py logs/session.jsonl`` writes it. Texts and times are of the
scenario ``coding_agent``; the usage of each call is what a replay of the whole session bills.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import compactlab
from compactlab.scenarios.catalogue import find_scenario
from compactlab.sim.core.message import Message
from compactlab.sim.replay.trace import Step

SCENARIO = "coding_agent(turns=12, tokens=90000)"
MODEL = "claude-sonnet-4-5"


def records(scenario: str = SCENARIO, seed: int = 0) -> Iterator[dict[str, Any]]:
    """The lines of the log."""
    session = find_scenario(scenario).conversation(seed)
    steps = compactlab.replay(session, compactlab.find_strategy("keep_all"), MODEL)
    billed = {step.answer: step for step in steps}
    parent = None
    for message in session.messages:
        said: dict[str, Any] = {"role": "user", "content": content(message)}
        if message.role == "assistant":
            said = {"role": "assistant", "id": f"msg_{message.id}", "model": MODEL}
            said |= {"content": content(message), "usage": usage(billed[message.id])}
        yield {
            "type": said["role"],
            "uuid": message.id,
            "parentUuid": parent,
            "sessionId": "synthetic-session",
            "timestamp": datetime.fromtimestamp(message.time or 0.0, UTC).isoformat(),
            "requestId": f"req_{message.id}",
            "message": said,
        }
        parent = message.id


def content(message: Message) -> str | list[dict[str, Any]]:
    """A message's blocks; what a person typed is a text."""
    if message.role == "user":
        return "\n".join(part.text for part in message.parts)
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        if part.type == "tool_call":
            given = json.loads(part.text)
            blocks.append(
                {"type": "tool_use", "id": part.call_id, "name": part.name, "input": given}
            )
        elif part.type == "tool_result":
            blocks.append(
                {"type": "tool_result", "tool_use_id": part.call_id, "content": part.text}
            )
        elif part.type == "text":
            blocks.append({"type": "text", "text": part.text})
        else:
            blocks.append({"type": "thinking", "thinking": part.text, "signature": ""})
    return blocks


def usage(step: Step) -> dict[str, int]:
    """What the provider would have billed of a call."""
    billed = step.usage
    return {
        "input_tokens": billed.uncached,
        "cache_read_input_tokens": billed.cache_read,
        "cache_creation_input_tokens": billed.cache_write_5m,
        "output_tokens": billed.output,
    }


def main(path: Path) -> None:
    """Write the log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(record) + "\n" for record in records())
    path.write_text("".join(lines), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
