"""Clearing of tool results: LangChain's ClearToolUsesEdit."""

from typing import Any

from compactlab.strategies.mechanisms.estimate import approximate
from compactlab.strategies.providers.clearing import (
    Clearable,
    ClearToolResults,
    Past,
    clear_tool_uses,
)
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.peers import chats, unchats
from tests.conformance.vectors import Case


def clear(case: Case) -> Any:
    originals, params = case.input["messages"], dict(case.input["params"])
    history = chats(originals)
    tokens = history.total(approximate)
    excess = tokens - params.pop("trigger", ClearToolResults.trigger)
    params["exclude_tools"] = tuple(params.get("exclude_tools", ()))
    rule = ClearToolResults(**params, gate="langchain")
    kept = clear_tool_uses(history, Clearable(rule), approximate, excess, Past())
    return {
        "messages": unchats(kept, history, originals),
        "tokens_before": tokens,
        "tokens_after": kept.total(approximate),
    }


ANSWERS = [
    Answer(
        "langchain.agents.middleware.context_editing.ClearToolUsesEdit.apply"
        " (count_tokens_approximately)",
        clear,
        (clear_tool_uses, approximate),
        under("clear_tool_results(trigger=10000, gate='langchain')"),
    )
]
