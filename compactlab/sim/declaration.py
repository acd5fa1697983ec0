"""Contexts that say themselves which messages of the original they stand for."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.sim.alignment import count_words
from compactlab.sim.attribution import Attributed, content
from compactlab.sim.errors import InputError, unknown
from compactlab.sim.message import Message, Part
from compactlab.sim.messages import Messages
from compactlab.sim.view import View

_NOBODY = ("synthetic", "opaque")


def declared(original: Sequence[Message], context: View) -> Attributed | None:
    """Take a context at its word, if its parts name messages of the original.

    Parameters
    ----------
    original
        The messages from which the context was made.
    context
        The context.

    Returns
    -------
    Attributed or None
        None if it says nothing of provenance: all of its parts are verbatim, and stand for
        messages that the original does not have.

    Raises
    ------
    InputError
        If it names a message that the original does not have.
    """
    known = {message.id: message for message in original}
    parts = [part for message in context.messages for part in message.parts]
    parts += (part for part in context.system if part.kind != "verbatim")
    if not any(_tells(part, known) for part in parts):
        return None
    for part in parts:
        for source in part.sources:
            if source.id not in known:
                raise InputError(unknown("message of the original", source.id, known))
        if part.kind == "verbatim" and not _stands(part, known):
            raise InputError(
                f"a part is said to be verbatim that message {part.sources[0].id!r} does not have"
            )
    same = {(m.id, m.role, m.parts): m for m in original}
    messages = [same.get((m.id, m.role, m.parts), m) for m in context.messages]
    words = sum(count_words(part.text) for part in (*parts, *context.system))
    return Attributed(View(context.system, Messages(messages)), context, False, words, words)


def _tells(part: Part, known: dict[str, Message]) -> bool:
    """Whether a part says something of its provenance, and not only that it is itself."""
    if part.kind in _NOBODY and not part.sources:
        return False
    return part.kind != "verbatim" or any(source.id in known for source in part.sources)


def _stands(part: Part, known: dict[str, Message]) -> bool:
    """Whether one of the messages that a part names has such a part."""
    return any(content(part) == content(p) for s in part.sources for p in known[s.id].parts)
