"""The words that the next actions of a conversation need, and the texts that contain them."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from compactlab.sim.core.conversation import Conversation, Rewind, keep_latest
from compactlab.sim.core.message import Message, Part

# Identifiers: the words of a text that name something specific.
#
# ``docs/metrics.md`` defines what counts.

# A run of the characters of paths, symbols, addresses, versions and numbers. Punctuation at its
# ends is removed later: one pattern for both would be slow on a megabyte of dots.
_RUN = re.compile(r"[\w$~+@#%/.:\-]+")
_BLANKS = {code: " " for code in range(128) if not _RUN.fullmatch(chr(code))}
_LEADING, _TRAILING = "+@#%:-", "+@#%:-./~"
# A word is a name if it has an inner separator or change of case, three digits in a row, the start
# of a path, or the form of a hash.
_NAMES = re.compile(
    r"[\w~][_/@#\\]|[A-Za-z0-9][.:\-][A-Za-z0-9]|[a-z0-9][A-Z]|\d{3}|^[~/]"
    r"|^(?=[a-f]*\d)[0-9a-f]{7,64}$"
)
# Escaped white space in JSON and source code: its letter starts no run.
_ESCAPED = re.compile(r"\\(?:[nrt]|u[0-9a-fA-F]{4})")
_LONGEST = 200  # characters; longer runs are data, not names
_REMEMBERED = 5_000_000  # characters of texts with cached identifiers: about 50 MB at most


def words(text: str) -> frozenset[str]:
    """Return all words of a text that could be identifiers or arguments."""
    stripped = [run.lstrip(_LEADING).rstrip(_TRAILING) for run in _runs(text)]
    return frozenset([word for word in stripped if 1 < len(word) <= _LONGEST])


def words_among(text: str, wanted: Mapping[str, object]) -> Iterator[str]:
    """Yield the wanted words of a text, like :func:`words` but faster."""
    said = runs(text)
    matches = said & wanted.keys()
    # Most runs have nothing to strip, so they are wanted as they are or not at all.
    ragged = [run for run in said if run[-1] in _TRAILING or run[0] in _LEADING]
    stripped = {run.lstrip(_LEADING).rstrip(_TRAILING) for run in ragged}
    return iter(matches | (stripped & wanted.keys()))


def runs(text: str) -> set[str]:
    """Return the runs in a text, which may be JSON or source code."""
    said = _runs(text)
    if "\\" in text:  # a Windows path may contain such a letter, so both readings count
        said |= _runs(_ESCAPED.sub(" ", text))
    return said


def _runs(text: str) -> set[str]:
    """Return the runs in a text; without the pattern for plain text, which is five times faster."""
    return {*text.translate(_BLANKS).split()} if text.isascii() else {*_RUN.findall(text)}


def identifiers(text: str) -> frozenset[str]:
    """Return the identifiers of a text: paths, symbols, addresses, hashes, numbers."""
    return _memory.of(text)


class _Memory:
    """A cache of the identifiers of texts; it is cleared when it grows too large.

    Prompts and strategies share most messages.
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
    """Return the words that an assistant's action uses: identifiers in its text and arguments.

    An argument that is a single word always counts; of longer ones, the identifiers count.
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
    """Yield all values in a call's arguments, as text."""
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


# The words that the next actions need, and the texts that contain them.
#
# Computed once for a conversation and shared by all its replays. A long conversation has as many
# words as calls, so each call or message stores a short list of numbers, not a bit per word.

AHEAD = (1, 5, 20)  # numbers of actions; see docs/metrics.md
_NOWHERE = 1 << 62  # the index of a word that has not occurred
_BITS = 50_000_000  # bytes of cached word sets
# Cached numbers, 8 bytes each; a message takes as much as some more: 100 MB at most.
_NUMBERS, _ITSELF = 12_000_000, 40


def bits(numbers: Iterable[int]) -> int:
    """Return numbers as a bit set: bit n stands for number n.

    Examples
    --------
    >>> bin(bits([0, 3, 3]))
    '0b1001'
    """
    held = bytearray()
    for number in numbers:
        index = number >> 3
        if index >= len(held):
            held.extend(bytes(index + 1 - len(held)))
        held[index] |= 1 << (number & 7)
    return int.from_bytes(held, "little")


class _Path:
    """The messages up to here: the first message of each word, and the calls.

    A step forward takes time proportional to the words of its message, and a step back takes as
    long as the step forward. So no copy of a long path is made.
    """

    def __init__(self, size: int, system: Iterable[int]) -> None:
        self.first = [_NOWHERE] * size  # message index by word; 0: system prompt
        for number in system:
            self.first[number] = 0
        self.calls: list[tuple[str, int]] = []  # with the index of each
        self._way: list[tuple[str, set[int]]] = []  # with the words that first occur in each
        # By message: its predecessor, its index, whether it is a call, and its words.
        self._known: dict[str, tuple[str, int, bool, Sequence[int]]] = {}

    def go_on(self, id: str, is_call: bool, words: Sequence[int]) -> None:
        """Step forward to a message with its words."""
        place = len(self._way) + 1
        self._known[id] = self._way[-1][0] if self._way else "", place, is_call, words
        new = {number for number in words if self.first[number] == _NOWHERE}
        for number in new:
            self.first[number] = place
        if is_call:
            self.calls.append((id, place))
        self._way.append((id, new))

    def go_back(self, to: str) -> None:
        """Go back to a message, through the common ancestor."""
        missing = []
        index = 0
        while to:
            before, index, is_call, words = self._known[to]
            if len(self._way) >= index and self._way[index - 1][0] == to:
                break
            missing.append((to, is_call, words))
            to, index = before, 0
        for _, new in self._way[index:]:
            for number in new:
                self.first[number] = _NOWHERE
        del self._way[index:]
        while self.calls and self.calls[-1][1] > index:
            self.calls.pop()
        for message in reversed(missing):
            self.go_on(*message)


class ForwardNeeds:
    """Numbered words that recorded actions use and that had occurred before."""

    def __init__(self, conversation: Conversation, ahead: Sequence[int] = AHEAD) -> None:
        uses = {answer.id: used(answer) for answer in conversation.calls}
        # Words that are used last have the lowest numbers.
        self._numbers: dict[str, int] = {}
        left = [0]
        for answer in reversed(conversation.calls):
            for word in sorted(uses[answer.id]):
                self._numbers.setdefault(word, len(self._numbers))
            left.append(len(self._numbers))
        self._left = left[::-1]
        self.names = tuple(self._numbers)  # the words by number
        self.size = len(self._numbers)
        # By message, the positions of its facts, and the last call that needs each.
        self.stated = _stated(conversation)
        self._held: dict[str, tuple[int, ...]] = {}
        self._held_in: dict[int, tuple[Message, tuple[int, ...]]] = {}
        self._bits_in: dict[int, int] = {}
        self._bytes = self._size = 0
        acts = {id: tuple(self._numbers[w] for w in words) for id, words in uses.items()}
        # By the id of a call's answer: the words used by this action and the next ones that had
        # occurred before the call, in order of use; and their number for each look-ahead.
        self._ahead = tuple(ahead)
        self._wanted: dict[str, tuple[array[int], tuple[int, ...]]] = {}
        self._look_ahead(conversation, acts)

    def due(self, call: int) -> int:
        """Return, as bits, the words that the action of a call (from 0 on) or a later one uses."""
        return (1 << self._left[min(call, len(self._left) - 1)]) - 1

    def wanted(self, answer: str, ahead: int) -> Sequence[int]:
        """Return the numbers of the words that a number of actions from a call on use."""
        numbers, _ = self._wanted[answer]
        return numbers[: self.sizes(answer)[self._ahead.index(ahead)]]

    def sizes(self, answer: str) -> tuple[int, ...]:
        """Return the number of wanted words for each look-ahead."""
        return self._wanted[answer][1]

    @property
    def answers(self) -> Collection[str]:
        """The ids of the answers of the script's calls."""
        return self._wanted.keys()

    def _look_ahead(self, conversation: Conversation, acts: dict[str, tuple[int, ...]]) -> None:
        """Find, for each call, the earlier words that its action and the next ones use.

        A rewound message has not occurred, and an action on another branch is not a next action.
        """
        furthest = max(self._ahead)
        path = _Path(self.size, self.held_by(conversation.system))
        rewinds = any(isinstance(event, Rewind) for event in conversation.events)
        # For unfinished calls: the number of actions before the first use of each word.
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
                            break  # it had not occurred before earlier calls either
                        words = nearest[id]
                        words[number] = min(words.get(number, furthest), distance)
                if len(recent) == furthest and not rewinds:  # otherwise a branch may use more
                    gone, _ = recent[0]
                    self._settle(gone, nearest.pop(gone))
        for id, words in nearest.items():
            self._settle(id, words)

    def _settle(self, id: str, nearest: dict[int, int]) -> None:
        """Store the words of a call's next actions, after the last of them."""
        ordered = sorted(nearest, key=lambda number: (nearest[number], number))
        distances = [nearest[number] for number in ordered]
        sizes = tuple(bisect_left(distances, ahead) for ahead in self._ahead)
        self._wanted[id] = array("I", ordered), sizes

    def held(self, part: Part) -> tuple[int, ...]:
        """Return the numbers of the words in a part."""
        known = self._held.get(part.text)
        if known is None:
            numbers = self._numbers
            matches = sorted(numbers[word] for word in words_among(part.text, numbers))
            known = self._held[part.text] = tuple(matches)
        return known

    def held_by(self, parts: Iterable[Part]) -> Iterable[int]:
        """Return the numbers of the words in parts, one per part that contains it."""
        return (number for part in parts for number in self.held(part))

    def held_in(self, message: Message) -> tuple[int, ...]:
        """Return the numbers of the words in a message, one per part that contains it."""
        known = self._held_in.get(id(message))
        if known is None:
            numbers = tuple(self.held_by(message.parts))
            self._size += _ITSELF + len(numbers)
            if self._size > _NUMBERS:
                self._held_in.clear()
                self._bits_in.clear()
                self._held.clear()
                self._bytes, self._size = 0, _ITSELF + len(numbers)
            # The message is stored too: after its deletion, its id() may be reused.
            known = self._held_in[id(message)] = (message, numbers)
        return known[1]

    def bits_in(self, message: Message) -> int:
        """Return the words in a message as bits; recent results are cached."""
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
    """Return the needs of a conversation; the last one is cached."""
    return ForwardNeeds(conversation)


class Later:
    """The future needs from a call on, and the messages that satisfy them: for oracles.

    Each need is a bit: a word that recorded actions use, or the position of a fact that calls need
    by label.
    """

    def __init__(self, conversation: Conversation, call: int) -> None:
        self.call = call  # the first call that counts, from 0 on: earlier ones are done
        self._needs = forward_needs(conversation)
        self._due = self._needs.due(call)

    def held_in(self, message: Message) -> int:
        """Return, as bits, the needs of this call and later ones that a message satisfies."""
        held = self._needs.bits_in(message) & self._due
        for thing, last in self._needs.stated.get(message.id, ()):
            if last >= self.call:
                held |= 1 << (self._needs.size + thing)
        return held

    def held_by(self, parts: Iterable[Part]) -> int:
        """Return the same for parts of the system prompt, which never state facts."""
        return bits(self._needs.held_by(parts)) & self._due


def _stated(conversation: Conversation) -> dict[str, list[tuple[int, int]]]:
    """Return, by message, the positions of its facts and the last call that needs each."""
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
