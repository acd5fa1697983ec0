"""Whether a text states a fact: its key, its value with it, and no denial.

The value belongs to the nearest key. A text states a fact in a statement (a sentence, a list item,
a table cell with its headers) that contains key and value and has the fact's polarity. The value
must not be denied, doubted, asked for, conditional or outdated.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import chain, pairwise, product
from typing import NamedTuple

from compactlab.sim.core.conversation import Fact
from compactlab.sim.facts.fact_query import (
    PARTICLES,
    RUN,
    FactQuery,
    Names,
    content,
    fact_query,
    lettered,
    needed,
    possible_senses,
    senses,
)
from compactlab.sim.facts.occurrences import normal, occurrences, path_ends, words_of
from compactlab.sim.facts.patterns import ORDERS
from compactlab.sim.facts.quantities import Token, phrases_of, root, tokens
from compactlab.sim.facts.shorthand import numbered
from compactlab.sim.facts.statement_query import StatementQuery
from compactlab.sim.facts.statements import Passage, passages
from compactlab.sim.facts.suggestion import suggests


class Spoken(NamedTuple):
    """What a text says about a fact."""

    key: bool = False  # whether its key or an alias occurs; without a key, its value
    stated: bool = False  # whether the value is stated with the key as valid
    intact: bool = False  # same, with the fact's polarity and not revoked
    ordered: bool = False  # whether a word of order puts it after another value
    wrong: bool = False  # whether another value or the contrary is stated


SILENT = Spoken()


class Reading:
    """A text, parsed on demand."""

    def __init__(self, text: str) -> None:
        self.raw = text
        self._known: dict[int, list[StatementQuery]] = {}

    @cached_property
    def text(self) -> str:
        """The normalised text."""
        return normal(self.raw)

    @cached_property
    def there(self) -> frozenset[object]:
        """The senses of all words: only these can be stated."""
        words = RUN.findall(self.raw.replace("\u2019", "'"))
        said = {word.casefold() for word in words}
        said |= {root(a) + b for a, b in pairwise(words) if b in PARTICLES}
        return frozenset().union(*map(senses, phrases_of(set(map(root, said)))))

    @cached_property
    def paths(self) -> frozenset[str]:
        """The relative paths of two or more components."""
        return frozenset(match[0].rstrip(".") for match in _PATH.finditer(self.text))

    @cached_property
    def passages(self) -> list[Passage]:
        """The passages, each split into statements when one of them may matter."""
        return passages(self.raw)

    @cached_property
    def lines(self) -> list[StatementQuery]:
        """The statements."""
        return [line for number in range(len(self.passages)) for line in self._split(number)]

    def near(self, names: Names, values: Iterable[tuple[Token, ...]]) -> Iterator[StatementQuery]:
        """Yield the statements that may contain a name, or a value if a name is empty.

        Passages without its words are skipped: most need not be split at all.
        """
        numbers: set[int] = set()
        for name in names:
            if name:
                numbers |= self._with(filter(lettered, name))
            else:
                for value in values:
                    numbers |= self._with(chain(*map(needed, value)), or_next=True)
        for number in sorted(numbers):
            yield from self._split(number)

    def _with(self, words: Iterable[frozenset[object]], *, or_next: bool = False) -> set[int]:
        """Return the passages, by number, that may have all words, or the next one has them."""
        numbers = set(range(len(self.passages)))
        for word in words:
            there = set[int]().union(*(self._where.get(sense, ()) for sense in word))
            numbers &= there.union(number - 1 for number in there) if or_next else there
        return numbers

    @cached_property
    def _where(self) -> dict[object, list[int]]:
        """The passages, by number, that may have a sense, in their headings included."""
        where: dict[object, list[int]] = {}
        for number, passage in enumerate(self.passages):
            texts = (passage.said, *passage.above)
            for sense in frozenset[object]().union(*map(possible_senses, texts)):
                where.setdefault(sense, []).append(number)
        return where

    def _split(self, number: int) -> list[StatementQuery]:
        """Return the statements of a passage, each with the one behind it."""
        found = self._known.get(number)
        if found is None:
            own = self.passages[number].statements
            behind = (
                self.passages[number + 1].statements[:1] if number + 1 < len(self.passages) else ()
            )
            every = (*own, *behind, None)
            found = self._known[number] = [
                StatementQuery(one, every[n]) for n, one in enumerate(own, 1)
            ]
        return found


# Several strategies keep the same texts, and each prompt is read several times.
@lru_cache(maxsize=256)
def _reading(text: str) -> Reading:
    return Reading(text)


class Wording:
    """A text that is checked for facts.

    Parameters
    ----------
    text
        The text.
    shared
        Path suffixes that several known paths share: they identify none of them.
    """

    def __init__(self, text: str, shared: Collection[str] = ()) -> None:
        self._reading = _reading(text)
        self._shared = shared

    @property
    def words(self) -> set[str]:
        """The words of the normalised text."""
        return words_of(self._reading.text)

    def says(self, fact: Fact) -> Spoken:
        """Return what the text says about a fact."""
        found = self._says(fact)
        if found.key and not found.intact and fact.polarity == "is":
            names = tuple(filter(None, (fact.key, *fact.aliases)))
            contrary = fact_query(names, (fact.value,), "is").contrary
            if contrary is not None and self._denies(contrary):
                return Spoken(key=True, stated=True, intact=True)
        if fact.polarity == "is" and not (found.intact or found.wrong):
            pairs = product((fact.key, *fact.aliases), (fact.value, *fact.variants))
            if any(numbered(self._reading.raw, name, value) for name, value in pairs):
                return Spoken(key=True, stated=True, intact=True)
        return found

    def _says(self, fact: Fact) -> Spoken:  # noqa: PLR0911, PLR0912
        values = (fact.value, *fact.variants)
        names = tuple(name for name in (fact.key, *fact.aliases) if name)
        if not names and fact.polarity == "is":
            return self._names(values, bool(fact.supersedes))
        if not self._reading.raw:
            return SILENT
        query = fact_query(names, values, fact.polarity)
        found, elsewhere = SILENT, False
        if self._has(query.names) or not names:
            found = self._judged(query, query.names or ((),))
        heads = tuple((head,) for head in query.heads)
        if not found.key and self._has(heads):
            # The last word of a key is ambiguous, unless the value is with it.
            by_head = self._judged(query, heads, bare=True)
            found = by_head if by_head.stated else SILENT
            elsewhere = by_head.key and not by_head.stated
        if found.intact or (found.wrong and query.polarity != "must_not"):
            return found
        if query.polarity in ("is", "asks") and query.names:
            loose = self._judged(query, self._most(query), bare=True)
            if loose.intact:
                return loose
        by_object = self._judged(query, () if found.key else query.looser)
        if by_object.intact:
            return by_object
        if found.key and query.polarity != "must_not":
            return found
        if query.polarity == "must_not" or (
            query.telling and query.polarity == "is" and not elsewhere
        ):
            nameless = self._judged(query, ((),), ban=query.polarity != "is")
            if nameless.intact or (nameless.wrong and not found.wrong):
                return nameless
        if found == SILENT and query.polarity == "is" and not query.truth:
            near = self._reading.near(((),), query.values)
            there = self._reading.there
            if any(suggests(line, query, self._shared, there) for line in near):
                return Spoken(key=True, stated=True, intact=True)
        return found

    def _denies(self, query: FactQuery) -> bool:
        """Whether a statement denies a fact."""
        near = self._reading.near(query.names, ())
        return any(line.verdict(query, query.names, self._shared) == "denied" for line in near)

    def _most(self, query: FactQuery) -> Names:
        """Return the words of keys that the text contains, if these are most of them."""
        found = []
        for name in query.names:
            there = tuple(word for word in name if not self._reading.there.isdisjoint(word))
            if len(name) > 2 and 2 <= len(there) < len(name) and 2 * len(there) > len(name):
                found.append(there)
        return tuple(found)

    def _has(self, names: Iterable[tuple[frozenset[object], ...]]) -> bool:
        """Whether all words of a key occur anywhere."""
        there = self._reading.there
        return any(
            all(not there.isdisjoint(word) or not lettered(word) for word in name) for name in names
        )

    def _names(self, values: tuple[str, ...], revises: bool) -> Spoken:
        """Return what the text says about a fact that is known by its value only."""
        for value in values:
            wanted = normal(value)
            index = next(occurrences(self._reading.text, wanted), None)
            if index is None and "/" in wanted and self._ends(wanted):
                index = 0
            if index is not None:
                near = self._reading.text[max(0, index - _NEAR) : index + len(wanted) + _NEAR]
                return Spoken(True, True, True, revises and ORDERS.search(near) is not None)
        return SILENT

    def _ends(self, path: str) -> bool:
        """Whether a suffix occurs that only this path has."""
        ends = self._reading.paths.intersection(path_ends(path))
        return not ends <= frozenset(self._shared) if ends else False

    def holds(self, fact: Fact, part: str) -> bool:
        """Whether the text states one part of a fact with several parts.

        The parts may be spread over a sentence and the next one, if that continues it. All parts in
        one sentence state the whole under any name, and so does a part of several words.
        """
        names = tuple(name for name in (fact.key, *fact.aliases) if name)
        query = fact_query(names, (part,), "is")
        if not query.values[0]:
            return False
        if not names:
            return any(line.mentions(query, self._shared) for line in self._reading.lines)
        every = content(tokens(fact.value))
        for line in self._reading.lines if fact.whole else ():
            enough = len(query.values[0]) >= _TELLING or line.tokens.may_say(every)
            if enough and line.mentions(query, self._shared):
                return True
        keys = query.names + tuple((head,) for head in query.heads)
        if not self._has(keys):
            return False
        for index, line in enumerate(self._reading.lines):
            if any(line.homes(name) for name in keys):
                near = [line]
                if index + 1 < len(self._reading.lines) and self._reading.lines[index + 1].goes_on:
                    near.append(self._reading.lines[index + 1])
                if (index and line.goes_on) or (index and self._reading.lines[index - 1].goes_on):
                    near.append(self._reading.lines[index - 1])
                if any(each.mentions(query, self._shared) for each in near):
                    return True
        return False

    def _judged(
        self, query: FactQuery, names: Names, *, bare: bool = False, ban: bool = False
    ) -> Spoken:
        key = stated = intact = ordered = wrong = False
        for line in self._reading.near(names, query.values):
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


_TELLING = 3  # words of a part that are hardly said together by chance
_NEAR = 200  # characters around a value in which words of order count
_PATH = re.compile(r"(?<![\w/.~-])[\w.@+-]+(?:/[\w.@+-]+)+")
