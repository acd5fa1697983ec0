"""Facts in the words of a summary: each a line of its own, that stands for where it was said."""

from __future__ import annotations

import random
from collections.abc import Container, Iterator

from compactlab.sim.conversation import Fact
from compactlab.sim.facts.wording import Wording
from compactlab.sim.message import Part, Source

_POLARITY = {"is": "", "must": " (must)", "must_not": " (must not)"}
_MOST = 3  # origins that a line names; a word that is used all day long has hundreds
_DIGITS, _LETTERS = "0123456789", "abcdefghijklmnopqrstuvwxyz"


def recited(fact: Fact, given: Container[str]) -> Part:
    """Say a fact as it is: key, polarity and value.

    Parameters
    ----------
    fact
        The fact.
    given
        Ids of the messages that the summary may stand for.
    """
    return Part("text", _line(fact, fact.value), "summary", _sources(fact, given))


def outdated(fact: Fact, older: Fact, given: Container[str]) -> Part:
    """Say a fact with the value that it had before; the line stands for both."""
    sources = tuple(dict.fromkeys((*_sources(older, given), *_sources(fact, given))))
    return Part("text", _line(fact, older.value), "summary", sources)


def damaged(fact: Fact, dice: random.Random, given: Container[str]) -> Part | None:
    """Say a fact with another value, without its value, or without its polarity.

    None if it cannot be damaged so that its key stays: one without a key, say, or whose key holds
    its value.
    """
    lines = list(dict.fromkeys(_damages(fact, dice)))
    dice.shuffle(lines)
    for line in lines:
        said = Wording(line).says(fact)
        if said.key and not said.intact:
            return Part("text", line, "summary", _sources(fact, given))
    return None


def _damages(fact: Fact, dice: random.Random) -> Iterator[str]:
    yield _line(fact, _another(fact.value, dice))
    yield f"{fact.key}{_POLARITY[fact.polarity]}"
    if fact.polarity != "is":
        yield _line(fact, fact.value, polarity="")


def _line(fact: Fact, value: str, polarity: str | None = None) -> str:
    word = _POLARITY[fact.polarity] if polarity is None else polarity
    return f"{fact.key}{word}: {value}" if fact.key else f"{word}{value}".strip()


def _another(value: str, dice: random.Random) -> str:
    """A value in which one digit, or where there is none one letter, is another one."""
    places = [n for n, c in enumerate(value) if c in _DIGITS]
    alphabet = _DIGITS if places else _LETTERS
    places = places or [n for n, c in enumerate(value) if c.isalpha()]
    if not places:
        return ""
    place = dice.choice(places)
    other = dice.choice([each for each in alphabet if each != value[place].lower()])
    return value[:place] + other + value[place + 1 :]


def _sources(fact: Fact, given: Container[str]) -> tuple[Source, ...]:
    sources = tuple(source for source in fact.origin if source.id in given) or fact.origin[:1]
    return sources if fact.whole else sources[:_MOST]
