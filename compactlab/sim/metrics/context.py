"""What a prompt holds: the last messages, the words needed next, and whole turns and pairs."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.message import SUMMARY, Message, Part, Weight
from compactlab.sim.core.view import Messages
from compactlab.sim.facts.needs import AHEAD, forward_needs
from compactlab.sim.metrics.metric import OVER_CALLS, Member, metric
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


_SLIPSTREAM = "the recorded future as ground truth, arXiv 2605.08580"
_SUMMED = "sum of words in context over sum of words used, of all calls"
_AHEAD = (
    Member("forward_need_1", 1, "action uses"),
    Member("forward_need", 5, "five actions use"),
    Member("forward_need_20", 20, "20 actions use"),
)


@metric("share", "higher", _SUMMED, _SLIPSTREAM, members=_AHEAD)
def forward_need(data: RunData, actions: int = 5) -> float | None:
    """Share in context of the words that had appeared and that the next {}.

    For each call of the script: the *words* (see below) that had appeared before the call and that
    the next recorded actions use (this call's answer and later ones; the name has their number,
    five by default). The metric is the share of these words in the prompt, summed over calls
    (FNC@k). It needs no labels. Words may be in a prompt by chance, so compare it with
    ``random_keep`` and ``keep_none``.
    """
    return _covered(data)[actions]


@shared
def _covered(data: RunData) -> dict[int, float | None]:
    """The share in context, by the number of actions to look ahead."""
    needs = forward_needs(data.conversation)
    wanted, lacking = dict.fromkeys(AHEAD, 0), dict.fromkeys(AHEAD, 0)
    # Occurrences of each word in the prompt; messages change single ones, calls read many.
    held = array("q", bytes(8 * needs.size))
    column = np.asarray(held)
    system: tuple[Part, ...] = ()

    def count(numbers: Iterable[int], times: int) -> None:
        for number in numbers:
            held[number] += times

    for step, gone, come, *_ in data.changes:
        for message in gone:
            count(needs.held_in(message), -1)
        for message in come:
            count(needs.held_in(message), 1)
        if step.system is not system:
            count(needs.held_by(system), -1)
            system = step.system
            count(needs.held_by(system), 1)
        if step.answer in needs.answers:  # else it is a call that the script does not have
            absent = column[np.asarray(needs.wanted(step.answer, max(AHEAD)))] == 0
            for k, size in zip(AHEAD, needs.sizes(step.answer), strict=True):
                wanted[k] += size
                lacking[k] += int(np.count_nonzero(absent[:size]))
    return {k: (wanted[k] - lacking[k]) / wanted[k] if wanted[k] else None for k in AHEAD}


@metric(
    "share", "higher", "one less faults over messages, each summed over calls", label="validity"
)
def structural_validity(data: RunData) -> float | None:
    """Share of the messages without a structural fault.

    Faults are: a tool result without its call before it, a call without its result, two messages of
    the same id, a message without content, a prompt that does not begin with a user message (the
    provider ignores content before its own compaction block), and stacked summaries. Of several
    summaries of the same message, all but one are faults; the message with the most summaries
    counts. In a prompt without messages, every message so far is a fault. Successive messages of
    one role are no fault: providers merge them, and every client sends attachments next to the
    user's text. Recordings have faults of their own (an aborted call); ``keep_all`` shows their
    number.
    """
    soundness = _soundness(data)
    if not soundness.messages:
        return None
    return max(0.0, 1 - soundness.faults / soundness.messages)


@metric("calls", "lower", OVER_CALLS)
def rejected_calls(data: RunData) -> int:
    """Calls whose prompt no provider would accept.

    The prompt has a tool result without its call before it, or a call without its result, or no
    message. Other faults do not count, because only some providers reject them. Faults of the
    recording count, too: ``keep_all`` shows their number.
    """
    return _soundness(data).rejected


@metric("share", "lower", "mean over calls", label="no system prompt")
def system_dropped(data: RunData) -> float:
    """Share of the calls that lack a system block of the conversation: its prompt or its tools.

    No provider rejects them, and recall does not show them, as tool definitions have no facts.
    But the agent could not go on.
    """
    given, steps = data.conversation.system, data.trace.steps
    bare = {id(step.system): any(p not in step.system for p in given) for step in steps}
    return sum(bare[id(step.system)] for step in steps) / max(1, len(steps))


@metric("messages", "lower", "count over the run", "openclaw pull request 17345", aggregation="sum")
def broken_references(data: RunData) -> int:
    """Pointers to content in files that is missing or changed.

    Each pointer of the session counts once, if its content is gone or has another hash when the
    pointer first appears. Other paths, such as those of read files, are not pointers. 0 for
    strategies that move no content to files.
    """
    return sum(len(step.outside.broken) for step in data.trace.steps)


class _Soundness(NamedTuple):
    """Faults and messages of all prompts, and the prompts that would be rejected."""

    faults: int
    messages: int
    rejected: int


_PAIR = ("tool_call", "tool_result")


@shared
def _soundness(data: RunData) -> _Soundness:
    faults = _Faults()
    count = messages = rejected = 0
    for step, gone, come, moved, placed, length, first, _ in data.changes:
        # In the order of the prompts: whether a result is early depends on earlier messages. For
        # moved messages, that can change if their calls or results were removed or added.
        ids = {id for message in chain(gone, come) for id in _paired(message)} if moved else set()
        again = [m for m in moved if not ids.isdisjoint(_paired(m))] if ids else ()
        for message in chain(gone, again):
            faults.update(message, -1)
        for message in chain(come[:placed], again, come[placed:]):
            faults.update(message, 1)
        if first is None:
            # No provider accepts a prompt without messages: every message so far is a fault.
            count += len(step.log) or 1
            messages += len(step.log) or 1
            rejected += 1
        else:
            count += faults.count + faults.orphans + faults.stacks.count
            # A prompt must begin with a user message; but the provider ignores messages before its
            # own compaction block, which is an agent message.
            count += first.role != "user" and first.origin != SUMMARY
            messages += length
            rejected += faults.orphans > 0
    return _Soundness(count, messages, rejected)


def _paired(message: Message) -> list[str]:
    """The ids of the calls and results in a message."""
    return [part.call_id for part in message.parts if part.type in _PAIR]


class _Faults:
    """Counts faults in a prompt as messages are removed and added.

    Calls and results without a partner are counted separately.
    """

    def __init__(self) -> None:
        self.count = 0
        self.orphans = 0
        self.stacks = _Stacks()
        self._pairs: dict[str, _Pair] = defaultdict(_Pair)
        self._ids: dict[str, int] = {}

    def update(self, message: Message, by: int) -> None:
        """Count a message in (1) or out (-1)."""
        id = message.id
        times = self._ids[id] = self._ids.get(id, 0) + by
        if times > (by > 0):
            self.count += by
        empty, sums_up = True, False
        for part in message.parts:
            if part.text or part.size:
                empty = False
            if part.kind == "summary":
                sums_up = True
            if part.type in _PAIR:
                self.orphans += self._pairs[part.call_id].update(part.type == "tool_call", by)
        if empty:
            self.count += by
        if sums_up:
            self.stacks.update(message, by)


class _Stacks:
    """Counts summaries with the same sources as another one in the prompt.

    The replacement of a single tool result is not a summary.
    """

    def __init__(self) -> None:
        self.count = 0
        self._standing: Counter[str] = Counter()

    def update(self, message: Message, by: int) -> None:
        """Count a message with a summary in (1) or out (-1)."""
        parts = (p for p in message.parts if p.kind == "summary" and p.type == "text")
        for id in {source.id for part in parts for source in part.sources}:
            self._standing[id] += by
        self.count = max(0, max(self._standing.values(), default=0) - 1)


@dataclass(slots=True)
class _Pair:
    """Calls and results of one id; a result before its call does not match it.

    Its faults are calls without a result, and results without a previous call.
    """

    calls: int = 0
    results: int = 0
    early: int = 0
    faults: int = 0

    def update(self, is_call: bool, by: int) -> int:
        """Count a call or a result in (1) or out (-1); return by how much the faults change."""
        if is_call:
            self.calls += by
        else:
            if by > 0:
                self.early += not self.calls
            elif self.early:
                self.early -= 1
            self.results += by
        before = self.faults
        self.faults = self.early + abs(self.calls - (self.results - self.early))
        return self.faults - before
