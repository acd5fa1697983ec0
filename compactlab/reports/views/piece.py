"""A message of a compaction as it is shown, or several that were put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from compactlab.reports.figures import show
from compactlab.reports.text import clean, counted, listed, shorten
from compactlab.sim.diff.excerpt import ends
from compactlab.sim.tables import Rows

# Characters of a message that are shown, of its beginning and of its end: of one of the script, as
# the store keeps it, and of one that the strategy wrote.
_BRIEF, _LONG = (160, 80), (3_000, 1_000)
_ID, _WHAT, _FACT = 32, 120, 200
# Facts that no call needed, of which so many are told by name.
_NAMED = 5
_DEEDS = {
    "kept": "stays",
    "new": "new",
    "gone": "cut",
    "shortened": "cut short",
    "changed": "changed",
    "back": "put back",
    "written": "written",
}
_STATES = {
    "lost": "gone",
    "retrievable": "gone, but it can be fetched again",
    "stale": "only an older value is left",
    "mutated": "its key is left without its value",
    "conflict": "an older value stands beside it",
}

Said = Mapping[str, str]
"""What messages that are not of the script say, by the names that the store has for them."""


@dataclass(frozen=True)
class Fact:
    """A fact that was forgotten.

    Parameters
    ----------
    said
        Key and value.
    state
        What is left of it, in words.
    missed
        The call that needed it and did not find it; 0: none.
    """

    said: str
    state: str
    missed: int

    @property
    def aside(self) -> str:
        """What it says, and what is left of it, if anything is."""
        return self.said if self.state == _STATES["lost"] else f"{self.said} ({self.state})"

    @property
    def told(self) -> str:
        """What became of it, in words."""
        return f"{self.state}; call {self.missed:,} needed it" if self.missed else self.state


@dataclass(frozen=True)
class Piece:
    """A message on one side, or several of one fate.

    Parameters
    ----------
    fate
        One of :data:`compactlab.sim.diff.FATES`.
    count, tokens
        How many messages, and their tokens on this side.
    title
        Which message it is: who says it, what it is made of, its id; or how many they are.
    text
        How it begins and ends; "" where that is not told.
    facts, more
        The facts that were lost with it, and how many more than those.
    needed
        How many of all these a later call needed and did not find.
    """

    fate: str
    count: int
    tokens: int
    title: str
    text: str = ""
    facts: tuple[Fact, ...] = ()
    more: int = 0
    needed: int = 0

    @property
    def missed(self) -> tuple[Fact, ...]:
        """Those of its facts that a later call needed and did not find."""
        return tuple(fact for fact in self.facts if fact.missed)

    @property
    def others(self) -> str:
        """The other facts that were lost with it, in a line; "" if there are none."""
        rest = [fact for fact in self.facts if not fact.missed]
        told = [fact.aside for fact in rest[:_NAMED]]
        more = self.more + len(rest) - len(told)
        unnamed = self.needed - len(self.missed)
        needed = f", {unnamed:,} of them needed later" if unnamed > 0 else ""
        return listed([*told, *([f"{more:,} more{needed}"] if more else [])])

    @property
    def deed(self) -> str:
        """What became of it, in a word or two."""
        return _DEEDS.get(self.fate, clean(self.fate))

    @property
    def size(self) -> str:
        """Its tokens, in words."""
        return sized(self.tokens)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of views; see :mod:`compactlab.sim.tables.views`."""

    call: int
    fate: str
    count: int
    message: str
    became: str
    role: str
    what: str
    tokens_before: int
    tokens_after: int
    text: str
    facts_lost: int
    facts_missed: int
    said: list[str]
    states: list[str]
    missed_at: list[str]


def sized(tokens: int) -> str:
    """So many tokens, in words."""
    return f"{show(tokens, 'tokens')} {'token' if tokens == 1 else 'tokens'}"


def rows_of(rows: Rows) -> list[Row]:
    """The rows of one compaction."""
    columns = (rows[field.name] for field in fields(Row))
    return [Row(*each) for each in zip(*columns, strict=True)]


def before(row: Row, said: Said) -> Piece:
    """The message of a row on the side before."""
    text = "" if row.role == "system" else said.get(row.message, row.text)
    text = " ".join(ends(text, *_BRIEF).split())
    return _piece(row, row.message, row.tokens_before, text)


def after(row: Row, said: Said) -> Piece:
    """The message of a row on the side after."""
    system = row.text if row.role == "system" else ""
    room = _LONG if row.fate == "written" or system else _BRIEF
    return _piece(row, row.became, row.tokens_after, ends(said.get(row.became, system), *room))


def _piece(row: Row, name: str, tokens: int, text: str) -> Piece:
    lines = "\n".join(map(clean, filter(str.strip, text.splitlines())))
    return Piece(row.fate, row.count, tokens, _title(row, name), lines)


def _title(row: Row, name: str) -> str:
    if row.role == "system":
        return "system blocks"
    if row.count > 1 or not row.role:
        return counted(row.count, "message")
    id = "" if name.startswith("#") else clean(shorten(name, _ID))
    what = _told(shorten(row.what, _WHAT))
    return " · ".join(filter(None, (clean(shorten(row.role, _ID)), what, id)))


def with_facts(piece: Piece, row: Row) -> Piece:
    """A piece with the facts that were lost with it."""
    facts = tuple(
        Fact(
            clean(shorten(fact, _FACT)),
            _STATES.get(state, _STATES["lost"]),
            int(call) if call.isdecimal() else 0,
        )
        for fact, state, call in zip(row.said, row.states, row.missed_at, strict=True)
    )
    more = row.facts_lost - len(facts)
    return replace(piece, facts=facts, more=more, needed=row.facts_missed)


def _told(what: str) -> str:
    return clean(what).replace("tool_call", "calls").replace("tool_result", "result of")
