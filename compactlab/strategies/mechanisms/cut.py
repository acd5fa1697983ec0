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
    """The next index at which no tool's result stands; the end, if only results follow."""
    while index < len(messages) and messages[index].role == "tool":
        index += 1
    return index


def tail(messages: Messages, index: int) -> Messages:
    """The messages from an index on, without results whose call was cut off.

    A result may come late, with a reminder of the client between it and its call. Where only
    results would be left, the cut moves back to their call: there must be something to send.
    """
    start = after_results(messages, index)
    if start == len(messages):
        while index and messages[index - 1].role == "tool":
            index -= 1
        start = max(index - 1, 0)
    kept = messages[start:]
    calls = {p.call_id for m in kept for p in m.parts if p.type == "tool_call"}
    late = [m for m in kept if m.role == "tool" and not _answers(m, calls)]
    return Messages(m for m in kept if m not in late) if start and late else kept


def _answers(message: Message, calls: set[str]) -> bool:
    return any(part.call_id in calls for part in message.parts if part.type == "tool_result")


def starts_turn(message: Message) -> int:
    """Weigh a message by whether a person starts a turn with it."""
    return int(message.starts_turn)


def current_turn(messages: Messages) -> int:
    """Index at which the current turn begins; 0 if nobody has spoken."""
    return messages.last_holding(starts_turn, 1) or 0


def last_turns(messages: Messages, turns: float | None) -> int:
    """Index at which the newest turns begin: OpenClaw's ``limitHistoryTurns`` (2026.1.29 on).

    What came before the first turn stays unless a turn has to go; then it goes with it, and so
    does a summary: it is no turn.

    Parameters
    ----------
    messages
        The history.
    turns
        How many turns at most. None, NaN, 0 and less are no limit. Of a fraction the whole part
        counts, so of less than one turn nothing is left.

    Returns
    -------
    int
        The index; 0 if there are no more turns than that.
    """
    if not turns or not turns > 0 or messages.total(starts_turn) <= turns:
        return 0
    whole = int(turns)
    return (messages.last_holding(starts_turn, whole) or 0) if whole else len(messages)
