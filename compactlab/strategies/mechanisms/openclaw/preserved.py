"""The turns that OpenClaw keeps under a summary in place of a recency buffer (2026.3.13)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from compactlab.sim.message import Message, Part, Source
from compactlab.sim.messages import Messages
from compactlab.sim.tokens import utf16_length
from compactlab.strategies.mechanisms.estimate import role_of
from compactlab.strategies.mechanisms.openclaw.pairs import answers, repair
from compactlab.strategies.mechanisms.pi.summary import plain
from compactlab.strategies.mechanisms.units import BLANKS, head

TURNS = 3
MOST_TURNS = 12
CHARS = 600
HEADING = "\n\n## Recent turns preserved verbatim"

_TYPES = {"thinking": "thinking", "tool_call": "toolCall", "image": "image"}
_NAMES = {"user": "User", "assistant": "Assistant"}


def split_turns(
    messages: Messages, turns: float | None, now: float | None = None
) -> tuple[Messages, list[Message]]:
    """Take the newest turns out of what would be summarised: ``splitPreservedRecentTurns``.

    Of users and assistants everything from the so-manieth last user message on; where there are
    fewer of those, all of them and the newest messages, twice as many as there should be turns.
    With the calls that are kept go their results, and what is left is repaired.

    Parameters
    ----------
    messages
        What would be summarised.
    turns
        How many turns, at most 12; fractions are cut off, and what is no number is 0.
    now
        The time of results that the repair makes up.

    Returns
    -------
    tuple
        What is to be summarised, and what is kept.
    """
    most = math.floor(turns) if turns is not None and math.isfinite(turns) else 0
    kept = _said(messages, min(MOST_TURNS, max(0, most)))
    if not kept:
        return messages, []
    calls = {p.call_id for n in kept for p in messages[n].parts if p.type == "tool_call"} - {""}
    for place in range(min(kept), len(messages)):
        if messages[place].role == "tool" and answers(messages[place]) in calls:
            kept.add(place)
    left = Messages(message for n, message in enumerate(messages) if n not in kept)
    return repair(left, now).messages, [messages[n] for n in sorted(kept)]


def _said(messages: Sequence[Message], turns: int) -> set[int]:
    """Places of the messages of users and assistants that are kept."""
    talk = [n for n, m in enumerate(messages) if role_of(m) in _NAMES]
    users = [n for n in talk if role_of(messages[n]) == "user"]
    if not turns:
        return set()
    if len(users) >= turns:
        return {n for n in talk if n >= users[-turns]}
    kept = set(users)
    for place in reversed(talk):
        kept.add(place)
        if len(kept) >= 2 * turns:
            break
    return kept


def turns_section(messages: Sequence[Message]) -> list[Part]:
    """The kept turns as they stand under a summary: ``formatPreservedTurnsSection``."""
    told = [part for message in messages for part in _line(message)]
    return [plain(HEADING), *told] if told else []


def _line(message: Message) -> list[Part]:
    """One message: who said it, its words, and what in it is no words; cut to 600 characters."""
    said = [*_words(message), *_rest(message)]
    if not said:
        return []
    label = _NAMES.get(role_of(message)) or f"Tool result ({_tool(message)})"
    line, room = [plain(f"\n- {label}: ")], CHARS
    for number, part in enumerate(said):
        if number:
            line.append(plain(head("\n", room)))
            room -= 1
        if utf16_length(part.text) > room:
            return [*line, *_cut(part, room), plain("...")]
        line.append(part)
        room -= utf16_length(part.text)
    return line


def _words(message: Message) -> Iterator[Part]:
    for number, part in enumerate(message.parts):
        text = part.text.strip(BLANKS)
        if part.type in ("text", "tool_result") and text:
            start = part.text.index(text)
            piece = (Source(message.id, number, start, start + len(text)),)
            # What a repair made up comes from nothing that was said.
            yield Part("text", text, part.kind, piece if part.sources else ())


def _rest(message: Message) -> Iterator[Part]:
    found = Counter(_TYPES[part.type] for part in message.parts if part.type in _TYPES)
    if found:
        told = ", ".join(f"{name} x{n}" if n > 1 else name for name, n in found.items())
        yield Part("text", f"[non-text content: {told}]", "stub", (Source(message.id),))


def _tool(message: Message) -> str:
    name = next((part.name for part in message.parts if part.name), "")
    return name if name.strip(BLANKS) else "tool"


def _cut(part: Part, units: int) -> list[Part]:
    text = head(part.text, units)
    if not text:
        return []
    if part.kind != "verbatim":
        return [Part("text", text, part.kind, part.sources)]
    (source,) = part.sources
    piece = Source(source.id, source.part, source.start, source.start + len(text))
    return [Part("text", text, "truncated", (piece,))]
