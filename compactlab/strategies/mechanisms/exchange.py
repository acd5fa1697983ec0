"""Exchanges: an assistant message with the results of its calls, or any other message alone.

What keeps or drops whole exchanges never leaves a result without its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compactlab.sim.message import Message


def exchanges(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Split messages into exchanges, in order."""
    exchange: list[Message] = []
    for message in messages:
        if exchange and message.role != "tool":
            yield exchange
            exchange = []
        exchange.append(message)
    if exchange:
        yield exchange
