"""Share of the latest messages that are verbatim in the prompt, at selected compactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import NamedTuple

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.message import Message, Part, Weight
from compactlab.sim.core.view import Messages
from compactlab.sim.metrics.metric import Member, metric
from compactlab.sim.metrics.run_data import RECENT, RunData, shared
from compactlab.sim.replay.trace import Step

# Selected compactions, with their contexts before and after.
#
# Metrics over whole contexts would be too expensive under strategies that compact at every call,
# and nearly equal each time. So at most MOMENTS compactions are evaluated, evenly spread from the
# first to the last.

# Maximum number of compactions. Under five rules on four synthetic sessions (coding_agent, 150,000
# tokens, seeds 0 to 3; up to 324 compactions) these shares were within 2.1 points of those of all
# compactions, half of them within 0.1, and the median tail within 9.3 %; 2026-11-22.
MOMENTS = 50


class Moment(NamedTuple):
    """A compaction's call, with the context before it and after."""

    step: Step
    # The messages of the previous prompt, and those added to the log since.
    before: tuple[Message, ...]
    system: tuple[Part, ...]  # of the previous prompt
    prompt: Messages  # the messages of its own prompt


@shared
def moments(data: RunData) -> list[Moment]:
    """All compactions of a run, or :data:`MOMENTS` of them, evenly spread."""
    steps = data.trace.steps
    chosen = set(spread([n for n, step in enumerate(steps) if step.compaction], MOMENTS))
    compactions: list[Moment] = []
    before, log, system = Messages(), Messages(), steps[0].system if steps else ()
    for number, prompt in enumerate(data.trace.prompts() if chosen else ()):
        step = steps[number]
        if number in chosen:
            spoken = log.shared(step.log)
            new = step.log[spoken:] if spoken == len(log) else ()
            compactions.append(Moment(step, (*before, *new), system, prompt))
        before, log, system = prompt, step.log, step.system
    return compactions


def spread(places: Sequence[int], most: int) -> list[int]:
    """Some of many, evenly spread, including the first and the last.

    Examples
    --------
    >>> spread(range(10), 4), spread([3, 5], 4)
    ([0, 3, 6, 9], [3, 5])
    """
    if len(places) <= most:
        return list(places)
    last = len(places) - 1
    return [places[n * last // (most - 1)] for n in range(most)]


# Share of the latest messages that is verbatim: VRC@k, and messages before the kept tail.

_OF_SOME = "mean over compactions, 50 at most"
# Ranges of the number of newer messages in the log: from, and to (not included).
_AGES = {"11_20": (10, 20), "21_50": (20, 50), "51_100": (50, 100)}


_RECENT = (
    Member("verbatim_recency_1", 1, "newest message"),
    Member("verbatim_recency_2", 2, "last two messages"),
    Member("verbatim_recency_5", 5, "last five messages"),
    Member("verbatim_recency", RECENT, "last ten messages", label="recent messages kept"),
)


@metric("share", "higher", "mean over compactions", members=_RECENT)
def verbatim_recency(data: RunData, count: int = RECENT) -> float | None:
    """Share of the {} that the prompt ends with after a compaction.

    At each compaction: of the tokens of the newest messages of the log (the name has their number,
    ten by default: VRC@k), the share with which the prompt ends, unchanged and in order. None
    without compactions.
    """
    shares = [tail.share(count) for tail in _tails(data)]
    return fmean(shares) if shares else None


class _Tail(NamedTuple):
    """After a compaction: the log's newest messages, the number of kept ones, and their tokens."""

    recent: Messages
    kept: int
    tokens: Weight

    def share(self, count: int) -> float:
        """Share of the tokens of the last messages with which the prompt ends."""
        recent = self.recent[-count:]
        if self.kept >= len(recent):
            return 1.0
        total = recent.total(self.tokens)
        retained = recent[len(recent) - self.kept :].total(self.tokens)
        return retained / total if total else 1.0


@shared
def _tails(data: RunData) -> list[_Tail]:
    """The newest messages with which the prompt ends, at each compaction."""
    return [
        _Tail(recent, kept_tail(recent, tail), _tokens(data, step.model))
        for step, *_, tail in data.changes
        if step.compaction
        for recent in (step.log[-RECENT:],)
    ]


def kept_tail(log: Sequence[Message], prompt: Sequence[Message]) -> int:
    """The number of messages in the common ending of prompt and log."""
    length = 0
    for logged, sent in zip(reversed(log), reversed(prompt), strict=False):
        if logged is not sent and logged != sent:
            break
        length += 1
    return length


@metric("messages", "higher", "median over compactions, 50 at most", aggregation="median")
def verbatim_tail_messages(data: RunData) -> float | None:
    """Messages in the common verbatim ending of prompt and log.

    The longest run of newest messages that is unchanged and in order at the end of the prompt. At
    most 50 compactions are evaluated, evenly spread over the run. None without compactions.
    """
    lengths = [len(tail) for tail, _ in _kept(data)]
    return median(lengths) if lengths else None


@metric("tokens", "higher", "median over compactions, 50 at most", aggregation="median")
def verbatim_tail_tokens(data: RunData) -> float | None:
    """Tokens of the common verbatim ending of prompt and log."""
    sizes = [tail.total(tokens) for tail, tokens in _kept(data)]
    return median(sizes) if sizes else None


@shared
def _kept(data: RunData) -> list[tuple[Messages, Weight]]:
    """The longest verbatim tail at some compactions, and its tokenizer."""
    tails = []
    for step, _, _, prompt in moments(data):
        length = kept_tail(step.log, prompt)
        tails.append((step.log[len(step.log) - length :], _tokens(data, step.model)))
    return tails


@metric(
    "share",
    "higher",
    _OF_SOME,
    members=[Member(f"verbatim_{a}", a, a.replace("_", " to ")) for a in _AGES],
)
def _verbatim_behind(data: RunData, age: str) -> float | None:
    """Share of messages {} back that are in the prompt.

    At a compaction: of the tokens of the log's messages at these positions, counted back from the
    newest, the share that is unchanged anywhere in the prompt. ``verbatim_recency`` covers the tail
    that nearly every agent keeps; this covers the messages before it. At most 50 compactions are
    evaluated, evenly spread over the run; those without such messages do not count.
    """
    shares = _by_age(data)[age]
    return fmean(shares) if shares else None


@shared
def _by_age(data: RunData) -> dict[str, list[float]]:
    """The share of tokens that are unchanged in the prompt, by age, at some compactions."""
    shares: dict[str, list[float]] = {age: [] for age in _AGES}
    for moment in moments(data):
        tokens = _tokens(data, moment.step.model)
        stands = _standing(moment)
        log = moment.step.log
        for age, (newer, older) in _AGES.items():
            span = log[max(0, len(log) - older) : max(0, len(log) - newer)]
            total = span.total(tokens)
            if total:
                verbatim = sum(tokens(message) for message in span if stands(message))
                shares[age].append(verbatim / total)
    return shares


def _standing(moment: Moment) -> Callable[[Message], bool]:
    """Whether a prompt has a message or an equal one."""
    same = set(map(id, moment.prompt))
    equal: dict[str, list[Message]] = defaultdict(list)
    for message in moment.prompt:
        equal[message.id].append(message)
    return lambda message: id(message) in same or message in equal.get(message.id, ())


def _tokens(data: RunData, model: str) -> Weight:
    return blocks_of(data.model(model).tokenizer).weight
