"""Decides how a statement relates to a fact: which value belongs to which key, and how."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Container, Iterable, Iterator
from functools import cached_property
from itertools import accumulate

from compactlab.sim.facts.fact_query import (
    Bag,
    FactQuery,
    Names,
    alike,
    all_senses,
    among,
    content,
    run_on,
    senses,
    vocabulary,
)
from compactlab.sim.facts.patterns import (
    AGREED,
    ALLOWS,
    BAN,
    CHOICE,
    COMMENT,
    DENIALS,
    DOUBT,
    FINITE,
    FORMER,
    FRONT,
    IF,
    INSTEAD,
    IS_SAID,
    LINKS,
    MODALS,
    NONE,
    ORDERS,
    PRONOUNS,
    REPORTS,
    RULES,
    SETTLED,
    VAGUE,
    VOID,
    WEAKENS,
    YES,
    decided,
    plainly,
    ruled,
)
from compactlab.sim.facts.quantities import Token, rival
from compactlab.sim.facts.statements import Segment, Statement, answer_in, answers, goes_on

_FIRST = re.compile(r"\b(?:at )?first ")  # of several parts, not of versions
WINDOW = 40  # words between key and value, at most; a choice, see docs/facts.md


class StatementQuery:
    """A statement that is checked for facts."""

    def __init__(self, statement: Statement, behind: Statement | None) -> None:
        self.statement = statement
        pieces = list(statement.segments)
        self.own = len(pieces)
        if behind is not None and behind.context == statement.context and goes_on(behind):
            first, *rest = behind.segments
            pieces += [Segment(first.tokens, ".", strong=True), *rest]
        self.segments = pieces
        if statement.asks and behind is not None and len(pieces) == self.own and answers(behind):
            pieces += [Segment(s.tokens, s.joint or ":") for s in behind.segments[:1]]
        self.asks = statement.asks
        self.answer = answer_in(behind) if statement.asks else ""
        self.flat = [token for segment in pieces for token in segment.tokens]
        self.of = [n for n, segment in enumerate(pieces) for _ in segment.tokens]

    @cached_property
    def tokens(self) -> Bag:
        """The tokens of the statement, without order."""
        return Bag(self.flat)

    @cached_property
    def senses(self) -> list[frozenset[object]]:
        """The senses of the words of each segment."""
        return [all_senses(segment.tokens) for segment in self.segments]

    @cached_property
    def under(self) -> frozenset[object]:
        """The senses of the words in the headings above the statement."""
        return all_senses(self.statement.context)

    @cached_property
    def every(self) -> frozenset[object]:
        """The senses of all words, headings included."""
        return self.under.union(*self.senses[: self.own])

    @cached_property
    def forms(self) -> set[object]:
        """The forms of all words, headings included; those of a phrase together."""
        return self.tokens.forms.union(token.form for token in self.statement.context)

    @cached_property
    def text(self) -> str:
        """The statement and its headings, as plain words."""
        above = (token.low for token in self.statement.context)
        return plainly(" ".join((*above, *(f"{s.joint} {s.words}" for s in self.segments), "")))

    @cached_property
    def orders(self) -> bool:
        """Whether the statement contains a word of order in time."""
        return ORDERS.search(self.text) is not None

    def verdict(
        self, query: FactQuery, names: Names, shared: Collection[str], *, bare: bool = False
    ) -> str | None:
        """Return the statement's verdict on the fact; None if it does not name it."""
        if (bare or names == ((),)) and not query.opposites.isdisjoint(self.forms):
            return None  # "the outbound train", for the return train
        for name in names:
            homes = self.homes(name) if name else self._anywhere(query)
            if bare and len(name) == 1:
                homes = [home for home in homes if self._alone(home, name[0])]
            loose = bare and len(name) > 1
            if homes:
                found = [self._at(home, name, query, shared, loose=loose) for home in homes]
                order = ("held", "newer", "plain", "denied", "other", "asked")
                return next((best for best in order if best in found), "key" if name else None)
        return None

    def _alone(self, home: int, head: frozenset[object]) -> bool:
        """Whether a word has no modifier before it that would change its meaning."""
        if home < 0:
            return False
        for index, token in enumerate(self.flat):
            if self.of[index] == home and not senses(token.form).isdisjoint(head):
                front = self.flat[index - 1] if index and self.of[index - 1] == home else None
                if front is None or front.kind in ("mark", "number"):
                    return True
                if front.low in vocabulary().empty | LINKS or token.low.endswith("ed"):
                    return True
        return False

    @cached_property
    def goes_on(self) -> bool:
        """Whether the statement continues the topic of the previous one."""
        first = self.flat[0].low if self.flat else ""
        words = {token.low for token in self.flat}
        return first in PRONOUNS or not words.isdisjoint({"there", "also", "too", "well"})

    def mentions(self, query: FactQuery, shared: Collection[str]) -> bool:
        """Whether the value occurs, its words in any order, and is not denied."""
        spots = [*self.spots(query.values, shared)] or [*self._scattered(query.values, shared)]
        text = self.text.replace("in case of ", "") if spots else ""  # "in case of fire, ..."
        if not spots or self.asks or DOUBT.search(text) or IF.search(text):
            return False
        for spot in spots:
            place = self.of[spot[0]]
            if place < self.own:
                text = _FIRST.sub("", self.marked(place, self.of[spot[1] - 1], set(), spot, []))
                if not any(pattern.search(text) for pattern in DENIALS):
                    return True
        return False

    def _anywhere(self, query: FactQuery) -> list[int]:
        """Return the segments that contain the value, for a fact without a key."""
        return sorted({self.of[a] for a, _ in self.spots(query.values, ())} - {-2})

    def homes(self, name: tuple[frozenset[object], ...]) -> list[int]:
        """Return the segments that contain the key; -1 if the headings contain all of it."""
        if any(self.every.isdisjoint(word) for word in name):
            return []
        own = self.senses[: self.own]
        full = [
            n
            for n, there in enumerate(own)
            if any(not there.isdisjoint(word) for word in name)
            and all(not (there.isdisjoint(word) and self.under.isdisjoint(word)) for word in name)
        ]
        if full:
            return full
        if all(not self.under.isdisjoint(word) for word in name):
            return [-1]
        clause: list[int] = []
        for index in range(len(own)):
            parted = self.segments[index].strong and self.segments[index].first not in PRONOUNS
            clause = [index] if parted else [*clause, index]
            every = frozenset().union(self.under, *(own[n] for n in clause))
            if all(not every.isdisjoint(word) for word in name):
                return [n for n in clause if any(not own[n].isdisjoint(word) for word in name)][-1:]
        return []

    def spots(
        self,
        values: Iterable[tuple[Token, ...]],
        shared: Collection[str],
        joined: Iterable[str] = (),
    ) -> Iterator[tuple[int, int]]:
        """Return the token ranges of values."""
        for letters in filter(self.joined.__contains__, joined):
            yield from self._run_on(letters)
        for value in filter(self.tokens.may_say, values):
            for start in range(len(self.flat)):
                end = self._matches(value, start, shared)
                if end:
                    yield start, end
            if len(value) == 1 and value[0].kind == "code":
                yield from self._named_apart(str(value[0].form))

    @cached_property
    def joined(self) -> str:
        """The letters and digits of the statement."""
        return run_on(self.flat)

    def _run_on(self, value: str) -> Iterator[tuple[int, int]]:
        """Find a value whose letters and digits are parted otherwise: "+41 44 668", "+4144668"."""
        ends = [0, *accumulate(len(run_on((token,))) for token in self.flat)]
        at = self.joined.find(value)
        if at in ends and at + len(value) in ends:
            start, end = bisect_right(ends, at) - 1, bisect_left(ends, at + len(value))
            if all(token.kind != "date" and "." not in token.raw for token in self.flat[start:end]):
                yield start, end

    def _named_apart(self, path: str) -> Iterator[tuple[int, int]]:
        """Find a file's name where its folder is named apart: "main.py, in src/app"."""
        above, _, name = path.strip("/").rpartition("/")
        forms = [str(token.form).strip("/") for token in self.flat]
        if name in forms and any(form and f"/{above}".endswith(f"/{form}") for form in forms):
            yield forms.index(name), forms.index(name) + 1

    def _matches(self, value: tuple[Token, ...], start: int, shared: Collection[str]) -> int:
        index, skipped = start, 0
        for wanted in value:
            while index < len(self.flat) and not alike(wanted, self.flat[index], shared):
                token = self.flat[index]
                if (
                    index == start
                    or skipped > 2
                    or not (token.kind == "mark" or token.low in vocabulary().empty)
                ):
                    return 0
                index += 1
                skipped += token.raw not in "-_|="
            if index >= len(self.flat):
                return 0
            index += 1
        if not value or self.flat[start].tied or self.flat[index - 1].ties:
            return 0
        return index

    def _scattered(
        self, values: Iterable[tuple[Token, ...]], shared: Collection[str]
    ) -> Iterator[tuple[int, int]]:
        """Find long values whose words are all in one segment; the verb may separate them."""
        for value in filter(self.tokens.may_say, values):
            for index in range(len(self.segments) if len(value) > 1 else 0):
                here = [n for n, of in enumerate(self.of) if of == index]
                found = [
                    next((n for n in here if alike(word, self.flat[n], shared)), -1)
                    for word in value
                ]
                if min(found) >= 0:
                    yield max(found), max(found) + 1

    def _at(
        self,
        home: int,
        name: tuple[frozenset[object], ...],
        query: FactQuery,
        shared: Collection[str],
        *,
        loose: bool = False,
    ) -> str:
        """Return what is said about a fact whose key is in a segment."""
        spots = list(self.spots(query.values, shared, query.joined))
        if not spots and query.polarity in ("must", "must_not"):
            spots = list(self._scattered(query.values, shared))
        kind = next((v[0] for v in query.values if len(v) == 1 and v[0].kind != "word"), None)
        keys = self._keys(home, name, kind)
        if not spots and keys and query.truth and query.polarity != "asks":
            # A yes/no fact.
            verdict = self._said(home, name, set(), (min(keys), max(keys) + 1), [], query)
            if verdict in ("held", "newer", "denied"):
                return "held" if (verdict != "denied") == (query.truth == "yes") else "other"
            return verdict
        rivals = [
            n
            for n, token in enumerate(self.flat)
            if kind is not None
            and n not in keys
            and self._rivals(kind, n, query)
            and not any(a <= n < b for a, b in spots)
        ]
        standing = [n for n in rivals if not self._dismissed(home, keys, n, rivals)]
        bound = self._belonging(home, keys, spots, rivals, standing)
        if loose and not bound and not rivals and kind is not None and kind.kind == "code":
            bound = spots
        if not bound:
            near = [n for n in standing if self._bound(home, keys, (n, n + 1), [])]
            return (
                "other" if (near and not self.asks) or self._otherwise(home, keys, kind) else "key"
            )
        verdicts = [self._said(home, name, keys, spot, rivals, query) for spot in bound]
        order = ("held", "newer", "plain", "denied", "asked")
        return next((best for best in order if best in verdicts), "key")

    def _keys(self, home: int, name: tuple[frozenset[object], ...], kind: Token | None) -> set[int]:
        """Return the positions of a key's words; tokens that look like the value are excluded."""
        codes = kind is not None and kind.kind == "code"
        return {
            n
            for n, t in enumerate(self.flat)
            if self.of[n] == home
            and among(t, name)
            and not (codes and t.kind == "code" and not any(t.form in word for word in name))
        }

    def _belonging(
        self,
        home: int,
        keys: set[int],
        spots: list[tuple[int, int]],
        rivals: list[int],
        standing: list[int],
    ) -> list[tuple[int, int]]:
        """Return the ranges of a value that belong to the key."""
        bound = [spot for spot in spots if self._bound(home, keys, spot, standing)]
        if not bound and any(self.of[n] == home for n in rivals if n not in standing):
            # "The port used to be 8123; 9456 is open": the first value after it has replaced it.
            bound = [(a, b) for a, b in spots if a and self.of[a - 1] == home == self.of[a] - 1]
        values = {self.of[a] for a, _ in spots} | {self.of[n] for n in rivals}
        aside = home > 0 and self.segments[home].aside and home not in values
        if aside and self._relative(home, keys):
            # Text in brackets describes what is before the brackets.
            bound = [spot for spot in bound if self.of[spot[0]] < home]
        return bound

    def _rivals(self, kind: Token, place: int, query: FactQuery) -> bool:
        token = self.flat[place]
        if kind.kind == "name" and token.kind == "name":
            first = place == 0 or self.of[place - 1] != self.of[place]
            if first and len(self.segments[self.of[place]].tokens) > 1:
                return False
        if kind.kind == "code" and f"/{kind.form}".find(f"/{str(token.form).strip('/')}") >= 0:
            return False  # a bare file name, which other files may share, or its folder
        return rival(kind, token) and not any(alike(w, token, ()) for v in query.values for w in v)

    def _otherwise(self, home: int, keys: set[int], kind: Token | None) -> bool:
        """Whether the words after a key give another value, where no type identifies a value."""
        if self.asks or (kind is not None and kind.kind != "name"):
            return False
        if home < 0:
            words = content(self.flat)
            return self.statement.row and bool(words) and not any(t.typed for t in words)
        behind = [n for n in range(max(keys, default=0) + 1, len(self.flat)) if self.of[n] == home]
        text = " ".join(self.flat[n].low for n in behind)
        match = IS_SAID.match(text)
        return match is not None and not VAGUE.search(match[1]) and bool(match[1].strip())

    def _bound(  # noqa: PLR0911
        self, home: int, keys: set[int], spot: tuple[int, int], rivals: list[int]
    ) -> bool:
        """Whether a value belongs to a key."""
        start, end = spot
        index = self.of[start]
        if keys and max(start - max(keys), min(keys) - end) > WINDOW:
            return False
        if home < 0:
            return True  # the key is in a heading
        if index == home:
            return self._nearest(keys, spot, [n for n in rivals if self.of[n] == home])
        if index > home:
            inside = self.segments[index].aside
            between = [
                n for n in range(home + 1, index + 1) if inside or not self.segments[n].aside
            ]
            if self._predicate(home, index, keys) or self._fronted(home, index, keys):
                return True
            parted = self.segments[index]
            if parted.joint == "," and self.segments[home].joint and parted.first in FINITE:
                return False  # it continues the subject before an aside
            if not all(self._continues(n, spot) for n in between):
                return False
            before = [n for n in rivals if home <= self.of[n] < index]
            return not before or self._bare(index, spot)
        # Backwards: "Mark, who is release manager"; "Samira, our account manager".
        if index != home - 1 or any(self.of[n] == home for n in rivals):
            return False
        if index == 0 and self.segments[home].joint == "," and self.segments[0].first in FRONT:
            return True  # "In Lisbon, the meeting is at nine"
        together = self.segments[home].joint == "and" and self._bare(index, spot)
        reported = REPORTS.search(self.segments[home].words) is not None
        return reported or together or self._relative(home, keys)

    def _predicate(self, home: int, place: int, keys: set[int]) -> bool:
        """Whether a segment is a predicate, separated from its subject by an aside in commas."""
        segment = self.segments[place]
        first = segment.first
        subject = [
            n for n in range(len(self.flat)) if self.of[n] == home and n > max(keys, default=0)
        ]
        return (
            place > home + 1
            and not segment.strong
            and segment.joint == ","
            and first in FINITE
            and not subject
            and self.segments[home].joint in ("", ";", "since", "because", "although")
            and not any(s.joint == ";" for s in self.segments[home + 1 : place])
        )

    def _dismissed(self, home: int, keys: set[int], place: int, rivals: list[int]) -> bool:
        """Whether another value is said to be outdated or wrong."""
        others = [n for n in range(len(self.flat)) if n != place and (n in rivals)]
        text = self.marked(0, len(self.segments), keys, (place, place + 1), others)
        return any(pattern.search(text) for pattern in DENIALS)

    def _fronted(self, home: int, place: int, keys: set[int]) -> bool:
        """Whether the key stands alone before a clause: "For the port, 8123 is best"."""
        segment = self.segments[place]
        alone = all(token.low in LINKS | FRONT for token in self._telling(home, keys))
        marks = {token.raw for token in segment.tokens if token.kind == "mark"}
        begins = (home, place, segment.joint) == (0, 1, ",") and not marks & {":", "="}
        return begins and alone and self.segments[0].first in FRONT | vocabulary().empty

    def _nearest(self, keys: set[int], spot: tuple[int, int], rivals: list[int]) -> bool:
        if not keys or not rivals:
            return True
        start, end = spot
        first, last = min(keys), max(keys)
        if start > last:
            return not any(last < n < start for n in rivals)
        behind = [n for n in rivals if n > last]
        between = [n for n in rivals if end <= n < first]
        if between:
            return False
        # The value is before the key, and another value after it belongs to the key.
        return not behind or behind[0] - last > first - end + 2

    def _continues(self, place: int, spot: tuple[int, int]) -> bool:
        """Whether a segment continues the topic of the previous one."""
        segment = self.segments[place]
        first = segment.first
        if segment.strong and first not in (":", "=") and "but" not in segment.joint.split():
            return first in PRONOUNS
        if first in (":", "=") or "then" in segment.joint or "afterwards" in segment.joint:
            return True
        if first in PRONOUNS or first in LINKS or first.endswith("ed"):
            return True
        return self._bare(place, spot)

    def _bare(self, place: int, spot: tuple[int, int]) -> bool:
        """Whether a segment contains no content words besides a value."""
        rest = self._telling(place, range(*spot))
        return not any(token.kind == "word" and token.low not in LINKS for token in rest)

    def _telling(self, place: int, beside: Container[int]) -> Iterator[Token]:
        """Return the content tokens of a segment, except those at some indices."""
        empty = vocabulary().empty
        for n, token in enumerate(self.flat):
            here = self.of[n] == place and n not in beside and token.kind != "mark"
            if here and token.low not in empty:
                yield token

    def _relative(self, home: int, keys: set[int]) -> bool:
        """Whether a segment only describes the previous one."""
        segment = self.segments[home]
        first = segment.first
        if segment.strong:
            return False
        if {"who", "which", "whose", "that"} & {first, *segment.joint.split()}:
            return True
        rest = (token for token in self._telling(home, keys) if token.kind in ("word", "name"))
        bare = all(token.low == "same" for token in rest)
        return segment.joint in (",", "(", "\u2013", "—") and bare

    def _said(  # noqa: PLR0911, PLR0917
        self,
        home: int,
        name: tuple[frozenset[object], ...],
        keys: set[int],
        spot: tuple[int, int],
        rivals: list[int],
        query: FactQuery,
    ) -> str:
        """Return how a value that belongs to the key is stated."""
        low = min(home if home >= 0 else self.of[spot[0]], self.of[spot[0]])
        high = max(home, self.of[spot[1] - 1])
        place = self.of[spot[0]]
        if home < place and any(self.segments[n].strong for n in range(home + 1, place + 1)):
            low = place  # it corrects what was said before
        core = self.marked(low, high, keys, spot, rivals)
        while low > 0 and self._leads(low):
            low -= 1
        while high + 1 < len(self.segments) and self._comments(high + 1, query):
            high += 1
        text = self.marked(low, high, keys, spot, rivals)
        last = max((n for n, s in enumerate(self.segments[: self.own]) if s.strong), default=0)
        above = plainly(" ".join(token.low for token in self.statement.context) + " ")
        if self.asks and not self.answer and last <= self.of[spot[0]] < self.own:
            return "held" if query.polarity == "asks" else "asked"
        if query.polarity == "asks":
            # An answer to a question decides it, one way or the other.
            return "denied" if self.answer or decided(text, above) else "held"
        if self.answer and self.of[spot[0]] < self.own:
            agreed = self.answer in YES
            return "held" if agreed != (query.polarity == "must_not") else "denied"
        if query.polarity != "is":
            core = self._clause(home, keys, spot, rivals)
            text = f"{core} ; {text}"
        if query.polarity == "is":
            void = VOID.search(INSTEAD.sub("", above))
            return "denied" if void else self._stated(text, core, query)
        verdict = ruled(text, above + self._verbs(core, spot), query.polarity)
        if not name and query.names and not (BAN.search(above + core) or NONE.search(core)):
            if ALLOWS.search(core) or WEAKENS.search(core):
                return "denied"
            return "asked"  # it says nothing about what is done with the object
        return verdict

    def _verbs(self, core: str, spot: tuple[int, int]) -> str:
        """Return a clause, marked where the words after the key are no setting of a value."""
        typed = self.flat[spot[0]].typed or self.flat[spot[0]].kind == "name"
        return core if typed else core.replace("KEY VALUE", "KEY the VALUE")

    def _clause(self, home: int, keys: set[int], spot: tuple[int, int], rivals: list[int]) -> str:
        """Return the segments of key and value, and those that continue them."""
        low = min(home if home >= 0 else self.of[spot[0]], self.of[spot[0]])
        high = max(home, self.of[spot[1] - 1])
        while high + 1 < len(self.segments):
            first = self.segments[high + 1].first
            plain = not self.segments[high + 1].strong
            if plain and first in PRONOUNS | FINITE | MODALS | LINKS:
                high += 1
            else:
                break
        if low and not self.segments[low].strong:
            low -= RULES.search(self.segments[low - 1].words) is not None
        return self.marked(low, high, keys, spot, rivals)

    def _stated(self, text: str, core: str, query: FactQuery) -> str:
        if CHOICE.search(core) and not SETTLED.search(text):
            return "asked"
        if any(pattern.search(text) for pattern in DENIALS):
            return "denied"
        if DOUBT.search(text) and not (query.tentative or SETTLED.search(text)):
            return "denied"
        meant = query.conditional or SETTLED.search(core) or AGREED.search(text)
        if IF.search(text) and not meant:
            return "denied"
        return "newer" if ORDERS.search(text) else "held"

    def _leads(self, low: int) -> bool:
        """Whether the previous segment puts this one under a condition or in doubt."""
        front, here = self.segments[low - 1], self.segments[low]
        if here.strong:
            return False
        return bool(
            IF.search(f"{front.joint} {front.words}")
            or DOUBT.search(front.words)
            or re.search(rf"\b{FORMER}\b", front.words)
        ) and here.joint in (",", "that", "then", "", ":")

    def _comments(self, place: int, query: FactQuery) -> bool:
        """Whether a segment comments on how the previous one is meant."""
        segment = self.segments[place]
        if segment.aside and query.polarity == "asks":
            return True
        first = segment.first
        long = len(segment.tokens) > 4 or "if" in segment.joint
        if segment.strong and long and first not in PRONOUNS:
            return False
        return COMMENT.match(f"{segment.joint} {segment.words}") is not None

    def marked(
        self, low: int, high: int, keys: set[int], spot: tuple[int, int], rivals: list[int]
    ) -> str:
        """Return segments as words, with KEY, VALUE and RIVAL as placeholders."""
        words: list[str] = []
        last = -1
        for n, token in enumerate(self.flat):
            if not low <= self.of[n] <= high:
                continue
            if self.of[n] != last:
                words.append(self.segments[self.of[n]].joint)
                last = self.of[n]
            if spot[0] <= n < spot[1]:
                word = "VALUE"
            elif n in keys:
                word = "KEY"
            elif n in rivals:
                word = "RIVAL"
            else:
                word = token.low
            if not (words and words[-1] == word and word.isupper()):
                words.append(word)
        return plainly(" ".join(filter(None, words)) + " ")
