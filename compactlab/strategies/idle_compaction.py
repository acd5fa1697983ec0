"""Idle compaction: a summary shortly before the cache expires, if a long pause is likely."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from compactlab.sim.core.limits import above, at_least
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.cut import open_call, parted
from compactlab.strategies.mechanisms.estimate import known_tokens
from compactlab.strategies.mechanisms.handover import INSTRUCTIONS, live_request, summary_message
from compactlab.strategies.mechanisms.price import Price, price_of
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at


class Odds(NamedTuple):
    """Outcomes of silences that have lasted until a minute before the cache expires, as shares."""

    in_time: float  # the session goes on while the cache is alive
    late: float  # the session goes on after the cache has expired
    never: float  # the session has ended


# Outcomes of such silences by lifetime in seconds: in time, late, never. Counted on every second of
# 48 recorded sessions, in the order of their paths (40 of Claude Code, 6 of Codex, 2 of pi;
# 2026-11). In the other 24 they are 23, 119, 24; 2, 22, 24; 0, 12, 24. Using the earlier pauses of
# the same session as well predicts worse (docs/strategies.md).
_COUNTED = {300.0: Odds(18, 99, 24), 1800.0: Odds(2, 20, 24), 3600.0: Odds(0, 11, 24)}
# Tokens of a summary: the median of recorded ones is 3,047 of o200k, which are 3,400 to 4,900 of
# Claude's (2026-11).
_SUMMARY = 4000


def odds_of(lifetime: float) -> Odds:
    """Return the outcomes for the counted lifetime with the nearest ratio.

    Examples
    --------
    >>> [round(share, 2) for share in odds_of(300)]
    [0.13, 0.7, 0.17]
    >>> [round(share, 2) for share in odds_of(3600)]
    [0.0, 0.31, 0.69]
    """
    nearest = min(_COUNTED, key=lambda known: abs(math.log(known / lifetime)))
    counts = _COUNTED[nearest]
    return Odds(*(count / sum(counts) for count in counts))


# Claude Code's own, second-hand: read from its program (2.1.294) by others (st0nebridge/conPACT
# v1.5.0, 2026-10-14; RuslanTar/afk-compact v0.1.14, 2026-11-15), and seen 54.7 to 55.7 minutes
# after the last reply (Ark0N/Codeman discussion 554). Not documented: Anthropic turns it on by
# account. It also checks whether the account is near its usage limit.
IDLE_TOKENS, _HOUR, _SHARE = 200_000, 3600.0, 0.9


def hour_nearly_over(host: Host) -> float:
    """Return the seconds until Claude Code compacts an idle session; below 0: never.

    Entries must live for an hour; it acts after nine tenths of that.
    """
    asked = host.ttl == "1h" or host.cache_lifetime == _HOUR
    return _SHARE * _HOUR - host.idle if asked else -1.0


def is_resting(messages: Messages) -> bool:
    """Whether an answer has come, and no call waits for its result."""
    ended = bool(messages) and messages[-1].role == "assistant"
    return ended and open_call(messages) == len(messages)


class Sizes(NamedTuple):
    """The sizes in a decision, in tokens."""

    prompt: int  # the cached prompt
    front: int  # its tools and system prompt, which a compaction does not change
    after: int  # the prompt after a compaction, including tools and system prompt
    request: int  # the instructions after the prompt
    summary: int  # the summary


def expected_saving(odds: Odds, sizes: Sizes, price: Price) -> float:
    """Return the expected saving of a compaction now in dollars, over the outcomes.

    It includes the summary, and the first request after the silence. The savings of all later
    requests, and the cost of forgotten facts, are not included.

    Examples
    --------
    Reading costs 0.3, writing 3.75, an answer 15 dollars for a million tokens.

    >>> price = lambda read, missed, output: (0.3 * read + 3.75 * missed + 15 * output) / 1e6
    >>> small, large = (Sizes(prompt, 8000, 12_000, 100, 4000) for prompt in (30_000, 150_000))
    >>> [round(expected_saving(odds_of(300), sizes, price), 2) for sizes in (small, large)]
    [-0.02, 0.26]
    """
    prompt, front, after, request, summary = sizes
    in_time = price(prompt, 0, 0) - price(front, after - front, 0)
    late = price(0, prompt, 0) - price(0, after, 0)
    return odds.in_time * in_time + odds.late * late - price(prompt, request, summary)


@dataclass(frozen=True)
class IdleCompaction(Strategy):
    """Summarise while the user is silent, a minute before the cache entry expires.

    Requested by users: anthropics/claude-code issue 66115 (2026-06-07), github/copilot-cli issue
    4724 (2026-09-04), kunchenguid/firstmate issue 3336 (2026-08-30), anomalyco/opencode issue 50777
    (2026-09-23); Claude Code has had it since 2.1.286, and its source is not public. A
    reconstruction: moment and size follow these threads, the expected saving is our own rule.
    Claude Code's rule, as its users found it, is ``preset='claude_code'``, or
    ``claude_code(idle=True)``, which attaches files again.

    The summary request extends the live prompt while it is cached, and everything is replaced, as
    by ``/compact``. A call without a result stays, with the messages after it. It acts only in
    silences after an answer, and only if it expects a saving: the cost of the summary now, compared
    with writing the whole prompt again times the share of silences that outlast the cache. That
    share is from recordings (:func:`odds_of`); like a client, it does not know how long a silence
    will last. In the last silence of a session the summary is wasted.

    It ignores the window, so combine it: ``idle_compaction + full_summary``.

    Parameters
    ----------
    trigger
        Size below which it never acts; None if only the price decides.
    margin
        Seconds before the end of the lifetime; the odds are for one minute. It does not act while
        an answer is in progress.
    priced
        Whether a saving must be expected; if not, it acts in every such silence.
    summary_tokens
        Longest summary in tokens.
    preset
        ``claude_code`` acts from 200,000 tokens on (or the trigger), only if entries live for an
        hour, after nine tenths of that, and never while a call waits for its result. It ignores
        margin and price.
    """

    by_price = True
    does = (Act.SUMMARISE,)

    trigger: Trigger = None
    margin: Annotated[float, above(0)] = 60.0
    priced: bool = True
    summary_tokens: Annotated[int, at_least(1)] = 20_000
    preset: Literal["", "claude_code"] = ""
    phases = frozenset({Phase.ON_IDLE})

    breaks = MappingProxyType(
        {"last user message": "everything is summarised, what was said last too; Claude Code 2.1"}
    )

    def silence(self, host: Host) -> float:
        """Seconds until it acts: the cache's lifetime since the last request, less the margin."""
        if self.preset:
            return hour_nearly_over(host)
        return host.cache_lifetime - self.margin - host.idle

    def compact(self, view: View, host: Host) -> View:
        messages, called = view.messages, open_call(view.messages)
        if not is_resting(messages) and (self.preset or called == len(messages)):
            return view  # an answer is in progress
        tokens = known_tokens(view, host)
        if tokens < tokens_at(self.trigger, host, IDLE_TOKENS if self.preset else 0):
            return view
        old, rest = parted(messages, called)
        asked, priced = View(view.system, messages[:called]), self.priced and not self.preset
        if not old or (priced and self._saving(view, asked, tokens, host) <= 0):
            return view
        most = min(self.summary_tokens, host.model.max_output or self.summary_tokens)
        request = replace(live_request(asked.messages, most), waits=False)
        summary = host.summarize(asked, request)
        if not summary:
            return view
        after = view.with_messages([summary_message(host, summary), *rest])
        return after if host.count(after) < host.count(view) else view

    def _saving(self, view: View, asked: View, tokens: int, host: Host) -> float:
        front = host.count(View(view.system))
        after = front + _SUMMARY + host.count(view) - host.count(asked)
        sizes = Sizes(tokens, front, after, host.count(INSTRUCTIONS), _SUMMARY)
        return expected_saving(odds_of(host.cache_lifetime), sizes, price_of(host))
