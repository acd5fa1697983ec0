"""A client's behaviour apart from the text of its prompts: recorded and unrequested."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from compactlab.sim.cache import Settings
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.json import parse, read_bytes
from compactlab.sim.core.message import Call, Message, plain

# How often a client changes its prompt unrequested, and how deep; measured by an audit.
#
# Real clients silently change the start of a prompt: a date, a list of tools, a reminder. The
# moments are unpredictable. So a replay can use a measured frequency, and every strategy then gets
# the same changes at the same calls.

Depth = Literal["front", "messages"]


# Weight of the whole curve for a step with few calls, in calls.
_POOLED = 5


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Frequencies after a gap of at least this many seconds, up to the next step."""

    after: float
    calls: int = 0
    front: float = 0.0
    messages: float = 0.0

    def __post_init__(self) -> None:
        _check(self)
        if not 0 <= self.after < float("inf"):
            raise ValueError("after must be a number of seconds")


class Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The frequency of an event, with a 95 % interval."""

    calls: int = 0  # calls at which it was possible
    front: float = 0.0  # calls that read nothing, not even tools and system prompt
    # Calls that only read the content before the messages. A call that read some messages counts by
    # the missed share of them.
    messages: float = 0.0
    low: float = 0.0  # interval of the share of both kinds
    high: float = 1.0
    curve: tuple[Step, ...] = ()  # by seconds since the previous request, ascending

    def __post_init__(self) -> None:
        _check(self)
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError("low and high must be an interval between 0 and 1")
        starts = [step.after for step in self.curve]
        if starts != sorted(set(starts)):
            raise ValueError("the steps of a curve must ascend")

    def share(self, depth: Depth, gap: float | None = None) -> float:
        """Return the share of calls with a change of that depth: overall, or after a gap (seconds).

        Steps of the curve with few calls are pooled with the whole curve (partial pooling).

        Examples
        --------
        >>> rate = Rate(calls=20, front=1, messages=4, curve=(Step(0, 15, messages=2), Step(60, 5)))
        >>> rate.share("messages"), rate.share("messages", 10), rate.share("messages", 100)
        (0.2, 0.15, 0.1)
        """
        whole: float = getattr(self, depth) / self.calls if self.calls else 0.0
        steps = [step for step in self.curve if gap is not None and step.after <= gap]
        if not steps:
            return whole
        step = steps[-1]
        return float(getattr(step, depth) + _POOLED * whole) / (step.calls + _POOLED)


def _check(counted: Step | Rate) -> None:
    whole = min(counted.front, counted.messages) >= 0
    if not (whole and counted.front + counted.messages <= counted.calls):
        raise ValueError("front and messages must add up to a number from 0 to calls")


class Churn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The frequency of unrequested prompt changes by a client."""

    client: str  # the format of its logs
    turn: Rate = Rate()  # at first calls of turns
    call: Rate = Rate()  # at other calls
    sessions: int = 0  # number of measured sessions
    # Variation between sessions: the variance of their rates, relative to the squared mean.
    spread: float = 0.0
    # Unexplained part of a session's bill: a relative standard deviation.
    error: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= min(self.spread, self.error) <= max(self.spread, self.error) < float("inf"):
            raise ValueError("spread and error must be numbers from 0 on")

    def check(self, client: str) -> None:
        """Raise if this is the churn of another client."""
        if client != self.client:
            raise UsageError(f"this churn was measured on {self.client}, and not on {client}")

    def draw(self, rng: random.Random, opens_turn: bool, gap: float | None = None) -> Depth | None:
        """Draw whether the client changes its prompt before a call, and how deep."""
        rate = self.turn if opens_turn else self.call
        drawn = rng.random()
        front = rate.share("front", gap)
        if drawn < front:
            return "front"
        return "messages" if drawn < front + rate.share("messages", gap) else None


def read_churn(path: Path) -> Churn:
    """Read an audit's measurement."""
    try:
        return msgspec.convert(parse(read_bytes(path)), Churn)
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
    except ValueError as error:
        text = f"this is not a churn file of compactlab audit: {error}"
        raise InputError(text, str(path), getattr(error, "line", 0)) from None


def write_churn(churn: Churn) -> bytes:
    """Return an audit's measurement as JSON."""
    return msgspec.json.format(msgspec.json.encode(churn), indent=2) + b"\n"


# Clients that request a suggestion after a turn, with the live prompt: 3.7 % of 22,596 recorded
# calls of Claude Code read more than the previous call had written.
_SUGGESTING = {"claude-code"}
# The message of such a request in place of the user's. It starts a turn, so models that drop the
# thinking of earlier turns drop it there, and the cache mark precedes it.
SUGGESTION = Message("suggestion", "user", (plain(""),))
# Clients whose tools and system prompt other sessions of the user keep in the cache, if entries
# live one hour: 125 of 202 first calls of Claude Code read them, and two thirds of the calls after
# a pause of more than an hour.
SHARING = frozenset({"claude-code"})


class Client:
    """Tracks the settings of a session, and the client's other requests.

    The first logged client version and thinking mode also apply to the time before. So logs that
    name them late cause no change.

    Examples
    --------
    >>> client = Client()
    >>> client.settings(Call(version="1.0"), "a", opens_turn=True)
    ('append', Settings(tools='', system='', messages=''))
    >>> client.settings(Call(version="1.1"), "b", opens_turn=True)
    ('client_upgrade', Settings(tools='', system='1.1', messages=''))
    """

    def __init__(
        self,
        name: str = "",
        churn: Churn | None = None,
        rng: Callable[[str], random.Random] | None = None,
    ) -> None:
        self.suggests = name in _SUGGESTING
        self._shares = name in SHARING
        self._churn, self._rng = churn, rng
        self._first = {"version": "", "thinking": ""}
        self._now = dict(self._first)
        self._fronts = self._messages = self._starts = 0
        self._version = ""
        self._last: Settings | None = None
        self._told: tuple[str, str] | None = None

    def settings(
        self, call: Call, id: str, opens_turn: bool, gap: float | None = None
    ) -> tuple[str, Settings]:
        """Return the settings of the next call, and the cause of a change; ``append`` if none."""
        recorded = call.version, call.thinking
        same = recorded == self._told and self._churn is None and not call.restarted
        if same and self._last is not None:
            return "append", self._last
        self._told = recorded
        anew = call.restarted and self._last is not None
        self._starts += anew
        before, version = self._version, self._changed("version", call.version)
        self._version = version
        thinking = self._changed("thinking", call.thinking)
        churned = self._draw(id, opens_turn, gap)
        settings = Settings(
            tools=f"churn {self._fronts}" if self._fronts else "",
            system=version + (f" start {self._starts}" if self._starts else ""),
            messages=thinking + (f"churn {self._messages}" if self._messages else ""),
        )
        last, self._last = self._last or settings, settings
        if churned:
            return "churn", settings
        if anew and version == before:
            return "client_restart", settings
        if settings.system != last.system:
            return "client_upgrade", settings
        return "append" if settings == last else "settings_changed", settings

    def shares_system(self, ttl: str) -> bool:
        """Whether other sessions keep tools and system prompt in the cache."""
        return self._shares and ttl == "1h"

    def _changed(self, what: str, recorded_value: str) -> str:
        """Return a setting; "" if it equals its first logged value, or is not logged."""
        now = self._now[what] = recorded_value or self._now[what]
        first = self._first[what] = self._first[what] or recorded_value
        return "" if now == first else now

    def _draw(self, id: str, opens_turn: bool, gap: float | None) -> bool:
        if self._churn is None or self._rng is None:
            return False
        depth = self._churn.draw(self._rng(f"churn {id}"), opens_turn, gap)
        if self._last is None:
            return False  # nothing is stored yet
        self._fronts += depth == "front"
        self._messages += depth == "messages"
        return depth is not None
