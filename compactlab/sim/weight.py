"""What messages weigh: numbers that depend on a message alone, and are found out once.

The same messages are weighed by every call of every strategy; what has to be written as JSON to be
weighed would take longer than all the rest of a replay.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from compactlab.sim.message import Message

Weight = Callable[[Message], int]

_memories: list[dict[int, tuple[Message, int]]] = []


def remembered(weight: Weight) -> Weight:
    """A weight that weighs each message once.

    Examples
    --------
    >>> @remembered
    ... def parts(message: Message) -> int:
    ...     print("weighed")
    ...     return len(message.parts)
    >>> message = Message("m", "user", ())
    >>> parts(message), parts(message)
    weighed
    (0, 0)
    """
    known: dict[int, tuple[Message, int]] = {}
    _memories.append(known)

    @wraps(weight)
    def remember(message: Message) -> int:
        found = known.get(id(message))
        if found is None:
            # The message is held too: an id may be given again once its object is gone.
            found = known[id(message)] = message, weight(message)
        return found[1]

    return remember


def forget_weights() -> None:
    """Drop the memory of weights, so that it does not grow with every conversation."""
    for known in _memories:
        known.clear()
