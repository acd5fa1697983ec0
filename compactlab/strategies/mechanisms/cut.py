"""Where a history may be cut."""

from __future__ import annotations

from compactlab.sim.message import Message
from compactlab.sim.view import Messages, Weight


def keep_recent(messages: Messages, tokens: int, weight: Weight) -> int:
    """Index of the first message to keep, so that about so many tokens stay.

    Walks back until the sum reaches the budget; the message that crosses it stays, and so does
    everything behind it, but a cut never falls on a tool's result: it moves forward to the next
    message that is none. Where there is no such message (the budget is crossed inside trailing
    results), or where everything fits, nothing is cut off. As pi's ``findCutPoint`` (0.49.3).

    Parameters
    ----------
    messages
        The history.
    tokens
        The budget of the tail.
    weight
        Weighs a message.

    Returns
    -------
    int
        The index; 0 if nothing is cut off.
    """
    crossing = messages.last_holding(weight, max(tokens, 1))
    if crossing is None:
        return 0
    cut = after_results(messages, crossing)
    return cut if cut < len(messages) else 0


def after_results(messages: Messages, index: int) -> int:
    """The next index from which on no result stands without its call because of the cut."""
    while index < len(messages) and messages[index].role == "tool":
        index += 1
    return index


def starts_turn(message: Message) -> int:
    """Weigh a message by whether a person starts a turn with it."""
    return int(message.starts_turn)


def last_turns(messages: Messages, turns: int) -> int:
    """Index at which the newest turns begin; 0 if there are no more than that."""
    return messages.last_holding(starts_turn, turns) or 0
