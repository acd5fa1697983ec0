"""What a part of a prompt says of facts, and whether words say one: key, value, polarity."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.memory import Remembered
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.facts.ledger import Ledger

# Whether words say a fact: its key, its value and its polarity, near each other.
#
# Compared is what is left of a text when case, white space, separators of thousands and the ways
# of writing a path make no difference.

WINDOW = 40  # words: project's notes on metrics, section 4, state `intact`

_ESCAPED = re.compile(r"\\[nrt\"]")
_THOUSANDS = re.compile(r"(?<=\d)[,_'\u2019\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_HERE = re.compile(r"(?<![\w.])\./")
_BLANKS = re.compile(r"\s+")
_WORD = re.compile(r"\S+")
_ROOT = re.compile(r"/|~/|[a-z]:/")
# What may not stand right before and right after a value: it would be another one. A full stop or
# a hyphen ends a value only where no word goes on behind it.
_BEFORE = re.compile(r"(?:\w|\w[-.@]|[-+.]|\d,)\Z")
_AFTER = re.compile(r"\w|[-.@/]\w|,\d|%")

# Words of demanding, forbidding and of putting one thing after another, by which a text shows that
# it has kept a polarity or an order. English; a language that has none of them says nothing here.
_DEMANDS = re.compile(
    r"\b(?:must|always|has to|have to|had to|needs? to|requir\w+|shall|should|only|mandatory"
    r"|obligatory|without exception|every|never without|insists?|expects?|make sure|be sure"
    r"|has got to|ought to|compulsory|at all times|is to|are to)\b(?! (?:not|never)\b)"
)
_FORBIDS = re.compile(
    r"\b(?:not|never|no|cannot|can't|don't|doesn't|mustn't|shouldn't|won't|may not|forbid\w*"
    r"|forbade|prohibit\w*|avoid\w*|without|refrain\w*|off[- ]limits|leave \S+ alone"
    r"|leave alone|hands off|stay\w* away|keep\w* away|keep off|steer clear|banned|taboo"
    r"|out of bounds|disallow\w*|nothing|none|untouched|instead of)\b"
)
_ORDERS = re.compile(
    r"\b(?:now|no longer|instead|former\w*|previous\w*|earlier|used to|chang\w+|renam\w+"
    r"|replac\w+|supersed\w+|updat\w+|latest|from now on|any ?more|after all|revis\w+"
    r"|correct(?:ed|ion)|switch\w+|moved (?:to|from)|rather than|in place of)\b|->|\u2192"
)


@lru_cache(maxsize=65536)
def normal(text: str) -> str:
    """A text as it is compared.

    Examples
    --------
    >>> normal("Open  ./SRC/main.py, take 1,500")
    'open src/main.py, take 1500'
    """
    # Separators first: to NFKC, the narrow blanks that some of them are become plain ones.
    plain = unicodedata.normalize("NFKC", _THOUSANDS.sub("", text)).casefold()
    plain = _ESCAPED.sub(" ", plain.replace("\u2019", "'")).replace("\\", "/").replace("`", "")
    return _BLANKS.sub(" ", _HERE.sub("", plain)).strip()


class Spoken(NamedTuple):
    """What words say of a fact."""

    key: bool = False  # whether its key, or another name of it, occurs; without a key, its value
    stated: bool = False  # whether key and value stand within WINDOW words
    intact: bool = False  # whether a word of its polarity stands with them
    # Whether a word that puts one thing after another stands near the value; only for a fact that
    # supersedes others all of the text is looked at.
    ordered: bool = False


SILENT = Spoken()


class Wording:
    """A text that is asked about facts."""

    def __init__(self, text: str) -> None:
        self._text = normal(text)
        self._starts = [match.start() for match in _WORD.finditer(self._text)]
        self._starts.append(len(self._text))
        self._occurrences: dict[re.Pattern[str], list[tuple[int, int]]] = {}

    def says(self, fact: Fact) -> Spoken:
        """What the text says of a fact."""
        keys = [normal(name) for name in (fact.key, *fact.aliases) if name]
        key = any(_occurrences(self._text, each) for each in keys)
        if keys and not key:
            return SILENT
        stated = intact = ordered = False
        for first, last in self._places((fact.value, *fact.variants)):
            room = max(0, WINDOW - (last - first))
            around = self._words(first - room, last + room)
            if _names(keys, around):
                stated = True
                ordered = ordered or _ORDERS.search(around) is not None
                intact = intact or self._near(fact, keys, first, room)
            if intact and (ordered or not fact.supersedes):
                break  # nothing that is asked of this fact can change any more
        return Spoken(key or stated, stated, intact, ordered)

    def _places(self, values: Iterable[str]) -> Iterator[tuple[int, int]]:
        """The words in which values stand: of the first of them, and of the first behind them."""
        for wanted in map(normal, values):
            for place in occurrences(self._text, wanted):
                first = bisect_right(self._starts, place) - 1
                yield first, bisect_left(self._starts, place + len(wanted))

    def _near(self, fact: Fact, keys: list[str], first: int, room: int) -> bool:
        """Whether one window holds the value, which begins at a word, its key and its polarity."""
        if fact.polarity == "is":
            return True
        rules = self._rules(_DEMANDS if fact.polarity == "must" else _FORBIDS)
        for start in range(max(0, first - room), first + 1):
            stop = start + WINDOW
            ruled = any(start <= place and behind <= stop for place, behind in rules)
            if ruled and _names(keys, self._words(start, stop)):
                return True
        return False

    def _rules(self, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
        """Where the words of a polarity stand, as places of words."""
        if pattern not in self._occurrences:
            self._occurrences[pattern] = [
                (bisect_right(self._starts, m.start()) - 1, bisect_left(self._starts, m.end()))
                for m in pattern.finditer(self._text)
            ]
        return self._occurrences[pattern]

    def _words(self, first: int, behind: int) -> str:
        """Some words in a row."""
        last = len(self._starts) - 1
        return self._text[self._starts[max(0, first)] : self._starts[min(behind, last)]]


def _names(keys: list[str], window: str) -> bool:
    return not keys or any(_occurrences(window, each) for each in keys)


def _occurrences(text: str, phrase: str) -> bool:
    return next(occurrences(text, phrase), None) is not None


def occurrences(text: str, phrase: str) -> Iterator[int]:
    """Where a phrase stands in a text as words of its own; both are as they are compared.

    Examples
    --------
    >>> list(occurrences("eu-west-31, eu-west-3.", "eu-west-3"))
    [12]
    >>> list(occurrences("see repo/src/a.py:7 and a.py", "a.py"))
    [24]
    >>> list(occurrences("lib/src/a.py and /home/src/a.py", "src/a.py"))
    [23]
    """
    if not phrase:
        return
    path = "/" in phrase.strip("/")
    place = text.find(phrase)
    while place >= 0:
        end = place + len(phrase)
        front = text[max(0, place - 2) : place]
        inside = front[-1:] == "/" and not (path and _absolute(text, place))
        # A sign, a digit or a letter in front only matters to what begins with one of them.
        begins = phrase[0].isalnum() and (inside or _BEFORE.search(front))
        goes_on = phrase[-1].isalnum() and _AFTER.match(text, end)
        if not (begins or goes_on):
            yield place
        place = text.find(phrase, place + 1)


def _absolute(text: str, place: int) -> bool:
    """Whether the path in the middle of which a place lies is told from the root on.

    Then it may be the same file; in front of a path, another folder makes it another file.
    """
    start = max(text.rfind(blank, 0, place) for blank in " (\"'=<[") + 1
    return _ROOT.match(text, start, place) is not None


# What a part of a prompt says of the facts that it stands for.

# Parts that may hold a piece of the log as it was said; the others only speak about it.
QUOTING = ("verbatim", "truncated", "recovered")


class Evidence(NamedTuple):
    """Facts as bits, by what a part of a prompt shows of them."""

    # Origins that stand there as they were said; a bit for each where only all together state a
    # fact.
    verbatim: int = 0
    key: int = 0  # what is said of them in other words, as in Spoken
    stated: int = 0
    intact: int = 0
    ordered: int = 0
    handle: int = 0  # those that a call or pointer in it would fetch
    opaque: int = 0  # those of which there are only tokens without text

    def __or__(self, other: Evidence) -> Evidence:
        return Evidence(*(mine | its for mine, its in zip(self, other, strict=True)))


NOTHING = Evidence()


class Witness:
    """Reads parts for evidence."""

    def __init__(self, ledger: Ledger, stored: Mapping[str, str] | None = None) -> None:
        self.ledger = ledger
        self.stored = {} if stored is None else stored
        self.created: dict[str, tuple[Source, ...]] = {}
        self._read: dict[tuple[object, ...], Evidence] = {}

    def hear(self, message: Message) -> None:
        """A message was born in the replay; what is made of it later stands for its sources."""
        self.created[message.id] = tuple(
            dict.fromkeys(source for part in message.parts for source in part.sources)
        )

    def message(self, message: Message) -> Evidence:
        """What a message shows."""
        if self.ledger.messages.get(message.id) is message:
            return self._script(message)
        return self.parts(message.parts)

    def _script(self, message: Message) -> Evidence:
        """A message of the script: what it states, and what its calls would fetch."""
        verbatim = self.ledger.verbatim.get(message.id, 0)
        handle = 0
        if message.role == "assistant" and self.ledger.fetched:
            for part in message.parts:
                if part.type == "tool_call":
                    handle |= self.ledger.fetched.get(part.call_id, 0)
        return Evidence(verbatim, handle=handle) if verbatim or handle else NOTHING

    def parts(self, parts: Iterable[Part]) -> Evidence:
        """What parts show together."""
        evidence = NOTHING
        for part in parts:
            shown = self._part(part)
            if shown is not NOTHING:
                evidence = evidence | shown
        return evidence

    def note(self, note: Remembered) -> int:
        """The facts that a note in memory holds, as they were said or intact."""
        text = Part("text", note.text, "memory", note.sources)
        shown = self._part(text)
        quoted = Evidence(verbatim=self._quoted(text, self._origins(note.sources)))
        return self.ledger.held(quoted.verbatim) | shown.intact

    def _part(self, part: Part) -> Evidence:
        if not part.sources:
            return NOTHING
        key = (part.text, part.sources, part.kind, part.call_id, part.handle)
        evidence = self._read.get(key)
        if evidence is None:
            evidence = self._read[key] = self._shown(part)
        return evidence

    def _shown(self, part: Part) -> Evidence:
        origins = self._origins(part.sources)
        called = self._called(part)
        if not origins:
            return Evidence(handle=called) if called else NOTHING
        facts = dict.fromkeys(number for number, _, _ in origins)
        if part.kind == "opaque":
            return Evidence(opaque=self.ledger.mask(facts))
        quoted = self._quoted(part, origins) if part.kind in QUOTING else 0
        handle = called | self.pointed(part) | self._stubbed(part, facts)
        # What stands there as it was said is not asked whether it says so in other words.
        shown = {number for number, bit, _ in origins if bit & quoted}
        stated = self._stated(part.text, (number for number in facts if number not in shown))
        return stated._replace(verbatim=quoted, handle=handle)

    def _stated(self, text: str, facts: Iterable[int]) -> Evidence:
        wording = Wording(text)
        key = stated = intact = ordered = 0
        for number in facts:
            spoken = wording.says(self.ledger.facts[number])
            if spoken.key:
                bit = 1 << number
                key |= bit
                stated |= bit * spoken.stated
                intact |= bit * spoken.intact
                ordered |= bit * spoken.ordered
        return Evidence(0, key, stated, intact, ordered)

    def _origins(self, sources: Iterable[Source]) -> list[tuple[int, int, Source]]:
        """The origins in the messages that a part stands for."""
        ids = dict.fromkeys(
            origin.id for source in sources for origin in (self.created.get(source.id) or (source,))
        )
        known = self.ledger.origins
        return [origin for id in ids for origin in known.get(id, ())]

    def _quoted(self, part: Part, origins: Iterable[tuple[int, int, Source]]) -> int:
        """The origins of which a part holds every character."""
        bits = 0
        for _, bit, source in origins:
            texts = [] if bits & bit else self.texts(source)
            if any(texts) and all(text in part.text for text in texts):
                bits |= bit
        return bits

    def texts(self, source: Source) -> list[str]:
        """The texts of a piece of the script; thinking states nothing."""
        parts = self.ledger.messages[source.id].parts
        if source.part < 0:
            return [part.text for part in parts if part.text and part.type != "thinking"]
        text = parts[source.part].text
        return [text[source.start : None if source.end < 0 else source.end]]

    def pointed(self, part: Part) -> int:
        """The facts that stand in what a part's handle leads to."""
        text = self.stored.get(part.handle, "") if part.handle else ""
        if not text:
            return 0
        origins = self._origins(part.sources)
        whole = Part("text", text, "recovered", part.sources)
        held = self.ledger.held(self._quoted(whole, origins))
        return held | self._stated(text, (number for number, _, _ in origins)).intact

    def _stubbed(self, part: Part, facts: Iterable[int]) -> int:
        """The facts that the call of a tool would fetch again whose result was cut or cleared.

        The call itself stands before its result, or the provider would refuse the prompt.
        """
        if part.type != "tool_result" or not part.call_id:
            return 0
        return self.ledger.mask(facts) & self.ledger.fetched.get(part.call_id, 0)

    def _called(self, part: Part) -> int:
        """The facts that a call in a part would fetch, if it is there with all its arguments."""
        if part.type == "tool_call" and part.kind == "verbatim":
            return self.ledger.fetched.get(part.call_id, 0)
        return 0
