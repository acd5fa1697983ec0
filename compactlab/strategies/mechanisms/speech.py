"""Who speaks in a message, and what is said in it."""

from __future__ import annotations

from compactlab.sim.message import FRAME, Message, Part

_SUMMARY = "compactionSummary"


def speaker(message: Message) -> str:
    """``User`` or ``Assistant``; "" if neither of them speaks.

    Summaries, shell output and the like, which are told to the model as the user's, are nobody's
    words, and so is what a client attaches without a person having typed it. What a strategy tells
    the agent in an extra turn is the user's: it stands in the transcript as such.
    """
    if message.role == "assistant":
        return "" if message.origin == _SUMMARY else "Assistant"
    attached = message.meta and any(part.kind != "synthetic" for part in message.parts)
    return "" if message.role == "tool" or message.origin or attached else "User"


def spoken(message: Message) -> list[tuple[int, Part]]:
    """The parts of a message that are prose, with their places in it."""
    return [
        (place, part)
        for place, part in enumerate(message.parts)
        if part.type == "text" and part.name != FRAME
    ]
