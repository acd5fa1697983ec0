"""Judge whether an answer gives a value: by exact match, then by a model."""

from __future__ import annotations

import re
from collections.abc import Collection

from compactlab.reports.probe.reader import Context, PromptDraws, Reader
from compactlab.sim.core.conversation import Fact
from compactlab.sim.facts.occurrences import normal, occurrences
from compactlab.sim.facts.quantities import Token, same, tokens

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
