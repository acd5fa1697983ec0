"""Inspect AI's own compactions, as programs of compactlab's protocol.

Usage: with_inspect.py summary|edit|trim THRESHOLD
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from inspect_ai._util.content import ContentReasoning, ContentText
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    CompactionEdit,
    CompactionSummary,
    CompactionTrim,
    ModelOutput,
    ModelUsage,
    compaction,
    get_model,
)
from inspect_ai.tool import ToolCall
from pieces import Piece, edits, ids, pieces, says_summary

from compactlab_program import Host, serve  # isort: skip

KINDS = {"summary": CompactionSummary, "edit": CompactionEdit, "trim": CompactionTrim}


def theirs(piece: Piece) -> Any:
    """A piece as Inspect has it; its key is its id."""
    if piece.role == "tool":
        call = piece.result.get("call_id", "")
        return ChatMessageTool(id=piece.key, content=piece.text, tool_call_id=call)
    if piece.role == "user":
        summary = {"summary": True} if says_summary(piece.message) else None
        return ChatMessageUser(id=piece.key, content=piece.text, metadata=summary)
    thoughts = [p["text"] for p in piece.parts if p["type"] == "thinking"]
    content = [
        *(ContentReasoning(reasoning=text) for text in thoughts),
        ContentText(text=piece.text),
    ]
    calls = [ToolCall(id=c["id"], function=c["name"], arguments=c["args"]) for c in piece.calls]
    return ChatMessageAssistant(id=piece.key, content=content, tool_calls=calls or None)


def model_of(view: dict[str, Any], host: Host, known: dict[str, Piece]) -> Any:
    """A model that counts as the replay does, and has the replay's summariser write."""
    model = get_model("mockllm/model", memoize=False)
    hidden = view["tokens"] - sum(message.get("tokens", 0) for message in view["messages"])

    async def count_tokens(messages: Any, config: Any = None) -> int:
        return sum(weight(message, host, known) for message in messages)

    async def count_tool_tokens(tools: Any) -> int:
        return int(hidden)

    async def generate(input: Any, **more: Any) -> ModelOutput:
        given = [key for message in input[:-1] if (key := message.id) in known]
        before = [id for id in ids(given) if says_summary(whole[id])]
        first = next(n for n, key in enumerate(given) if known[key].role == "user")
        asked = [id for id in ids(given[first + 1 :]) if id not in before]
        transcript = "\n\n".join(map(written, input[:-1]))
        most = host.begin["max_output"] or 4096
        model.parts = host.summarize(asked, most, previous=before, transcript=transcript)
        return ModelOutput.from_content("mockllm", "".join(part["text"] for part in model.parts))

    whole = {message["id"]: message for message in view["messages"]}
    model.count_tokens, model.generate = count_tokens, generate
    model.count_tool_tokens, model.parts = count_tool_tokens, []
    return model


def written(message: Any) -> str:
    """A message as it is billed in a request for a summary: its words and its calls."""
    calls = (getattr(message, "tool_calls", None) or ()) if message.role == "assistant" else ()
    told = [message.text, *(f"{c.function}({json.dumps(c.arguments)})" for c in calls)]
    return f"[{message.role}] " + "\n".join(filter(None, told))


def weight(message: Any, host: Host, known: dict[str, Piece]) -> int:
    """Tokens of a message; of one that was changed, of its text."""
    piece = known.get(message.id)
    if piece is None:
        return host.count(message.text)
    return sum(part.get("tokens", 0) for part in piece.parts)


def kept(left: list[Any], given: list[Any], known: dict[str, Piece], parts: Any) -> Iterator[Any]:
    """What is left, as edits of the protocol: copies with other ids follow the order of all."""
    places = {message.id: n for n, message in enumerate(given)}
    index = 0
    for message in left:
        if (message.metadata or {}).get("summary") and message.id not in places:
            yield {"role": "user", "parts": list(parts)}
            continue
        if message.id in places:
            index = places[message.id] + 1
            yield message.id
            continue
        while not alike(message, given[index]):
            index += 1
        piece = known[given[index].id]
        index += 1
        if message.role == "tool":
            yield piece.key, message.text
            continue
        calls = {call.id for call in message.tool_calls or ()}
        thinks = any(isinstance(c, ContentReasoning) for c in message.content)
        shown = [
            n
            for n, part in enumerate(piece.parts)
            if (part["type"] != "thinking" or thinks)
            and (part["type"] != "tool_call" or part.get("call_id", "") in calls)
        ]
        if shown == list(range(len(piece.parts))):
            yield piece.key  # Inspect copies every older answer, whether it has thinking or not
        elif shown:
            yield {"id": piece.message["id"], "parts": shown}


def alike(copy: Any, original: Any) -> bool:
    """Whether a message may be a copy of another, with something removed."""
    if copy.role != original.role:
        return False
    if copy.role == "tool":
        return bool(copy.tool_call_id == original.tool_call_id)
    return bool(copy.text == original.text)


def compacting(kind: str, threshold: int) -> Any:
    """The handler that Inspect's agents have, anew for each view."""
    at: dict[str, str] = {}

    def compact(view: dict[str, Any], host: Host) -> list[Any] | None:
        pieced = list(pieces(view["messages"]))
        known = {piece.key: piece for piece in pieced}
        messages = [theirs(piece) for piece in pieced]
        model = model_of(view, host, known)
        strategy = KINDS[kind](threshold=threshold, memory=False)
        first = next((n for n, m in enumerate(messages) if m.role == "user"), len(messages) - 1)
        handler = compaction(strategy, messages[: first + 1], model=model)
        answers = [n for n, m in enumerate(messages) if m.role == "assistant"]
        last = messages[answers[-1]].id if answers else ""

        async def run() -> Any:
            if view["usage"] is not None and answers and at.get("answer") != last:
                usage = SimpleNamespace(**view["usage"])
                prompt = usage.uncached + usage.cache_read + usage.cache_write_5m
                output = ModelOutput(model="mockllm", usage=ModelUsage(
                    input_tokens=prompt + usage.cache_write_1h, total_tokens=prompt
                ))  # fmt: skip
                await handler.record_output(messages[: answers[-1]], output)
            return await handler.compact_input(messages, force=view["phase"] == "on_overflow")

        left, _ = asyncio.run(run())  # where nothing helps it raises, and the session ends
        if [message.id for message in left] == [message.id for message in messages]:
            return None
        at["answer"] = last
        return edits(list(kept(left, messages, known, model.parts)), pieced)

    return compact


if __name__ == "__main__":
    kind, threshold = sys.argv[1:]
    name = f"inspect-ai {KINDS[kind].__name__}"
    does = {"summary": "summarise", "edit": "clear", "trim": "truncate"}[kind]
    phases = ["before_call", "on_overflow"]
    serve(compacting(kind, int(threshold)), name, "0.3.285", phases=phases, does=[does])
