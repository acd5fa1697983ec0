"""Context recovery after a compaction: OpenClaw pull request 3599."""

from collections.abc import Mapping
from typing import Any

from compactlab.sim.core.view import Messages
from compactlab.strategies.openclaw.recovery import (
    EXTRA,
    MOST,
    block,
    is_needed,
    recover,
)
from tests.conformance.answers import Answer, Excluded
from tests.conformance.busy import under
from tests.conformance.pi import message
from tests.conformance.vectors import Case


def readable(history: Any) -> Messages:
    """Convert a history in which there may be things that our types cannot hold."""
    found = [m for m in history if isinstance(m, Mapping)] if isinstance(history, list) else []
    return Messages(message(_typed(original), str(n)) for n, original in enumerate(found))


def _typed(original: Mapping[str, Any]) -> dict[str, Any]:
    """Say what text there is in the one way in which every role may say it."""
    content = original.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    kept = [each for each in blocks if _has_text(each)] if isinstance(blocks, list) else []
    return {key: value for key, value in original.items() if key != "timestamp"} | {"content": kept}


def _has_text(block: Any) -> bool:
    return isinstance(block, Mapping) and isinstance(block.get("text"), str)


def recover_context(case: Case) -> Any:
    history = case.shared["conversations"].get(case.input["historyReturnedByGateway"])
    wanted = case.input["messageCount"]
    quotes = recover(readable(history), wanted)
    pieces = block(quotes, intro=_intro(case))
    told = [{"role": quote.speaker.lower(), "text": quote.text} for quote in quotes]
    answer = {
        "ok": True,
        "messages": told,
        "contextBlock": "".join(piece.text for piece in pieces) or None,
    }
    # The answer of a gateway that fails does not say what it was asked.
    return answer if history is None else {"requestedLimit": wanted + EXTRA, **answer}


def _intro(case: Case) -> str:
    """The line below the heading: the original's wording, which is only in the vectors."""
    blocks = (answer["contextBlock"] for answer in case.answers)
    return next(text.split("\n")[2] for text in blocks if isinstance(text, str))


def check_needed(case: Case) -> Any:
    entry, wanted = case.input["sessionEntry"], min(MOST, case.input["messages"] or 0)
    names = ("compactionCount", "lastContextRecoveryCompactionCount")
    compactions, recovered = ((entry or {}).get(name) or 0 for name in names)
    known = wanted > 0 and entry is not None
    return {
        "settings": {"enabled": wanted > 0, "messages": wanted},
        "check": {
            "needed": known and is_needed(compactions, recovered),
            "messageCount": wanted if known else 0,
            "compactionCount": compactions if known else 0,
        },
    }


RUNS = under("auto_compact + context_recovery")
ANSWERS = [
    Answer("recoverContext", recover_context, (recover, block), RUNS),
    Answer(
        "checkContextRecoveryNeeded + resolveContextRecoverySettings",
        check_needed,
        (is_needed,),
        RUNS,
    ),
]
EXCLUDED = [
    Excluded(
        "recoverContext",
        "*",
        "messages[*].timestamp",
        "a time that is written as text is handed through and not used; our times are numbers",
    )
]
