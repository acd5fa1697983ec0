"""States of facts from the whole prompt, in plain Python: one fact after the other, all of it anew.

Written from docs/metrics.md and from what the docstrings promise. What a
single text says of a fact is read as the real one reads it (labelled sentences judge that); what
follows for a prompt of many texts is worked out here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compactlab.sim.core.conversation import Conversation, Fact, Rewind
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import View
from compactlab.sim.facts.wording import Spoken, Wording


def said_of(fact: Fact, text: str, talk: Conversation) -> Spoken:
    """What one text says of one fact: what words mean is tested with labelled sentences."""
    return Wording(text, shared_ends(talk)).says(fact)


def shared_ends(talk: Conversation) -> list[str]:
    """Ends of paths, of two components or more, that name none: several facts' paths have them."""
    paths = {path for fact in talk.facts for path in (fact.value, *fact.variants) if "/" in path}
    pieces = [path.strip("/").split("/") for path in paths]
    ends = ["/".join(each[start:]) for each in pieces for start in range(len(each) - 1)]
    return [end for end in ends if ends.count(end) > 1]


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


def in_words(
    fact: Fact, mine: list[Spoken], theirs: list[Spoken], prompt: View, world: World
) -> str:
    """The state of a fact that is not verbatim, by what is said of it and of older ones."""
    older = [f for f in world.talk.facts if f.id in all_older(fact, world.talk)]
    mentioned, ordered = any(s.stated for s in mine), any(s.ordered for s in mine)
    old = any(s.stated for s in theirs) or any(is_verbatim(f, prompt, world) for f in older)
    outdated = old and not mentioned
    changed = any(s.wrong for s in mine) and not (fact.whole and len(fact.origin) > 1)
    states = {
        "conflict": mentioned
        and any(s.stated for s in theirs)
        and not (ordered or part_by_part(fact, prompt, world)),
        "intact": any(s.intact for s in mine) or part_by_part(fact, prompt, world),
        "resurrected": outdated and fact.kind == "done",
        "stale": outdated,
        "presumed": changed and fact.polarity == "asks",
        "mutated": changed,
        "key_only": any(s.key for s in mine),
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


def heard(fact: Fact, prompt: View, world: World) -> list[Spoken]:
    """What all parts say of a fact in other words, that stand for a message which states it."""
    script = {id(message) for message in world.talk.messages}
    changed = [m for m in prompt.messages if id(m) not in script]
    found = []
    for part in [*prompt.system, *(part for message in changed for part in message.parts)]:
        states_it = world.stands_for(part) & {origin.id for origin in fact.origin}
        in_its_words = any(shows(origin, part, world) for origin in fact.origin)
        if states_it and part.kind != "opaque" and not in_its_words:
            found.append(said_of(fact, part.text, world.talk))
    return found


def part_by_part(fact: Fact, prompt: View, world: World) -> bool:
    """Whether each part of a fact of several stands there, as it was said or in other words."""
    if not fact.whole or len(fact.origin) < 2:
        return False
    return all(
        origin_stands(origin, prompt, world)
        or any(retells(fact, origin, part, world) for part in everything(prompt))
        for origin in fact.origin
    )


def retells(fact: Fact, origin: Source, part: Part, world: World) -> bool:
    """Whether a part that stands for an origin says its words."""
    if part.kind == "opaque" or origin.id not in world.stands_for(part):
        return False
    return Wording(part.text).holds(fact, " ".join(world.span(origin)))


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
    return any(holds(fact, text, world.stands_for(part), world, note=True) for text, part in notes)


def holds(fact: Fact, text: str, sources: set[str], world: World, *, note: bool = False) -> bool:
    """Whether a stored text gives a fact back, by its own words or by others."""
    quoted = [world.quotes(text, sources, origin) for origin in fact.origin]
    if quoted and (all(quoted) if fact.whole else any(quoted)):
        return True
    if (
        fact.whole
        and len(fact.origin) > 1
        and note
        and all(
            done or (o.id in sources and Wording(text).holds(fact, " ".join(world.span(o))))
            for done, o in zip(quoted, fact.origin, strict=True)
        )
    ):
        return True
    states_it = sources & {origin.id for origin in fact.origin}
    return bool(states_it) and said_of(fact, text, world.talk).intact


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
