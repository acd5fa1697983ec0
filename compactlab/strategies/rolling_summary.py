"""A rolling summary in front of a tail of messages or tokens: LangChain's middleware."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part
from compactlab.sim.messages import Messages
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import SummaryRequest
from compactlab.sim.view import View
from compactlab.sim.weight import Weight
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    split_previous,
    summary_message,
)
from compactlab.strategies.mechanisms.langchain.approximate import approximate, approximate_claude
from compactlab.strategies.mechanisms.langchain.context_size import (
    Size,
    check_size,
    clauses,
    cutoff,
    reached,
)
from compactlab.strategies.mechanisms.langchain.last_tokens import last_tokens
from compactlab.strategies.mechanisms.parting import parted
from compactlab.strategies.mechanisms.transcript import transcript
from compactlab.strategies.mechanisms.usage import reported_tokens

# What langchain 1.4.7 writes before a summary.
LEAD = "Here is a summary of the conversation to date:\n\n"
# What stands there when nothing of the old part was left to be summarised; our own words.
NOTHING_LEFT = "What was said before was too long to be summarised."
# LangChain sets no limit; a model has its own.
_MAX_TOKENS = 4096
# By how much an approximation is raised at most when the provider reports more.
_SCALE = 1.25


@dataclass(frozen=True)
class RollingSummary(Strategy):
    """Summarise what is older than the tail, the summary before it included.

    After LangChain's ``SummarizationMiddleware`` (1.4.7), whose rules of when and where to cut it
    follows exactly: sizes are compared inclusively, tokens are approximated from characters or
    taken from the last report, and a cut among results walks back to their call. The summariser
    is given no more than the last 4,000 tokens of what it is to summarise, from a message of the
    user on: in a long turn that is nothing, and then nothing is summarised. As a default trigger
    LangChain has none and never acts; this one acts at 85 % of the window, as deepagents (0.7.32).

    ``keep=("tokens", 20_000), summary_input=0`` with ``trigger=("fraction", 0.9)`` is Cline's
    agentic compaction; with ``rides="live"`` the request reads the cache. Not followed: retries
    of a failed request, and the exact counting of messages that have several parts.

    Parameters
    ----------
    trigger
        When: a kind and a number (``("tokens", 8000)``, ``("messages", 50)`` or
        ``("fraction", 0.85)`` of the window); several of them, of which any will do; among those
        some that must all be met: ``(("messages", 90), (("tokens", 3000), ("messages", 50)))``.
    keep
        How much of the end stays: a kind and a number.
    summary_input
        Tokens of the old part that the summariser is given, the newest; 0 for all of it.
    rides
        How the request is built: ``fresh`` or ``live``.
    """

    trigger: tuple[Any, ...] = ("fraction", 0.85)
    keep: tuple[str, float] = ("messages", 20)
    summary_input: int = 4000
    rides: Literal["live", "fresh"] = "fresh"

    breaks = MappingProxyType(
        {
            "last user message": "in a long turn the tail begins after it; langchain 1.4.7",
            "size": "a summary may be longer than the little that it stands for; langchain 1.4.7",
        }
    )

    def __post_init__(self) -> None:
        for name in ("trigger", "keep"):
            object.__setattr__(self, name, _tuples(getattr(self, name)))
        clauses(self.trigger)
        check_size("keep", self.keep)
        if self.summary_input < 0:
            raise ValueError(f"summary_input must be at least 0, not {self.summary_input}")

    @cached_property
    def _clauses(self) -> list[list[Size]]:
        return clauses(self.trigger)

    def compact(self, view: View, host: Host) -> View:
        """Replace the old part, if it is time."""
        messages, weight = view.messages, weight_of(host)
        reported = reported_tokens(host) or 0
        tokens = _scaled(messages, weight, reported)
        sizes = {"tokens": tokens, "window": host.window}
        if not reached(self._clauses, messages=len(messages), reported=reported, **sizes):
            return view
        cut = cutoff(messages, self.keep, weight=weight, **sizes)
        if cut <= 0:
            return view
        old, rest = parted(messages, cut)
        summary = self._summary(view, host, Messages(old))
        return view.with_messages([summary_message(host, summary, lead=LEAD), *rest])

    def _summary(self, view: View, host: Host, old: Messages) -> tuple[Part, ...]:
        given: list[Message] = list(old)
        if self.summary_input:
            given = last_tokens(old, self.summary_input, weight_of(host))
        if not given:
            return (Part("text", NOTHING_LEFT, "synthetic", ()),)
        previous, told = split_previous(Messages(given))
        written = transcript(given) if self.rides == "fresh" else ""
        most = host.model.max_output or _MAX_TOKENS
        return host.summarize(
            view,
            SummaryRequest(tuple(told), most, previous, INSTRUCTIONS, written, self.rides),
        )


def weight_of(host: Host) -> Weight:
    """How LangChain approximates the tokens of a message for a model."""
    return approximate_claude if host.model.name.startswith("claude") else approximate


def _scaled(messages: Messages, weight: Weight, reported: int) -> int:
    """Approximated tokens, raised towards what was reported for those up to the last answer."""
    tokens = messages.total(weight)
    if not reported:
        return tokens
    last = len(messages)
    while last and messages[last - 1].role != "assistant":
        last -= 1
    upto = messages[:last].total(weight)
    scale = min(_SCALE, max(1.0, reported / upto)) if upto and len(messages) > 1 else 1.0
    return math.ceil(tokens * scale)


def _tuples(value: Any) -> Any:
    """Lists, as they may come from a file, as tuples: a spec has to be hashable."""
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value
