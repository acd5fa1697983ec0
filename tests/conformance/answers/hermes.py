"""Hermes' context compressor: thresholds, the shortening of old uses of tools, and the middle."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from compactlab.sim.core.message import SUMMARY, Message, Part, Source, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies.hermes import (
    budget_tokens,
    joined,
    paired,
    prunable_before,
    tail_start,
    threshold_tokens,
)
from compactlab.strategies.mechanisms.cut import after_results
from compactlab.strategies.mechanisms.old_uses import line_of, pruned, shrunk
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.vectors import Case

Original = Mapping[str, Any]

# What the constructor of the original has where the vectors do not say otherwise.
FIRST, LAST, RATIO, THRESHOLD = 3, 20, 0.2, 0.5
# What the vectors write in the place of a summary's long text.
ELIDED = "<<summary message containing {}>>"


def compressor(case: Case) -> Any:
    return {"thresholds": thresholds, "prune_old_tool_results": prune, "compress": compress}[
        case.input["op"]
    ](case)


def thresholds(case: Case) -> Any:
    window, most = (case.input["params"][key] for key in ("context_length", "max_tokens"))
    threshold = case.input["params"].get("threshold_percent", THRESHOLD)
    tokens = threshold_tokens(window, threshold, most or 0)
    return {
        "threshold_percent": max(threshold, 0.75) if window < 512_000 else threshold,
        "threshold_tokens": tokens,
        "tail_token_budget": int(tokens * RATIO),
        "max_summary_tokens": min(int(window * 0.05), 10_000),
    }


def prune(case: Case) -> Any:
    originals, params = case.input["messages"], case.input["params"]
    history = Messages(message(each, str(n)) for n, each in enumerate(originals))
    boundary = prunable_before(history, params["protect_tail_count"], params["protect_tail_tokens"])
    after = pruned(history, boundary)
    changed = (a is not b and a.role == "tool" for a, b in zip(history, after, strict=True))
    return {"messages": [written(m, originals) for m in after], "pruned": sum(changed)}


def compress(case: Case) -> Any:
    """The system prompt stands in the history there, and is told that there was a compaction."""
    originals, budget = case.input["messages"], case.input["params"]["tail_token_budget_override"]
    told = originals and originals[0]["role"] == "system"
    history = Messages(
        message(each, str(n)) for n, each in enumerate(originals) if not (told and n == 0)
    )
    first, last = (case.input["params"].get(f"protect_{n}_n", d) for n, d in DEFAULTS)
    if len(history) <= first + 4:
        return {"messages": originals, "summary_calls": 0}
    shorter = pruned(history, prunable_before(history, last, budget))
    start = after_results(shorter, first)
    end = tail_start(shorter, start, budget, last)
    if start >= end:
        after, calls = list(shorter), 0
    else:
        summary = (Part("text", case.input["summary"], "summary", (Source("1"),)),)
        after = paired(joined(shorter[:start], summary, shorter[end:], id="summary", now=0.0))
        calls = 1
    front = [noted(originals[0], case)] if told and calls else originals[:1] if told else []
    back = [written(m, originals, case.input["summary"].split()[-1]) for m in after]
    return {"messages": [*front, *back], "summary_calls": calls}


DEFAULTS = (("first", FIRST), ("last", LAST))


def noted(system: Original, case: Case) -> Original:
    """The system prompt with the note, whose words are Hermes' and are read in the vectors."""
    compressed = (a["messages"][0] for a in case.answers if "summary_calls" in a)
    note = next(m["content"] for m in compressed if "\n\n[Note" in m["content"])
    return {**system, "content": system["content"] + note[note.index("\n\n[Note") :]}


def message(original: Original, id: str) -> Message:
    """Convert a message in OpenAI's form."""
    role, text = original["role"], original.get("content") or ""
    if role == "tool":
        call = original.get("tool_call_id") or ""
        return Message(id, "tool", tuple(_result(text, id, call)))
    parts = list(_blocks(text, id))
    for call in original.get("tool_calls") or ():
        named = {"name": call["function"]["name"], "call_id": call["id"]}
        parts.append(verbatim(id, "tool_call", call["function"]["arguments"], **named))
    if role == "system":
        return Message(id, "user", tuple(parts), meta=True, origin="system")
    return Message(id, role, tuple(parts))


def _blocks(content: Any, id: str) -> Iterable[Part]:
    for block in [content] if isinstance(content, str) else content:
        if isinstance(block, str):
            yield verbatim(id, "text", block)
        elif block.get("type") == "text":
            yield verbatim(id, "text", block["text"])
        else:
            yield verbatim(id, "image", "", size=1)


def _result(content: Any, id: str, call: str) -> Iterable[Part]:
    for part in _blocks(content, id):
        kind = "tool_result" if part.type == "text" else part.type
        yield verbatim(id, kind, part.text, call_id=call, size=part.size)


def written(message: Message, originals: list[Original], summary: str = "") -> Any:
    """Write a message as the vectors do: as it was, but for what was changed."""
    if message.origin != SUMMARY:
        new = _with_calls(message, originals[int(message.id)])
        if message.role == "tool":
            return new | {"content": _content(message, new)}
        gone = [part for part in message.parts if part.type == "text" and part.kind == "stub"]
        return new | ({"content": gone[0].text} if gone else {})
    marked = {"content": ELIDED.format(summary), "_compressed_summary": True}
    own = [part for part in message.parts if part.kind not in ("synthetic", "summary")]
    if not own:
        return {"role": message.role, **marked}
    return _with_calls(message, originals[int(own[0].sources[0].id)]) | marked


def _with_calls(message: Message, original: Original) -> dict[str, Any]:
    """A message with the calls that it still has."""
    new = dict(original)
    left = {part.call_id: part for part in message.parts if part.type == "tool_call"}
    calls = [_call(c, left[c["id"]]) for c in new.pop("tool_calls", ()) if c["id"] in left]
    return new | ({"tool_calls": calls} if calls else {})


def _content(message: Message, original: Original) -> Any:
    if isinstance(original["content"], str):
        return "".join(part.text for part in message.parts)
    return [
        {"type": "text", "text": part.text} if part.kind == "stub" else block
        for block, part in zip(original["content"], message.parts, strict=True)
    ]


def _call(original: Original, part: Part) -> Any:
    if part.kind == "verbatim":
        return original
    arguments = json.dumps(json.loads(part.text), ensure_ascii=False)
    return {**original, "function": {**original["function"], "arguments": arguments}}


ANSWERS = [
    Answer(
        "agent.context_compressor.ContextCompressor "
        "(thresholds, _prune_old_tool_results, compress)",
        compressor,
        (
            threshold_tokens,
            prunable_before,
            pruned,
            line_of,
            shrunk,
            budget_tokens,
            tail_start,
            joined,
            paired,
        ),
        under("middle_summary()"),
    )
]
