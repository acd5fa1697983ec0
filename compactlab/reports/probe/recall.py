"""Recall of facts by a reader: questions in four conditions, and judgements."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from compactlab.privacy import Redactor
from compactlab.reports.probe.conditions import (
    Condition,
    Replayed,
    controls,
    judgement,
    matches,
    paths,
    replayed,
    says,
    treated,
    values_of,
    verdict,
)
from compactlab.reports.probe.reader import Context, PromptDraws, Reader, broke_off
from compactlab.sim.core.conversation import Conversation, Fact, FactType
from compactlab.sim.core.message import Message
from compactlab.sim.core.stream import stream
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.facts.ledger import Ledger, ledger_of, numbers
from compactlab.sim.facts.occurrences import normal
from compactlab.sim.metrics.memory import LAGS, lags
from compactlab.sim.replay.replay import Options
from compactlab.sim.replay.strategy import Strategy

# By type of fact; the sentences are our own.
_QUESTIONS: Mapping[FactType, str] = {
    "decision": "What was decided for the {key}?",
    "constraint": "What must the {key} be?",
    "prohibition": "What exactly is off limits as the {key}?",
    "preference": "What is preferred for the {key}?",
    "artifact": "Where is the {key}?",
    "open_loop": "What is still open about the {key}, and under which name or reference?",
    "tool_detail": "What is the {key}?",
    "entity": "Who or what is the {key}?",
    "procedure": "How exactly is the {key} done?",
    "goal": "What does the {key} aim at?",
    "done": "What came of the {key}, which is finished?",
    "handle": "By which name or id is the {key} reached?",
    "proposal": "What was proposed for the {key}, and is not decided?",
}


@dataclass(frozen=True)
class Question:
    """A question about a fact, at a call that needs it."""

    fact: Fact  # its value is the answer
    number: int  # its number in the ledger
    call: str  # id of the assistant message whose call needs it
    # Distance from the last statement: the lower end of its step, one of ``LAGS``.
    lag: int
    text: str


def question_about(fact: Fact, need: str) -> str:
    """The question about a fact; "" if there is none.

    The need of a fact without a key contains the question, as in LoCoMo.

    Examples
    --------
    >>> question_about(Fact("f", "entity", "cache owner", "team North"), "edit")
    'Who or what is the cache owner?'
    >>> question_about(Fact("1", "entity", "", "7 May"), "When did Ann move?")
    'When did Ann move?'
    >>> question_about(Fact("src/a.py", "artifact", "", "src/a.py"), "used by the recorded action")
    ''
    """
    if fact.key:
        return _QUESTIONS[fact.kind].format_map({"key": fact.key})
    return need if "?" in need else ""


def questions(
    ledger: Ledger, tokenizer: Tokenizer, calls: Collection[str], count: int, seed: int
) -> tuple[Question, ...]:
    """Choose questions among the needs of some calls.

    Each need has an independent random rank, so adding a call or a question does not change the
    others.

    Parameters
    ----------
    ledger
        The facts and needs of a conversation; inferred facts have no keys, so nothing is asked.
    tokenizer
        Counts the tokens of distances.
    calls
        Ids of the answers whose calls have the needs.
    count
        The maximum number of questions.
    seed
        Root of the random draws.
    """
    every = [
        (stream(seed, "probe", ledger.conversation.digest, q.call, q.fact.id).random(), q)
        for q in _all(ledger, tokenizer, calls)
    ]
    return tuple(question for _, question in sorted(every, key=lambda pair: pair[0])[:count])


def _all(ledger: Ledger, tokenizer: Tokenizer, calls: Collection[str]) -> Iterator[Question]:
    if not ledger.declared:
        return
    how = {(need.at, need.fact): need.how for need in ledger.conversation.needs}
    for call, steps in lags(ledger, tokenizer).items():
        for step, facts in steps.items() if call in calls else ():
            for number in numbers(facts):
                fact = ledger.facts[number]
                text = question_about(fact, how.get((call, fact.id), ""))
                if text:
                    yield Question(fact, number, call, LAGS[step], text)


ANSWER = 128  # maximum tokens of an answer
USUAL = 24  # tokens of a typical answer: a guess, for estimates of prices
_TASK = """\
Answer a question about the conversation above. Answer with the value alone, exactly as it was \
said there. If it is not said there, answer: unknown.

Question: {question}"""


@dataclass(frozen=True)
class Mark:
    """The marks of one answer."""

    answer: str
    exact: bool  # whether it gives the value and no former one
    judged: bool | None = None  # the judge's verdict; None without one
    broke_off: bool = False  # whether it is truncated

    @property
    def recalled(self) -> bool:
        """Whether the value counts as recalled."""
        return self.exact or self.judged is True


@dataclass(frozen=True)
class Outcome:
    """A question under a strategy, with the marks of all answers."""

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
    cut: frozenset[Condition] = frozenset()  # where the oldest texts were left out
    samples: Mapping[Condition, str] = field(default_factory=dict)  # ids for an evaluator

    @property
    def predicted(self) -> bool:
        """Whether the prompt holds the fact according to its state."""
        return self.state in ("verbatim", "intact")

    def recall(self, condition: Condition) -> float:
        """The share of answers that recall the value."""
        marks = self.marks[condition]
        return sum(mark.recalled for mark in marks) / len(marks)


@dataclass(frozen=True)
class Probe:
    """A question under a strategy, with the reader's request in each condition."""

    conversation: str
    strategy: str
    question: Question
    state: str
    former: tuple[str, ...]  # former values of the fact
    asked: Mapping[Condition, PromptDraws]

    @property
    def target(self) -> tuple[str, ...]:
        """The right answers, for an evaluator."""
        return values_of(self.question.fact)

    @property
    def about(self) -> dict[str, Any]:
        """Metadata, for an evaluator."""
        q = self.question
        return {"call": q.call, "fact": q.fact.id, "type": q.fact.kind, "lag": q.lag}


@dataclass(frozen=True)
class Recall:
    """The probe of recall: questions about facts."""

    reader: Reader  # the model under test
    judge: Reader | None = None  # judges answers after the exact match
    count: int = 20  # maximum number of questions per conversation
    seed: int = 0  # root of the random choice of questions

    usual: ClassVar[int] = USUAL

    def plan(
        self, conversation: Conversation, strategies: Sequence[Strategy], options: Options
    ) -> tuple[list[Probe], list[str]]:
        """The probes of a conversation, and the output of plug-in code."""
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
        """The requests that do not depend on the strategy; None if answers would show nothing."""
        given = controls(ledger, question.fact, path)
        return self._asked(question, given) if _can_be_told(question, given["full"]) else None

    def _asked(
        self, question: Question, given: Mapping[Condition, Context]
    ) -> dict[Condition, PromptDraws]:
        task = _TASK.format_map({"question": question.text})
        return {name: self.reader.asked(each, task, ANSWER) for name, each in given.items()}

    def judgements(self, probes: Sequence[Probe]) -> list[PromptDraws]:
        """The requests to the judge, after the reader has answered."""
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
        """The outcomes, from the recorded answers."""
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
    """Whether an answer can show something: the question does not reveal it, and it is sent.

    Secrets are redacted before a model is asked, and cannot be answered.
    """
    values = values_of(question.fact)
    if not values or says(question.text, values):
        return False
    said = "\n".join(text for _, text in full.texts)
    wanted = [normal(value) for value in values if normal(value) in normal(said)]
    sent = normal(Redactor().text(said)) if wanted else ""
    return not wanted or any(value in sent for value in wanted)
