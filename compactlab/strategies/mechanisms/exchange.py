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
        home = None
        for part in message.parts:
            if part.type == "tool_result" and home is None:
                home = of_call.get(part.call_id)
        if home is None:
            found.append(home := [])
        home.append(message)
        for part in message.parts:
            if part.type == "tool_call":
                of_call[part.call_id] = home
    return found
