"""A value in the topic of its key, in a text without any word of the key.

"Guests are asked to wear black tie" states the dress code. No list has all words for a key; by
``topics`` in words.toml, ``wear`` and ``dress`` belong to one topic. A text in another language
also rarely has the words of the key.
"""

from __future__ import annotations

from collections.abc import Collection

from compactlab.sim.facts.fact_query import FactQuery, senses, vocabulary
from compactlab.sim.facts.patterns import CHOICE, DENIALS, DOUBT, IF, VOID
from compactlab.sim.facts.quantities import Token, rival, root
from compactlab.sim.facts.statement_query import StatementQuery


def suggests(
    line: StatementQuery, query: FactQuery, shared: Collection[str], there: frozenset[object]
) -> bool:
    """Whether a statement has a value, plainly stated, and signs of its key.

    ``there`` are the senses of all words of the text. Where a word of the key stands in another
    statement, the text speaks of the key there, and not beside the value.
    """
    joints = (root(word) for segment in line.segments for word in segment.joint.split())
    here = line.every.union(*map(senses, joints))
    named = any(not here.isdisjoint(word) for word in query.subject)
    if not named and any(not there.isdisjoint(word) for word in query.subject):
        return False
    doubts = (DOUBT, CHOICE, VOID) if query.conditional else (DOUBT, CHOICE, VOID, IF)
    if line.asks or line.statement.row or any(p.search(line.text) for p in doubts):
        return False
    forms = {token.form for token in line.flat if not token.low.endswith("ed")}
    if any(not known.isdisjoint(forms) for known in (query.opposites, *query.heads)):
        return False  # it is of another thing; the key's noun is there, with another modifier
    return any(
        _fits(line, start, end, query, named) for start, end in line.spots(query.values, shared)
    )


def _fits(line: StatementQuery, start: int, end: int, query: FactQuery, named: bool) -> bool:
    said, value = line.flat[start:end], line.flat[start]
    others = line.flat[:start] + line.flat[end:]
    around = [
        n for n in (start - 1, end) if 0 < n < len(line.flat) and line.of[n] == line.of[start]
    ]
    if value.kind == "name" and any(line.flat[n].kind == "name" for n in around):
        return False  # it is a piece of a longer name: "Rivera Street"
    if any(rival(one, token) for one in said if one.typed for token in others):
        return False
    numbers = {known[0].form for known in query.values}
    if value.kind == "number" and value.form not in numbers and ("", value.number) in numbers:
        return False  # it is of a unit: "9100 yen", for a port
    text = line.marked(line.of[start], line.of[end - 1], set(), (start, end), [])
    if line.of[start] >= line.own or any(pattern.search(text) for pattern in DENIALS):
        return False
    if not query.topics.isdisjoint(_topics([*line.statement.context, *others])):
        return True
    foreign = _foreign(set(line.text.split()) - {token.low for token in said})
    common = len(said) == 1 and (value.kind == "word" or value.form[:1] == ("",))
    return (named or foreign) and not common


def _topics(said: list[Token]) -> frozenset[int]:
    """Return the topics of words."""
    known = vocabulary().topics
    return frozenset[int]().union(*(known.get(str(token.form), ()) for token in said))


def _foreign(words: set[str]) -> bool:
    """Whether two or more words belong to another language than English."""
    known = vocabulary().foreign
    return sum(word in known or (word.isalpha() and "ß" <= max(word) < "ɐ") for word in words) > 1
