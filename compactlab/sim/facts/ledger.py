"""The facts and needs of a script, and when they hold: the same for all its replays."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property

from compactlab.sim.core.conversation import Conversation, Fact, FactType, keep_latest, walked
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.facts.inference import inferred
from compactlab.sim.facts.needs import bits
from compactlab.sim.facts.occurrences import anchors, normal, path_ends

# Facts, their revocations and needs over time: the same for all replays of a script.


def numbers(mask: int) -> Iterator[int]:
    """Yield the numbers of the set bits, smallest first.

    Examples
    --------
    >>> list(numbers(0b1101))
    [0, 2, 3]
    """
    # By digits: clearing bits one by one would copy the mask for each.
    digits = bin(mask)[:1:-1]
    place = digits.find("1")
    while place >= 0:
        yield place
        place = digits.find("1", place + 1)


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of the facts at a call, before its answer."""

    # Stated, neither superseded nor deleted, and in scope; decoys are never due.
    due: int
    replaced: int
    deleted: int
    needed: int  # due facts that this call uses


@dataclass
class _Path:
    """The path to here, which a rewind steps back on."""

    heard: int = 0  # origins stated so far, as bits of atoms
    stated: int = 0
    deleted: int = 0
    ended: int = 0
    replaced: int = 0
    due: int = 0  # at the last call

    def copy(self) -> _Path:
        return _Path(**vars(self))


@dataclass(frozen=True)
class Ledger:
    """The numbered facts of a conversation, and their state at each of its calls."""

    conversation: Conversation
    facts: tuple[Fact, ...]  # inferred from its actions if it has none
    needs: dict[str, int]
    declared: bool  # whether the facts are labels (else they are inferred)

    @cached_property
    def moments(self) -> dict[str, Moment]:
        """The state of the facts at each call, by the id of its answer."""
        return dict(self._walk())

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each fact, by its id."""
        return {fact.id: number for number, fact in enumerate(self.facts)}

    @cached_property
    def decoys(self) -> int:
        """The decoys, as bits."""
        return self.mask(number for number, fact in enumerate(self.facts) if fact.decoy)

    @cached_property
    def of_kind(self) -> dict[FactType, int]:
        """The facts without decoys, by type in order of first occurrence."""
        kinds: dict[FactType, int] = defaultdict(int)
        for number, fact in enumerate(self.facts):
            if not fact.decoy:
                kinds[fact.kind] |= 1 << number
        return dict(kinds)

    @cached_property
    def older(self) -> dict[int, int]:
        """For each superseding fact: the facts that it supersedes, directly or indirectly."""
        versions: dict[int, int] = {}
        for number, fact in enumerate(self.facts):
            waiting, seen = list(fact.supersedes), 0
            while waiting:
                each = self.number[waiting.pop()]
                if not seen >> each & 1 and each != number:
                    seen |= 1 << each
                    waiting += self.facts[each].supersedes
            if seen:
                versions[number] = seen
        return versions

    @cached_property
    def revised(self) -> int:
        """The facts that supersede others."""
        return self.mask(self.older)

    @cached_property
    def finished(self) -> int:
        """The facts that say that a task is finished."""
        return self.mask(n for n, fact in enumerate(self.facts) if fact.kind == "done")

    @cached_property
    def asking(self) -> int:
        """The facts that ask."""
        return self.mask(n for n, fact in enumerate(self.facts) if fact.polarity == "asks")

    @cached_property
    def wholes(self) -> dict[int, tuple[int, int]]:
        """For each fact that only all origins together state: its first bit, and their number."""
        bits, place = {}, len(self.facts)
        for number, fact in enumerate(self.facts):
            if fact.whole and len(fact.origin) > 1:
                bits[number] = (place, len(fact.origin))
                place += len(fact.origin)
        return bits

    @cached_property
    def shared_ends(self) -> frozenset[str]:
        """Path suffixes of two or more components that several facts' paths share."""
        paths = {normal(value) for fact in self.facts for value in (fact.value, *fact.variants)}
        ends = Counter(end for path in paths if "/" in path for end in path_ends(path))
        return frozenset(end for end, times in ends.items() if times > 1)

    @cached_property
    def origins(self) -> dict[str, list[tuple[int, int, Source]]]:
        """By message: the facts that it states, by number, the place of the origin's bit, and the
        piece.
        """  # noqa: D205
        places: dict[str, list[tuple[int, int, Source]]] = defaultdict(list)
        for number, fact in enumerate(self.facts):
            first = self.wholes[number][0] if number in self.wholes else None
            for index, source in enumerate(fact.origin):
                place = number if first is None else first + index
                places[source.id].append((number, place, source))
        return dict(places)

    @cached_property
    def pieces(self) -> dict[str, dict[Source, int]]:
        """By message: the bits of the origins in each piece of it."""
        found = {}
        for id, origins in self.origins.items():
            places: dict[Source, list[int]] = defaultdict(list)
            for _, place, source in origins:
                places[source].append(place)
            found[id] = {source: self.mask(places[source]) for source in places}
        return found

    @cached_property
    def stating(self) -> dict[str, int]:
        """By message: the facts that it states."""
        return {id: self.mask(n for n, _, _ in found) for id, found in self.origins.items()}

    @cached_property
    def verbatim(self) -> dict[str, int]:
        """By message: the bits of its origins if it is unchanged."""
        return {id: self.mask(p for _, p, _ in found) for id, found in self.origins.items()}

    @cached_property
    def thought(self) -> dict[str, int]:
        """By message: the bits that only its thinking states."""
        masks: dict[str, int] = defaultdict(int)
        for id, pieces in self.pieces.items():
            parts = self.messages[id].parts if id in self.messages else ()
            for source, its in pieces.items():
                stating = parts if source.part < 0 else parts[source.part : source.part + 1]
                if stating and all(part.type == "thinking" for part in stating):
                    masks[id] |= its
        return dict(masks)

    @cached_property
    def _anchors(self) -> tuple[dict[str, list[int]], int]:
        """Facts by a word that every statement of them contains, and facts without such a word."""
        words: dict[int, list[list[str]]] = {}
        for number, fact in enumerate(self.facts):
            found = [anchors(normal(value)) for value in (fact.value, *fact.variants)]
            if all(found) and not (fact.key or fact.aliases or fact.polarity != "is"):
                words[number] = found
        # The rarest word of a value: common ones, such as example.org, select too little.
        often = Counter(word for found in words.values() for each in found for word in each)
        anchored: dict[str, list[int]] = defaultdict(list)
        for number, found in words.items():
            for word in {min(each, key=often.__getitem__) for each in found}:
                anchored[word].append(number)
        return anchored, self.mask(n for n in range(len(self.facts)) if n not in words)

    def sayable(self, words: Set[str]) -> int:
        """Return the facts that a text with these words may state; it states no others."""
        anchored, others = self._anchors
        return others | self.mask(n for word in anchored.keys() & words for n in anchored[word])

    @cached_property
    def messages(self) -> dict[str, Message]:
        """The script's messages by id."""
        return {message.id: message for message in self.conversation.messages}

    @cached_property
    def said(self) -> dict[tuple[bytes, int], tuple[int, ...]]:
        """The evidence in texts, by text digest and facts: computed once for all replays."""
        return {}

    @cached_property
    def fetched(self) -> dict[str, int]:
        """By tool call id: the facts in its result."""
        bits: dict[str, int] = defaultdict(int)
        for number, fact in enumerate(self.facts):
            result = self.messages.get(fact.handle)
            for part in result.parts if result else ():
                if part.type == "tool_result" and part.call_id:
                    bits[part.call_id] |= 1 << number
        return dict(bits)

    @cached_property
    def calls(self) -> dict[str, Part]:
        """The tool calls by id."""
        parts = (part for message in self.conversation.messages for part in message.parts)
        return {part.call_id: part for part in parts if part.type == "tool_call"}

    mask = staticmethod(bits)

    def held(self, bits: int) -> int:
        """Return the facts with enough of their origins among the bits."""
        facts = bits & ((1 << len(self.facts)) - 1)
        for number, (place, length) in self.wholes.items():
            all_of_them = (1 << length) - 1
            if bits >> place & all_of_them == all_of_them:
                facts |= 1 << number
        return facts

    def touched(self, bits: int) -> int:
        """Return the facts with any of their origins among the bits."""
        facts = bits & ((1 << len(self.facts)) - 1)
        for number, (place, length) in self.wholes.items():
            if bits >> place & ((1 << length) - 1):
                facts |= 1 << number
        return facts

    def _walk(self) -> Iterator[tuple[str, Moment]]:
        deleted, ended = self._ends()
        for path, message in walked(self.conversation, _Path()):
            if message.call is not None:
                yield message.id, self._moment(path, message.id)
            self._hear(path, message, deleted, ended)

    def _ends(self) -> tuple[dict[str, int], dict[str, int]]:
        """By message: the facts that it deletes, and those whose scope it ends."""
        deleted: dict[str, int] = defaultdict(int)
        ended: dict[str, int] = defaultdict(int)
        for number, fact in enumerate(self.facts):
            if fact.deleted_at:
                deleted[fact.deleted_at] |= 1 << number
            if fact.scope != "session":
                ended[fact.scope] |= 1 << number
        return deleted, ended

    def _hear(
        self, path: _Path, message: Message, deleted: dict[str, int], ended: dict[str, int]
    ) -> None:
        id = message.id
        path.deleted |= deleted.get(id, 0)
        path.ended |= ended.get(id, 0)
        bits = self.verbatim.get(id, 0)
        if bits & ~path.heard:
            path.heard |= bits
            path.stated = self.held(path.heard)
            for number, older in self.older.items():
                if path.stated >> number & 1:
                    path.replaced |= older

    def _moment(self, path: _Path, answer: str) -> Moment:
        gone = path.replaced | path.deleted | path.ended | self.decoys
        due = path.stated & ~gone
        if due == path.due:
            due = path.due  # calls without a change between them share one set
        path.due = due
        return Moment(
            due=due,
            replaced=path.stated & path.replaced & ~path.deleted,
            deleted=path.stated & path.deleted,
            needed=due & self.needs.get(answer, 0),
        )


@keep_latest
def ledger_of(conversation: Conversation) -> Ledger:
    """Return the ledger of a conversation; the last one is cached."""
    declared = bool(conversation.facts)
    facts, uses = (conversation.facts, conversation.needs) if declared else inferred(conversation)
    number = {fact.id: index for index, fact in enumerate(facts)}
    needs: dict[str, int] = defaultdict(int)
    for need in uses:
        needs[need.at] |= 1 << number[need.fact]
    return Ledger(conversation, facts, dict(needs), declared)
