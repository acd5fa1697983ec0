"""States of facts from the whole prompt, in plain Python: one fact after the other, all of it anew.

Written from the project's notes on metrics (section 4) and from what the docstrings promise, for
the few words that `drawn_facts.py` uses. Texts are compared token by token here, and by patterns
in the real one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compactlab.sim.core.conversation import Conversation, Fact, Rewind
from compactlab.sim.core.memory import Remembered
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.view import View

NEAR = 40
DEMANDS, FORBIDS, ORDERS = {"must", "always"}, {"never", "not"}, {"now", "instead", "formerly"}


def tokens(text: str) -> list[str]:
    """The words of a text, without what makes no difference."""
    return [word for word in map(plain, text.split()) if word]


def plain(word: str) -> str:
    word = word.lstrip("(`").rstrip(").,;:!?`").casefold().removeprefix("./")
    digits = word.replace(",", "")
    return digits if digits.isdigit() else word


def places(words: list[str], phrase: str) -> list[tuple[int, int]]:
    """From where to where a phrase stands."""
    wanted = tokens(phrase)
    size = len(wanted)
    return [(i, i + size) for i in range(len(words) - size + 1) if words[i : i + size] == wanted]


@dataclass
class Said:
    """What one text says of one fact."""

    key: bool = False
    stated: bool = False
    intact: bool = False
    ordered: bool = False


def said_of(fact: Fact, text: str) -> Said:
    words = tokens(text)
    keys = [place for name in (fact.key, *fact.aliases) if name for place in places(words, name)]
    values = [place for name in (fact.value, *fact.variants) for place in places(words, name)]
    nameless = not any((fact.key, *fact.aliases))
    found = Said(key=bool(keys) or (nameless and bool(values)))
    for first, stop in values:
        for start in range(stop - NEAR, first + 1):
            inside = range(max(0, start), min(len(words), start + NEAR))
            named = nameless or any(a in inside and b - 1 in inside for a, b in keys)
            if named:
                found.stated = True
                found.intact = found.intact or rules(fact, words, inside)
    for first, stop in values:
        around = range(max(0, stop - NEAR), min(len(words), first + NEAR))
        named = nameless or any(a in around and b - 1 in around for a, b in keys)
        if named and any(words[i] in ORDERS for i in around):
            found.ordered = True
    return found


def rules(fact: Fact, words: list[str], inside: range) -> bool:
    if fact.polarity == "must_not":
        return any(words[i] in FORBIDS for i in inside)
    if fact.polarity == "must":
        after = [*words[1:], ""]
        return any(words[i] in DEMANDS and after[i] not in FORBIDS for i in inside)
    return True


@dataclass
class World:
    """What is known beside a prompt."""

    talk: Conversation
    stored: Mapping[str, str] = field(default_factory=dict)
    notes: Iterable[Remembered] = ()
    created: Iterable[Message] = ()

    def script(self, id: str) -> Message | None:
        return next((m for m in self.talk.messages if m.id == id), None)

    def stands_for(self, part: Part) -> set[str]:
        """The messages of the script that a part stands for."""
        found = set()
        for source in part.sources:
            created = [m for m in self.created if m.id == source.id]
            through = {s.id for m in created for part in m.parts for s in part.sources}
            found |= through or {source.id}
        return found

    def span(self, source: Source) -> list[str]:
        message = self.script(source.id)
        assert message is not None
        if source.part == -1:
            return [p.text for p in message.parts if p.text and p.type != "thinking"]
        text = message.parts[source.part].text
        return [text[source.start :] if source.end == -1 else text[source.start : source.end]]

    def quotes(self, text: str, sources: set[str], origin: Source) -> bool:
        span = self.span(origin)
        return origin.id in sources and "".join(span) != "" and all(s in text for s in span)


def state(fact: Fact, prompt: View, world: World) -> str:
    """The state of one fact in a prompt."""
    if is_verbatim(fact, prompt, world):
        return "verbatim"
    mine = heard(fact, prompt, world)
    older = [f for f in world.talk.facts if f.id in all_older(fact, world.talk)]
    theirs = [said for f in older for said in heard(f, prompt, world)]
    return in_words(fact, mine, theirs, prompt, world)


def in_words(fact: Fact, mine: list[Said], theirs: list[Said], prompt: View, world: World) -> str:
    """The state of a fact that is not verbatim, by what is said of it and of older ones."""
    older = [f for f in world.talk.facts if f.id in all_older(fact, world.talk)]
    mentioned, ordered = any(s.stated for s in mine), any(s.ordered for s in mine)
    old = any(s.stated for s in theirs) or any(is_verbatim(f, prompt, world) for f in older)
    states = {
        "conflict": mentioned and any(s.stated for s in theirs) and not ordered,
        "intact": any(s.intact for s in mine),
        "stale": old and not mentioned,
        "mutated": any(s.key for s in mine),
        "retrievable": retrievable(fact, prompt, world),
        "unknown": is_opaque(fact, prompt, world),
        "lost": True,
    }
    return next(name for name, holds in states.items() if holds)


def everything(prompt: View) -> list[Part]:
    return [*prompt.system, *(part for message in prompt.messages for part in message.parts)]


def is_verbatim(fact: Fact, prompt: View, world: World) -> bool:
    there = [origin_stands(origin, prompt, world) for origin in fact.origin]
    return bool(there) and (all(there) if fact.whole else any(there))


def origin_stands(origin: Source, prompt: View, world: World) -> bool:
    untouched = world.script(origin.id)
    if any(message is untouched for message in prompt.messages):
        return True
    return any(shows(origin, part, world) for part in everything(prompt))


def shows(origin: Source, part: Part, world: World) -> bool:
    held = part.kind in ("verbatim", "truncated", "recovered")
    return held and world.quotes(part.text, world.stands_for(part), origin)


def heard(fact: Fact, prompt: View, world: World) -> list[Said]:
    """What all parts say of a fact in other words, that stand for a message which states it."""
    script = {id(message) for message in world.talk.messages}
    changed = [m for m in prompt.messages if id(m) not in script]
    found = []
    for part in [*prompt.system, *(part for message in changed for part in message.parts)]:
        states_it = world.stands_for(part) & {origin.id for origin in fact.origin}
        in_its_words = any(shows(origin, part, world) for origin in fact.origin)
        if states_it and part.kind != "opaque" and not in_its_words:
            found.append(said_of(fact, part.text))
    return found


def all_older(fact: Fact, talk: Conversation) -> set[str]:
    older: set[str] = set(fact.supersedes)
    while True:
        more = older | {id for f in talk.facts if f.id in older for id in f.supersedes}
        if more == older:
            return older - {fact.id}
        older = more


def retrievable(fact: Fact, prompt: View, world: World) -> bool:
    origins = {origin.id for origin in fact.origin}
    result = world.script(fact.handle)
    again = {p.call_id for p in result.parts if p.call_id} if result else set()
    for part in everything(prompt):
        if part.type == "tool_call" and part.kind == "verbatim" and part.call_id in again:
            return True
        if not world.stands_for(part) & origins or part.kind == "opaque":
            continue
        if part.type == "tool_result" and part.call_id in again and part.kind != "verbatim":
            return True
        if part.handle and holds(
            fact, world.stored.get(part.handle, ""), world.stands_for(part), world
        ):
            return True
    notes = [(note.text, Part("text", "", "memory", note.sources)) for note in world.notes]
    return any(holds(fact, text, world.stands_for(part), world) for text, part in notes)


def holds(fact: Fact, text: str, sources: set[str], world: World) -> bool:
    """Whether a stored text gives a fact back, by its own words or by others."""
    quoted = [world.quotes(text, sources, origin) for origin in fact.origin]
    if quoted and (all(quoted) if fact.whole else any(quoted)):
        return True
    states_it = sources & {origin.id for origin in fact.origin}
    return bool(states_it) and said_of(fact, text).intact


def is_opaque(fact: Fact, prompt: View, world: World) -> bool:
    opaque = [part for part in everything(prompt) if part.kind == "opaque"]
    return any(world.stands_for(p) & {o.id for o in fact.origin} for p in opaque)


def due_at(talk: Conversation, at: str) -> set[str]:
    """Ids of the facts that are due at a call: by going the way to it from the start."""
    way: list[str] = []
    for event in talk.events:
        if isinstance(event, Rewind):
            way = way[: way.index(event.to) + 1] if event.to else []
        elif isinstance(event, Message):
            if event.id == at:
                break
            way.append(event.id)
    told = {f.id for f in talk.facts if stated(f, way)}
    replaced = {id for f in talk.facts if f.id in told for id in all_older(f, talk)}
    gone = {f.id for f in talk.facts if f.deleted_at in way or f.scope in way or f.decoy}
    return told - replaced - gone


def stated(fact: Fact, way: list[str]) -> bool:
    said = [origin.id in way for origin in fact.origin]
    return bool(said) and (all(said) if fact.whole else any(said))
