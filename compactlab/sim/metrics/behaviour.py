"""How often a strategy acted, and whether its prompts fit the context window."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.core.conversation import Conversation, keep_latest
from compactlab.sim.core.message import Message, Part
from compactlab.sim.metrics.metric import OVER_CALLS, metric
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.replay.sizes import BEFORE_THE_LOG


@metric("tokens", "neither", OVER_CALLS)
def tokens_added(data: RunData) -> int:
    """Prompt tokens that are not from the script: summaries, placeholders, blocks, notes.

    Over all calls, the tokens of prompt parts that are not from the script: summaries,
    placeholders, recovered and recalled blocks, the turns of a memory flush. 0 for strategies that
    only drop. This metric shows whether a strategy feeds on itself: the first version of OpenClaw's
    sidecar adds blocks that quote its blocks.
    """
    script = data.conversation
    messages, texts = _of_script(script)

    def added(parts: Iterable[Part], model: str) -> int:
        count = data.model(model).tokenizer.part
        return sum(count(part) for part in parts if id(part) not in texts)

    # Each message is counted once, by the model under which it was added: a removal must subtract
    # the same count.
    weights: dict[int, int] = {}

    def of(changed: tuple[Message, ...], model: str) -> int:
        made = [m for m in changed if id(m) not in messages and m.id != BEFORE_THE_LOG]
        for message in made:
            if id(message) not in weights:
                weights[id(message)] = added(message.parts, model)
        return sum(weights[id(message)] for message in made)

    total = inside = 0
    for change in data.changes:
        step = change.step
        inside += of(change.come, step.model) - of(change.gone, step.model)
        blocks = [part for part in step.system if part.kind != "opaque"]
        total += inside + (added(blocks, step.model) if blocks else 0)
    return total


@keep_latest
def _of_script(script: Conversation) -> tuple[frozenset[int], frozenset[int]]:
    """The messages and the parts of a script, by identity."""
    parts = {id(part) for message in script.messages for part in message.parts}
    return frozenset(map(id, script.messages)), frozenset({*parts, *map(id, script.system)})


@metric("calls", "neither", "count")
def calls(data: RunData) -> int:
    """Requests of the script: the calls of the replay, without side calls."""
    return len(data.trace.steps)


@metric("calls", "lower", OVER_CALLS)
def rewrites(data: RunData) -> int:
    """Calls at which the strategy changed the prompt other than by appending new messages.

    A rewind of the script is not a rewrite.
    """
    return sum(step.rewrite for step in data.trace.steps)


@metric("calls", "neither", OVER_CALLS)
def compactions(data: RunData) -> int:
    """Calls at which the strategy removed or shortened content that had been sent.

    A *compaction* is a rewrite that removes or shortens content of a message that had been sent. A
    rewind of the script is not a compaction.
    """
    return sum(step.compaction for step in data.trace.steps)


@metric("calls", "lower", OVER_CALLS)
def overflows(data: RunData) -> int:
    """Calls whose prompt exceeds the context window."""
    return sum(step.overflow for step in data.trace.steps)


@metric("share", "lower", "overflows over calls", label="exceeds window")
def over_window(data: RunData) -> float | None:
    """Share of the calls whose prompt exceeds the context window."""
    total = len(data.trace.steps)
    return overflows(data) / total if total else None
