"""Compaction after compaction: how often, how soon, for how little, and for what."""

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

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.latest import keep_latest
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.reads import looked_at
from compactlab.sim.metrics.metric import SIGNED, metric
from compactlab.sim.metrics.run_data import RunData, removed_by, shared
from compactlab.sim.replay.trace import SideCall, Step

_HUNDRED = "count over calls of the script, times 100"
_LOOP = "closed loop, metrics of recovery in the project's notes; simulated"
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
# A compaction that made the prompt smaller by a smaller share than this was hardly worth it.
SMALL = 0.10


class Cut(NamedTuple):
    """One compaction, in tokens."""

    call: int  # its index
    before: int  # of the prompt that would have been sent without it
    after: int  # of the prompt that was sent
    system: int  # of that, the system blocks
    passed: int  # of the last prompt before it that was sent without a compaction
    again: int  # that came since the compaction before, and that a compaction had dropped

    @property
    def gain(self) -> float:
        """By what share it made the prompt smaller; below 0 if it made it larger."""
        return 1 - self.after / self.before if self.before > 0 else 0.0

    @property
    def by_rereads(self) -> bool:
        """Whether it would not have come to it without what came again.

        The prompt would then have been no larger than one at which nothing was compacted.
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


# What came again: results of the same calls, and in the closed loop what was fetched again.

# Kinds of what recovery puts into the log.
_RECOVERED = frozenset({"recovered", "memory"})
_Key = tuple[str, ...]


def _again(
    come: Iterable[Message],
    dropped: Counter[_Key],
    script: Conversation,
    count: Callable[[Part], int],
) -> int:
    """Tokens of what came and had been dropped, with its calls; a result can come again once."""
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
    """The messages that came to the log between two calls; after a rewind, from there on."""
    return later.log[earlier.log.shared(later.log) :]


def _dropped(data: RunData, at: int) -> Iterator[_Key]:
    """What the results were of that a compaction took away, or that never got into a prompt."""
    change, steps = data.changes[at], data.trace.steps
    left = {id(part) for part in _results(change.come)}
    gone = [*change.gone, *_come(steps[at - 1], steps[at])]
    return (_key(p, data.conversation) for p in _results(gone) if id(p) not in left)


def _results(messages: Iterable[Message]) -> Iterator[Part]:
    parts = (part for message in messages for part in message.parts)
    return (part for part in parts if part.type == "tool_result" and part.kind == "verbatim")


def _key(result: Part, script: Conversation) -> _Key:
    """What a result is of: a file; else the call, its arguments, and what came of it."""
    name, arguments, file = _calls(script).get(result.call_id, (result.name, "", ""))
    return (file,) if file else (name, arguments, result.text)


@keep_latest
def _calls(script: Conversation) -> Mapping[str, tuple[str, str, str]]:
    """Of each call of a tool its name, its arguments and its file."""
    parts = (part for message in script.messages for part in message.parts)
    return {p.call_id: (p.name, p.text, looked_at(p)) for p in parts if p.type == "tool_call"}


# How often and how soon.


@metric("per 100 calls", "lower", _HUNDRED, _SPIRAL)
def compactions_per_100_calls(data: RunData) -> float | None:
    """Compactions per 100 calls of the script."""
    return _per_100(data)


@metric("per 100 calls", "lower", _HUNDRED, _LOOP)
def compactions_with_recovery(data: RunData) -> float | None:
    """Compactions of the closed loop, at best, per 100 calls of the script.

    What comes back fills the prompt, and so leads to further compactions. All of them are counted,
    over the calls of the script alone.
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


# For how little.


@metric("ratio", "lower", _MEDIAN, _SPIRAL)
def compaction_floor(data: RunData) -> float | None:
    """Prompt after a compaction over the prompt that it would have been.

    The prompt that it would have been is the previous one and all messages that came to the log
    since: the size at which the strategy acted. Nothing of the strategy has to be known for that.
    Near 1, what a compaction leaves (system prompt, tools, kept messages, summary) is nearly what
    triggers the next one. Above 1, compactions make the prompt larger. None without compactions.
    """
    return median(cut.after / cut.before for cut in _sized(data)) if _sized(data) else None


@metric("share", "neither", _MEDIAN)
def floor_system(data: RunData) -> float | None:
    """Share of the prompt after a compaction that is system prompt and tools.

    Of the prompt right after a compaction. It is the part of the floor that no strategy can remove;
    the rest is what the strategy left or wrote. None without compactions.
    """
    shares = [min(1.0, cut.system / cut.after) for cut in cuts(data) if cut.after > 0]
    return median(shares) if shares else None


@metric("share", "lower", _MEAN, _SPIRAL)
def compactions_small_gain(data: RunData) -> float | None:
    """Share of the compactions that made the prompt smaller by less than 10 %.

    Compared with the prompt that would have been sent, see ``compaction_floor``; those that made it
    larger are among them. None without compactions.
    """
    return fmean(cut.gain < SMALL for cut in cuts(data)) if cuts(data) else None


def _sized(data: RunData) -> list[Cut]:
    return [cut for cut in cuts(data) if cut.before > 0]


# By an estimate.


@metric("tokens", "neither", _MEAN, limits=SIGNED, aggregation="mean")
def fired_early(data: RunData) -> float | None:
    """Tokens by which an estimate made compactions come too early; below 0, too late.

    For each compaction: the tokens that the strategy took its context to have when it decided, less
    those that it had by the model's own count, without thinking that the model drops. Agents know
    the usage of the last call, and estimate what came since by its characters; one that looks at
    the usage alone does not see what came since, and is late. A margin that is added to an estimate
    counts as part of it; one that is taken off the trigger does not. Compactions of refused
    requests are not counted, as their size started them. None without compactions, and for
    strategies that count exactly, act by something else, or do not say what they believe.
    """
    errors = [error for step in data.trace.steps for error in step.misjudged]
    return fmean(errors) if errors else None


# For what.


@metric("share", "lower", _MEAN, _SPIRAL)
def compactions_by_rereads(data: RunData) -> float | None:
    """Share of the compactions that re-reads of dropped content have caused.

    *Re-read* is a tool's result that came to the log since the previous compaction, if that one or
    an earlier one had dropped or shortened a result of the same: of a read of the same file, or of
    any other call with the same arguments and word for word the same result. The call is re-read
    with it, and each dropped result can be re-read once. Re-reads *caused* a compaction if the
    prompt without them would have been no larger than the last prompt before it that was sent
    without compacting: at that size, the strategy did not act. So it is a lower bound for
    strategies that act at a size, and tells little of others. The first compaction is caused by
    none. None without compactions.
    """
    return _by_rereads(data)


@metric("share", "lower", _MEAN, _LOOP)
def compactions_by_recovery(data: RunData) -> float | None:
    """Share of the compactions that re-reads have caused, in the closed loop, at best.

    As ``compactions_by_rereads``, but what the agent recovers counts as re-read, too: content that
    was fetched again, found in memory or stated again by the user, whichever compaction had dropped
    it.
    """
    return None if data.best is None else _by_rereads(data.best)


def _by_rereads(data: RunData) -> float | None:
    return fmean(cut.by_rereads for cut in cuts(data)) if cuts(data) else None


# How long a user waits.


@dataclass(frozen=True)
class Speed:
    """Tokens a second: of a summary as it is written, and of a prompt that missed the cache."""

    output: float
    prefill: float

    def seconds(self, call: SideCall) -> float:
        """How long a request takes.

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
    """Seconds that a user waits for summaries, at a stated speed: simulated.

    For each request for a summary: its output at 47 tokens a second, and those tokens of its prompt
    that were not read from the cache at 35,000 a second. Both speeds were measured on recorded
    sessions (``speed.toml`` beside this module has sources and intervals) and are the same for all
    models. The requests of a compaction are made one after the other. Nobody waits for those that
    are made beside the work, or in a silence. 0 if no summary was waited for.
    """
    return math.fsum(SPEED.seconds(call) for call in data.summaries if call.waits)


@metric("seconds", "lower", "maximum over compactions", _STALL, aggregation="maximum")
def compaction_stall_max_s(data: RunData) -> float:
    """Seconds of the longest wait for summaries between two calls of the agent: simulated."""
    waits = (
        math.fsum(SPEED.seconds(c) for c in step.side if c.purpose == "summary" and c.waits)
        for step in data.trace.steps
    )
    return max(waits, default=0.0)
