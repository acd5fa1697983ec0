"""Where Gemini CLI cuts a history, and what it cuts out of large tool outputs before."""

from __future__ import annotations

import json
import math
import re

import msgspec

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part
from compactlab.sim.messages import Messages
from compactlab.sim.tokens import utf16_length
from compactlab.sim.weight import remembered
from compactlab.strategies.mechanisms.middle import without_middle

# @google/gemini-cli-core 0.61.0: an output that does not fit keeps this many characters, a fifth
# of them from its beginning; estimates count a quarter of a token for each character, 1.5 for one
# that is not ASCII, and above so many characters a quarter for any.
KEPT_CHARS = 40_000
_HEAD = 0.2
_ASCII, _OTHER, _LONG = 0.25, 1.5, 100_000
_IMAGE = 3000
_quote = json.JSONEncoder(ensure_ascii=False).encode
_SURROGATE = re.compile("[\ud800-\udfff]")


def split_point(contents: Messages, fraction: float) -> int:
    """Index of the oldest message to keep; as ``findCompressSplitPoint`` (0.61.0).

    It is the first message of a user, no function's response among its parts, before which at
    least that share of all characters stands, as JSON. Where there is none, everything goes if the
    last message is the model's and calls no function; else the cut falls on the last such message.

    Parameters
    ----------
    contents
        The history.
    fraction
        Share of the characters that may go, between 0 and 1.

    Returns
    -------
    int
        The index; the length of the history if everything may go.

    Raises
    ------
    ValueError
        If the fraction is not between 0 and 1.
    """
    if fraction <= 0 or fraction >= 1:
        raise ValueError("Fraction must be between 0 and 1")
    target = contents.total(json_chars) * fraction
    last = before = 0
    for index, message in enumerate(contents):
        if _is_plain(message):
            if before >= target:
                return index
            last = index
        before += json_chars(message)
    if contents and contents[-1].role == "assistant" and not _has(contents[-1], "tool_call"):
        return len(contents)
    return last


def _is_plain(message: Message) -> bool:
    return message.role == "user" and not _has(message, "tool_result")


def _has(message: Message, type: str) -> bool:
    return any(part.type == type for part in message.parts)


@remembered
def json_chars(message: Message) -> int:
    """Characters (UTF-16) of a message as the JSON of Gemini's API."""
    role = message.origin or ("model" if message.role == "assistant" else "user")
    parts = [_part_chars(part) for part in message.parts]
    commas = max(len(parts) - 1, 0)
    return len('{"role":,"parts":[]}') + _quoted(role) + sum(parts) + commas


def _part_chars(part: Part) -> int:
    id = len('"id":,') + _quoted(part.call_id) if part.call_id else 0
    if part.type == "tool_call":
        around = len('{"functionCall":{"name":,"args":}}')
        return around + id + _quoted(part.name) + utf16_length(part.text or "{}")
    if part.type == "tool_result":
        key = "error" if part.is_error else "output"
        around = len('{"functionResponse":{"name":,"response":{"":}}}') + len(key)
        return around + id + _quoted(part.name) + _quoted(part.text)
    if part.type == "image":
        return len('{"inlineData":{}}') + 4 * part.size
    thought = len('"thought":true,') if part.type == "thinking" else 0
    return len('{"text":}') + thought + _quoted(part.text) + 4 * part.size


def _quoted(text: str) -> int:
    """Length of a text as `JSON.stringify` writes it: lone surrogates become escapes."""
    written = _quote(text)
    lone = 0 if text.isascii() else len(_SURROGATE.findall(text))
    return utf16_length(written) + 5 * lone


def estimate_text(text: str) -> float:
    """Tokens of a text as Gemini CLI estimates them, not rounded."""
    length = utf16_length(text)
    if text.isascii() or length > _LONG:
        return length * _ASCII
    ascii_only = sum(character < "\x80" for character in text)
    return ascii_only * _ASCII + (length - ascii_only) * _OTHER


@remembered
def estimate_content(message: Message) -> int:
    """Tokens of a message as Gemini CLI estimates them."""
    tokens = 0.0
    for part in message.parts:
        if part.type == "image":
            tokens += _IMAGE
        elif part.type == "tool_result":
            wrapped = len('{"output":}') + _quoted(part.text)
            tokens += (utf16_length(part.name) + wrapped) * _ASCII
        elif part.type == "tool_call":
            tokens += _part_chars(part) * _ASCII
        else:
            tokens += estimate_text(part.text) + part.size
    return math.floor(tokens)


def within_budget(messages: Messages, host: Host, budget: int) -> Messages:
    """Keep the newest tool outputs whole up to a budget; cut the older ones that are long.

    What is cut out stays in a file, by whose path it can be fetched again. As
    ``truncateHistoryToBudget`` (0.61.0); an output of up to 40,000 characters is never cut.

    Parameters
    ----------
    messages
        The history.
    host
        Keeps the files.
    budget
        Tokens of whole outputs.
    """
    used, changed = 0, {}
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.role != "tool":
            continue
        parts = list(message.parts)
        for index in range(len(parts) - 1, -1, -1):
            if parts[index].type != "tool_result":
                continue
            tokens = math.floor(estimate_text(parts[index].text))
            if used + tokens > budget:
                parts[index] = _cut(message, index, host)
                tokens = math.floor(estimate_text(parts[index].text))
            used += tokens
        if any(new is not old for new, old in zip(parts, message.parts, strict=True)):
            changed[place] = msgspec.structs.replace(message, parts=tuple(parts))
    return messages.replace(changed)


def _cut(message: Message, index: int, host: Host) -> Part:
    part = message.parts[index]
    length = len(part.text)
    if length <= KEPT_CHARS or part.kind == "truncated":
        return part
    head = math.floor(KEPT_CHARS * _HEAD)
    path = f"tool-outputs/{message.id}-{index}.txt"
    host.files[path] = part.text
    left_out = length - KEPT_CHARS
    marker = f"\n\n[{left_out} characters left out; all of it is in {path}]\n\n"
    kept = without_middle(message, index, head, KEPT_CHARS - head, marker)
    return msgspec.structs.replace(kept, handle=part.handle or path)
