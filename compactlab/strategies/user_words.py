"""Keep the words of the user, summarise all the rest: as Codex CLI compacts."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from compactlab.sim.host import Host
from compactlab.sim.messages import Messages
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import SummaryRequest
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.fitting import fitting
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    is_summary,
    split_previous,
    summary_message,
)
from compactlab.strategies.mechanisms.usage import at_most, is_little, known_tokens
from compactlab.strategies.mechanisms.user_tail import newest_words, user_words

# Codex says before the summary whose it is; our own words.
LEAD = "Another agent has worked on this and leaves you its notes; go on from there:"
_MAX_TOKENS = 16_000  # the original sets no limit
_LIMIT = 0.9


@dataclass(frozen=True)
class UserWords(Strategy):
    """Keep what the user said word for word, the newest first, and a summary at the very end.

    After the local compaction of Codex CLI (codex-rs 0100b10, ``compact.rs``): all that the agent
    said and all that tools returned gives way to one hand-over summary. What the client says at
    the beginning of a session stays in front, as it would be built again. The request rides on
    the live history; if that is too large, the oldest items are left out of it. An empty summary
    is taken as it is.

    In front of a new turn the message of the user stands after the summary. Images that the user
    sent are lost, as in the original. Simplified: in a narrowed window the user's words have a
    quarter of it at most; where next to nothing would be gained it does not act. The compaction
    on the server and the one without a summary are other strategies.

    Parameters
    ----------
    limit
        Tokens at which it is time, if that is less than 90 % of the window; 0 for that.
    user_tokens
        Tokens of the user's words that are kept; the oldest of them loses its middle.
    """

    limit: int = 0
    user_tokens: int = 20_000
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {"last user message": "one that is longer than the budget is cut; codex-rs 0100b10"}
    )

    def __post_init__(self) -> None:
        for name in ("limit", "user_tokens"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name)}")

    def compact(self, view: View, host: Host) -> View:
        """Replace everything but the user's words, if it is time."""
        limit = int(host.window * _LIMIT)
        if self.limit:
            limit = min(limit, self.limit)
        if host.phase is not Phase.ON_OVERFLOW and known_tokens(view, host) < limit:
            return view
        start = _unanswered(view.messages)
        history, asked = view.messages[:start], view.messages[start:]
        if host.phase is Phase.ON_OVERFLOW:
            # What was just said may itself be what is too much.
            history, asked = view.messages, view.messages[:0]
        front = _opening(history)
        words = newest_words(user_words(history[front:]), at_most(self.user_tokens, host))
        if is_little(host.count(history[front:]) - host.count(Messages(words)), host):
            return view
        request = fitting(View(view.system, history), host, INSTRUCTIONS)
        previous, told = split_previous(request.messages)
        most = host.model.max_output or _MAX_TOKENS
        summary = host.summarize(
            request, SummaryRequest(tuple(told), most, previous, INSTRUCTIONS, rides="live")
        )
        last = summary_message(host, summary, lead=LEAD)
        return view.with_messages([*history[:front], *words, last, *asked])


def _unanswered(messages: Messages) -> int:
    """Index from which on nobody but the user has spoken."""
    index = len(messages)
    while index and messages[index - 1].role == "user" and not is_summary(messages[index - 1]):
        index -= 1
    return index


def _opening(messages: Messages) -> int:
    """How many messages the client put in front before anybody spoke."""
    index = 0
    while index < len(messages) and messages[index].meta and not is_summary(messages[index]):
        index += 1
    return index
