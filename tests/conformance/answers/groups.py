"""Groups of messages: Microsoft's Agent Framework."""

from typing import Any

from compactlab.sim.core.message import Message
from compactlab.sim.core.view import Messages
from compactlab.strategies.agent_framework import (
    SUMMARY,
    Group,
    context_window,
    groups_of,
    in_order,
    leave_out_tool_groups,
    serialised,
    slide_groups,
    summarise_tool_groups,
    truncate,
)
from compactlab.strategies.mechanisms.text import one
from tests.conformance.answers import Answer, Excluded
from tests.conformance.busy import under
from tests.conformance.peers import chat
from tests.conformance.vectors import Case

FUNCTION = (
    "agent_framework.{Truncation,SlidingWindow,SelectiveToolCallCompaction,ToolResultCompaction,"
    "ContextWindowCompaction,Summarization}Strategy.__call__"
)


def compaction(case: Case) -> Any:
    history = Messages(chat(message, message["id"]) for message in case.input["messages"])
    groups = made(groups_of(history), case.input["strategy"], dict(case.input["params"]))
    kept = in_order(groups, history)
    return {
        "changed": [*map(id, kept)] != [*map(id, history)],
        "included": [written(message) for message in kept],
    }


def made(groups: list[Group], strategy: str, params: dict[str, Any]) -> list[Group]:
    keep = params.pop("keep_last_tool_call_groups", 1)
    if strategy == "TruncationStrategy":
        return truncate(groups, params.pop("max_n"), params.pop("compact_to"), one, **params)
    if strategy == "SlidingWindowStrategy":
        return slide_groups(groups, params.pop("keep_last_groups"), **params)
    if strategy == "SelectiveToolCallCompactionStrategy":
        return leave_out_tool_groups(groups, keep)
    if strategy == "ToolResultCompactionStrategy":
        return summarise_tool_groups(groups, keep)
    budget = params.pop("max_context_window_tokens") - params.pop("max_output_tokens")
    evict, cut = (int(budget * params.pop(name, share)) for name, share in SHARES.items())
    return context_window(groups, evict, cut, keep, **params)


SHARES = {"tool_eviction_threshold": 0.5, "truncation_threshold": 0.8}


def written(message: Message) -> dict[str, Any]:
    told = message.origin == SUMMARY
    text = "".join(part.text for part in message.parts if part.type == "text")
    role = "system" if message.origin == "system" else message.role
    return {"id": None if told else message.id, "role": role, "text": text}


ANSWERS = [
    Answer(
        FUNCTION,
        compaction,
        (truncate, summarise_tool_groups, context_window, groups_of, serialised),
        under("tool_groups"),
    )
]
EXCLUDED = [Excluded(FUNCTION, "summ*", "", "its summarising strategy is not built here")]
