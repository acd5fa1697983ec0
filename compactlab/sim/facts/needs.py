"""What the next actions of a conversation need, and which texts hold it."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from compactlab.sim.core.conversation import Conversation, Rewind
from compactlab.sim.core.latest import keep_latest
from compactlab.sim.core.message import Message, Part

# Identifiers: the words of a text that name something in particular.
#
# What counts as one is written down in ``docs/metrics.md``.

# A run of what paths, symbols, addresses, versions and numbers are made of. Punctuation at its
# ends is taken off afterwards: a pattern that did both would be slow on a megabyte of dots.
_RUN = re.compile(r"[\w$~+@#%/.:\-]+")
_BLANKS = {code: " " for code in range(128) if not _RUN.fullmatch(chr(code))}
_LEADING, _TRAILING = "+@#%:-", "+@#%:-./~"
# What makes a word the name of something: a separator or a change of case inside, three digits in
# a row, a beginning as of a path, or the look of a hash.
_NAMES = re.compile(
    r"[\w~][_/@#\\]|[A-Za-z0-9][.:\-][A-Za-z0-9]|[a-z0-9][A-Z]|\d{3}|^[~/]"
    r"|^(?=[a-f]*\d)[0-9a-f]{7,64}$"
)
# White space as JSON and source code write it in a string: its letter begins no run.
_ESCAPED = re.compile(r"\\(?:[nrt]|u[0-9a-fA-F]{4})")
_LONGEST = 200  # characters; what is longer is data, not a name
_REMEMBERED = 5_000_000  # characters of texts whose identifiers are kept: about 50 MB at most


def words(text: str) -> frozenset[str]:
    """All words of a text that could be identifiers or arguments."""
    stripped = [run.lstrip(_LEADING).rstrip(_TRAILING) for run in _runs(text)]
    return frozenset([word for word in stripped if 1 < len(word) <= _LONGEST])


def words_among(text: str, wanted: Mapping[str, object]) -> Iterator[str]:
    """Those words of a text that are wanted, as :func:`words` would find them, but sooner."""
    said = runs(text)
    matches = said & wanted.keys()
    # Most runs have nothing to take off at their ends, and then are wanted as they are or not.
    ragged = [run for run in said if run[-1] in _TRAILING or run[0] in _LEADING]
    stripped = {run.lstrip(_LEADING).rstrip(_TRAILING) for run in ragged}
    return iter(matches | (stripped & wanted.keys()))


def runs(text: str) -> set[str]:
    """The runs that a text says, where it is written as JSON or source code, too."""
    said = _runs(text)
    if "\\" in text:  # a path of Windows may go on with such a letter, so both readings count
        said |= _runs(_ESCAPED.sub(" ", text))
    return said


def _runs(text: str) -> set[str]:
    """The runs in a text; of plain text without the pattern, which takes five times as long."""
    return {*text.translate(_BLANKS).split()} if text.isascii() else {*_RUN.findall(text)}


def identifiers(text: str) -> frozenset[str]:
    """The words of a text that name something: paths, symbols, addresses, hashes, numbers."""
    return _memory.of(text)


class _Memory:
    """The identifiers of texts, each looked for once; all are forgotten when they grow too many.

    Messages stay the same from prompt to prompt and from strategy to strategy.
    """

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}
        self._characters = 0

    def of(self, text: str) -> frozenset[str]:
        names = self._known.get(text)
        if names is None:
            self._characters += len(text)
            if self._characters > _REMEMBERED:
                self._known.clear()
                self._characters = len(text)
            matches = frozenset(word for word in words(text) if _NAMES.search(word))
            names = self._known[text] = matches
        return names


_memory = _Memory()


def used(message: Message) -> frozenset[str]:
    """What an assistant's action uses: identifiers in its words, and arguments of its calls.

    An argument that is a single word counts whatever it looks like; of longer ones, the
    identifiers in it count.
    """
    names: set[str] = set()
    for part in message.parts:
        if part.type == "text":
            names |= identifiers(part.text)
        elif part.type == "tool_call":
            for value in _arguments(part):
                names |= words(value) if _RUN.fullmatch(value) else identifiers(value)
    return frozenset(names)


def _arguments(part: Part) -> Iterator[str]:
    """All values in a call's arguments, as text."""
    try:
        waiting = [msgspec.json.decode(part.text)]
    except (msgspec.DecodeError, ValueError, RecursionError):
        yield part.text
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            yield value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield str(value)


# What the next actions of a conversation need, and which texts hold it.
#
# Computed once for a conversation and shared by all replays of it. In a long conversation there are
# as many words as calls, so what is kept for each call or message is a list of a few numbers, and
# never a bit for each word.

AHEAD = (1, 5, 20)  # actions: project's notes on metrics, section 4, FNC@k
_NOWHERE = 1 << 62  # the place of a word that has not appeared
_BITS = 50_000_000  # bytes of sets of words that are remembered
_MESSAGES = 20_000  # of which it is remembered which words they hold; more than most prompts have


def bits(numbers: Iterable[int]) -> int:
    """Numbers as a set that is counted and compared whole: bit n stands for number n.

    Examples
    --------
    >>> bin(bits([0, 3, 3]))
    '0b1001'
    """
    held = bytearray()
    for number in numbers:
        place = number >> 3
        if place >= len(held):
            held.extend(bytes(place + 1 - len(held)))
        held[place] |= 1 << (number & 7)
    return int.from_bytes(held, "little")


class _Path:
    """The messages on the way to here: where each word came first, and which of them are calls.

    Going on takes as long as the message has words, and going back as long as it once took to go
    on, so that no copy of a long way is ever made.
    """

    def __init__(self, size: int, system: Iterable[int]) -> None:
        self.first = [_NOWHERE] * size  # by word, the place of its message; 0 for the system's
        for number in system:
            self.first[number] = 0
        self.calls: list[tuple[str, int]] = []  # with the place of each
        self._way: list[tuple[str, set[int]]] = []  # with the words that came first in each
        # By message: the one before it, its place, whether it is a call, and its words.
        self._known: dict[str, tuple[str, int, bool, Sequence[int]]] = {}

    def go_on(self, id: str, is_call: bool, words: Sequence[int]) -> None:
        """Go on by a message, which holds words."""
        place = len(self._way) + 1
        self._known[id] = self._way[-1][0] if self._way else "", place, is_call, words
        new = {number for number in words if self.first[number] == _NOWHERE}
        for number in new:
            self.first[number] = place
        if is_call:
            self.calls.append((id, place))
        self._way.append((id, new))

    def go_back(self, to: str) -> None:
        """Go back to a message, by way of where its way and the one to here part."""
        missing = []
        place = 0
        while to:
            before, place, is_call, words = self._known[to]
            if len(self._way) >= place and self._way[place - 1][0] == to:
                break
            missing.append((to, is_call, words))
            to, place = before, 0
        for _, new in self._way[place:]:
            for number in new:
                self.first[number] = _NOWHERE
        del self._way[place:]
        while self.calls and self.calls[-1][1] > place:
            self.calls.pop()
        for message in reversed(missing):
            self.go_on(*message)


class ForwardNeeds:
    """Words that recorded actions use and that had appeared before, numbered."""

    def __init__(self, conversation: Conversation, ahead: Sequence[int] = AHEAD) -> None:
        uses = {answer.id: used(answer) for answer in conversation.calls}
        # Numbered from those on that are used last, so that words of later calls come first.
        self._numbers: dict[str, int] = {}
        left = [0]
        for answer in reversed(conversation.calls):
            for word in sorted(uses[answer.id]):
                self._numbers.setdefault(word, len(self._numbers))
            left.append(len(self._numbers))
        self._left = left[::-1]
        self.names = tuple(self._numbers)  # the words by number
        self.size = len(self._numbers)
        # By message, the places in it where facts are stated, and the last call that needs each.
        self.stated = _stated(conversation)
        self._held: dict[str, tuple[int, ...]] = {}
        self._held_in: dict[int, tuple[Message, tuple[int, ...]]] = {}
        self._bits_in: dict[int, int] = {}
        self._bytes = 0
        acts = {id: tuple(self._numbers[w] for w in words) for id, words in uses.items()}
        # By the id of a call's answer: the words that this action and the next ones use and had
        # appeared before the call, the next one's first; and how many of them there are when so
        # many actions are looked ahead.
        self._ahead = tuple(ahead)
        self._wanted: dict[str, tuple[array[int], tuple[int, ...]]] = {}
        self._look_ahead(conversation, acts)

    def due(self, call: int) -> int:
        """The words that the action of a call, counted from 0, or a later one uses, as bits."""
        return (1 << self._left[min(call, len(self._left) - 1)]) - 1

    def wanted(self, answer: str, ahead: int) -> Sequence[int]:
        """Numbers of the words that a call's action and the next ones use, so many in all."""
        numbers, _ = self._wanted[answer]
        return numbers[: self.sizes(answer)[self._ahead.index(ahead)]]

    def sizes(self, answer: str) -> tuple[int, ...]:
        """How many words are wanted, for each number of actions that are looked ahead."""
        return self._wanted[answer][1]

    @property
    def answers(self) -> Collection[str]:
        """The ids of the answers of the script's calls."""
        return self._wanted.keys()

    def _look_ahead(self, conversation: Conversation, acts: dict[str, tuple[int, ...]]) -> None:
        """For each call, what its action and the next use of what had appeared before it.

        What was taken back has not appeared, and an action on another branch is none of the next.
        """
        furthest = max(self._ahead)
        path = _Path(self.size, self.held_by(conversation.system))
        rewinds = any(isinstance(event, Rewind) for event in conversation.events)
        # Of calls to which more may come: how many actions before its first use each word stands.
        nearest: dict[str, dict[int, int]] = {}
        for event in conversation.events:
            if isinstance(event, Rewind):
                path.go_back(event.to)
            elif isinstance(event, Message):
                path.go_on(event.id, event.call is not None, self.held_in(event))
                if event.call is None:
                    continue
                nearest[event.id] = {}
                recent = path.calls[-furthest:]
                for number in acts[event.id]:
                    for distance, (id, place) in enumerate(reversed(recent)):
                        if path.first[number] >= place:
                            break  # nor had it appeared before the calls that came earlier
                        words = nearest[id]
                        words[number] = min(words.get(number, furthest), distance)
                if len(recent) == furthest and not rewinds:  # else a branch may use more
                    gone, _ = recent[0]
                    self._settle(gone, nearest.pop(gone))
        for id, words in nearest.items():
            self._settle(id, words)

    def _settle(self, id: str, nearest: dict[int, int]) -> None:
        """Keep what a call's next actions use, now that no further ones come."""
        ordered = sorted(nearest, key=lambda number: (nearest[number], number))
        distances = [nearest[number] for number in ordered]
        sizes = tuple(bisect_left(distances, ahead) for ahead in self._ahead)
        self._wanted[id] = array("I", ordered), sizes

    def held(self, part: Part) -> tuple[int, ...]:
        """Numbers of the words that stand in a part."""
        known = self._held.get(part.text)
        if known is None:
            numbers = self._numbers
            matches = sorted(numbers[word] for word in words_among(part.text, numbers))
            known = self._held[part.text] = tuple(matches)
        return known

    def held_by(self, parts: Iterable[Part]) -> Iterable[int]:
        """Numbers of the words that stand in parts, one as often as parts hold it."""
        return (number for part in parts for number in self.held(part))

    def held_in(self, message: Message) -> tuple[int, ...]:
        """Numbers of the words that stand in a message, one as often as parts hold it."""
        known = self._held_in.get(id(message))
        if known is None:
            # The message is held too: an id may be given again once its object is gone.
            if len(self._held_in) >= _MESSAGES:
                self._held_in.clear()
                self._bits_in.clear()
                self._held.clear()
                self._bytes = 0
            known = self._held_in[id(message)] = (message, tuple(self.held_by(message.parts)))
        return known[1]

    def bits_in(self, message: Message) -> int:
        """The same as bits; of those last looked at they are remembered."""
        numbers = self.held_in(message)
        known = self._bits_in.get(id(message))
        if known is None:
            known = bits(numbers)
            self._bytes += known.bit_length() // 8
            if self._bytes > _BITS:
                self._bits_in.clear()
                self._bytes = known.bit_length() // 8
            self._bits_in[id(message)] = known
        return known


@keep_latest
def forward_needs(conversation: Conversation) -> ForwardNeeds:
    """The needs of a conversation; those of the last one asked for are kept."""
    return ForwardNeeds(conversation)


class Later:
    """What is needed from a moment on, and which messages hold it: for who may see the future.

    Those things are the words that recorded actions use, and the places where the facts are
    stated that calls are labelled to need. Each is a bit.
    """

    def __init__(self, conversation: Conversation, call: int) -> None:
        self.call = call  # the first that counts, from 0: those before have been made
        self._needs = forward_needs(conversation)
        self._due = self._needs.due(call)

    def held_in(self, message: Message) -> int:
        """The things in a message that this call or a later one needs, as bits."""
        held = self._needs.bits_in(message) & self._due
        for thing, last in self._needs.stated.get(message.id, ()):
            if last >= self.call:
                held |= 1 << (self._needs.size + thing)
        return held

    def held_by(self, parts: Iterable[Part]) -> int:
        """The same of parts of the system prompt; facts are never stated there."""
        return bits(self._needs.held_by(parts)) & self._due


def _stated(conversation: Conversation) -> dict[str, list[tuple[int, int]]]:
    """By message, the places in it where facts are stated, and the last call that needs each."""
    place = {answer.id: call for call, answer in enumerate(conversation.calls)}
    last: dict[str, int] = {}
    for need in conversation.needs:
        last[need.fact] = max(last.get(need.fact, -1), place.get(need.at, -1))
    stated: dict[str, list[tuple[int, int]]] = {}
    things = ((fact.id, source.id) for fact in conversation.facts for source in fact.origin)
    for thing, (fact, message) in enumerate(things):
        if fact in last:
            stated.setdefault(message, []).append((thing, last[fact]))
    return stated
