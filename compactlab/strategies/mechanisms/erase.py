"""Old tool outputs give way to a stub; the call and its place stay."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from compactlab.sim.message import Message, Part
from compactlab.sim.messages import Messages
from compactlab.sim.tokens import utf16_length
from compactlab.strategies.mechanisms.cut import starts_turn
from compactlab.strategies.mechanisms.handover import is_summary

STUB = "[Old tool output erased]"
SKILL = ("skill",)


def erased(message: Message) -> Message:
    """A message whose tool results are stubs; images that came with them are gone."""
    parts = tuple(_stub(part) for part in message.parts if part.type != "image")
    return msgspec.structs.replace(message, parts=parts)


def _stub(part: Part) -> Part:
    if part.type != "tool_result" or part.kind == "stub":
        return part
    kind = "stub" if part.sources else part.kind  # what stands for nothing goes on to
    return msgspec.structs.replace(part, text=STUB, kind=kind, size=0)


def is_erased(message: Message) -> bool:
    """Whether a message has a tool result that was erased."""
    return any(part.type == "tool_result" and part.kind == "stub" for part in message.parts)


def with_erased(messages: Messages, places: Collection[int]) -> Messages:
    """Messages, some of which are erased; the same ones if there are none to erase."""
    return messages.replace({place: erased(messages[place]) for place in places})


def output_tokens(message: Message) -> int:
    """Tokens of a message's tool outputs as OpenCode estimates them: a quarter, rounded."""
    return sum(
        int(utf16_length(part.text) / 4 + 0.5)
        for part in message.parts
        if part.type == "tool_result"
    )


def prunable(
    messages: Messages,
    *,
    protect: int,
    minimum: int,
    turns: int = 2,
    exempt: Iterable[str] = SKILL,
) -> list[int]:
    """Which messages' outputs are to be erased; as OpenCode's ``prune`` (31e22f6).

    Walks back from the end, passing over the newest turns. Outputs are added up, those of exempt
    tools and failed ones left out; what comes when the sum is over ``protect`` is to go. The walk
    ends at a summary, or at an output that is erased already.

    Parameters
    ----------
    messages
        The history.
    protect
        Tokens of the newest outputs that stay.
    minimum
        Tokens that must be over, or nothing is erased.
    turns
        How many user messages have to be passed before an output counts.
    exempt
        Tools whose outputs always stay.

    Returns
    -------
    list of int
        Their places, the newest first; empty if they do not come to the minimum.
    """
    exempt, found = frozenset(exempt), []
    total = gone = passed = 0
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        passed += starts_turn(message)
        if passed < turns:
            continue
        if is_summary(message):
            break
        if message.role != "tool" or _spared(message, exempt):
            continue
        if is_erased(message):
            break
        tokens = output_tokens(message)
        total += tokens
        if total > protect:
            gone += tokens
            found.append(place)
    return found if gone > minimum else []


def _spared(message: Message, exempt: Collection[str]) -> bool:
    results = [part for part in message.parts if part.type == "tool_result"]
    return all(part.is_error or part.name in exempt for part in results)


def older_outputs(messages: Messages, keep: int) -> list[int]:
    """Places of all tool outputs but the newest few that are not erased yet."""
    found = [
        n
        for n in range(len(messages) - 1, -1, -1)
        if messages[n].role == "tool" and not is_erased(messages[n])
    ]
    return found[keep:]
