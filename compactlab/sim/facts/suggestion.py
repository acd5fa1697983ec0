"""A value in the talk that its key belongs to, where the text has no word of the key.

"Guests are asked to wear black tie" tells the dress code. Nobody can list all words for a key;
``topics`` in words.toml say that ``wear`` and ``dress`` are at home in one sort of talk. A text in
another language than the key rarely has its words, either.
"""

from __future__ import annotations

from collections.abc import Collection

from compactlab.sim.facts.fact_query import FactQuery, vocabulary
from compactlab.sim.facts.patterns import CHOICE, DENIALS, DOUBT, IF, VOID
from compactlab.sim.facts.quantities import Token, rival
from compactlab.sim.facts.statement_query import StatementQuery


def suggests(line: StatementQuery, query: FactQuery, shared: Collection[str]) -> bool:
    """Whether a statement has a value, plainly said, and signs of its key."""
    doubts = (DOUBT, CHOICE, VOID) if query.conditional else (DOUBT, CHOICE, VOID, IF)
    if line.asks or line.statement.row or any(p.search(line.text) for p in doubts):
        return False
    if any(token.form in head for token in line.flat for head in query.heads):
        return False  # the key's noun is there, with a modifier of its own
    return any(_fits(line, start, end, query) for start, end in line.spots(query.values, shared))


def _fits(line: StatementQuery, start: int, end: int, query: FactQuery) -> bool:
    value, place = line.flat[start], line.of[start]
    others = [token for n, token in enumerate(line.flat) if not start <= n < end]
    around = [
        line.flat[n] for n in (start - 1, end) if 0 < n < len(line.flat) and line.of[n] == place
    ]
    if place >= line.own or (value.kind == "name" and any(t.kind == "name" for t in around)):
        return False  # it is a piece of a longer name: "Rivera Street"
    typed = [token for token in line.flat[start:end] if token.typed]
    if any(rival(one, token) for one in typed for token in others):
        return False
    text = line.marked(place, line.of[end - 1], set(), (start, end), [])
    if any(pattern.search(text) for pattern in DENIALS):
        return False
    bare = end == start + 1 and (value.kind == "word" or value.form[:1] == ("",))
    if _akin([*line.statement.context, *others], query):
        return True
    named = any(not line.every.isdisjoint(word) for word in query.subject)
    return not bare and (named or _foreign(others))


def _akin(said: list[Token], query: FactQuery) -> bool:
    """Whether a word is at home in the same sort of talk as a key."""
    known = vocabulary().topics
    forms = (known.get(token.form) for token in said if token.kind in ("word", "name", "code"))
    return any(not query.topics.isdisjoint(topics) for topics in forms if topics)


def _foreign(said: list[Token]) -> bool:
    """Whether two words or more are of another language than English."""
    known = vocabulary().foreign
    words = (
        t.low for t in said if t.low in known or (t.kind == "word" and "ß" <= max(t.raw) < "ɐ")
    )
    return len(set(words)) > 1
