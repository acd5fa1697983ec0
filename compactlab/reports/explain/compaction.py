"""The view of a compaction: before and after, message by message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import cached_property
from itertools import groupby
from operator import add

from compactlab.reports.render.text import clean, counted, lag_from, listed, shorten, show
from compactlab.sim.diff import STILL, ends
from compactlab.sim.metrics.memory import LAGS
from compactlab.sim.store.parquet import NO_ROWS, Rows
from compactlab.sim.store.run import Run

# Characters shown of a message's beginning and end: for messages of the script, as in the store,
# and for those that the strategy wrote.
_BRIEF, _LONG = (160, 80), (3_000, 1_000)
_ID, _WHAT, _FACT = 32, 120, 200
# Maximum number of named facts that no call needed.
_NAMED = 5
_DEEDS = {
    "kept": "kept",
    "new": "new",
    "gone": "removed",
    "shortened": "shortened",
    "changed": "changed",
    "back": "restored",
    "written": "written",
}
_STATES = {
    "lost": "lost",
    "retrievable": "lost, but it can be fetched again",
    "stale": "only an older value is left",
    "resurrected": "finished, and asked for as if it were open",
    "mutated": "another value, or the contrary, is left",
    "presumed": "open, and stated as if it were decided",
    "key_only": "only its key is left, without the value",
    "conflict": "an older value is there, too",
}
# The store's distances in words.
_LAGS = {str(lag): f", distance {lag_from(lag)}" for lag in LAGS}

Texts = Mapping[str, str]
"""Texts of messages that are not in the script, by their names in the store."""


@dataclass(frozen=True)
class Fact:
    """A forgotten fact."""

    statement: str  # key and value
    state: str  # what remains of it
    missed: int  # the first call that needed it; 0: none
    lag: str = ""  # distance at that need, in words; "": unknown

    @property
    def aside(self) -> str:
        """Its statement, and its remains, if any."""
        gone = self.state == _STATES["lost"]
        return self.statement if gone else f"{self.statement} ({self.state})"

    @property
    def told(self) -> str:
        """What happened to it, in words."""
        if not self.missed:
            return self.state
        needed = f"call {self.missed:,} needed it{self.lag}"
        return needed if self.state == _STATES["lost"] else f"{self.state}; {needed}"


@dataclass(frozen=True)
class Piece:
    """A message on one side, or several with the same fate."""

    fate: str  # one of compaction_diff.FATES
    count: int  # messages
    tokens: int  # on this side
    title: str
    text: str = ""  # its beginning and end
    facts: tuple[Fact, ...] = ()
    more: int = 0  # further facts
    needed: int = 0  # how many of all its facts a later call missed

    @property
    def missed(self) -> tuple[Fact, ...]:
        """Those of its facts that a later call missed."""
        return tuple(fact for fact in self.facts if fact.missed)

    @property
    def others(self) -> str:
        """The other facts that were lost with it, in one line; "" without any."""
        rest = [fact for fact in self.facts if not fact.missed]
        phrases = [fact.aside for fact in rest[:_NAMED]]
        more = self.more + len(rest) - len(phrases)
        unnamed = self.needed - len(self.missed)
        needed = f", {unnamed:,} of them needed later" if unnamed > 0 else ""
        return listed([*phrases, *([f"{more:,} more{needed}"] if more else [])])

    @property
    def deed(self) -> str:
        """Its fate, in a word or two."""
        return _DEEDS.get(self.fate, clean(self.fate))

    @property
    def size(self) -> str:
        """Its tokens, in words."""
        return sized(self.tokens)


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A row of the table of views; see :mod:`compactlab.sim.store.tables`."""

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
    statements: list[str]
    states: list[str]
    missed_at: list[str]
    missed_lag: list[str]


def sized(tokens: int) -> str:
    """A number of tokens, in words."""
    return f"{show(tokens, 'tokens')} {'token' if tokens == 1 else 'tokens'}"


def rows_of(rows: Rows) -> list[ViewRow]:
    """The rows of one compaction."""
    columns = (rows[field.name] for field in fields(ViewRow))
    return [ViewRow(*each) for each in zip(*columns, strict=True)]


def before(row: ViewRow, texts: Texts) -> Piece:
    """The message of a row on the side before."""
    text = "" if row.role == "system" else texts.get(row.message, row.text)
    text = " ".join(ends(text, *_BRIEF).split())
    return _piece(row, row.message, row.tokens_before, text)


def after(row: ViewRow, texts: Texts) -> Piece:
    """The message of a row on the side after."""
    system = row.text if row.role == "system" else ""
    room = _LONG if row.fate == "written" or system else _BRIEF
    return _piece(row, row.became, row.tokens_after, ends(texts.get(row.became, system), *room))


def _piece(row: ViewRow, name: str, tokens: int, text: str) -> Piece:
    lines = "\n".join(map(clean, filter(str.strip, text.splitlines())))
    return Piece(row.fate, row.count, tokens, _title(row, name), lines)


def _title(row: ViewRow, name: str) -> str:
    if row.role == "system":
        return "system blocks"
    if row.count > 1 or not row.role:
        return counted(row.count, "message")
    id = "" if name.startswith("#") else clean(shorten(name, _ID))
    what = _in_words(shorten(row.what, _WHAT))
    return " · ".join(filter(None, (clean(shorten(row.role, _ID)), what, id)))


def with_facts(piece: Piece, row: ViewRow) -> Piece:
    """A piece with the facts that were lost with it."""
    lags = row.missed_lag or [""] * len(row.missed_at)
    facts = tuple(
        Fact(
            clean(shorten(fact, _FACT)),
            _STATES.get(state, _STATES["lost"]),
            int(call) if call.isdecimal() else 0,
            _LAGS.get(lag, ""),
        )
        for fact, state, call, lag in zip(
            row.statements, row.states, row.missed_at, lags, strict=True
        )
    )
    more = row.facts_lost - len(facts)
    return replace(piece, facts=facts, more=more, needed=row.facts_missed)


def _in_words(what: str) -> str:
    return clean(what).replace("tool_call", "calls").replace("tool_result", "result of")


_CUT = ("gone", "written", "back")
_ACTED = ("gone", "shortened", "changed", "written", "back")
# How many facts the sentence on losses names.
_FACTS_NAMED = 4


@dataclass(frozen=True)
class Sum:
    """The messages of a fate: their number, and their tokens on either side."""

    count: int = 0
    before: int = 0
    after: int = 0

    def __add__(self, other: Sum) -> Sum:
        return Sum(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True)
class Pair:
    """A row of the view: a message before, and one after."""

    fate: str
    left: tuple[Piece, ...] = ()
    right: tuple[Piece, ...] = ()

    @property
    def still(self) -> bool:
        """Whether nothing has changed."""
        return self.fate in STILL


@dataclass(frozen=True)
class View:
    """One compaction, before and after."""

    call: int  # the first call after it
    pairs: tuple[Pair, ...]
    sums: Mapping[str, Sum]  # by fate, without the system blocks
    tokens: tuple[int, int]  # without and with the compaction, system blocks included
    lost: int
    missed: int
    facts: tuple[Fact, ...]  # named facts, missed ones first

    def _of(self, *fates: str) -> Sum:
        return sum((self.sums.get(fate, Sum()) for fate in fates), Sum())

    @cached_property
    def head(self) -> str:
        """Its effect on the prompt, in words."""
        retained, other = self._of(*STILL), self._of("shortened", "changed", "gone")
        come = self._of("written", "back").count
        was = retained.count + other.count
        now = was - self._of("gone").count + come
        one, two = (show(tokens, "tokens") for tokens in self.tokens)
        return (
            f"Before call {self.call:,}: {counted(was, 'message')} with {one} tokens became "
            f"{now:,} with {two}"
        )

    @property
    def short(self) -> str:
        """Its effect, in a few words."""
        one, two = (show(tokens, "tokens") for tokens in self.tokens)
        facts = f"{counted(self.lost, 'fact')} lost" if self.lost else "no fact lost"
        needed = f", {self.missed:,} of them needed later" if self.missed else ""
        return f"before call {self.call:,}: {one} to {two} tokens, {facts}{needed}"

    @cached_property
    def deeds(self) -> str:
        """The fates of the messages, in words."""
        sums = {"kept": self._of(*STILL), **{fate: self._of(fate) for fate in _ACTED}}
        return listed(
            [
                f"{counted(each.count, 'message')} {_DEEDS[fate]} ({_size(fate, each)})"
                for fate, each in sums.items()
                if each.count
            ]
        )

    @cached_property
    def losses(self) -> str:
        """The forgotten facts, in words."""
        if not self.lost:
            return "No fact was lost"
        text = f"{counted(self.lost, 'fact')} {'was' if self.lost == 1 else 'were'} lost"
        if not self.missed:
            return f"{text}; no later call needed {'it' if self.lost == 1 else 'them'}"
        if self.missed == self.lost:
            return f"{text} and needed later: {self._names()}"
        return f"{text}, {self.missed:,} of them needed later: {self._names()}"

    def _names(self) -> str:
        missed = [fact for fact in self.facts if fact.missed]
        first = missed[:_FACTS_NAMED]
        phrases = [f"{fact.statement} (call {fact.missed:,}{fact.lag})" for fact in first]
        more = self.missed - len(phrases)
        return listed([*phrases, *([f"{more:,} more"] if more > 0 else [])])

    @property
    def words(self) -> tuple[str, ...]:
        """What happened, in sentences."""
        sentences = filter(None, (self.head, self.deeds, self.losses))
        return tuple(f"{sentence}." for sentence in sentences)


def _size(fate: str, each: Sum) -> str:
    if fate in ("shortened", "changed"):
        return f"from {show(each.before, 'tokens')} to {sized(each.after)}"
    return sized(each.after if fate in ("written", "back") else each.before)


def view_of(rows: Rows, texts: Texts) -> View | None:
    """Make a view from rows of the table of views."""
    if not len(rows):
        return None
    entries = rows_of(rows)
    sums: dict[str, Sum] = {}
    for row in entries:
        if row.role != "system":
            size = Sum(row.count, row.tokens_before, row.tokens_after)
            sums[row.fate] = sums.get(row.fate, Sum()) + size
    pairs = tuple(_pairs(entries, texts))
    facts = [fact for pair in pairs for piece in pair.left + pair.right for fact in piece.facts]
    return View(
        entries[0].call,
        pairs,
        sums,
        (sum(row.tokens_before for row in entries), sum(row.tokens_after for row in entries)),
        sum(row.facts_lost for row in entries),
        sum(row.facts_missed for row in entries),
        tuple(sorted(facts, key=lambda fact: (not fact.missed, fact.missed))),
    )


def said_in(run: Run) -> Texts:
    """The texts of a run's messages, from its table of messages."""
    rows = run.rows.get("messages", NO_ROWS)
    return dict(zip(rows["message"], rows["text"], strict=True)) if len(rows) else {}


def _pairs(rows: Sequence[ViewRow], texts: Texts) -> Iterator[Pair]:
    """The rows with their sides; removed messages are next to what replaced them."""
    for cut, group in groupby(rows, lambda row: row.fate in _CUT):
        if cut:
            both = list(group)
            left = tuple(with_facts(before(r, texts), r) for r in both if r.fate == "gone")
            right = tuple(with_facts(after(r, texts), r) for r in both if r.fate != "gone")
            yield Pair("gone" if left else right[0].fate, left, right)
            continue
        for row in group:
            one = with_facts(before(row, texts), row)
            right = () if row.fate in STILL else (after(row, texts),)
            yield Pair(row.fate, (one,), right)


# A compaction in plain text.

_WIDTH = 116
_INDENT = 14
# How many lines of a strategy's text are shown, from its beginning.
_LINES = 12


def in_lines(view: View) -> Iterator[str]:
    """A compaction in lines: its totals, and the fates of the messages."""
    for sentence in view.words:
        yield from _wrapped(sentence, 2, _WIDTH)
    yield ""
    for pair in view.pairs:
        yield from _pair(pair)


def _pair(pair: Pair) -> Iterator[str]:
    for piece in pair.left:
        yield _headed(piece)
        yield from _lines_of(piece)
    for piece in pair.right:
        if pair.fate in ("shortened", "changed"):
            yield f"{'':<{_INDENT}}to {piece.size}{_quoted(piece)}"
        else:
            yield _headed(piece)
            yield from _lines_of(piece)


def _headed(piece: Piece) -> str:
    return f"  {piece.deed:<{_INDENT - 3}} {piece.title}, {piece.size}"


def _quoted(piece: Piece) -> str:
    return f": {shorten(clean(piece.text), _WIDTH // 2)}" if piece.text else ""


def _lines_of(piece: Piece) -> Iterator[str]:
    room = _WIDTH - _INDENT
    if piece.text and piece.fate == "written":
        lines = [line for text in piece.text.split("\n") for line in _wrapped(text, _INDENT)]
        yield from lines[:_LINES]
        if len(lines) > _LINES:
            yield f"{'':<{_INDENT}}..."
    elif piece.text:
        yield f"{'':<{_INDENT}}{shorten(clean(piece.text), room)}"
    for fact in piece.missed:
        yield from _wrapped(f"lost: {fact.statement} ({fact.told})", _INDENT)
    if piece.others:
        yield from _wrapped(f"{'also' if piece.missed else 'lost:'} {piece.others}", _INDENT)


def _wrapped(text: str, indent: int, width: int = _WIDTH) -> list[str]:
    import textwrap

    return textwrap.wrap(
        text, width, initial_indent=" " * indent, subsequent_indent=" " * indent
    ) or [""]
