"""SWE-shaped tasks: fitted on rows that tell turns and mean prompts, replayed, added up by call.

A library for the ``validate_*`` scripts; it is no script itself. What is decided here, and why, is
told by ``validate_complexity_trap.py``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import mul
from pathlib import Path
from statistics import fmean
from typing import ClassVar

import msgspec

from compactlab import Conversation, Message, Part, replay
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, verbatim
from compactlab.sim.models.pricing import known_models, prices_of
from compactlab.sim.replay.summarize import Summarizer, SummaryRequest

MODELS = Path(__file__).with_name("complexity_trap_models.toml")
PLAIN, CACHED = "swe-no-discount", "swe-implicit-cache"
LINE = "x" * 39 + "\n"
LENGTHS_AT_LEAST, ROUNDS = 3, 100


@dataclass(frozen=True)
class Row:
    """One task of one experiment: calls, mean tokens of a call, dollars of them all.

    A task without tokens made no call, whatever the row says: its run has failed at once.
    """

    turns: int
    prompt: float
    completion: float
    cost: float


@dataclass(frozen=True)
class Shape:
    """How large the prompts of a model's tasks are.

    Parameters
    ----------
    start
        Tokens of the first prompt.
    ends, growths
        The most turns of each group of tasks, ascending, and by how many tokens each turn of such
        a task makes the prompt grow. What is longer than all is of the last group.
    """

    start: float
    ends: tuple[int, ...]
    growths: tuple[float, ...]

    @classmethod
    def fit(cls, rows: Sequence[Row], first: float | None = None) -> Shape:
        """Fit the mean prompts of tasks by their turns, with a first prompt if it is known.

        The start is that of a line, by least squares with errors that grow with the prompt: each
        task weighs the inverse square of what is expected of it. A group is a tenth of the tasks
        by length, and its growth is such that all its calls together have the tokens that they
        had.
        """
        start, growth = _line(rows)
        if first is not None:
            start = first
        order = sorted(rows, key=lambda row: row.turns)
        ends = sorted({order[len(order) * tenth // 10 - 1].turns for tenth in range(1, 11)})
        growths = []
        for below, end in pairwise((0, *ends)):
            group = [row for row in rows if below < row.turns <= end]
            grown = sum(row.turns * (row.prompt - start) for row in group)
            waits = sum(row.turns * (row.turns - 1) / 2 for row in group)
            growths.append(grown / waits if waits and grown > 0 else growth)
        return cls(start, tuple(ends), tuple(growths))

    def group(self, turns: int) -> int:
        """The group of a task of so many turns."""
        return min(bisect_left(self.ends, turns), len(self.ends) - 1)

    def conversation(self, turns: int, growth: float, observed: float) -> Conversation:
        """A task of so many turns: a call of a tool each, and its result.

        Parameters
        ----------
        turns
            How many calls.
        growth
            Tokens of a turn.
        observed
            Which share of them is result.
        """
        system = round(self.start / 4)
        task = verbatim("task", "text", _text(round(self.start) - system))
        events = [Message("task", "user", (task,), 1.0)]
        for turn in range(1, turns + 1):
            said, seen = f"call-{turn}", f"result-{turn}"
            action = max(3, _step(growth * (1 - observed), turn))
            parts = (
                verbatim(said, "text", _text(action - 2)),
                verbatim(said, "tool_call", "{}", name="bash", call_id=said),
            )
            events.append(Message(said, "assistant", parts, 20.0 * turn, call=Call()))
            output = _text(_step(growth * observed, turn))
            result = verbatim(seen, "tool_result", output, name="bash", call_id=said)
            events.append(Message(seen, "tool", (result,), 20.0 * turn))
        prompt = Part("text", _text(system), "synthetic", ())
        return Conversation("swe-task", "swe-task", tuple(events), (prompt,), seed=0)


def _line(rows: Sequence[Row]) -> tuple[float, float]:
    """Tokens of the first prompt, and of each turn, by weighted least squares."""
    waits = [(row.turns - 1) / 2 for row in rows]
    prompts = [row.prompt for row in rows]
    if len(set(waits)) < LENGTHS_AT_LEAST:
        raise InputError(f"{len(rows)} raw tasks are of too few lengths to fit how prompts grow")
    expected = [fmean(prompts)] * len(prompts)
    start = growth = 0.0
    for _ in range(ROUNDS):
        weights = [each**-2 for each in expected]
        whole = sum(weights)
        x, y = (sum(map(mul, weights, values)) / whole for values in (waits, prompts))
        spread = sum(w * (wait - x) ** 2 for w, wait in zip(weights, waits, strict=True))
        pairs = zip(weights, waits, prompts, strict=True)
        growth = sum(w * (wait - x) * (prompt - y) for w, wait, prompt in pairs) / spread
        start = y - growth * x
        if growth <= 0:
            raise InputError(f"raw prompts do not grow: {start:,.0f} + {growth:,.1f} a turn")
        if start < 1:  # where no task is short, the line may begin below nothing
            start, growth = 1.0, (y - 1) / x
        expected = [start + growth * wait for wait in waits]
    return start, growth


@dataclass(frozen=True)
class Measured(Summarizer):
    """A summary of so many tokens that says nothing."""

    tokens: int
    simulated: ClassVar[str] = "its length is given, and it says nothing"

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Stand for all that was to be summarised, at that length."""
        parts = (part for message in request.messages for part in message.parts)
        sources = tuple(source for part in parts for source in part.sources)
        return (Part("text", _text(self.tokens), "summary", sources),)


@dataclass(frozen=True)
class FactTimeline:
    """What each call of a task takes: tokens and dollars of its prompt, dollars of it all."""

    prompts: list[int]
    inputs: list[float]
    dollars: list[float]


@dataclass(frozen=True)
class Replays:
    """Tasks of a shape under a strategy, at the prices of a model.

    All turns of a group's tasks are equally large, so each task is the beginning of the longest
    one, call by call: a group is replayed once.

    Parameters
    ----------
    shape
        How large prompts are.
    spec
        The strategy.
    model
        A model of the file beside this one.
    observed
        Which share of a turn is result.
    tokens
        Tokens of a summary.
    longest
        Turns of the longest task that is asked for.
    """

    shape: Shape
    spec: str
    model: str
    observed: float
    tokens: int
    longest: int
    known: dict[int, FactTimeline] = field(default_factory=dict, repr=False)

    def course(self, turns: int) -> FactTimeline:
        """The replay of which a task of so many turns is the beginning."""
        shape, group = self.shape, self.shape.group(turns)
        if group not in self.known:
            last = group == len(shape.ends) - 1
            most = max(self.longest, shape.ends[group]) if last else shape.ends[group]
            task = shape.conversation(most, shape.growths[group], self.observed)
            self.known[group] = _course(task, self.spec, self.model, self.tokens)
        return self.known[group]

    def prompt(self, rows: Iterable[Row]) -> float:
        """Mean prompt of a call, over the calls of a task and then over tasks."""
        return fmean(
            sum(self.course(row.turns).prompts[: row.turns]) / row.turns if row.turns else 0.0
            for row in rows
        )

    def cost(self, rows: Iterable[Row]) -> float:
        """Mean dollars of a task, its summaries included."""
        return fmean(
            sum(self.course(row.turns).dollars[: row.turns]) if row.turns else 0.0 for row in rows
        )

    def price(self, rows: Iterable[Row]) -> float:
        """Dollars for a million tokens of prompt."""
        tokens = paid = 0.0
        for row in rows:
            if row.turns:
                course = self.course(row.turns)
                tokens += sum(course.prompts[: row.turns])
                paid += sum(course.inputs[: row.turns])
        return 1e6 * paid / tokens

    def dearer(self, raw: Replays) -> bool:
        """Whether a token costs more at each call whose prompt is smaller, and there is one."""
        smaller = False
        for group, mine in self.known.items():
            its = raw.course(self.shape.ends[group])
            for paid, own, cost, whole in zip(
                mine.inputs, mine.prompts, its.inputs, its.prompts, strict=True
            ):
                if own < whole:
                    smaller = True
                    if paid / own <= cost / whole:
                        return False
        return smaller


def _course(task: Conversation, spec: str, model: str, tokens: int) -> FactTimeline:
    """Replay a strategy, and say of each call what it takes."""
    prices = prices_of(known_models(MODELS).find(model))
    found = FactTimeline([], [], [])
    for step in replay(task, spec, model, summarizer=Measured(tokens), models_file=MODELS):
        usage, rates = step.usage, prices.rates(step.time, step.usage.prompt)
        side = sum(prices.rates(c.time, c.usage.prompt).cost(c.usage) for c in step.side)
        found.prompts.append(usage.prompt)
        found.inputs.append(rates.cost(msgspec.structs.replace(usage, output=0)))
        found.dollars.append(rates.cost(usage) + side)
    return found


def _text(tokens: int) -> str:
    """So many tokens of four characters, in lines of ten."""
    return (LINE * (tokens // 10 + 1))[: 4 * tokens]


def _step(each: float, turn: int) -> int:
    """Whole tokens of a turn, so that all turns together have what they should."""
    return round(each * turn) - round(each * (turn - 1))
