"""The newest turns that fit a budget, as OpenCode keeps them behind a summary."""

from __future__ import annotations

from compactlab.sim.message import Message
from compactlab.sim.messages import Messages
from compactlab.sim.tokens import utf16_length
from compactlab.strategies.mechanisms.cut import after_results

# Tokens of the tail: a quarter of what is usable, within these (31e22f6).
LEAST, MOST, SHARE = 2000, 15_000, 0.25


def tail_budget(usable: int) -> int:
    """Tokens that the tail may have; as ``preserveRecentBudget``."""
    return min(MOST, max(LEAST, int(usable * SHARE)))


def turn_tail(messages: Messages, budget: int) -> int:
    """Index at which the newest turns begin that fit a budget; the length if none does.

    The turn that does not fit may be cut: as much of its end is kept as does, but no result
    without its call. Where everything fits nothing is kept: all of it is summarised. As ``select``
    (31e22f6), with a quarter of the characters for the size of a message.

    Parameters
    ----------
    messages
        The history, without summaries.
    budget
        Tokens.
    """
    starts = [n for n, message in enumerate(messages) if message.starts_turn]
    if not starts:
        return len(messages)
    first = messages.tail_from(size, budget)
    whole = next((n for n in starts if n >= first), len(messages))
    inside = max((n for n in starts if n < whole), default=None)
    if inside is not None:
        first = after_results(messages, max(first, inside + 1))
        whole = min(whole, first)
    return whole or len(messages)


def size(message: Message) -> int:
    """Tokens of a message as OpenCode estimates them: a quarter of its characters as JSON."""
    chars = len('{"role":"assistant","content":[]}')
    for part in message.parts:
        # Quotes and line breaks are escaped; the type, the ids and the names stand there, too.
        escapes = part.text.count("\n") + part.text.count('"') + part.text.count("\\")
        named = utf16_length(part.name) + utf16_length(part.call_id)
        chars += 30 + utf16_length(part.text) + escapes + named + 4 * part.size
    return chars // 4
