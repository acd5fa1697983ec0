"""Summarising compaction: the old part of a history gives way to a summary in front of the tail."""

from __future__ import annotations

from typing import Literal

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part
from compactlab.sim.summarize import SummaryRequest
from compactlab.sim.view import Messages, View
from compactlab.strategies.mechanisms.serialise import serialise

# Our own wording; only its length matters here, as no model reads it.
INSTRUCTIONS = (
    "Write a checkpoint of this conversation with which another agent can go on at once. Give the "
    "goal, the rules and wishes of the user, what is done, what is being done and what is blocked, "
    "the decisions and their reasons, the next steps, and every path, name, number and command "
    "that is still needed, exactly as it stands. Keep what an earlier checkpoint holds unless it "
    "is no longer true."
)
PREFIX = "summary-"


def split_summary(messages: Messages) -> tuple[tuple[Part, ...], Messages]:
    """The parts of the summary that stands in front, if one does, and the messages after it."""
    if messages and messages[0].id.startswith(PREFIX):
        return messages[0].parts, messages[1:]
    return (), messages


def summarise(
    view: View,
    host: Host,
    old: Messages,
    *,
    previous: tuple[Part, ...],
    max_tokens: int,
    rides: Literal["live", "fresh"] = "fresh",
) -> tuple[Part, ...]:
    """Ask for a summary of messages that carries a previous one on; the previous one if none comes.

    Parameters
    ----------
    view
        The live prompt.
    host
        Bills the request.
    old
        What is to be summarised.
    previous
        The summary before.
    max_tokens
        How long the new one may be.
    rides
        How the request is built, see :class:`compactlab.sim.summarize.SummaryRequest`.
    """
    before = "\n".join(part.text for part in previous)
    transcript = f"{before}\n\n{serialise(old)}" if rides == "fresh" else ""
    request = SummaryRequest(tuple(old), max_tokens, previous, INSTRUCTIONS, transcript, rides)
    return host.summarize(view, request) or previous


def summary_first(view: View, host: Host, summary: tuple[Part, ...], tail: Messages) -> View:
    """The view with a summary, as a user message, in front of the tail."""
    if not summary:
        return view.with_messages(tail)
    id = f"{PREFIX}{len(host.compactions) + 1}"
    return view.with_messages([Message(id, "user", summary, host.now, meta=True), *tail])
