"""SWE-shaped tasks: fitted on rows that tell turns and mean prompts, replayed, added up by call.

A library for the ``validate_*`` scripts; it is no script itself. What is decided here, and why, is
told by ``validate_complexity_trap.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import ClassVar

import msgspec

from compactlab import Conversation, Message, Part, replay
from compactlab.api import known_models
from compactlab.sim.errors import InputError
from compactlab.sim.message import Call, verbatim
from compactlab.sim.pricing import prices_of
from compactlab.sim.summarize import Summarizer, SummaryRequest

MODELS = Path(__file__).with_name("complexity_trap_models.toml")
PLAIN, CACHED = "swe-no-discount", "swe-implicit-cache"
LINE = "x" * 39 + "\n"


@dataclass(frozen=True)
class Row:
    """One task of one experiment: calls, mean tokens of a call, dollars of them all."""

    turns: int
    prompt: float
    completion: float
    cost: float


@dataclass(frozen=True)
class Shape:
    """Tokens of a model's first prompt, and by how many a turn makes it grow."""

    start: float
    growth: float

    @classmethod
    def fit(cls, rows: Sequence[Row]) -> Shape:
        """Fit a line through the mean prompts of tasks, by their turns."""
        waits = [(row.turns - 1) / 2 for row in rows]
        prompts = [row.prompt for row in rows]
        wait, prompt = fmean(waits), fmean(prompts)
        spread = sum((x - wait) ** 2 for x in waits)
        if not spread:
            raise InputError("all raw tasks have as many turns: no growth can be fitted")
        growth = sum((x - wait) * (y - prompt) for x, y in zip(waits, prompts, strict=True))
        growth /= spread
        start = prompt - growth * wait
        if start < 1 or growth <= 0:
            raise InputError(
                f"raw prompts are no line that grows: {start:.0f} + {growth:.1f} a turn"
            )
        return cls(start, growth)

    def conversation(self, turns: int, observed: float) -> Conversation:
        """A task of so many turns: a call of a tool each, and its result."""
        system = round(self.start / 4)
        task = verbatim("task", "text", _text(round(self.start) - system))
        events = [Message("task", "user", (task,), 1.0)]
        for turn in range(1, turns + 1):
            said, seen = f"call-{turn}", f"result-{turn}"
            action = max(3, _step(self.growth * (1 - observed), turn))
            parts = (
                verbatim(said, "text", _text(action - 2)),
                verbatim(said, "tool_call", "{}", name="bash", call_id=said),
            )
            events.append(Message(said, "assistant", parts, 20.0 * turn, call=Call()))
            output = _text(_step(self.growth * observed, turn))
            result = verbatim(seen, "tool_result", output, name="bash", call_id=said)
            events.append(Message(seen, "tool", (result,), 20.0 * turn))
        prompt = Part("text", _text(system), "synthetic", ())
        return Conversation("swe-task", "swe-task", tuple(events), (prompt,), seed=0)


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
class Course:
    """What each call of a task takes: tokens and dollars of its prompt, dollars of it all."""

    prompts: list[int]
    inputs: list[float]
    dollars: list[float]

    def prompt(self, rows: Iterable[Row]) -> float:
        """Mean prompt of a call, over the calls of a task and then over tasks."""
        total = list(accumulate(self.prompts))
        return fmean(total[row.turns - 1] / row.turns for row in rows)

    def cost(self, rows: Iterable[Row]) -> float:
        """Mean dollars of a task, its summaries included."""
        total = list(accumulate(self.dollars))
        return fmean(total[row.turns - 1] for row in rows)

    def price(self, rows: Iterable[Row]) -> float:
        """Dollars for a million tokens of prompt."""
        tokens, paid = list(accumulate(self.prompts)), list(accumulate(self.inputs))
        ends = [row.turns - 1 for row in rows]
        return 1e6 * sum(paid[end] for end in ends) / sum(tokens[end] for end in ends)

    def dearer(self, raw: Course) -> bool:
        """Whether a token costs more at each call whose prompt is smaller than the raw one."""
        pairs = zip(self.inputs, self.prompts, raw.inputs, raw.prompts, strict=False)
        return all(mine / own > its / whole for mine, own, its, whole in pairs if own < whole)


def course(conversation: Conversation, spec: str, model: str, tokens: int) -> Course:
    """Replay a strategy, and say of each call what it takes."""
    prices = prices_of(known_models(MODELS).find(model))
    found = Course([], [], [])
    for step in replay(conversation, spec, model, summarizer=Measured(tokens), models_file=MODELS):
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
