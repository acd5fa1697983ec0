"""The messages that stand for what was summarised, and how they are told from what was said."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part, Role, frame
from compactlab.sim.messages import Messages

# What pi calls such a message. Recordings never have one: summaries are no part of a script.
ORIGIN = "compactionSummary"

# Our own wording; only its length matters here, as no model reads it.
INSTRUCTIONS = (
    "Stop the work and write it down for an agent that will go on with it and has seen nothing of "
    "this conversation: what the user wants and has said, word for word where it matters; what "
    "was found out and decided, and why; which files, commands, names and values are in play; "
    "what is done, what is under way, what comes next. Answer with this text alone."
)
LEAD = "What was said before has been summarised:"


def is_summary(message: Message) -> bool:
    """Whether a message stands for others that were summarised."""
    return message.origin == ORIGIN


def summary_message(
    host: Host, parts: Iterable[Part], role: Role = "user", lead: str = LEAD
) -> Message:
    """A message that tells a summary, with a line before it that says so.

    Parameters
    ----------
    host
        Says which compaction it is.
    parts
        The summary; without any the message has the line alone.
    role
        Whose words they are.
    lead
        The line; none if empty.
    """
    before = (frame(lead),) if lead else ()
    id = f"summary-{len(host.compactions) + 1}"
    return Message(id, role, (*before, *parts), host.now, meta=True, origin=ORIGIN)


def split_previous(messages: Messages) -> tuple[tuple[Part, ...], list[Message]]:
    """What summaries among messages say, and the messages that are none."""
    previous = tuple(p for m in messages if is_summary(m) for p in m.parts if p.sources)
    return previous, [message for message in messages if not is_summary(message)]
