"""How agents estimate tokens that no provider has reported yet."""

from __future__ import annotations

from compactlab.sim.host import Host
from compactlab.sim.message import Message
from compactlab.sim.tokens import chars4, utf16_length
from compactlab.sim.view import View

# pi counts an image in a tool's result as 4,800 characters (0.49.3 to 0.73.1).
IMAGE_CHARS = 4800


def estimate(message: Message) -> int:
    """Estimate a message: a quarter of its characters, rounded up.

    As pi's ``estimateTokens`` does: text, thinking, and of a tool call its name and arguments.
    Parts whose text is not known count what they are known to weigh.
    """
    chars = 0
    for part in message.parts:
        if part.type == "image":
            chars += IMAGE_CHARS if message.role == "tool" else 0
        elif part.type == "tool_call":
            chars += utf16_length(part.name) + utf16_length(part.text)
        else:
            chars += utf16_length(part.text) + 4 * part.size
    return -(-chars // 4)


def estimate_system(view: View) -> int:
    """Estimate the system blocks of a view."""
    return sum(chars4(part.text) + part.size for part in view.system)


def context_tokens(view: View, host: Host) -> int:
    """Tokens in context as an agent knows them.

    What the provider reported for the last call, its answer included, and estimates of what came
    after that; estimates of everything before the first call.
    """
    if host.reported is None:
        return estimate_system(view) + view.messages.total(estimate)
    since = 0
    for message in reversed(view.messages):
        if message.role == "assistant":
            break
        since += estimate(message)
    return host.reported.prompt + host.reported.output + since
