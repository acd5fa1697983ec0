"""The parts of OpenClaw's summary in stages, and which tools' results are pruned."""

from typing import Any

from compactlab.sim.core.view import Messages
from compactlab.strategies.openclaw.kept import repaired
from compactlab.strategies.openclaw.pruning import may_prune
from compactlab.strategies.openclaw.safeguard import (
    HISTORY_SHARE,
    MARGIN,
    PARTS,
    chunk_ratio,
    chunks_of,
    is_oversized,
    pruned,
    share_of,
    split_by_share,
    weight,
)
from tests.conformance.answers import Answer
from tests.conformance.answers.recency import place
from tests.conformance.busy import under
from tests.conformance.numbers import natural
from tests.conformance.pi import messages
from tests.conformance.vectors import Case

# Much is new, and much is old: both are too much for one request.
BUSY = under(
    "preserve_turns(reserve_tokens_floor=0, keep_recent_tokens=8000, max_history_share=0.1)"
)


def chunks(case: Case) -> Any:
    found = chunks_of(messages(case.named("conversations")), case.input["maxTokens"], MARGIN)
    return [[int(message.id) for message in chunk] for chunk in found]


def ratio(case: Case) -> Any:
    history, window = messages(case.named("conversations")), case.input["contextWindow"]
    return {
        "chunkRatio": chunk_ratio(history, window),
        "oversizedForSummary": [is_oversized(message, window) for message in history],
        "totalTokens": weight(history),
    }


def split(case: Case) -> Any:
    history = messages(case.named("conversations"))
    found = split_by_share(history, natural(case.input["parts"], PARTS))
    return [[int(message.id) for message in chunk] for chunk in found]


def prune(case: Case) -> Any:
    history: Messages = messages(case.named("conversations"))
    asked = case.input
    window, share, parts = (asked[n] for n in ("maxContextTokens", "maxHistoryShare", "parts"))
    share = HISTORY_SHARE if share is None else share
    left = pruned(history, window, share, natural(parts, PARTS), repaired)
    return {
        "messages": [place(message) for message in left.rest],
        "droppedMessagesList": [place(message) for message in left.dropped],
        "droppedChunks": left.chunks,
        "droppedMessages": len(left.dropped) + left.orphans,
        "droppedTokens": weight(left.dropped),
        "keptTokens": weight(left.rest),
        "budgetTokens": share_of(window, share),
    }


def prunable(case: Case) -> Any:
    match = case.input["match"]
    return may_prune(_names(match.get("allow")), _names(match.get("deny")))(case.input["toolName"])


def _names(value: object) -> list[str]:
    return [name for name in value if name is not None] if isinstance(value, list) else []


ANSWERS = [
    Answer("chunkMessagesByMaxTokens", chunks, (chunks_of,), BUSY),
    Answer(
        "computeAdaptiveChunkRatio + isOversizedForSummary + estimateMessagesTokens",
        ratio,
        (chunk_ratio, is_oversized, weight),
        BUSY,
    ),
    Answer("splitMessagesByTokenShare", split, (split_by_share,), BUSY),
    Answer("pruneHistoryForContextShare", prune, (pruned, share_of), BUSY),
    Answer(
        "makeToolPrunablePredicate(match)(toolName)",
        prunable,
        (may_prune,),
        under("ttl_prune(ttl='1s', soft_trim_ratio=0.0)", 20_000),
    ),
]
