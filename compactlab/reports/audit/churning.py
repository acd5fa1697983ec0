"""Measures how often a client changed its prompt unasked, and what that explains of other sessions.

A call counts if it could have read what the one before had left, by all that the log says. Then
whatever was not read is due to the client or the provider, and no rule predicted it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations
from math import comb, sqrt
from operator import add

from compactlab.reports.audit.inquest import Finding
from compactlab.reports.audit.sizes import REBUILD
from compactlab.reports.audit.tally import Pair
from compactlab.sim.core.stream import stream
from compactlab.sim.replay.client import Churn, Rate

Session = Sequence[Finding]
_KINDS = (True, False)  # whether a call opens a turn
_DRAWS = 2_000
# Of more sessions than have so many halvings, so many are drawn.
HALVINGS = 1_000
_NORMAL = 1.959964  # 97.5 % of a normal distribution lie below


@dataclass(frozen=True)
class _Count:
    """Calls of one kind that could have read everything, and how much of it was lost."""

    calls: int = 0
    front: float = 0.0
    messages: float = 0.0

    def __add__(self, other: _Count) -> _Count:
        return _Count(*map(add, astuple(self), astuple(other)))

    @property
    def lost(self) -> float:
        return self.front + self.messages


def churn_of(client: str, sessions: Sequence[Session]) -> Churn:
    """Measure the churn of one client."""
    turn, call = (
        _rate(counts, *_interval(client, counts))
        for counts in ([_count(session, opening) for session in sessions] for opening in _KINDS)
    )
    return Churn(client, turn, call, len(sessions))


def _rate(counts: Sequence[_Count], low: float = 0.0, high: float = 1.0) -> Rate:
    total = sum(counts, _Count())
    front, messages = round(total.front, 6), round(total.messages, 6)
    return Rate(total.calls, front, messages, round(low, 6), round(high, 6))


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
    """Of the share that was lost: the wider of what calls and what sessions say.

    Drawing sessions tells how much they differ, but of a few far too little: with as many losses
    by chance, the middle 95 % of such draws held the true share for 52 % of pairs of sessions, 85 %
    of fours and 88 % of eights (200 synthetic clients each). Wilson's formula takes every call for
    itself, which is right only where sessions do not differ.
    """
    total = sum(counts, _Count())
    if not total.calls:
        return 0.0, 1.0
    low, high = _wilson(total.lost, total.calls)
    calls, lost = [count.calls for count in counts], [count.lost for count in counts]
    rng = stream(0, client, "churn", "interval")
    shares = []
    for _ in range(_DRAWS):
        drawn = rng.choices(range(len(counts)), k=len(counts))
        of = sum(map(calls.__getitem__, drawn))
        shares.append(sum(map(lost.__getitem__, drawn)) / of if of else total.lost / total.calls)
    shares.sort()
    return min(low, shares[int(0.025 * _DRAWS)]), max(high, shares[int(0.975 * _DRAWS) - 1])


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


@dataclass(frozen=True)
class _Half:
    """What of a session, or of several, is needed to fit churn on it, and to try it there."""

    counts: tuple[_Count, _Count]  # at calls that open a turn, and at others; so below
    kept: tuple[int, int]  # tokens expected to be read
    behind: tuple[int, int]  # those of them behind tools and system prompt
    expected: int  # cache-miss tokens by the rules
    recorded: int  # cache-miss tokens

    def under(self, turn: Rate, call: Rate) -> Pair:
        """Its cache-miss tokens: expected by the rules and, on the average, by churn; recorded."""
        expected = float(self.expected)
        for rate, read, behind in zip((turn, call), self.kept, self.behind, strict=True):
            expected += rate.share("front") * read + rate.share("messages") * behind
        return Pair(expected, float(self.recorded))


def _half(session: Session) -> _Half:
    warm = [[finding.forecast for finding in _warm(session, opening)] for opening in _KINDS]
    turn, call = ([(f.read, max(0, f.read - f.system)) for f in kind] for kind in warm)
    return _Half(
        (_count(session, True), _count(session, False)),
        (sum(read for read, _ in turn), sum(read for read, _ in call)),
        (sum(behind for _, behind in turn), sum(behind for _, behind in call)),
        sum(finding.forecast.cache_misses for finding in session),
        sum(finding.cache_misses for finding in session),
    )


def with_churn(churn: Churn, session: Session) -> Pair:
    """Cache misses of a session: expected by the rules and, on the average, by churn; recorded."""
    return _half(session).under(churn.turn, churn.call)


def halvings(client: str, sessions: Sequence[Session]) -> list[float]:
    """By how much the cache misses of one half are off with the churn measured on the other."""
    halves = [_half(session) for session in sessions]
    everyone = range(len(halves))
    errors = []
    for chosen in _halves(client, len(halves)):
        rest = [index for index in everyone if index not in chosen]
        ways = [(chosen, rest)] if len(halves) % 2 == 0 else [(chosen, rest), (rest, chosen)]
        errors += [_off(halves, fitted, tried) for fitted, tried in ways if fitted and tried]
    return sorted(errors)


def _halves(client: str, sessions: int) -> Iterator[Collection[int]]:
    half = sessions // 2
    if comb(sessions, half) <= HALVINGS:
        return map(frozenset, combinations(range(sessions), half))
    rng = stream(0, client, "churn", "halvings")
    return (frozenset(rng.sample(range(sessions), half)) for _ in range(HALVINGS))


def _off(halves: Sequence[_Half], fitted: Iterable[int], tried: Iterable[int]) -> float:
    counts = [halves[index].counts for index in fitted]
    turn, call = (_rate([each[kind] for each in counts]) for kind in (0, 1))
    nothing = Pair(0.0, 0.0)
    return sum((halves[index].under(turn, call) for index in tried), nothing).error or 0.0
