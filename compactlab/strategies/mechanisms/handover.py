"""Messages that contain summaries, and parts inserted before the user's last message."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.message import SUMMARY, Message, Part, Role, Source, frame
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.cut import after_results, current_turn

# Our own wording; only its length matters here, as no model reads it.
INSTRUCTIONS = (
    "Stop the work and write it down for an agent that will go on with it and has seen nothing of "
    "this conversation: what the user wants and has said, word for word where it matters; what "
    "was found out and decided, and why; which files, commands, names and values are in play; "
    "what is done, what is under way, what comes next. Answer with this text alone."
)
LEAD = "What was said before has been summarised:"


def is_summary(message: Message) -> bool:
    """Whether a message contains a summary of others."""
    return message.origin == SUMMARY


def summary_message(
    host: Host, parts: Iterable[Part], role: Role = "user", lead: str = LEAD
) -> Message:
    """Make a message of a summary, with an introductory line."""
    before = (frame(lead),) if lead else ()
    id = f"summary-{len(host.compactions) + 1}"
    return Message(id, role, (*before, *parts), host.now, meta=True, origin=SUMMARY)


def split_previous(messages: Messages) -> tuple[tuple[Part, ...], list[Message]]:
    """Separate the content of summaries from the other messages."""
    previous = tuple(p for m in messages if is_summary(m) for p in m.parts if p.sources)
    return previous, [message for message in messages if not is_summary(message)]


def live_request(
    messages: Messages, max_tokens: int, instructions: str = INSTRUCTIONS
) -> SummaryRequest:
    """Make a request on the live prompt; summaries among the messages are updated."""
    previous, spoken = split_previous(messages)
    return SummaryRequest(tuple(spoken), max_tokens, previous, instructions, rides="live")


def fitting(view: View, host: Host, more: str) -> View:
    """Remove the oldest messages of the live prompt until a request at its end fits.

    Codex CLI removes one item at a time until the provider accepts the request; Claude Code removes
    groups. A refused request is not billed. The rest never begins with a result, and always
    contains the newest message.
    """
    room = host.window - host.count(View(view.system)) - host.count(more)
    tokens = blocks_of(host.model.tokenizer).tokens
    first = view.messages.tail_from(tokens, max(room, 0))
    if not first:
        return view
    start = after_results(view.messages, first)
    last = max(len(view.messages) - 1, 0)
    return View(view.system, view.messages[min(start, last) :])


def glued(view: View, part: Part) -> View:
    """Insert a part before the user's last message; the same view if there is none."""
    at = current_turn(view.messages)
    turn = view.messages[at:]
    if not turn or not turn[0].starts_turn:
        return view
    prompt = msgspec.structs.replace(turn[0], parts=(part, *placed(turn[0])))
    return view.with_messages(view.messages.branch(at, [prompt, *turn[1:]]))


def placed(message: Message) -> tuple[Part, ...]:
    """Give each part its own index as source, because inserted parts shift them."""
    own = (Source(message.id),)
    return tuple(
        msgspec.structs.replace(part, sources=(Source(message.id, index),))
        if part.kind == "verbatim" and part.sources == own
        else part
        for index, part in enumerate(message.parts)
    )
