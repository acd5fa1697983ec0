"""The token-budget planner of OpenClaw's pull request 17345."""

from __future__ import annotations

from typing import Any

from compactlab.strategies.openclaw.planner import Budget, plan, planned_tokens, static_tokens
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.pi import message, messages, stringify
from tests.conformance.vectors import Case

RUN = under("token_budget(reserve_tokens_floor=1000)")


def plan_context_messages(case: Case) -> Any:
    asked, originals = case.input, case.named("conversations")
    history = messages(originals)
    written = {id(m): stringify(o) for m, o in zip(history, originals, strict=True)}
    budget = Budget(
        asked["contextWindowTokens"],
        asked["reserveTokens"],
        asked["staticPromptTokens"],
        asked.get("maxHistoryShare"),
        asked.get("dynamicReserveRatio"),
        asked.get("minDynamicReserveTokens"),
    )
    said = plan(history, budget, lambda m: planned_tokens(m, lambda m: written[id(m)]))
    return {
        "trimmed": said.trimmed,
        "reason": said.outcome,
        "estimatedHistoryTokensBefore": said.before,
        "estimatedHistoryTokensAfter": said.after,
        "historyBudgetTokens": said.budget,
        "droppedMessages": said.dropped,
        "droppedTokens": said.dropped_tokens,
        "firstKeptIndex": said.first,
        "keptCount": len(history) - said.dropped,
        "same_array": not said.trimmed,
    }


def estimate_message_tokens(case: Case) -> Any:
    original = case.input["message"]
    return planned_tokens(message(original), lambda _: stringify(original))


def compute_static_prompt_tokens(case: Case) -> Any:
    return static_tokens(case.input["systemPrompt"], case.input["prompt"])


ANSWERS = [
    Answer("planContextMessages", plan_context_messages, (plan, planned_tokens), RUN),
    Answer("estimateMessageTokens (planner)", estimate_message_tokens, (planned_tokens,), RUN),
    Answer("computeStaticPromptTokens", compute_static_prompt_tokens, (static_tokens,), RUN),
]
