"""Messages as stories need them: something said, and a call with its result."""

import json
from typing import Any

from compactlab.sim.core.message import Message, Role, verbatim


def said(id: str, text: str = "words", role: Role = "user", **more: Any) -> Message:
    """What somebody says, or a tool gives."""
    type = "tool_result" if role == "tool" else "text"
    return Message(id, role, (verbatim(id, type, text),), **more)


def use(
    id: str, name: str = "run", output: str = "out", *, failed: bool = False, **arguments: Any
) -> list[Message]:
    """A call and its result."""
    call = verbatim(id, "tool_call", json.dumps(arguments), name=name, call_id=id)
    result = verbatim(f"{id}-out", "tool_result", output, name=name, call_id=id, is_error=failed)
    return [Message(id, "assistant", (call,)), Message(f"{id}-out", "tool", (result,))]
