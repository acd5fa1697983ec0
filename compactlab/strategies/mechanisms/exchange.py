"""Exchanges: an assistant message with the results of its calls, or any other message alone.

What keeps or drops whole exchanges never leaves a result without its call.
"""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.message import Message


def exchanges(messages: Iterable[Message]) -> list[list[Message]]:
    """Split messages into exchanges, in the order in which they begin.

    A result belongs to the exchange of its call, however late it comes.
    """
    found: list[list[Message]] = []
    of_call: dict[str, list[Message]] = {}
    for message in messages:
        answered = (part.call_id for part in message.parts if part.type == "tool_result")
        home = next((of_call[id] for id in answered if id in of_call), None)
        if home is None:
            found.append(home := [])
        home.append(message)
        of_call |= {part.call_id: home for part in message.parts if part.type == "tool_call"}
    return found
