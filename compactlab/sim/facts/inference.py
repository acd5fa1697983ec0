"""Facts and needs of a conversation that nobody has labelled: what its own actions go on to use."""

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

    An action needs a word that it uses (see ``docs/metrics.md`` on what counts) if a person or a
    tool has said it, and if it is neither known in every project nor composed of what has been
    said since. Each message that holds the word states it, thinking left out.

    A path is an ``artifact``. Any other word is a ``tool_detail`` if a tool has said it first, an
    ``entity`` if a person has, and a ``decision`` if the agent has and was told it afterwards. What
    a tool has said first can be fetched by that call again. What the system prompt says is no
    fact: it cannot be forgotten.
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
    """What an answer does, without managing what its client keeps and tells it again."""
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
    """What has been said up to a message: by whom, and where words and their parts last stood."""

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
        self._told: set[str] = set()  # words that a person or a tool has said
        self._taken_up: set[str] = set()  # words that a person or the agent has said
        # Where words, parts and plain words last stood, counted in messages.
        self._word_at: dict[str, int] = {}
        self._part_at: dict[str, int] = {}
        self._plain_at: dict[str, int] = {}
        self._now = 0
        for part in conversation.system:
            self._look(part, len(conversation.messages))
        # What the system prompt says stands behind whatever is said later.
        self._parts -= self._part_at.keys()
        self._plain -= self._plain_at.keys()

    def hear(self, message: Message) -> None:
        """A message is said."""
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
        """Note which parts and plain words stand in a part of a message."""
        text = " ".join(runs(part.text))
        plain = self._plain.intersection(text.translate(_NO_LETTERS).lower().split())
        self._plain_at.update(dict.fromkeys(plain, place))
        text = text.lower()
        for separators in (_FOLDERS, _FOLDERS_AND_DOTS):
            parts = self._parts.intersection(text.translate(separators).split())
            self._part_at.update(dict.fromkeys(parts, place))

    def needed(self, word: str) -> bool:
        """Whether an action that uses a word cannot have it but from where it has been said."""
        name = self._names.get(word)
        if name is None or word not in self._told:
            return False
        last = self._word_at[word]
        if all(self._part_at.get(part, -1) > last for part in name.parts):
            return False
        # What only a tool has said, and nobody has taken up, may be made up anew by whoever speaks
        # of the same things.
        made_up = any(self._plain_at.get(plain, -1) > last for plain in name.plain)
        return word in self._taken_up or not made_up


# What a word is composed of, and which words need no telling.

# Case, hyphens and underscores make no difference to a part: keep-all, keepAll, KEEP_ALL.
_FOLDERS = dict.fromkeys(map(ord, "/@#:\\"), " ") | dict.fromkeys(map(ord, "_-"))
_FOLDERS_AND_DOTS = _FOLDERS | {ord("."): " "}
_NO_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha()}
# Between digits, a full stop separates nothing: 10.0.0.7 and 1.2.3 are one part.
_SEPARATORS = re.compile(r"[/@#:\\]+|\.(?!\d)|(?<=\D)\.")
# Bare numbers: alone, with a unit, two of them (a range, a time, a share); and dates.
_NUMBER = re.compile(r"~?\d+(?:[.:/\-]\d+)?(?:%|[a-zA-Z]{1,2})?|\d{4}-\d\d-\d\d(?:T[\d:.Z+\-]*)?")
# Words of a language that are joined: read-only, e.g.
_JOINED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+|[^\W\d_](?:\.[^\W\d_])+")
_PLAIN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_COUNTER = re.compile(r"\d{1,2}$")


class Name(NamedTuple):
    """What a word can be composed of."""

    parts: tuple[str, ...] = ()  # folders and names; none where it needs no telling
    plain: tuple[str, ...] = ()  # plain words; none where it is not made of such


def name_of(word: str) -> Name:
    """Of what a word can be composed; of nothing, if it needs no telling.

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
    """Whether a word is a bare number, or a name that stands in every project."""
    return word in ("", "~") or _NUMBER.fullmatch(word) is not None or _standard().has(word)


class _Standard(NamedTuple):
    """The names of ``standard.toml``."""

    names: frozenset[str]
    folders: tuple[str, ...]
    packages: frozenset[str]  # followed by a name with a capital
    modules: frozenset[str]  # followed by anything but the ending of a file
    endings: frozenset[str]
    tools: frozenset[str]

    def has(self, word: str) -> bool:
        """Whether a word is one of them, or begins with one."""
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
        # One that is a common word is one of them only with what follows it.
        frozenset(name for name in names if "/" in name or not name.isalpha() or not name.islower())
        | frozenset(everywhere["names"]),
        tuple(everywhere["folders"]),
        frozenset(package.rpartition("/")[2] for package in packages),
        frozenset([*objects, *python["modules"]]),
        frozenset(table["files"]["endings"]),
        frozenset(table["clients"]["tools"]),
    )
