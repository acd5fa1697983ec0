"""What is put in front of the user's words, as if the user had said it."""

from __future__ import annotations

import msgspec

from compactlab.sim.message import Part
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import current_turn


def glued(view: View, part: Part) -> View:
    """The view with a part before what the user said last; itself, if nobody has spoken."""
    at = current_turn(view.messages)
    turn = view.messages[at:]
    if not turn or not turn[0].starts_turn:
        return view
    prompt = msgspec.structs.replace(turn[0], parts=(part, *turn[0].parts))
    return view.with_messages(view.messages.branch(at, [prompt, *turn[1:]]))
