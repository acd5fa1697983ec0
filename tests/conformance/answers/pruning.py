"""Context pruning in mode cache-ttl: settings, gate, and what becomes of the messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compactlab.sim.core.view import Messages
from compactlab.strategies.openclaw.pruning import (
    Pruning,
    effective_settings,
    prune,
    prune_expired,
)
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.pi import messages
from tests.conformance.vectors import Case

RUN = under("ttl_prune(ttl='1s', soft_trim_ratio=0.0)", 20_000)
# The vectors do not tell the window of the model of the gate's session; any that is small enough
# for its 100,000 characters gives the same answer.
MODEL_WINDOW = 30_000


def compute_effective_settings(case: Case) -> Any:
    settings = effective_settings(case.input["raw"])
    return None if settings is None else _told(settings)


def _told(settings: Pruning) -> Any:
    return {
        "mode": "cache-ttl",
        "ttlMs": settings.ttl_ms,
        "keepLastAssistants": settings.keep_last_assistants,
        "softTrimRatio": settings.soft_trim_ratio,
        "hardClearRatio": settings.hard_clear_ratio,
        "minPrunableToolChars": settings.min_prunable_tool_chars,
        "tools": settings.tools,
        "softTrim": {
            "maxChars": settings.max_chars,
            "headChars": settings.head_chars,
            "tailChars": settings.tail_chars,
        },
        "hardClear": {"enabled": settings.hard_clear, "placeholder": settings.placeholder},
    }


def _read(told: Any) -> Pruning:
    """Settings that are in force already: nothing of them is brought into its range."""
    return Pruning(
        told["ttlMs"],
        told["keepLastAssistants"],
        told["softTrimRatio"],
        told["hardClearRatio"],
        told["minPrunableToolChars"],
        told["tools"],
        *(told["softTrim"][name] for name in ("maxChars", "headChars", "tailChars")),
        told["hardClear"]["enabled"],
        told["hardClear"]["placeholder"],
    )


def prune_context_messages(case: Case) -> Any:
    history = messages(case.named("conversations"))
    settings = _read(case.named("settings", "settings"))
    pruned = prune(history, settings, case.input["contextWindowTokens"], version=case.version)
    return {
        "same_array": pruned is history,
        "length": len(pruned),
        "changed": [
            {
                "index": place,
                "content": [{"type": "text", "text": p.text} for p in pruned[place].parts],
            }
            for place in _changed(history, pruned)
        ],
    }


def _changed(history: Messages, pruned: Messages) -> list[int]:
    return [place for place, message in enumerate(history) if pruned[place] is not message]


def handle_context(case: Case) -> Any:
    asked, history = case.input, messages(case.shared["conversation"])
    settings = effective_settings({"mode": "cache-ttl"})
    assert settings is not None
    more = {
        "now": asked["now"],
        "window": asked["contextWindowTokens"],
        "model_window": MODEL_WINDOW,
        "version": case.version,
    }
    known = replace(settings, ttl_ms=asked["ttlMs"]) if asked["runtimePresent"] else None
    pruned, touched = prune_expired(history, known, touched=asked["lastCacheTouchAt"], **more)
    again, _ = prune_expired(history, known, touched=touched, **more)
    return {
        "pruned": pruned is not history,
        "changedCount": len(_changed(history, pruned)),
        "lastCacheTouchAtAfter": touched,
        "secondCallImmediatelyAfterPruned": again is not history,
    }


ANSWERS = [
    Answer("computeEffectiveSettings", compute_effective_settings, (effective_settings,), RUN),
    Answer(
        "pruneContextMessages (context pruning, cache-ttl mode)",
        prune_context_messages,
        (prune,),
        RUN,
    ),
    Answer('context-pruning extension, event "context"', handle_context, (prune_expired,), RUN),
]
