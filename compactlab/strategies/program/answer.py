"""Views from a program's answers: edits by id, or plain messages whose provenance is inferred.

An invalid answer raises a ValueError that describes the program's mistake.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET, structs

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.message import Message, Part, Source, encoded
from compactlab.sim.core.view import Messages, View
from compactlab.sim.facts.attribution import attributed
from compactlab.sim.replay.host import Host
from compactlab.strategies.program.plain import Draft, Key, canonical, drafts, outline
from compactlab.strategies.program.protocol import (
    Answer,
    Begin,
    Item,
    Piece,
    Question,
    Reference,
    SentMessage,
    sent_message,
    sent_part,
)

SYSTEM = "system"  # the id of the system prompt as an origin


@dataclass
class Exchange:
    """The messages sent to a program in a replay, and those made from its answers.

    Equal answers give the same message objects, so that an unchanged view is recognised.
    """

    _sent: dict[str, Message] = field(default_factory=dict)
    _system: tuple[Part, ...] | None = None
    _made: dict[Hashable, Message] = field(default_factory=dict)
    _count: int = 0  # of new messages
    _log: Messages = field(default_factory=Messages)
    _logged: dict[str, Message] = field(default_factory=dict)  # messages of that log, by id
    _outlines: dict[int, tuple[Message, Key]] = field(default_factory=dict)
    _asked: int = 0

    def begin(self, host: Host) -> Begin:
        """Make the message that begins a replay."""
        seed = host.rng("program").getrandbits(32)
        model = host.model
        return Begin(model.name, host.window, model.max_output, host.cache_lifetime, seed)

    def question(self, view: View, host: Host) -> Question:
        """Make the question about a view."""
        self._asked += 1
        count = host.model.tokenizer.part
        known, self._system = self._system == view.system, view.system
        return Question(
            self._asked,
            host.phase,
            ids_of(view),
            self.news(view, host),
            host.count(view),
            host.window,
            host.now,
            host.idle,
            host.reported,
            host.notes,
            UNSET if known else tuple(sent_part(p, count(p), SYSTEM) for p in view.system),
        )

    def news(self, view: View, host: Host) -> tuple[SentMessage, ...]:
        """Return the messages of a view that the program does not know yet."""
        sizes, sent = blocks_of(host.model.tokenizer).sizes, self._sent
        new = [message for message in view.messages if sent.get(message.id) is not message]
        sent.update((message.id, message) for message in new)
        return tuple(sent_message(message, sizes(message)) for message in new)

    def messages(self, items: Iterable[str | Item], view: View, host: Host) -> tuple[Message, ...]:
        """Return messages of a view or of the whole log by their ids, and the program's own."""
        self._follow(host.log)
        here = {message.id: message for message in view.messages}
        return tuple(
            self._known(item, here)
            if isinstance(item, str)
            else self._once(encoded(item), self._of(item, here, host))
            for item in items
        )

    def view(self, answer: Answer, view: View, host: Host) -> View:
        """Build the view of an answer."""
        if answer.id != self._asked:
            raise ValueError(
                f"answered view {answer.id} while it is asked about view {self._asked}: it wrote a "
                "line unasked, or the wrong id"
            )
        forms = (answer.messages, answer.openai, answer.anthropic)
        if sum(form is not None for form in forms) > 1:
            raise ValueError("answered in two forms: give messages, openai or anthropic")
        self._follow(host.log)
        after, plain = view, answer.openai if answer.anthropic is None else answer.anthropic
        if plain is not None:
            after = view.with_messages(self._aligned(list(drafts(plain)), view, host))
        elif answer.messages is not None and answer.messages != ids_of(view):
            after = view.with_messages(self._edited(answer.messages, view, host))
        if answer.system is not None:
            own = Message(SYSTEM, "user", view.system)
            parts = tuple(self._part(piece, own) for piece in answer.system)
            after = after if parts == view.system else after.with_system(*parts)
        return after

    def _follow(self, log: Messages) -> None:
        """Track the messages of a log; a rewind removes some."""
        shared = self._log.shared(log)
        if shared < len(self._log):
            self._logged, shared = {}, 0
        self._logged.update((message.id, message) for message in log[shared:])
        self._log = log

    def _known(self, id: str, here: Mapping[str, Message]) -> Message:
        message = here.get(id) or self._logged.get(id)
        if message is None:
            raise ValueError(f"named the message {id[:80]!r}, which is not there")
        return message

    def _once(self, key: Hashable, message: Message) -> Message:
        """Return the message made from an equal answer before, or register a new one with an id."""
        known = self._made.get(key)
        if known is None or structs.replace(message, id=known.id, time=known.time) != known:
            if not message.id:
                self._count += 1
                message = structs.replace(message, id=f"program:{self._count}")
            known = self._made[key] = message
        return known

    # Edits.

    def _edited(self, items: Sequence[str | Item], view: View, host: Host) -> Messages:
        here = {message.id: message for message in view.messages}
        old = view.messages
        pairs = enumerate(zip(items, old, strict=False))
        kept = next((n for n, (item, m) in pairs if item != m.id), min(len(items), len(old)))
        times: Counter[bytes] = Counter()
        messages = []
        for index, item in enumerate(items[kept:], kept):
            if isinstance(item, str):
                messages.append(self._known(item, here))
                continue
            if (item.id is None) == (item.role is None):
                wrong = "neither id nor role" if item.id is None else "both id and role"
                raise ValueError(f"answered messages[{index}] with {wrong}")
            key = encoded(item)
            times[key] += 1
            messages.append(self._once((key, times[key]), self._of(item, here, host)))
        return old.branch(kept, messages)  # views share their common beginning

    def _of(self, item: Item, here: Mapping[str, Message], host: Host) -> Message:
        if item.id is not None:
            old = self._known(item.id, here)
            return structs.replace(old, parts=tuple(self._part(each, old) for each in item.parts))
        assert item.role is not None
        new = Message("", item.role, (), host.now, meta=item.role == "user", origin=item.origin)
        return structs.replace(new, parts=tuple(self._part(each, new) for each in item.parts))

    def _part(self, piece: int | Piece, old: Message) -> Part:
        """Make a part from an answer, or from the old message's part that it refers to."""
        number = piece if isinstance(piece, int) else piece.part
        if number is not None and not 0 <= number < len(old.parts):
            raise ValueError(f"named part {number} of {old.id!r}, which has {len(old.parts)}")
        if isinstance(piece, int):
            return old.parts[piece]
        sources = tuple(self._source(source) for source in piece.sources)
        part = self._new(piece, sources) if number is None else self._changed(piece, old, sources)
        if part.kind == "verbatim":
            origins = [self._logged[s.id] for s in part.sources if s.id in self._logged]
            if not any(part.text in each.text for message in origins for each in message.parts):
                raise ValueError(f"declared verbatim what no source says: {part.text[:60]!r}")
        return part

    @staticmethod
    def _new(piece: Piece, sources: tuple[Source, ...]) -> Part:
        if piece.text is None and not piece.size:
            raise ValueError("answered a new part without a text")
        return Part(
            piece.type,
            piece.text or "",
            piece.kind or ("summary" if sources else "synthetic"),
            sources,
            piece.name,
            piece.call_id,
            piece.is_error,
            piece.handle,
            piece.size,
        )

    def _changed(self, piece: Piece, old: Message, sources: tuple[Source, ...]) -> Part:
        """Return a part cut to a span or with another text."""
        number = piece.part or 0
        part, first = old.parts[number], self._logged.get(old.id)
        own = first is not None and first.parts[number : number + 1] == (part,)
        text, kind, origin = part.text, part.kind, part.sources
        if piece.text is None:
            end = len(text) if piece.end < 0 else min(piece.end, len(text))
            if piece.start > end:
                raise ValueError(
                    f"cut part {number} of {old.id!r} from {piece.start} to {piece.end}; it has "
                    f"{len(text)} characters"
                )
            origin = (Source(old.id, number, piece.start, end),) if own else origin
            text, usual = text[piece.start : end], "truncated"
        else:
            origin = (Source(old.id, number),) if own else origin
            text, usual = piece.text, "stub"
        return structs.replace(
            part,
            text=text,
            kind=piece.kind or (usual if kind == "verbatim" else kind),
            sources=sources or origin,
            handle=piece.handle or part.handle,
            size=piece.size,
        )

    def _source(self, reference: Reference) -> Source:
        source = Source(reference) if isinstance(reference, str) else reference
        if source.id != SYSTEM and source.id not in self._logged:
            raise ValueError(f"named the source {source.id[:80]!r}, which nobody has said")
        return source

    # Plain messages.

    def _aligned(self, given: Sequence[Draft], view: View, host: Host) -> Messages:
        """Match messages without provenance: keep unchanged ones, and infer others' sources."""
        old = list(view.messages)
        same = self._same(old, given)
        if len(same) == len(given):
            return Messages(same.values())
        owners = {message.id: message for message in old}
        calls: dict[tuple[str, str], tuple[Part, Message]] = {
            (part.type, part.call_id): (part, message)
            for message in old
            for part in message.parts
            if part.call_id
        }
        messages: list[Message | None] = [same.get(index) for index in range(len(given))]
        keys: list[tuple[Key, int]] = []
        times: Counter[Key] = Counter()
        for index, draft in enumerate(given):
            times[draft.key] += 1
            keys.append((draft.key, times[draft.key]))
            known = self._made.get(keys[index])
            if messages[index] is None and known is not None and self._was_said(known):
                messages[index] = known
        drafted = [_restored(draft.message(host.now), calls) for draft in given]
        for index, message in enumerate(drafted):
            # A tool result comes from results of the same tool.
            result = calls.get(("tool_result", message.parts[0].call_id))
            if messages[index] is None and message.role == "tool" and result is not None:
                (found,) = attributed([result[1]], (), View((), Messages([message]))).view.messages
                messages[index] = self._placed(keys[index], found, owners)
        if None in messages:
            told = Messages(each or drafted[index] for index, each in enumerate(messages))
            # Inference may pick another of several equal messages; here the right one is known.
            context = attributed(old, view.system, View(view.system, told)).view
            for index, found in enumerate(context.messages):
                messages[index] = messages[index] or self._placed(keys[index], found, owners)
        return Messages(filter(None, messages))

    def _placed(self, key: Hashable, found: Message, owners: Mapping[str, Message]) -> Message:
        """Replace inferred origins of a message by their messages in the log."""
        parts = (
            structs.replace(part, sources=tuple(self._origins(part, owners)))
            for part in found.parts
        )
        return self._once(key, structs.replace(found, id="", parts=tuple(parts)))

    def _same(self, old: Sequence[Message], given: Sequence[Draft]) -> dict[int, Message]:
        """Return the unchanged messages by the indices of drafts, in order.

        Of equal messages, the newest that preserves the order is used: contexts keep their ends.
        """
        places: dict[Key, list[int]] = defaultdict(list)
        for index, message in enumerate(old):
            places[self._outline(message)].append(index)
        matches: dict[int, Message] = {}
        bound = len(old)
        for here in range(len(given) - 1, -1, -1):
            equal = places.get(given[here].key, [])
            before = bisect_left(equal, bound)
            if before:
                bound = equal[before - 1]
                matches[here] = old[bound]
        return dict(sorted(matches.items()))

    def _outline(self, message: Message) -> Key:
        known = self._outlines.get(id(message))
        if known is None:
            # The message is also stored, because the id of a deleted object may be reused.
            key = outline(message.role, message.parts)
            known = self._outlines[id(message)] = message, key
        return known[1]

    def _was_said(self, message: Message) -> bool:
        """Whether all sources of a message are in the log; a rewind may have removed some."""
        return all(s.id in self._logged for part in message.parts for s in part.sources)

    def _origins(self, part: Part, owners: Mapping[str, Message]) -> Iterable[Source]:
        """Resolve a part's sources to messages of the log."""
        sources: dict[Source, None] = {}
        for source in part.sources:
            if source.id in self._logged:
                sources[source] = None
            elif source.id in owners:
                parts = owners[source.id].parts
                inner = parts if source.part < 0 else parts[source.part : source.part + 1]
                sources |= {each: None for part in inner for each in part.sources}
        return sources


Calls = Mapping[tuple[str, str], tuple[Part, Message]]
"""The calls and results of a view, by type and id of the call, with their messages."""


def _restored(message: Message, calls: Calls) -> Message:
    """Restore the data of calls and results that the plain form lacks."""
    return structs.replace(message, parts=tuple(_named(part, calls) for part in message.parts))


def _named(part: Part, calls: Calls) -> Part:
    old = calls[part.type, part.call_id][0] if (part.type, part.call_id) in calls else None
    if old is None:
        return part
    if part.type == "tool_call" and canonical(old.text) == canonical(part.text):
        part = structs.replace(part, text=old.text)
    return structs.replace(part, name=part.name or old.name, is_error=old.is_error)


def ids_of(view: View) -> tuple[str, ...]:
    """Return the ids of a view's messages."""
    return tuple([message.id for message in view.messages])
