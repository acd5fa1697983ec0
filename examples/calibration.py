"""What recorded summaries kept, and the model that is fitted to it and tried on left-out ones."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.core.conversation import Compaction, Conversation, Fact
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.facts.evidence import Witness
from compactlab.sim.facts.ledger import Ledger, ledger_of
from compactlab.sim.facts.occurrences import normal
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.summarizers.calibrated import (
    PATHS,
    Calibration,
    Client,
    Paths,
    Traits,
    has_ending,
    is_path,
    is_short,
    length,
    traits_in,
)
from compactlab.strategies.summarizers.writer import BROKEN, words

Vector = NDArray[np.float64]

_COUNT = Tokenizer()  # o200k
_WORDS = 3  # of a message of the user; a shorter one may stand in a summary by chance


class Observation(NamedTuple):
    """A fact that a recorded summary had to do with."""

    fact: Fact
    traits: Traits
    kept: bool
    quoted: bool  # whether a message that states it is quoted whole
    shown: int  # of a path, how many of its last components stand there
    needed: bool  # whether a later action uses it


@dataclass(frozen=True)
class Observed:
    """A recorded summary, and what it was made of."""

    session: str
    repository: str  # the name of the folder that the session is in
    client: str
    version: str  # of the client
    model: str
    complete: bool  # whether all that it was made of is in the log
    request: SummaryRequest
    parts: tuple[Part, ...]
    facts: tuple[Observation, ...]
    # Of the short messages of the user that are new, and of those that the summary before had
    # quoted: whether each is quoted.
    messages: tuple[bool, ...]
    before: tuple[bool, ...]
    # Of the commands and of the lines that report an error: whether enough words of each are there.
    commands: tuple[bool, ...]
    errors: tuple[bool, ...]
    copied: float  # share of its runs of eight words that stand in what it was made of

    @property
    def tokens(self) -> int:
        """How long it is, in o200k."""
        return sum(map(_COUNT.part, self.parts))

    @property
    def span(self) -> int:
        """How long is what it was made of, but for the summary before."""
        return sum(map(_COUNT.message, self.request.messages))


def observe(conversation: Conversation) -> Iterator[Observed]:
    """Yield the summaries in a recording that can be read and stand for something in it."""
    if not any(_summary(compaction) for compaction in conversation.compactions):
        return
    ledger = ledger_of(conversation)
    witness = Witness(ledger)
    before: tuple[Part, ...] = ()
    old: list[str] = []
    for compaction in conversation.compactions:
        if compaction.edits:
            continue
        parts = _summary(compaction)
        covered = {source.id for part in parts for source in part.sources}
        known = {source.id for part in before for source in part.sources}
        if not known <= covered:  # of another branch
            before, known, old = (), set(), []
        span = [m for m in conversation.messages if m.id in covered and m.id not in known]
        if not span:
            continue
        request = SummaryRequest(tuple(span), sum(map(_COUNT.part, parts)), before)
        text, typed = _text(parts), list(map(_typed, filter(is_short, span)))
        call = next((m.call for m in reversed(span) if m.call and m.call.model), None)
        yield Observed(
            conversation.id,
            Path(conversation.source).parent.name,
            conversation.format.replace("-", "_"),
            call.version.rpartition(" ")[2] if call else "",
            call.model if call else "",
            bool(before) or not conversation.starts_inside,
            request,
            parts,
            tuple(_observations(witness, request, parts)),
            tuple(each in text for each in typed if len(each.split()) >= _WORDS),
            tuple(each in text for each in old if each in _text(before)),
            tuple(_echoed(_commands(span), parts)),
            tuple(_echoed(_errors(span), parts)),
            _copied(text, _text(part for message in span for part in message.parts)),
        )
        before = parts
        old += [each for each in typed if len(each.split()) >= _WORDS]


def _summary(compaction: Compaction) -> tuple[Part, ...]:
    """The parts of a recorded summary that can be read."""
    parts = (part for message in compaction.inserted for part in message.parts)
    return tuple(p for p in parts if p.kind == "summary" and p.type == "text" and p.text)


def _text(parts: Iterable[Part]) -> str:
    return " ".join(" ".join(part.text for part in parts).split())


def _typed(message: Message) -> str:
    return " ".join(message.text.split())


def _observations(
    witness: Witness, request: SummaryRequest, parts: tuple[Part, ...]
) -> Iterator[Observation]:
    ledger, text, plain = witness.ledger, _text(parts), normal(_text(parts))
    quoted = {m.id for m in request.messages if is_short(m) and _typed(m) in text}
    needed = _needed_after(ledger, request.messages[-1])
    kept = kept_by(witness, parts)
    for number, traits in sorted(traits_in(witness, request).items()):
        fact = ledger.facts[number]
        yield Observation(
            fact,
            traits,
            bool(kept >> number & 1),
            not quoted.isdisjoint(traits.messages),
            shown(fact.value, plain) if is_path(fact) else 0,
            bool(needed >> number & 1),
        )


def kept_by(witness: Witness, parts: Iterable[Part]) -> int:
    """The facts that a summary keeps, as bits."""
    evidence = witness.parts(parts)
    return witness.ledger.held(evidence.verbatim) | evidence.intact


def _needed_after(ledger: Ledger, last: Message) -> int:
    place = {id: number for number, id in enumerate(ledger.messages)}
    bits = 0
    for answer, facts in ledger.needs.items():
        if place[answer] > place[last.id]:
            bits |= facts
    return bits


def shown(path: str, text: str) -> int:
    """How many of the last components of a path stand in a text, one after the other.

    Examples
    --------
    >>> shown("/home/me/src/a.py", "changed src/a.py"), shown("src/a.py", "a.py and src/b.py")
    (2, 1)
    """
    names = normal(path).strip("/").split("/")
    found = 0
    for count in range(1, len(names) + 1):
        end = re.escape("/".join(names[-count:]))
        if not re.search(rf"(?<![\w.-]){end}(?![\w-]|\.\w)", text):
            break
        found = count
    return found


def _commands(span: Iterable[Message]) -> Iterator[str]:
    for part in (part for message in span for part in message.parts):
        if part.type == "tool_call" and (match := _COMMAND.search(part.text)):
            yield match[1]


def _errors(span: Iterable[Message]) -> Iterator[str]:
    """The lines of what tools returned that report a failure."""
    for part in (part for message in span for part in message.parts):
        if part.type == "tool_result":
            for line in part.text.splitlines():
                if _BROKEN.search(line):
                    yield line


_COMMAND = re.compile(r'"(?:command|cmd)":"((?:[^"\\]|\\.)*)"')
_BROKEN = words(*BROKEN)
_ENOUGH = 0.6  # of the words of a command or a line
_RUN = 8  # words


def _echoed(lines: Iterable[str], parts: Iterable[Part]) -> Iterator[bool]:
    """Whether one line of a summary has enough words of each line; those of few are left out."""
    told = [set(_split(line)) for part in parts for line in part.text.splitlines()]
    for line in dict.fromkeys(lines):
        said = set(_split(line))
        if len(said) >= _WORDS:
            yield any(len(said & each) >= _ENOUGH * len(said) for each in told)


def _split(text: str) -> list[str]:
    return _WORD.findall(text.lower())


_WORD = re.compile(r"\w+")


def _copied(text: str, given: str) -> float:
    known = set(_runs(given))
    return share(run in known for run in _runs(text))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    every = _split(text)
    return zip(*(every[start:] for start in range(_RUN)), strict=False)


# Facts by what their fates depend on, as tables have them.


GROUPS: dict[str, dict[str, Callable[[Observation], bool]]] = {
    "age, thousands of tokens": {
        "below 4": lambda each: each.traits.age < 4_000,
        "4 to 16": lambda each: 4_000 <= each.traits.age < 16_000,
        "16 to 64": lambda each: 16_000 <= each.traits.age < 64_000,
        "64 and more": lambda each: each.traits.age >= 64_000,
    },
    "mentions": {
        "1": lambda each: each.traits.mentions == 1,
        "2 to 4": lambda each: 2 <= each.traits.mentions <= 4,
        "5 and more": lambda each: each.traits.mentions >= 5,
    },
    "summary before": {
        "states it, said again": lambda each: each.traits.carried and each.traits.mentions > 0,
        "states it, not said again": lambda each: each.traits.mentions == 0,
    },
    "later actions": {
        "use it": lambda each: each.needed,
        "do not": lambda each: not each.needed,
    },
}


def groups_of(
    facts: Iterable[Observation],
) -> Iterator[tuple[str, str, Callable[[Observation], bool]]]:
    """Yield what facts are told apart by: a heading, a name and a test for each group."""

    def of_kind(kind: str) -> Callable[[Observation], bool]:
        return lambda each: each.traits.kind == kind

    yield "", "all", lambda each: True
    for kind in sorted({each.traits.kind for each in facts}):
        yield "kind", kind, of_kind(kind)
    for heading, tests in GROUPS.items():
        for name, test in tests.items():
            yield heading, name, test


# The fit: logistic regression with a ridge, by Newton's method.

# The weight of half a coefficient's square; the intercept has none. Facts of one summary share
# its fate: shares vary ten times as much between summaries as they would if facts did not, so a
# coefficient with a variance of 1 before anything is seen has this weight.
RIDGE = 10.0


def fit(summaries: Sequence[Observed]) -> dict[str, float]:
    """Coefficients by name, of the facts that stand in no quoted message: that is drawn apart."""
    facts = [
        (
            {**each.traits.features, each.traits.kind: 1.0, "length": length(summary.tokens)},
            each.kept,
        )
        for summary in summaries
        for each in summary.facts
        if not each.quoted
    ]
    names = ["all", *sorted({name for features, _ in facts for name in features})]
    place = {name: index for index, name in enumerate(names)}
    x = np.zeros((len(facts), len(names)))
    x[:, 0] = 1
    for index, (features, _) in enumerate(facts):
        for name, value in features.items():
            x[index, place[name]] = value
    found = logistic(x, np.array([kept for _, kept in facts], np.float64))
    return {name: round(float(value), 3) for name, value in zip(names, found, strict=True)}


def logistic(x: NDArray[np.float64], y: Vector) -> Vector:
    """Coefficients under which y is likeliest, less the ridge; the first column is the intercept.

    Examples
    --------
    >>> x, y = np.ones((4, 1)), np.array([1.0, 1, 1, 0])
    >>> round(float(logistic(x, y)[0]), 3) == round(math.log(3), 3)
    True
    """
    ridge = RIDGE * np.eye(x.shape[1])
    ridge[0, 0] = 1e-6
    found = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        slope = x.T @ (y - p) - ridge @ found
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + ridge, slope)
        found += step
        if np.abs(step).max() < 1e-9:
            break
    return np.asarray(found, np.float64)


def calibrate(summaries: Sequence[Observed], date: str = "") -> Calibration:
    """Fit the model to the client that has most summaries; of others there are figures alone."""
    clients: defaultdict[str, list[Observed]] = defaultdict(list)
    for summary in summaries:
        clients[summary.client].append(summary)
    if not any(summary.facts for summary in summaries):
        raise UsageError("no recorded summary stands for a fact: there is nothing to fit")
    client = max(sorted(clients), key=lambda name: len(clients[name]))
    own = clients[client]
    sessions = len({summary.session for summary in own})
    facts = sum(len(summary.facts) for summary in own)
    size = f"{len(own)} summaries of {client} in {sessions} sessions, {facts:,} facts"
    return Calibration(
        f"fitted to {size}{'; ' if date else ''}{date}",
        client,
        sessions,
        facts,
        fit(own),
        {name: _paths(own, rooted=name == "root") for name in PATHS},
        {name: _client(clients[name]) for name in sorted(clients)},
    )


def _paths(summaries: Iterable[Observed], *, rooted: bool) -> Paths:
    every = (each for summary in summaries for each in summary.facts if is_path(each.fact))
    paths = [each for each in every if each.traits.rooted is rooted]
    depth = {id(each): len(each.fact.value.strip("/").split("/")) for each in paths}
    kept, lost = ([each for each in paths if each.kept is was] for was in (True, False))
    return Paths(
        len(kept),
        share(1 < each.shown < depth[id(each)] for each in kept),
        len(lost),
        share(each.shown > 1 for each in lost),
        # That the name of a folder is there says little: it may be in another path.
        share(each.shown == 1 for each in lost if has_ending(each.fact)),
    )


def _client(summaries: Sequence[Observed]) -> Client:
    messages = [quoted for summary in summaries for quoted in summary.messages]
    before = [quoted for summary in summaries for quoted in summary.before]
    whole = [summary for summary in summaries if summary.complete] or list(summaries)
    sizes = [math.log(max(1, summary.tokens)) for summary in whole]
    spans = [math.log2(max(1, summary.span) / 100_000) for summary in whole]
    slope, middle = 0.0, median(sizes)
    if len(whole) >= _FEWEST and max(spans) - min(spans) >= 1:
        slope = float(np.polyfit(spans, sizes, 1)[0])
        middle = median(size - slope * span for size, span in zip(sizes, spans, strict=True))
    rest = [size - slope * span for size, span in zip(sizes, spans, strict=True)]
    tokens = [summary.tokens for summary in summaries]
    return Client(
        len(summaries),
        len(messages),
        share(messages),
        len(before),
        share(before),
        round(math.exp(middle), 1),
        round(slope, 3),
        round(stdev(rest), 3) if len(rest) > 1 else 0.0,
        min(tokens),
        max(tokens),
    )


# Summaries from which on a length is said to depend on the span, if one is twice another.
_FEWEST = 5


def share(hits: Iterable[bool]) -> float:
    """The share that is true, to three digits; 0 of nothing."""
    hits = list(hits)
    return round(sum(hits) / len(hits), 3) if hits else 0.0


# How well the model does on what it was not fitted to.


@dataclass(frozen=True)
class Trial:
    """Chances that fits gave to facts that they had not seen, and what became of these."""

    groups: int
    chances: Vector
    kept: NDArray[np.bool_]

    @property
    def auc(self) -> float:
        """How often, of two facts, the one that is kept has the higher chance."""
        return auc(self.chances, self.kept)

    @property
    def fifths(self) -> tuple[tuple[float, float], ...]:
        """Mean chance and share that was kept, of each fifth by chance."""
        order = np.argsort(self.chances, kind="stable")
        return tuple(
            (float(self.chances[part].mean()), float(self.kept[part].mean()))
            for part in np.array_split(order, 5)
            if len(part)
        )


def left_out(
    summaries: Sequence[Observed], group: Callable[[Observed], str]
) -> tuple[Trial, Trial] | None:
    """Fit to all groups but one, and give chances to the facts of that one, in their order.

    In the first trial each summary is taken to be as long as others are; in the second it is known
    how long it is. Of more than ``FOLDS`` groups, several are left out at once. None if there is
    only one group, or nothing to tell apart.
    """
    groups = {name: n % FOLDS for n, name in enumerate(sorted(set(map(group, summaries))))}
    kept = np.array([each.kept for summary in summaries for each in summary.facts], np.bool_)
    if len(groups) < 2 or not 0 < kept.sum() < len(kept):
        return None
    chances = np.zeros((2, len(kept)))  # 0 where a fit would be to nothing
    index = np.cumsum([0, *(len(summary.facts) for summary in summaries)])
    for fold in sorted(set(groups.values())):
        rest = [s for s in summaries if groups[group(s)] != fold]
        model = calibrate(rest) if any(summary.facts for summary in rest) else None
        for number, summary in enumerate(summaries):
            if groups[group(summary)] == fold and model is not None:
                usual = model.clients[model.client].usual(summary.span)
                for row, tokens in enumerate((usual, summary.tokens)):
                    given = [model.overall(each.traits, tokens) for each in summary.facts]
                    chances[row, index[number] : index[number + 1]] = given
    unsized, sized = (Trial(len(groups), row, kept) for row in chances)
    return unsized, sized


FOLDS = 40


def auc(scores: Vector, hits: NDArray[np.bool_]) -> float:
    """The area under the curve: how often a hit scores higher than a miss, ties half.

    Examples
    --------
    >>> auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True]))
    0.875
    """
    _, places, times = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2)[places]
    more = int(hits.sum())
    return float((ranks[hits].sum() - more * (more + 1) / 2) / (more * (len(hits) - more)))
