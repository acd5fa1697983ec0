"""What is put in front of the user's words, as if the user had said it."""

from __future__ import annotations

import msgspec

from compactlab.sim.message import Message, Part, Source
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn


def glued(view: View, part: Part) -> View:
    """The view with a part before what the user said last; itself, if nobody has spoken."""
    at = current_turn(view.messages)
    turn = view.messages[at:]
    if not turn or not turn[0].starts_turn:
        return view
    prompt = msgspec.structs.replace(turn[0], parts=(part, *_placed(turn[0])))
    return view.with_messages(view.messages.branch(at, [prompt, *turn[1:]]))


def _placed(message: Message) -> tuple[Part, ...]:
    """A message's parts, each with its own place: what is put before them moves them."""
    own = (Source(message.id),)
    return tuple(
        msgspec.structs.replace(part, sources=(Source(message.id, place),))
        if part.kind == "verbatim" and part.sources == own
        else part
        for place, part in enumerate(message.parts)
    )
