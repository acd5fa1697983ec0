"""Causes of cache misses: every uncached prompt token has exactly one cause.

``docs/metrics-table.md`` has the table.
"""

from __future__ import annotations

from collections.abc import Collection

from compactlab.sim.cache import Lookup
from compactlab.sim.cache.prompt import Prompt

CAUSES = {
    "cold_start": "the session's first request",
    "append": "new since the last request",
    "compaction": "content that had been sent is gone or shortened, so what follows moved",
    "history_edit": "messages that had been sent were changed without loss",
    "system_changed": "the system blocks changed",
    "tools_changed": "the definitions of tools changed",
    "rewind": "the script went back to where no stored prefix ends",
    "settings_changed": "thinking mode or effort changed, and with them the keys",
    "thinking_strip": "the model dropped the thinking of earlier turns, so what follows moved",
    "client_upgrade": "another version of the client, with another system prompt",
    "client_restart": "the client was started anew, and made its system prompt anew",
    "churn": "the client changed its prompt on its own, at the rate that an audit measured",
    "model_switch": "another model than in the last request",
    "ttl_expired": "the stored prefix had outlived its lifetime",
    "below_minimum": "the prefix was too short to be stored",
    "lookback_miss": "the stored prefix is further back than the lookback limit",
    "eviction": "the stored prefix was evicted for lack of space, or is on another server",
    "concurrent_cold": "the answer to the request that writes the prefix had not begun",
    "grid": "the remainder of a provider's grid of cacheable lengths",
    "no_cache": "the provider stores nothing",
    "compaction_call": "the request that makes a summary",
    "extra_turn": "an extra turn of the agent that the strategy requested",
    "unexplained": "none of the others; if it occurs, the cache model has a fault",
}

# Causes of tokens that are sent for the first time: no cache could have them.
ORDINARY = frozenset({"cold_start", "append"})


def explain(
    prompt: Prompt, lookup: Lookup, arrived: Collection[str], reason: str
) -> dict[str, int]:
    """Assign a cause to every cache-miss token of a prompt."""
    tokens: dict[str, int] = {}
    edge, all = lookup.read, prompt.tokens
    if reason == "append" and edge == prompt.sent and not lookup.missed:
        return {reason: all - edge} if all > edge else tokens  # the usual case
    if reason == "cold_start":
        edge = _charge(tokens, edge, reason, all)
    for cause, upto in lookup.missed:
        edge = _charge(tokens, edge, cause, upto)
    edge = _charge(tokens, edge, "unexplained" if reason == "append" else reason, prompt.sent)
    if edge < all and reason != "append":
        edge = _charge(tokens, edge, reason, all - _new(prompt, arrived, edge))
    _charge(tokens, edge, "append", all)
    return tokens


def _charge(tokens: dict[str, int], edge: int, cause: str, upto: int) -> int:
    """Assign a cause to all tokens from an edge up to a limit; return the new edge."""
    if upto <= edge:
        return edge
    tokens[cause] = tokens.get(cause, 0) + upto - edge
    return upto


def _new(prompt: Prompt, arrived: Collection[str], edge: int) -> int:
    """Return the tokens after an edge in new messages, which are near the end."""
    new, left, end = 0, len(arrived), prompt.tokens
    both = zip(reversed(prompt.starts), reversed(prompt.view.messages), strict=True)
    for block, message in both:
        if not left or end <= edge:
            break
        start = prompt.totals[block - 1] if block else 0
        if message.id in arrived:
            new, left = new + end - max(start, edge), left - 1
        end = start
    return new
