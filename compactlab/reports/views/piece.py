"""A message of a compaction as it is shown, or several that were put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

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
    """

    fate: str
    count: int
    tokens: int
    title: str
    text: str = ""
    facts: tuple[Fact, ...] = ()
    more: int = 0

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
        return listed([*told, *([f"{more:,} more" if told else f"{more:,}"] if more else [])])

    @property
    def deed(self) -> str:
        """What became of it, in a word or two."""
        return _DEEDS.get(self.fate, clean(self.fate))

    @property
    def size(self) -> str:
        """Its tokens, in words."""
        return f"{show(self.tokens, 'tokens')} {'token' if self.tokens == 1 else 'tokens'}"


def before(rows: Rows, place: int, said: Said) -> Piece:
    """The message of a row on the side before."""
    name, role = rows["message"][place], rows["role"][place]
    text = "" if role == "system" else said.get(name, rows["text"][place])
    text = " ".join(ends(text, *_BRIEF).split())
    return _piece(rows, place, name, rows["tokens_before"][place], text)


def after(rows: Rows, place: int, said: Said) -> Piece:
    """The message of a row on the side after."""
    name, fate = rows["became"][place], rows["fate"][place]
    system = rows["text"][place] if rows["role"][place] == "system" else ""
    text = ends(said.get(name, system), *(_LONG if fate == "written" or system else _BRIEF))
    return _piece(rows, place, name, rows["tokens_after"][place], text)


def _piece(rows: Rows, place: int, name: str, tokens: int, text: str) -> Piece:
    fate, count = rows["fate"][place], rows["count"][place]
    lines = "\n".join(map(clean, filter(str.strip, text.splitlines())))
    return Piece(fate, count, tokens, _title(rows, place, name), lines)


def _title(rows: Rows, place: int, name: str) -> str:
    count, role = rows["count"][place], rows["role"][place]
    if role == "system":
        return "system blocks"
    if count > 1 or not role:
        return counted(count, "message")
    id = "" if name.startswith("#") else clean(shorten(name, _ID))
    what = _told(shorten(rows["what"][place], _WHAT))
    return " · ".join(filter(None, (clean(shorten(role, _ID)), what, id)))


def with_facts(piece: Piece, rows: Rows, place: int) -> Piece:
    """A piece with the facts that were lost with it."""
    facts = tuple(
        Fact(
            clean(shorten(fact, _FACT)),
            _STATES.get(state, _STATES["lost"]),
            int(call) if call.isdecimal() else 0,
        )
        for fact, state, call in zip(
            rows["said"][place], rows["states"][place], rows["missed_at"][place], strict=True
        )
    )
    return replace(piece, facts=facts, more=rows["facts_lost"][place] - len(facts))


def _told(what: str) -> str:
    return clean(what).replace("tool_call", "calls").replace("tool_result", "result of")
