"""The contexts of a reader: four conditions at one call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import msgspec

from compactlab.reports.probe.judging import says, values_of
from compactlab.reports.probe.reader import Context
from compactlab.sim.core.conversation import Conversation, Fact, walked
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.isolation import isolated
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import View
from compactlab.sim.experiment.foreign import Foreign, loaded
from compactlab.sim.facts.evidence import Witness
from compactlab.sim.facts.ledger import Ledger
from compactlab.sim.facts.occurrences import normal
from compactlab.sim.facts.tracker import States
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.replay.options import Options
from compactlab.sim.replay.replay import record
from compactlab.sim.replay.strategy import Strategy

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
    """The contexts that do not depend on the strategy: the full one, and that without a fact.

    Parameters
    ----------
    ledger
        The facts of the conversation.
    fact
        The fact of the question.
    path
        The messages that led to the call.
    """
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

    Raises
    ------
    UsageError
        If plug-in code fails.
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
