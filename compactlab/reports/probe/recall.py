"""What a reader recalls of facts: planned, asked in four conditions, and judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from compactlab.privacy import Redactor
from compactlab.reports.probe.conditions import (
    Condition,
    Replayed,
    controls,
    paths,
    replayed,
    treated,
)
from compactlab.reports.probe.judging import judgement, matches, says, values_of, verdict
from compactlab.reports.probe.questions import Question, questions
from compactlab.reports.probe.reader import Context, PromptDraws, Reader, broke_off
from compactlab.sim.core.conversation import Conversation, FactType
from compactlab.sim.core.message import Message
from compactlab.sim.facts.ledger import Ledger, ledger_of, numbers
from compactlab.sim.facts.occurrences import normal
from compactlab.sim.replay.options import Options
from compactlab.sim.replay.strategy import Strategy

ANSWER = 128  # tokens that an answer may have
USUAL = 24  # tokens of a usual answer: a guess, for prices beforehand
_TASK = """\
Answer a question about the conversation above. Answer with the value alone, exactly as it was \
said there. If it is not said there, answer: unknown.

Question: {question}"""


@dataclass(frozen=True)
class Mark:
    """One answer, and what it is worth."""

    answer: str
    exact: bool  # whether it gives the value and no former one
    judged: bool | None = None  # what the judge says; None if there is none, or it says neither
    broke_off: bool = False  # whether it has no end

    @property
    def recalled(self) -> bool:
        """Whether the value counts as recalled."""
        return self.exact or self.judged is True


@dataclass(frozen=True)
class Outcome:
    """A question under a strategy, with all answers."""

    conversation: str
    strategy: str
    call: str
    fact: str
    kind: FactType
    lag: int
    state: str  # of the fact in the strategy's prompt
    question: str
    value: str
    marks: Mapping[Condition, tuple[Mark, ...]]
    cut: frozenset[Condition] = frozenset()  # where the oldest was left out
    samples: Mapping[Condition, str] = field(default_factory=dict)  # as an evaluator names them

    @property
    def predicted(self) -> bool:
        """Whether the state says that the prompt gives the fact."""
        return self.state in ("verbatim", "intact")

    def recall(self, condition: Condition) -> float:
        """The share of answers that recall the value."""
        marks = self.marks[condition]
        return sum(mark.recalled for mark in marks) / len(marks)


@dataclass(frozen=True)
class Probe:
    """A question under a strategy, with what the reader is asked in each condition."""

    conversation: str
    strategy: str
    question: Question
    state: str
    former: tuple[str, ...]  # values that the fact's value has replaced
    asked: Mapping[Condition, PromptDraws]

    @property
    def target(self) -> tuple[str, ...]:
        """The right answers, for whoever else asks."""
        return values_of(self.question.fact)

    @property
    def about(self) -> dict[str, Any]:
        """What it is about, for whoever else asks."""
        q = self.question
        return {"call": q.call, "fact": q.fact.id, "type": q.fact.kind, "lag": q.lag}


@dataclass(frozen=True)
class Recall:
    """Questions about facts."""

    reader: Reader  # who is asked
    judge: Reader | None = None  # who judges answers after the exact match; None for nobody
    count: int = 20  # how many questions each conversation has, at most
    seed: int = 0  # the root of the draws by which they are chosen

    usual: ClassVar[int] = USUAL

    def plan(
        self, conversation: Conversation, strategies: Sequence[Strategy], options: Options
    ) -> tuple[list[Probe], list[str]]:
        """What is asked of a conversation, and what code that is not ours has printed."""
        ledger = ledger_of(conversation)
        if not ledger.declared:
            return [], []
        first = [replayed(conversation, strategy, options) for strategy in strategies]
        after = frozenset().union(*(each.compacted for each in first))
        drawn = questions(ledger, first[0].tokenizer, after, self.count, self.seed)
        ways = paths(conversation, {question.call for question in drawn})
        asked = {q: self._controls(ledger, q, ways[q.call]) for q in drawn}
        calls = {question.call for question in drawn}
        probes = []
        for strategy in strategies:
            seen = replayed(conversation, strategy, options, calls, facts=True)
            for q, given in asked.items():
                if given is not None:
                    own = treated(ledger, q.fact, ways[q.call], seen.prompts[q.call])
                    probes.append(_probe(ledger, q, seen, {**given, **self._asked(q, own)}))
        return probes, [each.printed for each in first]

    def _controls(
        self, ledger: Ledger, question: Question, path: list[Message]
    ) -> Mapping[Condition, PromptDraws] | None:
        """What is asked whatever a strategy does; None where the answer could show nothing."""
        given = controls(ledger, question.fact, path)
        return self._asked(question, given) if _can_be_told(question, given["full"]) else None

    def _asked(
        self, question: Question, given: Mapping[Condition, Context]
    ) -> dict[Condition, PromptDraws]:
        task = _TASK.format_map({"question": question.text})
        return {name: self.reader.asked(each, task, ANSWER) for name, each in given.items()}

    def judgements(self, probes: Sequence[Probe]) -> list[PromptDraws]:
        """What the judge is asked, once the reader has answered."""
        return [
            judged
            for probe in probes
            for asked in probe.asked.values()
            for answer in self.reader.answers(asked)
            if (judged := self._judgement(probe, answer.text)) is not None
        ]

    def _judgement(self, probe: Probe, answer: str) -> PromptDraws | None:
        if self.judge is None or not answer.strip():
            return None
        question = probe.question
        return judgement(self.judge, question.text, question.fact.value, answer.strip())

    def outcomes(self, probes: Sequence[Probe]) -> list[Outcome]:
        """What came of it, by the recorded answers."""
        return [
            Outcome(
                probe.conversation,
                probe.strategy,
                probe.question.call,
                probe.question.fact.id,
                probe.question.fact.kind,
                probe.question.lag,
                probe.state,
                probe.question.text,
                probe.question.fact.value,
                {name: tuple(self._marks(probe, asked)) for name, asked in probe.asked.items()},
                frozenset(name for name, asked in probe.asked.items() if asked.cut),
                {name: asked.sample for name, asked in probe.asked.items()},
            )
            for probe in probes
        ]

    def _marks(self, probe: Probe, asked: PromptDraws) -> Iterator[Mark]:
        for answer in self.reader.answers(asked):
            exact = matches(answer.text, probe.question.fact, probe.former)
            request, judged = self._judgement(probe, answer.text), None
            if request is not None and self.judge is not None:
                judged = verdict(self.judge.answers(request)[0].text)
            yield Mark(answer.text, exact, judged, broke_off(answer))


def _probe(
    ledger: Ledger, question: Question, seen: Replayed, asked: Mapping[Condition, PromptDraws]
) -> Probe:
    former = numbers(ledger.older.get(question.number, 0))
    return Probe(
        ledger.conversation.id,
        seen.strategy,
        question,
        seen.states[question.call].of(question.number),
        tuple(value for number in former for value in values_of(ledger.facts[number])),
        asked,
    )


def _can_be_told(question: Question, full: Context) -> bool:
    """Whether an answer can show something: the question does not give it away, and it is sent.

    Secrets are hidden before a model is asked. What is hidden cannot be answered.
    """
    values = values_of(question.fact)
    if not values or says(question.text, values):
        return False
    said = "\n".join(text for _, text in full.texts)
    wanted = [normal(value) for value in values if normal(value) in normal(said)]
    sent = normal(Redactor().text(said)) if wanted else ""
    return not wanted or any(value in sent for value in wanted)
