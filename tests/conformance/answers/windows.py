"""Windows of the newest messages: Strands."""

from typing import Any

from compactlab.strategies.windows import pinned_first, reduce, slide
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.peers import turns, unturns
from tests.conformance.vectors import Case

OVERFLOW = "ContextWindowOverflowException"


def sliding_window(case: Case) -> Any:
    originals, params = case.input["messages"], dict(case.input["params"])
    kept = history = turns(originals)
    pins = pinned_first(history, params.pop("pin_first", None) or 0)
    size, truncate = params.get("window_size", 40), params.get("should_truncate_results", True)
    error = None
    for _ in range(case.input.get("calls", 1)):
        if case.input["call"] == "apply_management":
            smaller = slide(kept, size, pins)
        else:
            smaller = reduce(kept, size, pins, should_truncate_results=truncate)
            error = error or (OVERFLOW if smaller is None else None)
        kept = kept if smaller is None else smaller
    return {
        "messages": unturns(kept, history, originals),
        "removed_message_count": len(history) - len(kept),
        "error": error,
    }


ANSWERS = [
    Answer(
        "strands.agent.conversation_manager.SlidingWindowConversationManager",
        sliding_window,
        (slide, reduce),
        under("pair_safe_window(window_size=30, pin_first=2)", window=12_000),
    ),
]
