"""What an agent knows of the size of its context: the last report, while it still holds."""

from __future__ import annotations

from compactlab.sim.host import Host
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.estimate import estimate, estimate_system


def reported_tokens(host: Host) -> int | None:
    """Tokens of the last call, its answer included; None if no report says what is in context now.

    A report is of the prompt that was sent. After a compaction it is stale until the next call: an
    agent that goes by it compacts what it has just compacted (OpenClaw issue 26458).
    """
    if host.reported is None or is_stale(host):
        return None
    return host.reported.prompt + host.reported.output


def is_stale(host: Host) -> bool:
    """Whether the context has been compacted since the last call."""
    if not host.compactions:
        return False
    last = host.compactions[-1].last
    for message in reversed(host.log):
        if message.id == last:
            return True
        if message.call is not None:
            return False
    return True


def known_tokens(view: View, host: Host) -> int:
    """Tokens in context: what was reported, and estimates of what came after the last answer.

    Where no report holds, estimates of everything.
    """
    reported = reported_tokens(host)
    if reported is None:
        return estimate_system(view) + view.messages.total(estimate)
    since = 0
    for message in reversed(view.messages):
        if message.role == "assistant":
            break
        since += estimate(message)
    return reported + since


def is_little(tokens: int, host: Host) -> bool:
    """Whether so much is not worth a compaction: less than a hundredth of the window.

    The originals do not ask, and would do it again at every call.
    """
    return tokens * 100 < host.window


def at_most(tokens: int, host: Host, share: int = 4) -> int:
    """A number of tokens that is meant for a large window: a quarter of a smaller one.

    A run may narrow the window of its model. What agents reserve as an absolute number would then
    be all of it, which no agent was made for.
    """
    return min(tokens, host.window // share)
