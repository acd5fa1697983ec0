"""Measures how often a client changed its prompt unasked, and what that explains of other sessions.

A call counts if it could have read what the one before had left, by all that the log says. Then
whatever was not found again is the client's doing, or the provider's, and no rule told of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

from compactlab.sim.audit.inquest import Finding
from compactlab.sim.audit.sizes import REBUILD
from compactlab.sim.audit.tally import Pair
from compactlab.sim.churn import Churn, Rate
from compactlab.sim.stream import stream

Session = Sequence[Finding]
_DRAWS = 2_000
_NORMAL = 1.959964  # 97.5 % of a normal distribution lie below


@dataclass(frozen=True)
class _Count:
    """Calls of one kind that could have read everything, and how much of it was lost."""

    calls: int = 0
    front: float = 0.0
    messages: float = 0.0

    def __add__(self, other: _Count) -> _Count:
        return _Count(
            self.calls + other.calls, self.front + other.front, self.messages + other.messages
        )

    @property
    def lost(self) -> float:
        return self.front + self.messages


def churn_of(client: str, sessions: Sequence[Session]) -> Churn:
    """Measure the churn of one client.

    Parameters
    ----------
    client
        The format of its logs.
    sessions
        What was found out about its sessions.
    """
    rates = []
    for opening in (True, False):
        counts = [_count(session, opening) for session in sessions]
        total = sum(counts, _Count())
        low, high = _interval(client, counts)
        front, messages = round(total.front, 6), round(total.messages, 6)
        rates.append(Rate(total.calls, front, messages, round(low, 6), round(high, 6)))
    return Churn(client, rates[0], rates[1], len(sessions))


def _warm(session: Session, opening: bool) -> Iterator[Finding]:
    for finding in session:
        forecast = finding.forecast
        could = forecast.before >= REBUILD and finding.expected_lost < REBUILD
        exchange = forecast.exchange
        if could and exchange.compacted is None and exchange.opens_turn == opening:
            yield finding


def _count(session: Session, opening: bool) -> _Count:
    total = _Count()
    for finding in _warm(session, opening):
        if finding.lost < REBUILD:
            total += _Count(1)
            continue
        system, before = finding.forecast.system, finding.forecast.before
        behind = max(1, before - system)
        if finding.read < system // 2:
            total += _Count(1, 1.0)
        else:
            total += _Count(1, 0.0, min(1.0, finding.lost / behind))
    return total


def _interval(client: str, counts: Sequence[_Count]) -> tuple[float, float]:
    """Of the share that was lost, by drawing sessions; by Wilson's formula from a single one."""
    total = sum(counts, _Count())
    if not total.calls:
        return 0.0, 1.0
    if len(counts) < 2:
        return _wilson(total.lost, total.calls)
    rng = stream(0, client, "churn", "interval")
    shares = []
    for _ in range(_DRAWS):
        drawn = sum((rng.choice(counts) for _ in counts), _Count())
        shares.append(drawn.lost / drawn.calls if drawn.calls else 0.0)
    shares.sort()
    return shares[int(0.025 * _DRAWS)], shares[int(0.975 * _DRAWS) - 1]


def _wilson(hits: float, of: int) -> tuple[float, float]:
    """Wilson's interval of a share (Wilson 1927, Journal of the ASA 22:209).

    Examples
    --------
    >>> [round(end, 3) for end in _wilson(5, 10)]
    [0.237, 0.763]
    """
    share, square = hits / of, _NORMAL**2
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = _NORMAL / (1 + square / of) * sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def with_churn(churn: Churn, session: Session) -> Pair:
    """Fresh tokens of a session: expected by the rules and, on the average, by churn; recorded."""
    expected = float(sum(finding.forecast.fresh for finding in session))
    for opening, rate in ((True, churn.turn), (False, churn.call)):
        front, messages = rate.share("front"), rate.share("messages")
        for finding in _warm(session, opening):
            kept = finding.forecast.read
            expected += front * kept
            expected += messages * max(0, kept - finding.forecast.system)
    return Pair(expected, float(sum(finding.fresh for finding in session)))


def halvings(client: str, sessions: Sequence[Session]) -> list[float]:
    """By how much the fresh tokens of one half are off with the churn measured on the other.

    Returns
    -------
    list
        For every balanced halving, and either way round, the error as a share; ascending.
    """
    errors = []
    everyone = range(len(sessions))
    for half in combinations(everyone, len(sessions) // 2):
        rest = [sessions[index] for index in everyone if index not in half]
        chosen = [sessions[index] for index in half]
        ways = [(chosen, rest)] if len(sessions) % 2 == 0 else [(chosen, rest), (rest, chosen)]
        for fitted, tried in ways:
            if fitted and tried:
                churn = churn_of(client, fitted)
                errors.append(_off(churn, tried))
    return sorted(errors)


def _off(churn: Churn, sessions: Iterable[Session]) -> float:
    total = sum((with_churn(churn, session) for session in sessions), Pair(0.0, 0.0))
    return total.error or 0.0
