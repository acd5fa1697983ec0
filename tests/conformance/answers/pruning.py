"""Context pruning in mode cache-ttl: settings, gate, and what becomes of the messages."""

import math
from typing import Any

from compactlab.sim.core.view import Messages
from compactlab.strategies import TtlPrune
from compactlab.strategies.mechanisms.text import is_finite
from compactlab.strategies.openclaw.pruning import duration_ms, is_expired, prune
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.pi import messages
from tests.conformance.vectors import Case

RUN = under("ttl_prune(ttl='1s', soft_trim_ratio=0.0)", 20_000)
# The vectors do not tell the window of the model of the gate's session; any that is small enough
# for its 100,000 characters gives the same answer.
MODEL_WINDOW = 30_000


def compute_effective_settings(case: Case) -> Any:
    """What the strategy's defaults are, and how its durations are read; a field that is out of its
    range, which the original brings into it, is refused here."""
    raw = case.input["raw"]
    if not isinstance(raw, dict) or raw.get("mode") != "cache-ttl":
        return None
    rule = TtlPrune()
    ttl = duration_ms(raw["ttl"]) if "ttl" in raw else None
    soft, hard = raw.get("softTrim", {}), raw.get("hardClear", {})
    ends = {"max": rule.soft_trim_max_chars, "head": rule.soft_trim_head_chars}
    ends |= {"tail": rule.soft_trim_tail_chars}
    return {
        "mode": "cache-ttl",
        "ttlMs": duration_ms(rule.ttl) if ttl is None else ttl,
        "keepLastAssistants": _whole(raw.get("keepLastAssistants"), rule.keep_last_assistants),
        "softTrimRatio": _ratio(raw.get("softTrimRatio"), rule.soft_trim_ratio),
        "hardClearRatio": _ratio(raw.get("hardClearRatio"), rule.hard_clear_ratio),
        "minPrunableToolChars": _whole(
            raw.get("minPrunableToolChars"), rule.min_prunable_tool_chars
        ),
        "tools": raw.get("tools", {}),
        "softTrim": {
            f"{name}Chars": _whole(soft.get(f"{name}Chars"), ours) for name, ours in ends.items()
        },
        "hardClear": {
            "enabled": hard.get("enabled", rule.hard_clear_enabled),
            "placeholder": hard.get("placeholder", "").strip() or rule.hard_clear_placeholder,
        },
    }


def _whole(value: object, default: int) -> int:
    return max(0, math.floor(value)) if is_finite(value) else default


def _ratio(value: object, default: float) -> float:
    return min(1, max(0, value)) if is_finite(value) else default


def _rule(settings: Any, version: Any) -> TtlPrune:
    """The strategy of settings in force."""
    soft, hard, tools = (settings[name] for name in ("softTrim", "hardClear", "tools"))
    return TtlPrune(
        ttl=f"{settings['ttlMs']}ms",
        keep_last_assistants=settings["keepLastAssistants"],
        soft_trim_ratio=settings["softTrimRatio"],
        hard_clear_ratio=settings["hardClearRatio"],
        min_prunable_tool_chars=settings["minPrunableToolChars"],
        tools_allow=tuple(tools.get("allow", ())),
        tools_deny=tuple(tools.get("deny", ())),
        soft_trim_max_chars=soft["maxChars"],
        soft_trim_head_chars=soft["headChars"],
        soft_trim_tail_chars=soft["tailChars"],
        hard_clear_enabled=hard["enabled"],
        hard_clear_placeholder=hard["placeholder"],
        version=version,
    )


def prune_context_messages(case: Case) -> Any:
    history = messages(case.named("conversations"))
    rule = _rule(case.named("settings", "settings"), case.version)
    pruned = prune(history, rule, case.input["contextWindowTokens"])
    return {
        "same_array": pruned is history,
        "length": len(pruned),
        "changed": [
            {
                "index": index,
                "content": [{"type": "text", "text": p.text} for p in pruned[index].parts],
            }
            for index in _changed(history, pruned)
        ],
    }


def _changed(history: Messages, pruned: Messages) -> list[int]:
    return [index for index, message in enumerate(history) if pruned[index] is not message]


def handle_context(case: Case) -> Any:
    asked, history = case.input, messages(case.shared["conversation"])
    window = asked["contextWindowTokens"] or MODEL_WINDOW

    def handled(touched: float | None) -> tuple[Messages, float | None]:
        if not asked["runtimePresent"] or not is_expired(asked["now"], touched, asked["ttlMs"]):
            return history, touched
        pruned = prune(history, TtlPrune(version="2026.1.29"), window)
        return pruned, touched if pruned is history else asked["now"]

    pruned, touched = handled(asked["lastCacheTouchAt"])
    return {
        "pruned": pruned is not history,
        "changedCount": len(_changed(history, pruned)),
        "lastCacheTouchAtAfter": touched,
        "secondCallImmediatelyAfterPruned": handled(touched)[0] is not history,
    }


ANSWERS = [
    Answer("computeEffectiveSettings", compute_effective_settings, (duration_ms,), RUN),
    Answer(
        "pruneContextMessages (context pruning, cache-ttl mode)",
        prune_context_messages,
        (prune,),
        RUN,
    ),
    Answer('context-pruning extension, event "context"', handle_context, (is_expired, prune), RUN),
]
