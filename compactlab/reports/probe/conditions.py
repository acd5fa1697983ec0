"""The contexts of a reader: four conditions at one call."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import msgspec

from compactlab.reports.probe.reader import Context, PromptDraws, Reader
from compactlab.sim.core.conversation import Conversation, Fact, walked
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.isolation import isolated
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import View
from compactlab.sim.experiment.foreign import Foreign, loaded
from compactlab.sim.facts.evidence import Witness
from compactlab.sim.facts.ledger import Ledger
from compactlab.sim.facts.occurrences import normal, occurrences
from compactlab.sim.facts.quantities import Token, same, tokens
from compactlab.sim.facts.tracker import States
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.strategy import Strategy

_VERDICT = 8  # tokens: one word, with the extra ones of small models
_TASK = """\
Question: {question}
Right answer: {value}
Given answer: {answer}

Does the given answer say what the right answer says? Other spellings and notations count. An \
answer that names something else besides, doubts, or does not know, does not. Reply with one word, \
yes or no."""


def says(text: str, values: Collection[str]) -> bool:
    """Whether a text contains a value, in any notation of its numbers, dates and paths.

    Examples
    --------
    >>> says("It was on May 7, 2023.", ["7 May 2023"]), says("within 1.5 s", ["1,500 ms"])
    (True, True)
    >>> says("eu-west-31", ["eu-west-3"])
    False
    """
    if any(next(occurrences(normal(text), normal(value)), None) is not None for value in values):
        return True
    said = tokens(text)
    return any(_runs(said, wanted) for value in values if (wanted := tokens(value)))


def _runs(said: tuple[Token, ...], wanted: tuple[Token, ...]) -> bool:
    """Whether tokens occur contiguously in others."""
    return any(
        all(map(same, wanted, said[start : start + len(wanted)]))
        for start in range(len(said) - len(wanted) + 1)
    )


def values_of(fact: Fact) -> tuple[str, ...]:
    """The spellings of a fact's value."""
    return tuple(value for value in (fact.value, *fact.variants) if value)


def matches(answer: str, fact: Fact, former: Collection[str] = ()) -> bool:
    """Whether an answer gives a fact's value, and none of its former values.

    Examples
    --------
    >>> region = Fact("r", "decision", "region", "eu-west-3")
    >>> matches("eu-west-3.", region, ["eu-west-1"])
    True
    >>> matches("eu-west-1 or eu-west-3", region, ["eu-west-1"])
    False
    """
    return says(answer, values_of(fact)) and not says(answer, former)


def judgement(judge: Reader, question: str, value: str, answer: str) -> PromptDraws:
    """The request to a judge about an answer."""
    task = _TASK.format_map({"question": question, "value": value, "answer": answer})
    return judge.asked(Context("", ()), task, _VERDICT)


def verdict(text: str) -> bool | None:
    """Parse a judge's answer: yes or no; None if neither.

    Examples
    --------
    >>> verdict("Yes."), verdict("**no**, it is not"), verdict("Perhaps.")
    (True, False, None)
    """
    words = re.findall(r"[a-z]+", text.casefold())
    return {"yes": True, "no": False}.get(words[0]) if words else None


Condition = Literal["full", "without", "compacted", "restated"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)

_RESTATED = "It was said earlier:"


# The context according to the script, independent of the strategy.


def paths(conversation: Conversation, calls: Collection[str]) -> dict[str, list[Message]]:
    """For each call, the messages that led to it, without abandoned branches."""
    start: list[Message] = []
    found: dict[str, list[Message]] = {}
    for path, message in walked(conversation, start):
        if message.call is not None and message.id in calls:
            found[message.id] = [*path]
        path.append(message)
    return found


def without(fact: Fact, parts: Iterable[Part], stating: Collection[int] = ()) -> list[Part]:
    """The parts that do not state a fact's value; those at ``stating`` are always left out."""
    wanted = [normal(value) for value in values_of(fact)]
    return [
        part
        for index, part in enumerate(parts)
        if index not in stating
        # Substrings count, too: a control must not reveal the value.
        and not any(value in normal(part.text) for value in wanted)
        and not says(part.text, values_of(fact))
    ]


def _lacking(fact: Fact, messages: Iterable[Message]) -> Iterator[Message]:
    """Messages without the parts that state a fact."""
    for message in messages:
        named = {source.part for source in fact.origin if source.id == message.id}
        stating = range(len(message.parts)) if -1 in named else named
        parts = without(fact, message.parts, stating)
        if len(parts) == len(message.parts):
            yield message
        elif parts:
            yield msgspec.structs.replace(message, parts=tuple(parts))


def _statement(ledger: Ledger, fact: Fact, messages: Iterable[Message]) -> str:
    """The last statement of a fact; all statements if it spans several."""
    place = {message.id: number for number, message in enumerate(messages)}
    sources = sorted((s for s in fact.origin if s.id in place), key=lambda s: place[s.id])
    witness = Witness(ledger)
    return "\n".join(
        text
        for source in (sources if fact.whole else sources[-1:])
        for text in witness.texts(source)
    )


def controls(ledger: Ledger, fact: Fact, path: list[Message]) -> dict[Condition, Context]:
    """The contexts that do not depend on the strategy: the full one, and that without a fact."""
    system = ledger.conversation.system
    return {
        "full": Context.of(system, path),
        "without": Context.of(without(fact, system), _lacking(fact, path)),
    }


def treated(
    ledger: Ledger, fact: Fact, path: list[Message], prompt: View
) -> dict[Condition, Context]:
    """The context of a strategy, and the same with the fact restated."""
    compacted = Context.of(prompt.system, prompt.messages)
    statement = _statement(ledger, fact, path)
    return {"compacted": compacted, "restated": compacted.then(f"{_RESTATED}\n\n{statement}")}


# The context according to a strategy.


@dataclass(frozen=True)
class Replayed:
    """The needed part of a replay."""

    strategy: str  # its label
    compacted: frozenset[str]  # the calls of the script since the first compaction
    prompts: Mapping[str, View]  # of the requested calls
    states: Mapping[str, States]
    tokenizer: Tokenizer  # of the model of its first call
    printed: str = ""  # by plug-in code


def replayed(
    conversation: Conversation,
    strategy: Strategy,
    options: Options,
    calls: Collection[str] = (),
    *,
    facts: bool = False,
) -> Replayed:
    """Replay a strategy, and collect the prompts of some calls.

    Raises a UsageError if plug-in code fails.
    """

    def looked_at() -> Replayed:
        return _looked_at(conversation, strategy, options, calls, facts)

    if not any(isinstance(part, Foreign) for part in strategy.parts):
        return looked_at()
    outcome = isolated(looked_at)
    if outcome.value is None:
        raise UsageError(f"{strategy.spec} fails: {outcome.fault}")
    return replace(outcome.value, printed=outcome.printed)


def _looked_at(
    conversation: Conversation,
    strategy: Strategy,
    options: Options,
    calls: Collection[str],
    facts: bool,
) -> Replayed:
    trace = record(conversation, loaded(strategy), options)
    after: set[str] = set()
    prompts: dict[str, View] = {}
    states: dict[str, States] = {}
    data = RunData(trace, conversation)
    every = data.states if facts and calls else ()
    began = False
    for index, (step, messages) in enumerate(zip(trace.steps, trace.prompts(), strict=True)):
        began = began or step.compaction
        if step.recovery:
            continue
        if began:
            after.add(step.answer)
        if step.answer in calls:
            prompts[step.answer] = View(step.system, messages)
            if every:
                states[step.answer] = every[index]
    steps = trace.steps
    tokenizer = data.model(steps[0].model).tokenizer if steps else Tokenizer()
    return Replayed(strategy.label, frozenset(after), prompts, states, tokenizer)
