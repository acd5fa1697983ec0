"""Guards on tool results: when one is written, before a request, after a refusal."""

from collections.abc import Mapping
from typing import Any

from compactlab.sim.core.message import Message
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.openclaw.guards import (
    Cut,
    capped,
    cut_result,
    cut_text,
    flushed,
    guarded,
    most_chars,
    written,
)
from tests.conformance.answers import Answer
from tests.conformance.busy import session, under
from tests.conformance.pi import made_up, message, messages, stringify
from tests.conformance.vectors import Case


def truncation(case: Case) -> Any:
    asked = case.input
    if asked["fn"] == "calculateMaxToolResultChars":
        return most_chars(asked["contextWindowTokens"])
    if asked["fn"] == "truncateToolResultText":
        cut = cut_text(asked["text"], asked["maxChars"], case.version)
        return _said(cut, asked["text"])
    if not isinstance(asked["message"].get("content"), list):
        return {"unchanged": True}  # a text that is no list of blocks is not looked at
    told = message(asked["message"])
    return _changed(asked["message"], told, cut_result(told, asked["maxChars"], case.version))


def _said(cut: Cut | None, text: str) -> str:
    return text if cut is None else cut.text


def cap(case: Case) -> Any:
    original = case.input["message"]
    if not isinstance(original.get("content"), list):
        return {"unchanged": True}
    told = message(original)
    return _changed(original, told, capped(told, case.version))


def _changed(original: Mapping[str, Any], told: Message, cut: Message) -> Any:
    """A result in which every block of text has another text; what else there is stays."""
    if cut is told:
        return {"unchanged": True}
    texts = iter(part.text for part in cut.parts if part.type != "image")
    blocks = [
        {**block, "text": next(texts)} if block["type"] == "text" else block
        for block in original["content"]
    ]
    return {**original, "content": blocks}


def context_guard(case: Case) -> Any:
    originals = case.named("conversations")
    history = messages(originals)

    def details(told: Message) -> int:
        said = originals[int(told.id)].get("details")
        return utf16_length(said if isinstance(said, str) else stringify(said)) if said else 0

    kept = guarded(history, case.input["contextWindowTokens"], details=details)
    changed = [
        {"index": index, "message": _one_text(originals[index], new.parts[0].text)}
        for index, (old, new) in enumerate(zip(history, kept, strict=True))
        if new is not old
    ]
    return {"changed": changed}


def _one_text(original: Mapping[str, Any], text: str) -> Any:
    content: Any = [{"type": "text", "text": text}]
    if not isinstance(original.get("content"), list):
        content = text
    rest = {key: value for key, value in original.items() if key != "details"}
    return {**rest, "content": content}


def write_guard(case: Case) -> Any:
    history, now = messages(case.input["messages"]), case.shared["now_ms"] / 1000
    synthetic = case.input["allowSyntheticToolResults"]
    pending: dict[str, str] = {}
    out = written(history, pending, now=now, synthetic=synthetic, version=case.version)
    missing = list(pending)
    if synthetic and history:
        out += flushed(pending, history[-1], now)
    return {"pendingBeforeFinalFlush": missing, "appended": [_place(each) for each in out]}


def _place(written: Message) -> Any:
    return {"$msg": int(written.id)} if written.id.isdecimal() else made_up(written)


def too_large() -> None:
    """Results that are larger than the window, which nothing else relieves."""
    spec = "write_guard(version='2026.2.17', max_chars=3000) + overflow_truncation"
    record(session(), find_strategy(spec), Options("claude-sonnet-4-5", window=500))


TRUNCATION = "truncateToolResultText / calculateMaxToolResultChars / truncateToolResultMessage"

ANSWERS = [
    Answer(TRUNCATION, truncation, (most_chars, cut_text, cut_result), too_large),
    Answer("capToolResultSize (hard cap before persistence)", cap, (capped,), too_large),
    Answer(
        "installToolResultContextGuard -> transformContext (in-memory, mutates)",
        context_guard,
        (guarded,),
        under("context_guard", 10_000),
    ),
    Answer(
        "installSessionToolResultGuard: append the messages one by one, then "
        "flushPendingToolResults",
        write_guard,
        (written, flushed),
        under("write_guard"),
    ),
]
