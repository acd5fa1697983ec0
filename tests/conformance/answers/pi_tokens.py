"""pi's token estimates and OpenClaw's reserve."""

from collections.abc import Callable, Mapping
from typing import Any

from compactlab.sim.core.message import Message
from compactlab.strategies.mechanisms.estimate import (
    estimate,
    estimate_context,
    estimate_pictured,
    usage_tokens,
)
from compactlab.strategies.pi.compaction import AutoCompact, raised_reserve, should_compact
from compactlab.strategies.pi.preparation import is_at_least
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.numbers import natural
from tests.conformance.pi import message, messages
from tests.conformance.vectors import UNDEFINED, Case

NAMES = {
    "input": "input",
    "output": "output",
    "cacheRead": "cache_read",
    "cacheWrite": "cache_write",
    "totalTokens": "total",
}
BUSY = under("auto_compact(reserve_tokens_floor=0)")


def tokens_of(usage: Mapping[str, Any]) -> float:
    """Hand a usage over by its names; what it leaves out is left out."""
    told = {ours: usage[theirs] for theirs, ours in NAMES.items() if theirs in usage}
    return usage_tokens(**{name: n for name, n in told.items() if n is not UNDEFINED})


def reported(originals: list[Mapping[str, Any]]) -> Callable[[Message], float | None]:
    """What was reported with a message, by its place."""

    def of(told: Message) -> float | None:
        usage = originals[int(told.id)].get("usage")
        return tokens_of(usage) if isinstance(usage, Mapping) else None

    return of


def estimate_tokens(case: Case) -> Any:
    pictured = is_at_least(case.version, "0.79.0")
    return (estimate_pictured if pictured else estimate)(message(case.input["message"]))


def calculate_context_tokens(case: Case) -> Any:
    return tokens_of(case.input["usage"])


def estimate_context_tokens(case: Case) -> Any:
    originals = case.named("conversations")
    found = estimate_context(messages(originals), reported(originals))
    return {
        "tokens": found.tokens,
        "usageTokens": found.reported,
        "trailingTokens": found.trailing,
        "lastUsageIndex": found.last,
    }


def compact_now(case: Case) -> Any:
    settings = case.input["settings"]
    tokens, window = case.input["contextTokens"], case.input["contextWindow"]
    return settings["enabled"] and should_compact(tokens, window, settings["reserveTokens"])


def reserve(case: Case) -> Any:
    given, floor = case.input["currentReserveTokens"], case.input.get("reserveTokensFloor")
    floor = natural(floor, AutoCompact().reserve_tokens_floor)
    raised = raised_reserve(given, floor)
    other = raised != given
    return {
        "floor": floor,
        "didOverride": other,
        "reserveTokens": raised,
        "applied": [{"compaction": {"reserveTokens": raised}}] if other else [],
    }


ANSWERS = [
    Answer("estimateTokens", estimate_tokens, (estimate,), BUSY),
    Answer("calculateContextTokens", calculate_context_tokens, (usage_tokens,), BUSY),
    Answer("estimateContextTokens", estimate_context_tokens, (estimate_context, estimate), BUSY),
    Answer("shouldCompact", compact_now, (should_compact,), BUSY),
    Answer(
        "resolveCompactionReserveTokensFloor + ensurePiCompactionReserveTokens",
        reserve,
        (raised_reserve,),
        BUSY,
    ),
]
