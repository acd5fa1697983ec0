"""Repair of calls and results."""

from typing import Any

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Message
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.openclaw.pairs import repair
from tests.conformance.answers import Answer
from tests.conformance.busy import session
from tests.conformance.pi import messages, places
from tests.conformance.vectors import Case


def repair_tool_use_result_pairing(case: Case) -> Any:
    originals = case.input["messages"]
    history = messages(originals)
    done = repair(history, case.shared["now_ms"] / 1000, case.version)
    return {
        "messages": [
            _told(kept, originals) if isinstance(kept, Message) else kept
            for kept in places(done.messages, history)
        ],
        "added": [_told(message, originals) for message in done.added],
        "droppedDuplicateCount": done.dropped_duplicate_count,
        "droppedOrphanCount": done.dropped_orphan_count,
        "moved": done.moved,
        "same_array": done.messages is history,
    }


def _told(message: Message, originals: list[Any]) -> Any:
    """A result that was made or changed, as pi has it; nothing but its name is ever changed."""
    part = message.parts[0]
    if part.kind != "synthetic":
        return {**originals[int(message.id)], "toolName": part.name}
    return {
        "role": "toolResult",
        "toolCallId": part.call_id,
        "toolName": part.name,
        "content": [{"type": "text", "text": part.text}],
        "isError": part.is_error,
        "timestamp": round(message.time * 1000),
    }


def interrupted() -> object:
    """The busy session, of which every third result was lost."""
    told = session()
    results = [e for e in told.events if isinstance(e, Message) and e.role == "tool"]
    lost = set(map(id, results[::3]))
    kept = tuple(event for event in told.events if id(event) not in lost)
    broken = Conversation(told.id, told.format, kept, told.system, seed=told.seed)
    return record(broken, find_strategy("pair_repair"), Options("claude-sonnet-4-5"))


ANSWERS = [
    Answer("repairToolUseResultPairing", repair_tool_use_result_pairing, (repair,), interrupted)
]
