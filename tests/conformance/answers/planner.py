"""The token-budget planner of OpenClaw's pull request 17345."""

from typing import Any

from compactlab.strategies import TokenBudget
from compactlab.strategies.openclaw.planner import available, plan, planned_tokens, static_tokens
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.numbers import at_least, within
from tests.conformance.pi import message, messages, stringify
from tests.conformance.vectors import Case

RUN = under("token_budget(reserve_tokens_floor=1000)")


def plan_context_messages(case: Case) -> Any:
    asked, originals = case.input, case.named("conversations")
    history = messages(originals)
    written = {id(m): stringify(o) for m, o in zip(history, originals, strict=True)}
    ours = TokenBudget()
    rule = TokenBudget(
        reserve_tokens_floor=at_least(0, asked["reserveTokens"]),
        max_history_share=within(0.1, 1, asked.get("maxHistoryShare"), ours.max_history_share),
        dynamic_reserve_ratio=within(
            0, 0.5, asked.get("dynamicReserveRatio"), ours.dynamic_reserve_ratio
        ),
        min_dynamic_reserve_tokens=at_least(
            0, asked.get("minDynamicReserveTokens"), ours.min_dynamic_reserve_tokens
        ),
    )
    static = at_least(0, asked["staticPromptTokens"])
    room = available(rule, at_least(1, asked["contextWindowTokens"]), static)
    share = rule.max_history_share
    said = plan(history, room, share, lambda m: planned_tokens(m, lambda m: written[id(m)]))
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
    Answer("planContextMessages", plan_context_messages, (plan, available, planned_tokens), RUN),
    Answer("estimateMessageTokens (planner)", estimate_message_tokens, (planned_tokens,), RUN),
    Answer("computeStaticPromptTokens", compute_static_prompt_tokens, (static_tokens,), RUN),
]
