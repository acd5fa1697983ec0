"""The cost of forgetting when it has consequences: figures of the closed loop."""

from __future__ import annotations

from itertools import pairwise
from math import fsum
from statistics import median

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.metrics.metric import OVER_REQUESTS, SIMULATED, metric
from compactlab.sim.metrics.run_data import RunData

_HUNDRED = "count over calls of the script, times 100"
_PER = "per 100 calls"

ABOUT = (
    "These come from simulated replays of the same script in which missing facts are fetched, "
    "asked for or used wrongly, see `compactlab.sim.replay.recovery`. None where only the open "
    "loop was replayed."
)
_FETCHED = frozenset({"fetch", "recall"})
# Number of calls before a compaction for its share of met needs, and of calls that must reach it.
_BEFORE, _AGAIN = 20, 5


@metric("USD", "lower", OVER_REQUESTS, SIMULATED, label="with recovery")
def cost_with_recovery_usd(data: RunData) -> float | None:
    """Cost of all requests in the closed loop, including recovery, in the best case.

    It includes fetches, questions and corrections, and their effect on the cache and on later
    compactions. ``cost_usd`` is the same without consequences.
    """
    return _cost(data.best)


@metric("USD", "lower", OVER_REQUESTS, SIMULATED, label="recovery, worst case")
def cost_with_recovery_worst_usd(data: RunData) -> float | None:
    """Worst-case cost of all requests in the closed loop: stale and mutated facts are used."""
    return _cost(data.worst)


def _cost(closed: RunData | None) -> float | None:
    return None if closed is None else fsum(map(closed.cost, closed.requests))


@metric("USD per need", "lower", f"{OVER_REQUESTS}, over the sum of needs met", SIMULATED)
def cost_per_kept_need_usd(data: RunData) -> float | None:
    """``cost_with_recovery_usd`` over the needs that were met in the end.

    None without needs, or if none was met.
    """
    closed = data.best
    met = _met(closed) if closed else 0
    return fsum(map(closed.cost, closed.requests)) / met if closed and met else None


@metric(_PER, "lower", _HUNDRED, SIMULATED, label="fetched again")
def rereads_per_100_calls(data: RunData) -> float | None:
    """Calls that fetched something again or searched memory, per 100 calls of the script.

    In the best case, in which the agent notices stale and mutated facts.
    """
    return _per_100(data.best, _FETCHED)


@metric(_PER, "lower", _HUNDRED, SIMULATED, label="asked again")
def questions_per_100_calls(data: RunData) -> float | None:
    """Calls that asked the user for something already stated, per 100 calls of the script.

    In the best case. Lost constraints that the agent does not ask for are in ``unmet_needs``.
    """
    return _per_100(data.best, frozenset({"ask"}))


@metric(_PER, "lower", _HUNDRED, SIMULATED)
def misuses_per_100_calls(data: RunData) -> float | None:
    """Stale and mutated values that were used unnoticed, per 100 calls, in the worst case.

    Each costs the wrong call, the user's correction and a call that undoes it.
    """
    calls = _per_100(data.worst, frozenset({"misuse"}))
    return None if calls is None else calls / 2


def _per_100(closed: RunData | None, what: frozenset[str]) -> float | None:
    if closed is None:
        return None
    made = sum(step.recovery in what for step in closed.trace.steps)
    asked = sum(not step.recovery for step in closed.trace.steps)
    return 100 * made / asked if asked else None


@metric("tokens", "lower", "sum over fetches", SIMULATED)
def reread_tokens(data: RunData) -> int | None:
    """Tokens that were fetched again or found by searching memory, counted once.

    In the best case. They are billed again with each prompt that holds them.
    """
    closed = data.best
    if closed is None:
        return None
    count = 0
    for step in closed.trace.steps:
        tokens = blocks_of(closed.model(step.model).tokenizer).tokens
        count += sum(tokens(message) for message in step.created if message.role == "tool")
    return count


@metric("share", "lower", "sum of needs unmet over sum of needs", SIMULATED, label="unmet needs")
def unmet_needs(data: RunData) -> float | None:
    """Share of the needs that stay unmet after all possible recovery.

    In the best case: lost facts that could neither be fetched nor asked for, rules that the agent
    continued without, and recovered content without the needed words.
    """
    closed = data.best
    wanted = closed and _needs(closed)
    return 1 - _met(closed) / wanted if closed and wanted else None


@metric("calls", "lower", "median over compactions", SIMULATED, aggregation="median")
def calls_to_recover(data: RunData) -> float | None:
    """Calls until the share of met needs is as large as before a compaction.

    The share met at once (before anything is fetched) in the 20 calls before the compaction must be
    reached again in five consecutive calls with needs. The value counts the calls up to the first
    of these, or up to the next compaction if the share is not reached. Median over compactions with
    needs before and after them. In the best case.
    """
    closed = data.best
    if closed is None:
        return None
    met = _met_at_once(closed)
    cuts = [n for n, (_, _, cut) in enumerate(met) if cut]
    waits = [_wait(met, cut, following) for cut, following in pairwise([*cuts, len(met)])]
    known = [wait for wait in waits if wait is not None]
    return median(known) if known else None


_Need = tuple[int, int, bool]


def _wait(met: list[_Need], cut: int, following: int) -> int | None:
    before = [each for each in met[max(0, cut - _BEFORE) : cut] if each[0]]
    after = [index for index in range(cut, following) if met[index][0]]
    if not before or not after:
        return None
    usual = _share(before)
    for index, first in enumerate(after):
        window = [met[each] for each in after[index : index + _AGAIN]]
        if _share(window) >= usual:
            return first - cut
    return following - cut


def _share(needs: list[_Need]) -> float:
    return sum(each[1] for each in needs) / sum(each[0] for each in needs)


def _met_at_once(closed: RunData) -> list[_Need]:
    """For each call of the script: its needs, those met at once, and whether it compacted.

    It uses the first prompt sent for the call.
    """
    needs: list[_Need] = []
    retained, cut = None, False
    for step, states in zip(closed.trace.steps, closed.states, strict=True):
        retained = states.kept | states.unknown if retained is None else retained
        cut = cut or step.compaction
        if not step.recovery:
            needed = closed.ledger.moments[step.answer].needed
            needs.append((needed.bit_count(), (needed & retained).bit_count(), cut))
            retained, cut = None, False
    return needs


def _needs(closed: RunData) -> int:
    moments = closed.ledger.moments
    return sum(
        moments[step.answer].needed.bit_count() for step in closed.trace.steps if not step.recovery
    )


def _met(closed: RunData) -> int:
    return _needs(closed) - sum(len(step.unmet) for step in closed.trace.steps)
