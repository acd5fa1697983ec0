"""Infers facts and needs of an unlabelled conversation from the words that its actions use."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

from compactlab.sim.core.conversation import Conversation, Fact, FactType, Need
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.facts.needs import forward_needs, runs, used

Labels = tuple[tuple[Fact, ...], tuple[Need, ...]]


def inferred(conversation: Conversation) -> Labels:
    """Infer facts and needs from the recorded actions.

    An action needs a word that it uses (``docs/metrics.md`` defines what counts) if a person or a
    tool has stated it, and if it is neither universal nor composed of words stated since. Each
    message that contains the word states it, except in thinking.

    A path is an ``artifact``. Any other word is a ``tool_detail`` if a tool stated it first, an
    ``entity`` if a person did, and a ``decision`` if the agent did and it was confirmed later. A
    word first stated by a tool can be fetched by repeating the call. Words of the system prompt are
    not facts: they cannot be forgotten.
    """
    uses = {answer.id: used(_action(answer)) for answer in conversation.calls}
    log = _Log(conversation)
    needs: list[Need] = []
    for message in conversation.messages:
        for word in sorted(uses.get(message.id, ())):
            if log.needed(word):
                needs.append(Need(word, message.id, "used by the recorded action"))
        log.hear(message)
    known = {message.id: message for message in conversation.messages}
    words = sorted({need.fact for need in needs})
    return tuple(_fact(word, log.stated[word], known) for word in words), tuple(needs)


def _action(answer: Message) -> Message:
    """Return an answer without the management of content that its client keeps."""
    tools = _standard().tools
    parts = tuple(part for part in answer.parts if part.name not in tools)
    return msgspec.structs.replace(answer, parts=parts)


def _fact(word: str, stated: list[Source], known: Mapping[str, Message]) -> Fact:
    first = known[stated[0].id]
    from_tool = first.parts[stated[0].part].type == "tool_result"
    kind: FactType = "decision" if first.role == "assistant" else "entity"
    if "/" in word or from_tool:
        kind = "artifact" if "/" in word else "tool_detail"
    return Fact(word, kind, "", word, tuple(stated), handle=first.id if from_tool else "")


class _Log:
    """The history up to a message: authors and last positions of words and their parts."""

    def __init__(self, conversation: Conversation) -> None:
        self.stated: dict[str, list[Source]] = defaultdict(list)
        self._needs = forward_needs(conversation)
        always = set(self._needs.held_by(conversation.system))
        names = {
            word: name_of(word)
            for number, word in enumerate(self._needs.names)
            if number not in always
        }
        self._names = {word: name for word, name in names.items() if name.parts}
        self._parts = {part for name in self._names.values() for part in name.parts}
        self._plain = {word for name in self._names.values() for word in name.plain}
        self._told: set[str] = set()  # words from a person or a tool
        self._taken_up: set[str] = set()  # words from a person or the agent
        # Last positions of words, parts and plain words, as message counts.
        self._word_at: dict[str, int] = {}
        self._part_at: dict[str, int] = {}
        self._plain_at: dict[str, int] = {}
        self._now = 0
        for part in conversation.system:
            self._look(part, len(conversation.messages))
        # Words of the system prompt come after all others.
        self._parts -= self._part_at.keys()
        self._plain -= self._plain_at.keys()

    def hear(self, message: Message) -> None:
        """Add a message."""
        for index, part in enumerate(message.parts):
            if part.type == "thinking":
                continue
            for number in self._needs.held(part):
                word = self._needs.names[number]
                if word in self._names:
                    self.stated[word].append(Source(message.id, index))
                    self._word_at[word] = self._now
                    if message.role != "assistant":
                        self._told.add(word)
                    if part.type != "tool_result":
                        self._taken_up.add(word)
            self._look(part, self._now)
        self._now += 1

    def _look(self, part: Part, place: int) -> None:
        """Record the parts and plain words of a message's part."""
        text = " ".join(runs(part.text))
        plain = self._plain.intersection(text.translate(_NO_LETTERS).lower().split())
        self._plain_at.update(dict.fromkeys(plain, place))
        text = text.lower()
        for separators in (_FOLDERS, _FOLDERS_AND_DOTS):
            parts = self._parts.intersection(text.translate(separators).split())
            self._part_at.update(dict.fromkeys(parts, place))

    def needed(self, word: str) -> bool:
        """Whether an action can only know a word from its statements."""
        name = self._names.get(word)
        if name is None or word not in self._told:
            return False
        last = self._word_at[word]
        if all(self._part_at.get(part, -1) > last for part in name.parts):
            return False
        # A word that only a tool stated may be composed again from its plain words.
        made_up = any(self._plain_at.get(plain, -1) > last for plain in name.plain)
        return word in self._taken_up or not made_up


# The components of a word, and words that are known anyway.

# Case, hyphens and underscores are ignored in parts: keep-all, keepAll, KEEP_ALL.
_FOLDERS = dict.fromkeys(map(ord, "/@#:\\"), " ") | dict.fromkeys(map(ord, "_-"))
_FOLDERS_AND_DOTS = _FOLDERS | {ord("."): " "}
_NO_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha()}
# A full stop between digits does not separate: 10.0.0.7 and 1.2.3 are one part.
_SEPARATORS = re.compile(r"[/@#:\\]+|\.(?!\d)|(?<=\D)\.")
# Plain numbers: alone, with a unit, in pairs (a range, a time, a ratio); and dates.
_NUMBER = re.compile(r"~?\d+(?:[.:/\-]\d+)?(?:%|[a-zA-Z]{1,2})?|\d{4}-\d\d-\d\d(?:T[\d:.Z+\-]*)?")
# Compound words of natural language, such as read-only.
_JOINED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+|[^\W\d_](?:\.[^\W\d_])+")
_PLAIN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_COUNTER = re.compile(r"\d{1,2}$")


class Name(NamedTuple):
    """The components of a word."""

    parts: tuple[str, ...] = ()  # folders and names; empty for a word that is known anyway
    plain: tuple[str, ...] = ()  # plain words; empty if it has none


def name_of(word: str) -> Name:
    """Return the components of a word; none if it is known anyway.

    Examples
    --------
    >>> name_of("lib/src/parse_args.py").parts
    ('lib', 'src', 'parseargs', 'py')
    >>> name_of("parseArgs2").plain
    ('parse', 'args')
    >>> [name_of(word).parts for word in ("4711", "read-only", "json.dumps", "json.go")]
    [(), (), (), ('json', 'go')]
    """
    if _JOINED.fullmatch(word) or _known(word):
        return Name()
    parts = (part for part in _SEPARATORS.split(word) if not _known(part))
    named = (part.lower().translate(_FOLDERS) for part in parts if not _JOINED.fullmatch(part))
    stem = _COUNTER.sub("", word)
    plain = [] if any(map(str.isdigit, stem)) else _PLAIN.findall(stem)
    return Name(tuple(part for part in named if part), tuple(map(str.lower, plain)))


def _known(word: str) -> bool:
    """Whether a word is a plain number, or a name that every project has."""
    return word in ("", "~") or _NUMBER.fullmatch(word) is not None or _standard().has(word)


class _Standard(NamedTuple):
    """The names of ``standard.toml``."""

    names: frozenset[str]
    folders: tuple[str, ...]
    packages: frozenset[str]  # followed by a name with a capital
    modules: frozenset[str]  # followed by anything but a file extension
    endings: frozenset[str]
    tools: frozenset[str]

    def has(self, word: str) -> bool:
        """Whether a word is one of the names, or starts with one."""
        first, _, member = word.partition(".")
        return (
            word in self.names
            or word.startswith(self.folders)
            or (first in self.packages and member[:1].isupper())
            or (first in self.modules and member != "" and member not in self.endings)
        )


@cache
def _standard() -> _Standard:
    table = tomllib.loads(files(__package__).joinpath("standard.toml").read_text("utf-8"))
    everywhere, go, python = table["everywhere"], table["go"], table["python"]
    packages, objects = go["packages"], table["javascript"]["objects"]
    names = [*everywhere["names"], *go["methods"], *packages, *objects, *python["exceptions"]]
    return _Standard(
        # A common word only counts with what follows it.
        frozenset(name for name in names if "/" in name or not name.isalpha() or not name.islower())
        | frozenset(everywhere["names"]),
        tuple(everywhere["folders"]),
        frozenset(package.rpartition("/")[2] for package in packages),
        frozenset([*objects, *python["modules"]]),
        frozenset(table["files"]["endings"]),
        frozenset(table["clients"]["tools"]),
    )
