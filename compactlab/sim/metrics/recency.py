"""Share of the latest messages that are verbatim in the prompt, at selected compactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import NamedTuple

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.message import Message, Part, Weight
from compactlab.sim.core.view import Messages
from compactlab.sim.metrics.metric import OWN, Metric
from compactlab.sim.metrics.run_data import RECENT, RunData, shared
from compactlab.sim.replay.trace import Step

# Selected compactions, with their contexts before and after.
#
# Metrics over whole contexts would be too expensive under strategies that compact at every call,
# and nearly equal each time. So at most MOMENTS compactions are evaluated, evenly spread from the
# first to the last.

# Compactions of a run at the most. Under five rules on four synthetic sessions (coding_agent,
# 150,000 tokens, seeds 0 to 3; up to 324 compactions) these shares were within 2.1 points of those
# of all compactions, half of them within 0.1, and the median tail within 9.3 %; 2026-11-22.
MOMENTS = 50


class Moment(NamedTuple):
    """A compaction's call, with the context before it and after."""

    step: Step
    # The messages of the prompt before, with all that came to the log since.
    before: tuple[Message, ...]
    system: tuple[Part, ...]  # of the prompt before
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
    """Some of many, evenly spread, the first and the last among them.

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

# How many messages of the log are newer: from so many, to so many (not included).
_AGES = {"11_20": (10, 20), "21_50": (20, 50), "51_100": (50, 100)}


def verbatim_recency(data: RunData) -> float | None:
    """Mean over compactions of the share of the last ten messages that the prompt ends with.

    At each compaction: of the tokens of the ten newest messages of the log, the share of those that
    the prompt ends with, unchanged and in order. None without compactions.
    """
    return _recency(data, RECENT)


def _newest(count: int) -> Callable[[RunData], float | None]:
    def recency(data: RunData) -> float | None:
        return _recency(data, count)

    which = "newest message" if count == 1 else f"{count} newest messages"
    recency.__name__ = recency.__qualname__ = f"verbatim_recency_{count}"
    recency.__doc__ = f"The same share, of the {which} of the log (VRC@{count})."
    return recency


verbatim_recency_1 = _newest(1)
verbatim_recency_2 = _newest(2)
verbatim_recency_5 = _newest(5)


def _recency(data: RunData, count: int) -> float | None:
    shares = [tail.share(count) for tail in _tails(data)]
    return fmean(shares) if shares else None


class _Tail(NamedTuple):
    """After a compaction: the log's newest messages, how many are kept, and what they weigh."""

    recent: Messages
    kept: int
    tokens: Weight

    def share(self, count: int) -> float:
        """Share of the tokens of the last so many that the prompt ends with."""
        recent = self.recent[-count:]
        if self.kept >= len(recent):
            return 1.0
        total = recent.total(self.tokens)
        retained = recent[len(recent) - self.kept :].total(self.tokens)
        return retained / total if total else 1.0


@shared
def _tails(data: RunData) -> list[_Tail]:
    """Of each compaction, what of the newest messages the prompt ends with."""
    return [
        _Tail(recent, kept_tail(recent, tail), _tokens(data, step.model))
        for step, *_, tail in data.changes
        if step.compaction
        for recent in (step.log[-RECENT:],)
    ]


def kept_tail(log: Sequence[Message], prompt: Sequence[Message]) -> int:
    """How many messages a prompt ends with as the log does, unchanged and in order."""
    length = 0
    for logged, sent in zip(reversed(log), reversed(prompt), strict=False):
        if logged is not sent and logged != sent:
            break
        length += 1
    return length


def verbatim_tail_messages(data: RunData) -> float | None:
    """Median over compactions of the messages that the prompt ends with as the log does.

    The longest run of messages, counted from the newest back, that is unchanged and in order at the
    end of the prompt. At most 50 compactions are evaluated, evenly spread over the run. None
    without compactions.
    """
    lengths = [len(tail) for tail, _ in _kept(data)]
    return median(lengths) if lengths else None


def verbatim_tail_tokens(data: RunData) -> float | None:
    """Median over compactions of the tokens of that run, as the run's model counts them."""
    sizes = [tail.total(tokens) for tail, tokens in _kept(data)]
    return median(sizes) if sizes else None


@shared
def _kept(data: RunData) -> list[tuple[Messages, Weight]]:
    """Of some compactions, the longest verbatim tail, and what weighs it."""
    tails = []
    for step, _, _, prompt in moments(data):
        length = kept_tail(step.log, prompt)
        tails.append((step.log[len(step.log) - length :], _tokens(data, step.model)))
    return tails


def _behind(age: str) -> Callable[[RunData], float | None]:
    def verbatim(data: RunData) -> float | None:
        shares = _by_age(data)[age]
        return fmean(shares) if shares else None

    first, last = age.split("_")
    verbatim.__name__ = verbatim.__qualname__ = f"verbatim_{age}"
    verbatim.__doc__ = f"""Share of messages {first} to {last} back that are in the prompt.

    At a compaction: of the tokens of the log's messages {first} to {last}, counted from the newest
    back, the share that is anywhere in the prompt, unchanged. ``verbatim_recency`` covers the tail
    that nearly every agent keeps; this covers the messages before it. At most 50 compactions are
    evaluated, evenly spread over the run; those without such messages do not count."""
    return verbatim


verbatim_11_20, verbatim_21_50, verbatim_51_100 = map(_behind, _AGES)


@shared
def _by_age(data: RunData) -> dict[str, list[float]]:
    """Of some compactions, by age the share of tokens that stand in the prompt unchanged."""
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
    """Whether a message stands in a prompt, itself or an equal one."""
    same = set(map(id, moment.prompt))
    equal: dict[str, list[Message]] = defaultdict(list)
    for message in moment.prompt:
        equal[message.id].append(message)
    return lambda message: id(message) in same or message in equal.get(message.id, ())


def _tokens(data: RunData, model: str) -> Weight:
    return blocks_of(data.model(model).tokenizer).weight


_OF_COMPACTIONS = "mean over compactions"
_OF_SOME = "mean over compactions, 50 at most"

METRICS = (
    Metric("share", "higher", "share of the newest message that the prompt ends with (VRC@1)",
           _OF_COMPACTIONS, OWN, verbatim_recency_1),
    Metric("share", "higher", "share of the last two messages that the prompt ends with (VRC@2)",
           _OF_COMPACTIONS, OWN, verbatim_recency_2),
    Metric("share", "higher", "share of the last five messages that the prompt ends with (VRC@5)",
           _OF_COMPACTIONS, OWN, verbatim_recency_5),
    Metric("share", "higher", "share of the last ten messages that the prompt ends with (VRC@10)",
           _OF_COMPACTIONS, OWN, verbatim_recency),
    Metric("messages", "higher", "messages that the prompt ends with verbatim",
           "median over compactions, 50 at most", OWN, verbatim_tail_messages),
    Metric("tokens", "higher", "tokens that the prompt ends with verbatim",
           "median over compactions, 50 at most", OWN, verbatim_tail_tokens),
    *(Metric("share", "higher", f"share of messages {age.replace('_', ' to ')} back in the prompt",
             _OF_SOME, OWN, compute)
      for age, compute in zip(_AGES, (verbatim_11_20, verbatim_21_50, verbatim_51_100),
                              strict=True)),
)  # fmt: skip
