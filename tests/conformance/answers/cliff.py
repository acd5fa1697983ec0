"""Digests by rule: cliffcompaction. Its first line is left out; the words of ours are our own."""

from typing import Any

from compactlab.sim.core.message import SUMMARY, Message, verbatim
from compactlab.strategies.cliff_compaction import CliffCompaction, digested, pieces_of
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.vectors import Case

NAMES = {
    "keep_recent": "keep_recent",
    "result_max_chars": "result_chars",
    "human_max_chars": "human_chars",
    "thought_max_chars": "text_chars",
    "cmd_max_chars": "call_chars",
    "keep_thinking": "thinking",
}


def message(n: int, said: dict[str, Any], header: str) -> Message:
    id, role, content = str(n), said["role"], said["content"]
    if role == "tool":
        parts = [verbatim(id, "tool_result", content, call_id=said["tool_call_id"])]
    else:
        thought = said.get("reasoning_content", "")
        parts = [verbatim(id, "thinking", thought)] * bool(thought)
        parts.append(verbatim(id, "text", content))
        functions = [call["function"] for call in said.get("tool_calls", ())]
        parts += [verbatim(id, "tool_call", f["arguments"], name=f["name"]) for f in functions]
    origin = SUMMARY if role == "user" and content.startswith(header) else ""
    return Message(id, role, tuple(parts), origin=origin)


def compact(case: Case) -> Any:
    rule = CliffCompaction(**{NAMES[key]: value for key, value in case.input["rule"].items()})
    chat = enumerate(case.input["messages"])
    messages = [message(n, said, case.input["header"]) for n, said in chat]
    found = digested(messages, rule)
    if found is None:
        return None
    left = [*range(found.head), None, *(int(kept.id) for kept in found.kept)]
    return {"left": left, "digest": "".join(part.text for part in found.parts)}


ANSWERS = [
    Answer(
        "cliffcompaction.cliff.compact",
        compact,
        (digested, pieces_of),
        under("cliff_compaction(trigger=6000)"),
    )
]
