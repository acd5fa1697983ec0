"""Questions about facts for a reader, in plain words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from compactlab.sim.core.conversation import Fact, FactType
from compactlab.sim.core.stream import stream
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.facts.ledger import Ledger, numbers
from compactlab.sim.metrics.lag import LAGS, lags

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
