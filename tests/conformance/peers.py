"""Messages of the other systems as this project's types, and back: conversion, no rules.

What the originals hold as system messages in the history has no place among our messages; where a
rule asks for it, it is a message of the origin "system".
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compactlab.sim.core.message import Message, Part, verbatim
from compactlab.sim.core.view import Messages

SYSTEM = "system"

Original = Mapping[str, Any]


def changed(message: Message, history: Mapping[str, Message]) -> bool:
    """Whether a message is another than the one of its id that was given."""
    return message is not history.get(message.id)


# LangChain (and Microsoft's Agent Framework, whose vectors are written in the same way)


def chat(original: Original, id: str) -> Message:
    """Convert a message of LangChain's."""
    role, content = original["role"], original.get("content") or ""
    blocks = [content] if isinstance(content, str) else content
    named = {"name": original.get("name") or "", "call_id": original.get("tool_call_id") or ""}
    if role == "tool":
        text = "".join(b if isinstance(b, str) else b.get("text", "") for b in blocks)
        return Message(id, "tool", (verbatim(id, "tool_result", text, **named),))
    parts = [_block(block, id) for block in blocks if block]
    parts += [_call(call, id) for call in original.get("tool_calls") or ()]
    if role == SYSTEM:
        return Message(id, "user", tuple(parts), meta=True, origin=SYSTEM)
    return Message(id, role, tuple(parts))


def _block(block: str | Original, id: str) -> Part:
    if isinstance(block, str):
        return verbatim(id, "text", block)
    if block.get("type") in ("image", "image_url"):
        return verbatim(id, "image", "", size=1200)
    return verbatim(id, "text", block.get("text") or "")


def _call(call: Original, id: str) -> Part:
    arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
    return verbatim(id, "tool_call", arguments, name=call["name"], call_id=call.get("id") or "")


def chats(originals: Sequence[Original]) -> Messages:
    """Convert a history of LangChain's; ids are places in it."""
    return Messages(chat(original, str(n)) for n, original in enumerate(originals))


def unchat(message: Message, original: Original, *, same: bool) -> dict[str, Any]:
    """Write a message as LangChain's vectors do."""
    if same:
        return dict(original)
    texts = [part.text for part in message.parts if part.type in ("text", "tool_result")]
    calls = [part for part in message.parts if part.type == "tool_call"]
    written = dict(original) | {"content": "".join(texts)}
    cut = any(part.kind == "truncated" for part in message.parts)
    if isinstance(original.get("content"), list) and message.role != "tool" and not cut:
        written["content"] = [{"type": "text", "text": text} for text in texts]
    if calls:
        pairs = zip(original["tool_calls"], calls, strict=True)
        written["tool_calls"] = [dict(call) | {"args": json.loads(p.text)} for call, p in pairs]
    return written


def unchats(kept: Iterable[Message], history: Messages, originals: Sequence[Original]) -> list[Any]:
    """Write a history as LangChain's vectors do."""
    given = {message.id: message for message in history}
    return [unchat(m, originals[int(m.id)], same=not changed(m, given)) for m in kept]


def entries(history: Sequence[Original]) -> Messages:
    """Convert a history of SWE-agent's; ids are places in it."""
    return Messages(_entry(original, str(n)) for n, original in enumerate(history))


def _entry(original: Original, id: str) -> Message:
    content = original["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    observed = original.get("message_type") == "observation" and not original.get("is_demo")
    if original["role"] == "tool":
        call = next(iter(original.get("tool_call_ids") or ()), "")
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        told = [verbatim(id, "tool_result", text, call_id=call) for text in texts]
        images = [verbatim(id, "image", "") for block in blocks if block["type"] == "image_url"]
        return Message(id, "tool", (*told, *images))
    parts = tuple(
        verbatim(id, "image", "") if block["type"] == "image_url" else _block(block, id)
        for block in blocks
    )
    role = "assistant" if original["role"] == "assistant" else "user"
    return Message(id, role, parts, origin="observation" if observed else "")


def unentries(kept: Iterable[Message], history: Messages, originals: Sequence[Original]) -> Any:
    """Write a history as SWE-agent's vectors do."""
    given = {message.id: message for message in history}
    return [
        dict(originals[int(m.id)]) | ({"content": m.text} if changed(m, given) else {})
        for m in kept
    ]


KINDS = {"S": "user", "u": "user", "a": "assistant", "r": "assistant", "o": "tool"}


def event(letter: str, id: int) -> Message:
    """Convert an event of OpenHands', which the vectors give as a letter."""
    name = str(id)
    if letter == "r":
        parts = (verbatim(name, "tool_call", "{}", name="run", call_id=name),)
    elif letter == "o":
        parts = (verbatim(name, "tool_result", "output", name="run", call_id=str(id - 1)),)
    else:
        parts = (verbatim(name, "text", letter),)
    return Message(name, KINDS[letter], parts, origin=letter)  # type: ignore[arg-type]


def events(letters: str) -> Messages:
    """Convert a history of OpenHands'."""
    return Messages(event(letter, n) for n, letter in enumerate(letters))


def unevents(kept: Iterable[Message], history: Iterable[Message]) -> list[dict[str, Any]]:
    """Write a history as OpenHands' vectors do."""
    given = {message.id: message for message in history}
    return [
        {"id": None, "kind": "masked_or_summary", "content": message.text}
        if changed(message, given)
        else {"id": int(message.id), "kind": message.origin, "content": None}
        for message in kept
    ]


def turns(originals: Sequence[Original]) -> Messages:
    """Convert a history of Strands'; ids are places in it.

    A user's message with a tool's result in it is a tool's message here.
    """
    return Messages(_turn(original, str(n)) for n, original in enumerate(originals))


def _turn(original: Original, id: str) -> Message:
    parts = tuple(part for block in original["content"] for part in _blocks(block, id))
    told = original["role"] == "user" and any("toolResult" in b for b in original["content"])
    return Message(id, "tool" if told else original["role"], parts)


def _blocks(block: Original, id: str) -> list[Part]:
    if "toolUse" in block:
        use = block["toolUse"]
        arguments = json.dumps(use.get("input"), ensure_ascii=False)
        return [verbatim(id, "tool_call", arguments, name=use["name"], call_id=use["toolUseId"])]
    if "toolResult" not in block:
        return [verbatim(id, "text", block.get("text") or "")]
    result = block["toolResult"]
    named = {"call_id": result["toolUseId"]}
    return [
        verbatim(id, "image", "", name=item["image"].get("format", ""))
        if "image" in item
        else verbatim(id, "tool_result", item.get("text") or json.dumps(item), **named)
        for item in result["content"]
    ]


def unturns(kept: Iterable[Message], history: Messages, originals: Sequence[Original]) -> list[Any]:
    """Write a history as Strands' vectors do."""
    given = {message.id: message for message in history}
    return [
        _unturn(message, originals[int(message.id)])
        if changed(message, given)
        else {key: originals[int(message.id)][key] for key in ("role", "content")}
        for message in kept
    ]


def _unturn(message: Message, original: Original) -> dict[str, Any]:
    parts = iter(message.parts)
    content = [_unblock(block, parts) for block in original["content"]]
    return {"role": original["role"], "content": content}


def _unblock(block: Original, parts: Any) -> Any:
    if "toolResult" not in block:
        next(parts)
        return block
    result = block["toolResult"]
    items = []
    for item in result["content"]:
        part = next(parts)
        items.append(item if part.kind == "verbatim" else {"text": part.text})
    return {"toolResult": dict(result) | {"content": items}}
