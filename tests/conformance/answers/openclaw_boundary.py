"""OpenClaw 2026.9.6: where a history is cut, and the pieces of what is summarised."""

import math
from typing import Any

from compactlab.strategies.openclaw.boundary import (
    Budget,
    chunks,
    halves,
    prepared,
    pruned,
    unit_scale,
    without_oversized,
)
from compactlab.strategies.openclaw.pressure import MARGIN, tokens
from tests.conformance.answers import Answer
from tests.conformance.answers.openclaw_sizes import TIGHT
from tests.conformance.pi import messages
from tests.conformance.vectors import Case


def cut(case: Case) -> Any:
    originals, keep, limits = (
        case.named("conversations"),
        case.input["keep"],
        case.input["budget"],
    )
    history = messages(originals)
    used = [n for n, each in enumerate(originals) if "usage" in each]
    reported = originals[used[-1]]["usage"]["totalTokens"] if used else 0
    estimated = history.total(tokens)
    budget = limits and Budget(limits["maxTokens"], limits["reserveTokens"], tokens)
    try:
        found = prepared(history, keep, unit_scale(keep, reported, estimated), budget)
    except ValueError:
        return "refused"
    if found is None:
        return None
    after = history[used[-1] + 1 :] if used else history
    return {
        "first": found.first,
        "history": len(found.history),
        "prefix": len(found.prefix),
        "split": bool(found.prefix),
        "before": reported + after.total(tokens),
    }


def stage(case: Case) -> Any:
    history, asked = messages(case.named("conversations")), case.input
    if asked["fn"] == "split":
        return [[int(m.id) for m in half] for half in halves(history, asked["most"])]
    if asked["fn"] == "chunks":
        return [len(chunk) for chunk in chunks(history, asked["most"])]
    if asked["fn"] == "oversized":
        small = without_oversized(history, asked["window"])
        return {"small": [int(m.id) for m in small.messages], "notes": small.notes}
    fresh = max(0, asked["before"] - history.total(tokens))
    most = math.floor(asked["window"] * 0.2 * MARGIN)
    found = pruned(history, asked["window"], 0.2) if fresh > most else None
    return {
        "fresh": fresh,
        "most": most,
        "kept": found and [_place(m.id) for m in found.kept],
        "dropped": found and [_place(m.id) for m in found.dropped],
    }


def _place(id: str) -> int:
    return int(id) if id.isdecimal() else -1


ANSWERS = [
    Answer("prepareCompaction (agent-core)", cut, (prepared, unit_scale), TIGHT),
    Answer(
        "buildStageSplitPlan, buildSummaryChunks, buildOversizedFallbackPlan, "
        "buildHistoryPrunePlan",
        stage,
        (halves, chunks),
        TIGHT,
    ),
]
