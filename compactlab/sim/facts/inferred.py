"""Facts and needs of a conversation that nobody has labelled: what its own actions go on to use."""

from __future__ import annotations

from collections import defaultdict

from compactlab.sim.conversation import Conversation, Fact, FactType, Need
from compactlab.sim.identifiers import used
from compactlab.sim.message import Message, Source
from compactlab.sim.needs import forward_needs

Labels = tuple[tuple[Fact, ...], tuple[Need, ...]]


def inferred(conversation: Conversation) -> Labels:
    """Infer facts and needs from the recorded actions.

    A fact is a word that an action uses (see ``docs/metrics.md`` on what counts) and that had
    appeared before; each message that holds it states it, thinking left out. What a tool's result
    said first is a ``tool_detail``, and can be fetched by that call again; a path is an
    ``artifact``, anything else an ``entity``. What the system prompt says is no fact: it cannot be
    forgotten.

    Parameters
    ----------
    conversation
        The script.

    Returns
    -------
    tuple
        The facts, in the order of their words, and the needs, a call after the other.
    """
    uses = {answer.id: used(answer) for answer in conversation.calls}
    stated = _stated(conversation)
    place = {message.id: index for index, message in enumerate(conversation.messages)}
    needs = [
        Need(word, at, "used by the recorded action")
        for at, words in uses.items()
        for word in sorted(words)
        if word in stated and place[stated[word][0].id] < place[at]
    ]
    known = {message.id: message for message in conversation.messages}
    words = sorted({need.fact for need in needs})
    return tuple(_fact(word, stated[word], known) for word in words), tuple(needs)


def _stated(conversation: Conversation) -> dict[str, list[Source]]:
    """Where each word that actions use stands, in the order of the log."""
    needs = forward_needs(conversation)
    always = set(needs.held_by(conversation.system))
    found: dict[str, list[Source]] = defaultdict(list)
    for message in conversation.messages:
        for index, part in enumerate(message.parts):
            if part.type != "thinking":
                for number in needs.held(part):
                    if number not in always:
                        found[needs.names[number]].append(Source(message.id, index))
    return found


def _fact(word: str, stated: list[Source], known: dict[str, Message]) -> Fact:
    first = known[stated[0].id]
    from_tool = first.parts[stated[0].part].type == "tool_result"
    kind: FactType = "artifact" if "/" in word else "tool_detail" if from_tool else "entity"
    handle = first.id if from_tool else ""
    return Fact(word, kind, "", word, tuple(stated), handle=handle)
