"""Thrashing: frequency, intervals, gains and causes of compactions."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

from compactlab.sim.core.clients import looked_at
from compactlab.sim.core.conversation import Conversation, keep_latest
from compactlab.sim.core.message import Message, Part
from compactlab.sim.metrics.metric import SIGNED, SIMULATED, metric
from compactlab.sim.metrics.run_data import RunData, removed_by, shared
from compactlab.sim.replay.trace import SideCall, Step

_HUNDRED = "count over calls of the script, times 100"
_MEAN = "mean over compactions"
_MEDIAN = "median over compactions"
_SPIRAL = "openai/codex issues 13279 (2026-03) and 36665 (2026-08); own definition"
_STALL = "openai/codex issues 19485 (2026-04) and 45433; own definition, simulated"

ABOUT = (
    "A *death spiral* is compaction after compaction: at short intervals, each for little, because "
    "what remains is nearly as large as what triggers, or because the agent reads again what was "
    "dropped. No single figure tells it from a strategy that trims a little at every call on "
    "purpose; interval, gain and cause together do. Strategies that act on one request only count "
    "as compacting whenever content that had been sent is missing."
)
# A compaction with a smaller gain than this share was hardly worth it.
SMALL = 0.10


class Cut(NamedTuple):
    """One compaction, in tokens."""

    call: int  # its index
    before: int  # of the prompt without it
    after: int  # of the prompt that was sent
    system: int  # of that prompt's system blocks
    passed: int  # of the last prompt before it without a compaction
    again: int  # added since the previous compaction, after a compaction had dropped them

    @property
    def gain(self) -> float:
        """Share by which it reduced the prompt; negative if the prompt became larger."""
        return 1 - self.after / self.before if self.before > 0 else 0.0

    @property
    def by_rereads(self) -> bool:
        """Whether re-reads caused it.

        Without them, the prompt would have been no larger than one that was sent without
        compacting.
        """
        return self.before - self.again <= self.passed < self.before


@shared
def cuts(data: RunData) -> list[Cut]:
    """The compactions of a run, in order."""
    steps, script = data.trace.steps, data.conversation
    made: list[Cut] = []
    dropped: Counter[_Key] = Counter()
    passed = last = 0
    for i, step in enumerate(steps):
        if not (step.compaction and i):
            passed = step.usage.prompt
            continue
        model = data.model(step.model)
        after, count = step.usage.prompt, model.tokenizer.part
        again = _again(_come(steps[last], step), dropped, script, count)
        before = after + removed_by(steps[i - 1], step, model)
        made.append(Cut(i, before, after, sum(map(count, step.system)), passed, again))
        dropped.update(_dropped(data, i))
        last = i
    return made


# Re-reads: results of the same calls, and recovered content in the closed loop.

# Kinds of content that recovery adds to the log.
_RECOVERED = frozenset({"recovered", "memory"})
_Key = tuple[str, ...]


def _again(
    come: Iterable[Message],
    dropped: Counter[_Key],
    script: Conversation,
    count: Callable[[Part], int],
) -> int:
    """Tokens of re-reads with their calls; each dropped result can be re-read once."""
    tokens = 0
    asked: dict[str, int] = {}
    for part in (part for message in come for part in message.parts):
        if part.type == "tool_call":
            asked[part.call_id] = count(part)
        elif part.kind in _RECOVERED:
            tokens += count(part) + asked.pop(part.call_id, 0)
        elif dropped and part.type == "tool_result" and dropped[key := _key(part, script)] > 0:
            dropped[key] -= 1
            tokens += count(part) + asked.pop(part.call_id, 0)
    return tokens


def _come(earlier: Step, later: Step) -> Iterable[Message]:
    """The messages added to the log between two calls; after a rewind, from its target on."""
    return later.log[earlier.log.shared(later.log) :]


def _dropped(data: RunData, at: int) -> Iterator[_Key]:
    """The keys of results that a compaction removed, or that were never in a prompt."""
    change, steps = data.changes[at], data.trace.steps
    left = {id(part) for part in _results(change.come)}
    gone = [*change.gone, *_come(steps[at - 1], steps[at])]
    return (_key(p, data.conversation) for p in _results(gone) if id(p) not in left)


def _results(messages: Iterable[Message]) -> Iterator[Part]:
    parts = (part for message in messages for part in message.parts)
    return (part for part in parts if part.type == "tool_result" and part.kind == "verbatim")


def _key(result: Part, script: Conversation) -> _Key:
    """The key of a result: its file, otherwise the call, its arguments and its result."""
    name, arguments, file = _calls(script).get(result.call_id, (result.name, "", ""))
    return (file,) if file else (name, arguments, result.text)


@keep_latest
def _calls(script: Conversation) -> Mapping[str, tuple[str, str, str]]:
    """The name, arguments and file of each tool call."""
    parts = (part for message in script.messages for part in message.parts)
    return {p.call_id: (p.name, p.text, looked_at(p)) for p in parts if p.type == "tool_call"}


# Frequency and intervals.


@metric("per 100 calls", "lower", _HUNDRED, _SPIRAL)
def compactions_per_100_calls(data: RunData) -> float | None:
    """Compactions per 100 calls of the script."""
    return _per_100(data)


@metric("per 100 calls", "lower", _HUNDRED, SIMULATED)
def compactions_with_recovery(data: RunData) -> float | None:
    """Compactions of the closed loop in the best case, per 100 calls of the script.

    Recovered content fills the prompt, and so causes further compactions. All of them count, per
    100 calls of the script.
    """
    return None if data.best is None else _per_100(data.best)


def _per_100(data: RunData) -> float | None:
    calls = sum(not step.recovery for step in data.trace.steps)
    return 100 * len(cuts(data)) / calls if calls else None


@metric("calls", "higher", "minimum", _SPIRAL, aggregation="minimum")
def compaction_interval_min(data: RunData) -> int | None:
    """Fewest calls from a compaction to the next one.

    1 if two successive calls compact. None with fewer than two compactions.
    """
    return min((b.call - a.call for a, b in pairwise(cuts(data))), default=None)


# Gains.


@metric("ratio", "lower", _MEDIAN, _SPIRAL)
def compaction_floor(data: RunData) -> float | None:
    """Ratio of the prompt after a compaction to the prompt without it.

    The prompt without it is the previous one and all messages added to the log since: the size at
    which the strategy acted. Near 1, the result of a compaction (system prompt, tools, kept
    messages, summary) is nearly as large as the trigger of the next one. Above 1, compactions make
    the prompt larger. None without compactions.
    """
    return median(cut.after / cut.before for cut in _sized(data)) if _sized(data) else None


@metric("share", "neither", _MEDIAN)
def floor_system(data: RunData) -> float | None:
    """Share of system prompt and tools in the prompt after a compaction.

    It is the part of the floor that no strategy can remove; the strategy kept or wrote the rest.
    None without compactions.
    """
    shares = [min(1.0, cut.system / cut.after) for cut in cuts(data) if cut.after > 0]
    return median(shares) if shares else None


@metric("share", "lower", _MEAN, _SPIRAL)
def compactions_small_gain(data: RunData) -> float | None:
    """Share of the compactions that reduced the prompt by less than 10 %.

    Compared with the prompt without compaction, see ``compaction_floor``; compactions that made it
    larger count, too. None without compactions.
    """
    return fmean(cut.gain < SMALL for cut in cuts(data)) if cuts(data) else None


def _sized(data: RunData) -> list[Cut]:
    return [cut for cut in cuts(data) if cut.before > 0]


# By an estimate.


@metric("tokens", "neither", _MEAN, limits=SIGNED, aggregation="mean")
def fired_early(data: RunData) -> float | None:
    """Tokens by which estimates started compactions too early; negative if too late.

    For each compaction: the strategy's estimate of its context when it decided, less the model's
    own count, without thinking that the model drops. Agents know the usage of the last call, and
    estimate later messages by their characters; an agent that only uses the last usage is late. A
    margin added to an estimate is part of it; a margin subtracted from the trigger is not.
    Compactions of refused requests do not count, because no estimate started them. None without
    compactions, and for strategies that count exactly, act on something else, or do not report
    their estimate.
    """
    errors = [error for step in data.trace.steps for error in step.misjudged]
    return fmean(errors) if errors else None


# Causes.


@metric("share", "lower", _MEAN, _SPIRAL)
def compactions_by_rereads(data: RunData) -> float | None:
    """Share of the compactions caused by re-reads of dropped content.

    A *re-read* is a tool result added to the log since the previous compaction, if that or an
    earlier compaction dropped or shortened the same result: of a read of the same file, or of
    another call with the same arguments and exactly the same result. The call belongs to it, and
    each dropped result can be re-read once. Re-reads *caused* a compaction if the prompt without
    them would have been no larger than the last prompt before it that was sent without compacting:
    at that size, the strategy did not act. This is a lower bound for strategies that act at a size,
    and means little for others. The first compaction has no such cause. None without compactions.
    """
    return _by_rereads(data)


@metric("share", "lower", _MEAN, SIMULATED)
def compactions_by_recovery(data: RunData) -> float | None:
    """Share of the compactions caused by re-reads in the closed loop, in the best case.

    As ``compactions_by_rereads``, but recovered content counts as re-read, too: fetched again,
    found in memory or restated by the user, whichever compaction had dropped it.
    """
    return None if data.best is None else _by_rereads(data.best)


def _by_rereads(data: RunData) -> float | None:
    return fmean(cut.by_rereads for cut in cuts(data)) if cuts(data) else None


# How long a user waits.


@dataclass(frozen=True)
class Speed:
    """Tokens per second: of a summary's output, and of uncached prompt tokens."""

    output: float
    prefill: float

    def seconds(self, call: SideCall) -> float:
        """The duration of a request.

        Examples
        --------
        >>> from compactlab.sim.core.message import Usage
        >>> usage = Usage(uncached=1000, cache_read=90_000, output=500)
        >>> Speed(output=50, prefill=10_000).seconds(SideCall("summary", "", 0, usage, {}))
        10.1
        """
        new = call.usage.prompt - call.usage.cache_read
        return new / self.prefill + call.usage.output / self.output


SPEED = Speed(
    **tomllib.loads(
        files("compactlab.sim.metrics").joinpath("speed.toml").read_text(encoding="utf-8")
    )
)


@metric("seconds", "lower", "sum over summary calls of that purpose", _STALL)
def compaction_stall_s(data: RunData) -> float:
    """Simulated seconds that a user waits for summaries.

    For each summary request: its output at 47 tokens per second, and its uncached prompt tokens at
    35,000 per second. Both speeds were measured on recorded sessions (``speed.toml`` in this folder
    has sources and intervals) and are the same for all models. The requests of a compaction are
    sequential. Nobody waits for requests in the background or in a silence.
    """
    return math.fsum(SPEED.seconds(call) for call in data.summaries if call.waits)


@metric("seconds", "lower", "maximum over compactions", _STALL, aggregation="maximum")
def compaction_stall_max_s(data: RunData) -> float:
    """Simulated seconds of the longest wait for summaries between two calls of the agent."""
    waits = (
        math.fsum(SPEED.seconds(c) for c in step.side if c.purpose == "summary" and c.waits)
        for step in data.trace.steps
    )
    return max(waits, default=0.0)
