"""Whether a text says a fact: its key, its value beside it, and nothing that takes it back.

The value belongs to the nearest key. A text says a fact in a statement (a sentence, an item of a
list, a cell of a table with its heads) in which the value stands with the key, is not denied,
doubted, asked for, put under a condition or called former, and has the fact's polarity.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cached_property, lru_cache
from itertools import pairwise, product
from typing import NamedTuple

from compactlab.sim.core.conversation import Fact
from compactlab.sim.facts.fact_query import (
    PARTICLES,
    RUN,
    Bag,
    FactQuery,
    Names,
    fact_query,
    lettered,
    senses,
)
from compactlab.sim.facts.occurrences import normal, occurrences, path_ends, words_of
from compactlab.sim.facts.patterns import ORDERS
from compactlab.sim.facts.quantities import root
from compactlab.sim.facts.shorthand import numbered
from compactlab.sim.facts.statement_query import StatementQuery
from compactlab.sim.facts.statements import Statement, statements


class Spoken(NamedTuple):
    """What words say of a fact."""

    key: bool = False  # whether its key, or another name of it, occurs; without a key, its value
    stated: bool = False  # whether the value stands with the key as one that holds
    intact: bool = False  # whether it does with the fact's polarity, and is not taken back
    ordered: bool = False  # whether a word puts it behind another value
    wrong: bool = False  # whether another value or the contrary is stated


SILENT = Spoken()


class _Reading:
    """A text, taken to pieces as far as somebody has asked."""

    def __init__(self, text: str) -> None:
        self.raw = text

    @cached_property
    def text(self) -> str:
        """It as it is compared."""
        return normal(self.raw)

    @cached_property
    def there(self) -> frozenset[object]:
        """The senses of all words: what must be among them to be said at all."""
        words = RUN.findall(self.raw.replace("\u2019", "'"))
        said = {word.casefold() for word in words}
        said |= {root(a) + b for a, b in pairwise(words) if b in PARTICLES}
        return frozenset().union(*map(senses, map(root, said)))

    @cached_property
    def tokens(self) -> Bag:
        """The tokens of all statements."""
        return Bag(token for line in self.lines for token in line.flat)

    @cached_property
    def paths(self) -> frozenset[str]:
        """The relative paths of two or more components."""
        return frozenset(match[0].rstrip(".") for match in _PATH.finditer(self.text))

    @cached_property
    def lines(self) -> list[StatementQuery]:
        """Its statements."""
        found: list[Statement | None] = [*statements(self.raw), None]
        return [StatementQuery(one, found[place]) for place, one in enumerate(found[:-1], 1) if one]


# Several strategies keep the same texts, and several readers look at each prompt.
@lru_cache(maxsize=256)
def _reading(text: str) -> _Reading:
    return _Reading(text)


class Wording:
    """A text that is asked about facts.

    Parameters
    ----------
    text
        What it says.
    shared
        Ends of paths that several known paths have: they name none of them.
    """

    def __init__(self, text: str, shared: Collection[str] = ()) -> None:
        self._reading = _reading(text)
        self._shared = shared

    @property
    def words(self) -> set[str]:
        """The words in it, as it is compared."""
        return words_of(self._reading.text)

    def says(self, fact: Fact) -> Spoken:
        """What the text says of a fact."""
        found = self._says(fact)
        if fact.polarity == "is" and not (found.intact or found.wrong):
            pairs = product((fact.key, *fact.aliases), (fact.value, *fact.variants))
            if any(numbered(self._reading.raw, name, value) for name, value in pairs):
                return Spoken(key=True, stated=True, intact=True)
        return found

    def _says(self, fact: Fact) -> Spoken:  # noqa: PLR0911
        values = (fact.value, *fact.variants)
        names = tuple(name for name in (fact.key, *fact.aliases) if name)
        if not names and fact.polarity == "is":
            return self._names(values, bool(fact.supersedes))
        if not self._reading.raw:
            return SILENT
        query = fact_query(names, values, fact.polarity)
        found = SILENT
        if self._has(query.names) or not names:
            found = self._judged(query, query.names or ((),))
        heads = tuple((head,) for head in query.heads)
        if not found.key and self._has(heads):
            # The last word of a key alone is one of anything, unless the value stands with it.
            by_head = self._judged(query, heads, bare=True)
            found = by_head if by_head.stated else SILENT
        if found.intact or found.wrong:
            return found
        if query.polarity in ("is", "asks") and query.names:
            loose = self._judged(query, self._most(query), bare=True)
            if loose.intact:
                return loose
        if found.key and query.polarity != "must_not":
            return found
        if query.polarity == "must_not" or (query.telling and query.polarity == "is"):
            nameless = self._judged(query, ((),), ban=query.polarity != "is")
            if nameless.intact or nameless.wrong:
                return nameless
        return found

    def _most(self, query: FactQuery) -> Names:
        """Of long keys, those words that the text has, if they are most of them."""
        found = []
        for name in query.names:
            there = tuple(word for word in name if not self._reading.there.isdisjoint(word))
            if len(name) > 2 and 2 <= len(there) < len(name) and 2 * len(there) > len(name):
                found.append(there)
        return tuple(found)

    def _has(self, names: Iterable[tuple[frozenset[object], ...]]) -> bool:
        """Whether all words of a key are there somewhere."""
        there = self._reading.there
        return any(
            all(not there.isdisjoint(word) or not lettered(word) for word in name) for name in names
        )

    def _names(self, values: tuple[str, ...], revises: bool) -> Spoken:
        """What it says of a fact that is known by its value alone."""
        for value in values:
            wanted = normal(value)
            place = next(occurrences(self._reading.text, wanted), None)
            if place is None and "/" in wanted and self._ends(wanted):
                place = 0
            if place is not None:
                near = self._reading.text[max(0, place - _NEAR) : place + len(wanted) + _NEAR]
                return Spoken(True, True, True, revises and ORDERS.search(near) is not None)
        return SILENT

    def _ends(self, path: str) -> bool:
        """Whether the end of a path stands there that no other one has."""
        ends = self._reading.paths.intersection(path_ends(path))
        return not ends <= frozenset(self._shared) if ends else False

    def holds(self, fact: Fact, part: str) -> bool:
        """Whether the text says one part of a fact that has several.

        Parts may be spread over a sentence, and over the next one that goes on about it.
        """
        names = tuple(name for name in (fact.key, *fact.aliases) if name)
        query = fact_query(names, (part,), "is")
        if not query.values[0]:
            return False
        if not names:
            return any(line.mentions(query, self._shared) for line in self._reading.lines)
        keys = query.names + tuple((head,) for head in query.heads)
        if not self._has(keys):
            return False
        for place, line in enumerate(self._reading.lines):
            if any(line.homes(name) for name in keys):
                near = [line]
                if place + 1 < len(self._reading.lines) and self._reading.lines[place + 1].goes_on:
                    near.append(self._reading.lines[place + 1])
                if (place and line.goes_on) or (place and self._reading.lines[place - 1].goes_on):
                    near.append(self._reading.lines[place - 1])
                if any(each.mentions(query, self._shared) for each in near):
                    return True
        return False

    def _judged(
        self, query: FactQuery, names: Names, *, bare: bool = False, ban: bool = False
    ) -> Spoken:
        key = stated = intact = ordered = wrong = False
        nameless = not any(names)
        if nameless and not any(map(self._reading.tokens.may_say, query.values)):
            return SILENT  # it would have to be said to be found
        for line in self._reading.lines:
            verdict = line.verdict(query, names, self._shared, bare=bare)
            if verdict is None or (ban and verdict != "held"):
                continue
            key = True
            if verdict in ("held", "newer", "plain"):
                stated = True
                intact = intact or verdict != "plain"
                ordered = ordered or verdict == "newer" or line.orders
            elif verdict == "denied":
                wrong, intact, stated = True, False, False
            elif verdict == "other":
                wrong = True
        return Spoken(key, stated, intact, ordered, wrong and not intact)


_NEAR = 200  # characters around a value in which a word of order is looked for
_PATH = re.compile(r"(?<![\w/.~-])[\w.@+-]+(?:/[\w.@+-]+)+")
