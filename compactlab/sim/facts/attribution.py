"""Infer which original messages the words of an externally compacted context come from."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from compactlab.sim.core.errors import InputError, unknown
from compactlab.sim.core.message import Kind, Message, Part, Source
from compactlab.sim.core.view import Messages, View

Numbers = NDArray[np.int64]

# Length in words of the shortest run that counts as a copy; a choice. A. Broder, "On the
# resemblance and containment of documents", 1997, uses ten words to recognise copied documents. Set
# phrases ("let me know if you need anything else") have up to seven words, and commands are seldom
# longer than eight.
LEAST = 8
# Most places stored per run. Words that occur in more places are boilerplate and are attributed to
# no message.
MOST = 64

# Tokens: words, single punctuation signs, and single characters of scripts without spaces.
_DENSE = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_DENSE}]|[^\W{_DENSE}]+|[^\w\s]")


class Place(NamedTuple):
    """A character range in one of the texts."""

    text: int
    start: int
    end: int


class Run(NamedTuple):
    """A sequence of words that also occurs in another text."""

    start: int  # of characters
    end: int
    words: int  # without signs
    places: tuple[Place, ...]  # at most MOST


def count_words(text: str) -> int:
    """Count the words of a text.

    Examples
    --------
    >>> count_words("Look: it's a_b, 1.5!")
    6
    """
    return len(words_of(text))


def words_of(text: str) -> list[str]:
    """Return the words of a text, without punctuation.

    Examples
    --------
    >>> words_of("a_b, 1.5!")
    ['a_b', '1', '5']
    """
    return [word for word in _TOKEN.findall(text) if word[0].isalnum() or word[0] == "_"]


def aligned(known: Sequence[str], asked: Sequence[str], least: int = LEAST) -> list[list[Run]]:
    """Find the runs of words that texts share with known texts, longest first.

    White space between words is ignored. If two runs have the same number of words, the one with
    more punctuation comes first, then the one that starts earlier.

    Examples
    --------
    >>> aligned(["the port is 8123 now"], ["They say: the port is 8123, I think."], least=3)
    [[Run(start=10, end=26, words=4, places=(Place(text=0, start=0, end=16),))]]
    """
    texts = _Texts([*known, *asked])
    if not any(texts.spans[: len(known)]):
        return [[] for _ in asked]
    border = texts.begins[len(known)] if asked else len(texts.ids)
    suffixes = _Suffixes(texts.ids, border)
    lengths = suffixes.longest()
    matches = []
    for number in range(len(known), len(known) + len(asked)):
        first, spans, words = texts.begins[number], texts.spans[number], texts.words(number)
        own = lengths[first - border : first - border + len(spans)]
        runs = []
        for start, stop in _covered(own, words, least):
            places = suffixes.places(first + start, stop - start)
            sources = tuple(texts.place(place, stop - start) for place in places)
            count = words[stop] - words[start]
            runs.append(Run(spans[start][0], spans[stop - 1][1], count, sources))
        matches.append(runs)
    return matches


class _Texts:
    """Texts as one array of integers: one per distinct word, plus a separator after each text."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.spans = [[match.span() for match in _TOKEN.finditer(text)] for text in texts]
        self.begins = [0, *accumulate(len(spans) + 1 for spans in self.spans)]
        numbers: dict[str, int] = {}
        row: list[int] = []
        for index, (text, spans) in enumerate(zip(texts, self.spans, strict=True)):
            row += (numbers.setdefault(text[a:b], len(numbers)) for a, b in spans)
            row.append(-1 - index)
        self.ids = np.array(row, dtype=np.int64)

    def words(self, number: int) -> list[int]:
        """Return the number of words before each token of a text, and in the whole text."""
        text = self.texts[number]
        signs = (text[a].isalnum() or text[a] == "_" for a, _ in self.spans[number])
        return [0, *accumulate(map(int, signs))]

    def place(self, first: int, length: int) -> Place:
        """Return the character range of some tokens, given by their global position."""
        number = bisect_right(self.begins, first) - 1
        spans, start = self.spans[number], first - self.begins[number]
        return Place(number, spans[start][0], spans[start + length - 1][1])


def _ranks(first: Numbers, second: Numbers) -> Numbers:
    """Return the rank of each pair of numbers among the distinct pairs.

    It sorts by 16 bits at a time, which takes linear time. Sorting the pairs directly took 3.5
    times as long for twice as many.
    """
    order = np.arange(len(first))
    for key in (second, first):
        for shift in range(0, int(key.max(initial=0)).bit_length(), 16):
            digits = (key >> shift).astype(np.uint16)
            order = order[np.argsort(digits[order], kind="stable")]
    one, two = first[order], second[order]
    ranks = np.empty_like(first)
    ranks[order] = np.cumsum(np.r_[False, (one[1:] != one[:-1]) | (two[1:] != two[:-1])])
    return ranks


class _Suffixes:
    """A suffix array: the sorted suffixes of an array of numbers.

    It is built by prefix doubling: an order by the first 2^k numbers gives the order by twice as
    many. Suffixes after the border are looked up among those before it.
    """

    def __init__(self, row: Numbers, border: int) -> None:
        _, rank = np.unique(row, return_inverse=True)
        self._size = size = len(row)
        self._levels = [rank]
        step = 1
        while rank.max(initial=0) < size - 1:
            behind = np.zeros(size, dtype=np.int64)
            behind[: size - step] = rank[step:] + 1
            rank = _ranks(rank, behind)
            self._levels.append(rank)
            step *= 2
        self._order = np.argsort(rank, kind="stable")
        self._rank, self._border = rank, border
        self._old = np.flatnonzero(self._order < border)

    def _shared(self, one: Numbers, two: Numbers) -> Numbers:
        """Return the length of the common prefix, for many pairs of different suffixes."""
        total = np.zeros(len(one), dtype=np.int64)
        last = self._size - 1
        for level in range(len(self._levels) - 1, -1, -1):
            rank, a, b = self._levels[level], one + total, two + total
            same = (
                (rank[np.minimum(a, last)] == rank[np.minimum(b, last)]) & (a <= last) & (b <= last)
            )
            total += same * (1 << level)
        return total

    def longest(self) -> list[int]:
        """For each suffix after the border, return its longest common prefix with one before it."""
        asked = np.arange(self._border, self._size)
        here = np.searchsorted(self._old, self._rank[asked])
        best = np.zeros(len(asked), dtype=np.int64)
        for near in (here - 1, here):
            some = np.flatnonzero((near >= 0) & (near < len(self._old)))
            shared = self._shared(asked[some], self._order[self._old[near[some]]])
            best[some] = np.maximum(best[some], shared)
        return list(map(int, best))

    def places(self, first: int, length: int) -> list[int]:
        """Return the positions before the border that hold the same numbers as a given position."""
        here = int(np.searchsorted(self._old, self._rank[first]))
        near = self._order[self._old[max(0, here - MOST) : here + MOST]]
        alike = self._shared(np.full(len(near), first), near) >= length
        return sorted(map(int, near[alike]))[:MOST]


def _covered(lengths: Sequence[int], words: Sequence[int], least: int) -> list[tuple[int, int]]:
    """Cover a text with runs, longest first; a run is cut where it overlaps a longer one."""
    runs = [
        _weighed(index, index + length, words)
        for index, length in enumerate(lengths)
        if length and (not index or lengths[index - 1] <= length)
    ]
    heapify(runs)
    taken = bytearray(len(lengths))
    intervals = []
    while runs:
        count, _, start, stop = heappop(runs)
        if -count < least:
            break
        if taken.find(1, start, stop) < 0:
            taken[start:stop] = b"\1" * (stop - start)
            intervals.append((start, stop))
        else:
            for left, right in _free(taken, start, stop):
                heappush(runs, _weighed(left, right, words))
    return sorted(intervals)


def _weighed(start: int, stop: int, words: Sequence[int]) -> tuple[int, int, int, int]:
    return words[start] - words[stop], start - stop, start, stop


def _free(taken: bytearray, start: int, stop: int) -> Iterator[tuple[int, int]]:
    while start < stop:
        start = taken.find(0, start, stop)
        if start < 0:
            return
        end = taken.find(1, start, stop)
        end = stop if end < 0 else end
        yield start, end
        start = end


# This module *infers* provenance. It never mixes inferred provenance with the provenance that a
# strategy declares.

# _MARKER: a truncated message may contain so many words that are not in the original, such as "[...
# 12,345 characters were removed ...]". _QUOTED: per such word, the message must contain so many
# original words. Both are guesses.
_MARKER, _QUOTED = 20, 3
MADE = "compacted:"  # prefix of the ids of messages that are not in the original


class Copy(NamedTuple):
    """A run of words in a part that also occurs in messages of the original."""

    start: int  # of characters
    end: int
    ids: frozenset[str]


@dataclass(frozen=True)
class Attributed:
    """A compacted context with provenance."""

    view: View  # with provenance; unchanged messages are the original objects
    given: View  # the context as given; its tokens are counted
    inferred: bool  # whether provenance is inferred (else declared)
    words: int  # of the context
    found: int  # words that also occur in the original
    copies: Mapping[Part, tuple[Copy, ...]] = field(default_factory=dict)  # by changed part


def attributed(original: Sequence[Message], system: tuple[Part, ...], context: View) -> Attributed:
    """Infer the provenance of each part of a context.

    A message or part that equals an original one is ``verbatim``. In other texts, the longest
    shared runs of words are located, see :func:`aligned`. A run that equals a whole original text
    is ``recovered``. A text that starts or ends like one original text, with little added, is
    ``truncated``. Any other text is a ``summary`` of the messages that its runs come from. Text
    without a matching run may paraphrase the removed messages at its position, see
    :func:`_standing`. A tool result that keeps only its call id is a ``stub``. Messages that are
    not in the original get the ids ``compacted:1``, ``compacted:2``, ... by position.
    """
    return _Attribution(original, system).of(context)


class _Text(NamedTuple):
    """A text of the original, with its message and part."""

    id: str
    part: int
    text: str
    words: int


class _Place(NamedTuple):
    """The original messages that share text with a message of a context, by index."""

    copied: frozenset[int]  # original messages that share words with it
    whole: frozenset[int]  # original messages of which it contains a whole text
    is_copy: bool  # whether most of it is copied
    has_words: bool = True


class _Piece(NamedTuple):
    """A piece of a part, its runs, and whether it equals a whole original text."""

    start: int
    end: int
    runs: tuple[Run, ...]
    whole: bool = False


class _Attribution:
    """Attributes all messages of one context."""

    def __init__(self, original: Sequence[Message], system: tuple[Part, ...]) -> None:
        self._original, self._system = original, set(map(content, system))
        self._texts = [
            _Text(message.id, number, part.text, count_words(part.text))
            for message in original
            for number, part in enumerate(message.parts)
            if part.text.strip()
        ]
        self._everything = tuple(Source(message.id) for message in original)
        self._index = {message.id: index for index, message in enumerate(original)}
        self._parts: dict[tuple[str, str], Source] = {}
        self._results: dict[str, Source] = {}
        for message in original:
            for number, part in enumerate(message.parts):
                self._parts.setdefault(content(part), Source(message.id, number))
                if part.type == "tool_result" and part.call_id:
                    self._results.setdefault(part.call_id, Source(message.id, number))
        self._matched = 0
        self._copies: dict[Part, tuple[Copy, ...]] = {}

    def of(self, context: View) -> Attributed:
        same = _same(self._original, context.messages)
        others = (message for n, message in enumerate(context.messages) if n not in same)
        foreign = [*context.system, *(part for message in others for part in message.parts)]
        words = sum(count_words(part.text) for part in foreign)
        retained = sum(count_words(p.text) for message in same.values() for p in message.parts)
        self._matched = retained  # words matched so far
        unlike = [part for part in foreign if content(part) not in self._parts]
        asked = list(dict.fromkeys(part.text for part in unlike))
        known = [text.text for text in self._texts]
        self._runs = dict(zip(asked, aligned(known, asked), strict=True))
        written = [part for part in context.system if content(part) not in self._system]
        places = [self._place(written)]
        for here, message in enumerate(context.messages):
            equal = same.get(here)
            index = self._index[equal.id] if equal else -1
            places.append(
                _Place(frozenset([index]), frozenset([index]), True)
                if equal
                else self._place(message.parts)
            )
        known_ids = dict.fromkeys(text.id for text in self._texts)
        standing = [
            tuple(Source(self._original[index].id) for index in indices)
            for indices in _standing(places, [self._index[id] for id in known_ids])
        ]
        system = tuple(self._of_system(context.system, standing[0]))
        messages = Messages(
            same.get(here) or self._message(message, here + 1, standing[here + 1])
            for here, message in enumerate(context.messages)
        )
        view = View(system, messages)
        return Attributed(view, context, True, retained + words, self._matched, self._copies)

    def _place(self, parts: Sequence[Part]) -> _Place:
        """Compare a message that is not in the original with the original."""
        words = matched = 0
        copied: set[int] = set()
        whole: set[int] = set()
        for part in parts:
            size = count_words(part.text)
            equal = self._parts.get(content(part)) if size else None
            held = self._results.get(part.call_id) if part.type == "tool_result" else None
            runs = () if equal or not size else self._runs[part.text]
            if held and not runs and not equal:
                copied.add(self._index[held.id])
                continue
            words += size
            matched += size if equal else sum(run.words for run in runs)
            whole |= {self._index[equal.id]} if equal else set()
            for run in runs:
                indices = {self._index[self._texts[place.text].id] for place in run.places}
                copied |= indices
                whole |= indices if self._whole(run) else set()
        other = words - matched
        is_copy = other * _QUOTED <= matched and other <= _MARKER
        copied |= whole
        return _Place(frozenset(copied), frozenset(whole), is_copy and bool(copied), bool(words))

    def _of_system(self, parts: Iterable[Part], standing: tuple[Source, ...]) -> Iterator[Part]:
        """Return the system blocks: the original ones, and those added to them."""
        for part in parts:
            if content(part) in self._system:
                self._matched += count_words(part.text)
                yield part
            else:
                yield from self._part(part, standing)

    def _message(self, message: Message, place: int, standing: tuple[Source, ...]) -> Message:
        """Attribute a message that is not in the original; give it a unique id."""
        parts = tuple(piece for part in message.parts for piece in self._part(part, standing))
        return replace(message, id=f"{MADE}{place}", parts=parts)

    def _part(self, part: Part, standing: tuple[Source, ...]) -> Iterator[Part]:
        words = count_words(part.text)
        same = self._parts.get(content(part)) if part.text.strip() else None
        if same is not None:
            self._matched += words
            yield replace(part, kind="verbatim", sources=(same,))
        elif not words:
            # An opaque part may stand for every message; a text of punctuation only stands for
            # none.
            opaque = part.kind == "opaque" and self._everything
            yield replace(part, sources=opaque or (), kind="opaque" if part.size else "synthetic")
        else:
            runs = self._runs[part.text]
            self._matched += sum(run.words for run in runs)
            whole = [run for run in runs if self._whole(run)] if part.type == "text" else []
            for piece in _pieces(part.text, runs, whole):
                made = self._piece(part, piece, standing)
                self._copies[made] = tuple(
                    Copy(
                        run.start - piece.start,
                        run.end - piece.start,
                        frozenset(self._texts[place.text].id for place in run.places),
                    )
                    for run in piece.runs
                )
                yield made

    def _piece(self, part: Part, piece: _Piece, standing: tuple[Source, ...]) -> Part:
        text = part.text[piece.start : piece.end]
        held = self._results.get(part.call_id) if part.type == "tool_result" else None
        other = count_words(text) - sum(run.words for run in piece.runs)
        sources = tuple(dict.fromkeys(s for run in piece.runs for s in self._sources(run)))
        if piece.whole:
            return replace(part, text=text, kind="recovered", sources=sources)
        if held is not None and not piece.runs:
            return replace(part, text=text, kind="stub", sources=(held,))
        standing = standing if other else ()
        cut = self._cut(text, piece) if other <= _MARKER else ()
        if cut:
            return replace(part, text=text, kind="truncated", sources=(*cut, *standing))
        sources = (*sources, *standing)
        kind: Kind = "summary" if sources else "synthetic"
        return replace(part, text=text, kind=kind, sources=sources)

    def _whole(self, run: Run) -> bool:
        return any(self._texts[place.text].words == run.words for place in run.places)

    def _sources(self, run: Run) -> Iterator[Source]:
        for place in run.places:
            text = self._texts[place.text]
            yield Source(text.id, text.part, place.start, place.end)

    def _cut(self, text: str, piece: _Piece) -> tuple[Source, ...]:
        """Return the spans of the original text that a piece truncates.

        The piece must start with the original's first word or end with its last.
        """
        runs = piece.runs
        if not runs or count_words(text) * _QUOTED > (_QUOTED + 1) * sum(r.words for r in runs):
            return ()
        begins = not count_words(text[: runs[0].start - piece.start])
        ends = not count_words(text[runs[-1].end - piece.start :])
        for number in sorted(set.intersection(*({p.text for p in run.places} for run in runs))):
            id, part, words, _ = self._texts[number]
            places = [p for run in runs for p in run.places if p.text == number]
            is_head = begins and not count_words(words[: min(p.start for p in places)])
            if is_head or (ends and not count_words(words[max(p.end for p in places) :])):
                return tuple(Source(id, part, p.start, p.end) for p in places)
        return ()


def _standing(places: Sequence[_Place], told: Iterable[int]) -> list[list[int]]:
    """For each position, return the original messages that its non-copied words may stand for.

    A message that is mostly a copy stands for what it copies. Any other stands for the messages
    removed between the copies before and after it. If nothing stands at their position, they are
    assigned to the nearest earlier such message, else to the nearest later one. If there is none,
    they are assigned to a message before the last copy. So a question after the last message stands
    for nothing.
    """
    standing = [sorted(place.copied) if place.is_copy else [] for place in places]
    copies = [(place.copied, here) for here, place in enumerate(places) if place.is_copy]
    there = frozenset().union(*(place.whole for place in places))
    others = [n for n, place in enumerate(places) if place.has_words and not place.is_copy]
    scattered = []
    for index in told:
        if index in there:
            continue
        before = max(((max(c), here) for c, here in copies if max(c) < index), default=(0, -1))[1]
        after = min(
            ((min(c), here) for c, here in copies if min(c) > index), default=(0, len(places))
        )[1]
        near = [here for here in others if before < here < after]
        for here in near:
            standing[here].append(index)
        if not near:
            scattered.append((index, before))
    last = max((here for _, here in copies), default=-1)
    able = [here for here in others if standing[here]] or [h for h in others if h < last]
    for index, before in scattered:
        earlier = [here for here in able if here < before]
        for here in earlier[-1:] or able[:1]:
            standing[here].append(index)
    return [sorted(indices) for indices in standing]


def _pieces(text: str, runs: Sequence[Run], whole: Sequence[Run]) -> Iterator[_Piece]:
    """Split a text at the runs that equal a whole text; punctuation between them joins them."""
    start = 0
    for number, run in enumerate(whole):
        between = tuple(each for each in runs if start <= each.start and each.end <= run.start)
        begin = run.start
        if count_words(text[start:begin]):
            yield _Piece(start, begin, between)
        else:
            begin = start
        stop = whole[number + 1].start if number + 1 < len(whole) else len(text)
        end = stop if not count_words(text[run.end : stop]) else run.end
        yield _Piece(begin, end, (run,), True)
        start = end
    if start < len(text):
        yield _Piece(start, len(text), tuple(run for run in runs if run.start >= start))


def _same(original: Sequence[Message], context: Messages) -> dict[int, Message]:
    """Return the original message that each context message equals, by context position.

    If several are equal, take the newest that keeps the order: contexts keep their ends.
    """
    places: dict[object, list[int]] = defaultdict(list)
    for index, message in enumerate(original):
        places[_content_of(message)].append(index)
    matches: dict[int, Message] = {}
    bound = len(original)
    for here in range(len(context) - 1, -1, -1):
        equal = places.get(_content_of(context[here]), [])
        if equal:
            before = bisect_left(equal, bound)
            bound = equal[before - 1]  # the last equal one if no earlier one is left
            matches[here] = original[bound]
    return matches


def _content_of(message: Message) -> tuple[object, ...]:
    return (message.role, *((*content(part), part.size) for part in message.parts))


def content(part: Part) -> tuple[str, str]:
    """Return the key by which two parts are compared."""
    return part.type, part.text


# Contexts that declare the original messages that they stand for.

_NOBODY = ("synthetic", "opaque")


def declared(original: Sequence[Message], context: View) -> Attributed | None:
    """Read the declared provenance, if the parts of the context name messages of the original."""
    known = {message.id: message for message in original}
    parts = [part for message in context.messages for part in message.parts]
    parts += (part for part in context.system if part.kind != "verbatim")
    if not any(_tells(part, known) for part in parts):
        return None
    for part in parts:
        for source in part.sources:
            if source.id not in known:
                raise InputError(unknown("message of the original", source.id, known))
        if part.kind == "verbatim" and not _stands(part, known):
            raise InputError(
                f"a part is declared verbatim, and message {part.sources[0].id!r} has no such part"
            )
    same = {(m.id, m.role, m.parts): m for m in original}
    messages = [same.get((m.id, m.role, m.parts), m) for m in context.messages]
    words = sum(count_words(part.text) for part in (*parts, *context.system))
    return Attributed(View(context.system, Messages(messages)), context, False, words, words)


def _tells(part: Part, known: dict[str, Message]) -> bool:
    """Whether a part declares provenance other than itself."""
    if part.kind in _NOBODY and not part.sources:
        return False
    return part.kind != "verbatim" or any(source.id in known for source in part.sources)


def _stands(part: Part, known: dict[str, Message]) -> bool:
    """Whether one of the messages that a part names contains that part."""
    return any(content(part) == content(p) for s in part.sources for p in known[s.id].parts)
