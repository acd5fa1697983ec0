"""What Microsoft's Agent Framework takes for the size of a message, against its JSON."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, PartType
from compactlab.strategies.agent_framework import SUMMARY, serialised

TEXT = st.text(st.sampled_from('a"\\\n\t\x00\x7f\u2028\xe9\N{ROCKET}'), max_size=6)
TYPES: list[PartType] = ["text", "thinking", "tool_call", "tool_result", "image"]
PARTS = st.builds(
    lambda kind, text, name, call, size: Part(kind, text, "synthetic", (), name, call, size=size),
    *(st.sampled_from(TYPES), TEXT, TEXT, TEXT, st.integers(0, 9)),
)
MESSAGES = st.builds(
    lambda name, role, parts, origin: Message(name, role, tuple(parts), origin=origin),
    *(TEXT, st.sampled_from(["user", "assistant", "tool"])),
    *(st.lists(PARTS, max_size=3), st.sampled_from(["", SUMMARY])),
)


def content(part: Part) -> dict[str, Any]:
    if part.type == "tool_call":
        named = {"call_id": part.call_id, "name": part.name, "arguments": part.text}
        return {"type": "function_call", "hosted": False, **named}
    if part.type == "tool_result":
        return {"type": "function_result", "call_id": part.call_id, "result": part.text}
    return {"type": "text_reasoning" if part.type == "thinking" else "text", "text": part.text}


@given(MESSAGES)
def test_a_message_is_as_large_as_it_is_written(message):
    contents = [content(part) for part in message.parts]
    if message.origin == SUMMARY:
        contents = [{"type": "text", "text": "".join(part.text for part in message.parts)}]
    written = json.dumps(
        {
            "role": message.role,
            "message_id": message.id,
            "contents": [{"additional_properties": {}, **each} for each in contents],
        },
        ensure_ascii=False,
        sort_keys=True,
    )
    size = len(written) + 4 * sum(part.size for part in message.parts)
    assert serialised(message) == max(1, size // 4)
