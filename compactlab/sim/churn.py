"""How often a client changes its prompt unasked, and how deep; measured by an audit.

Real clients silently change what stands in front of a prompt: a date, a list of tools, a
reminder. No rule tells when. So a replay can be given how often a client was seen to do it, and
every strategy then meets the same changes at the same calls.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal

import msgspec

from compactlab.sim.errors import InputError, UsageError

Depth = Literal["front", "messages"]


class Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often something happened, with an interval of 95 %.

    Parameters
    ----------
    calls
        Calls at which it could have happened.
    front
        At how many of them nothing was found again, tools and system prompt included.
    messages
        At how many of them only what stands before the messages was found; where a part of the
        messages was, too, the share that was not counts.
    low, high
        Interval of the share of both together.
    """

    calls: int = 0
    front: float = 0.0
    messages: float = 0.0
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        whole = min(self.front, self.messages) >= 0
        if not (whole and self.front + self.messages <= self.calls):
            raise ValueError("front and messages must add up to a number from 0 to calls")
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError("low and high must be an interval between 0 and 1")

    def share(self, depth: Depth) -> float:
        """Share of calls at which the prompt changed so deep.

        Examples
        --------
        >>> Rate(calls=20, front=1, messages=4).share("messages")
        0.2
        """
        return getattr(self, depth) / self.calls if self.calls else 0.0


class Churn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a client changes its prompt unasked.

    Parameters
    ----------
    client
        The client: the format of its logs.
    turn
        At the first call of a turn.
    call
        At every other call.
    sessions
        From how many sessions that was measured.
    """

    client: str
    turn: Rate = Rate()
    call: Rate = Rate()
    sessions: int = 0

    def check(self, client: str) -> None:
        """Refuse to be the churn of another client.

        Raises
        ------
        UsageError
            If it was measured on one.
        """
        if client != self.client:
            raise UsageError(f"this churn was measured on {self.client}, and not on {client}")

    def draw(self, rng: random.Random, opens_turn: bool) -> Depth | None:
        """Draw whether the client changes its prompt before a call, and how deep."""
        rate = self.turn if opens_turn else self.call
        drawn = rng.random()
        front = rate.share("front")
        if drawn < front:
            return "front"
        return "messages" if drawn < front + rate.share("messages") else None


def read_churn(path: Path) -> Churn:
    """Read what an audit measured.

    Raises
    ------
    InputError
        If the file cannot be read, or is no such file.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Churn)
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InputError(
            f"this is no churn, as compactlab audit writes it: {error}", str(path)
        ) from None


def write_churn(churn: Churn) -> bytes:
    """Write what an audit measured, as JSON."""
    return msgspec.json.format(msgspec.json.encode(churn), indent=2) + b"\n"
