"""What the figures of memory are tried on: scripts that state, revise, revoke and need facts, and
strategies that forget, quote, garble and make things up."""

import random
from dataclasses import dataclass, field
from typing import Any, get_args

from hypothesis import strategies as st

from compactlab.sim.core.conversation import Conversation, Fact, FactType, Need
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host

KINDS: tuple[FactType, ...] = get_args(FactType)
AREAS = ["alpha", "beta", "gamma", "delta"]
POLARITY = {"constraint": "must", "prohibition": "must_not", "proposal": "asks"}
# Types that are drawn: not all, so that some come often.
DRAWN: tuple[FactType, ...] = (*KINDS[:3], *KINDS[1:3], "open_loop", "handle", *("proposal",) * 2)


def statement(key: str, value: str, polarity: str = "is") -> str:
    """A sentence that states a fact."""
    verbs = {"is": "is", "must": "must be", "must_not": "must never be", "asks": "could be"}
    verb = verbs[polarity]
    return f"The {key} {verb} {value}. "


@dataclass
class Teller:
    """Tells a story in which facts come and go."""

    story: Any
    draw: Any
    facts: list[dict[str, Any]] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)

    def words(self) -> tuple[str, list[dict[str, Any]]]:
        """A text, and the facts that it states."""
        told = [self.told() for _ in range(self.draw(st.integers(0, 2)))]
        text = "".join(statement(f["key"], f["value"], f["polarity"]) for f in told)
        return text + "So it is. " * self.draw(st.sampled_from([0, 1, 100, 900])), told

    def told(self) -> dict[str, Any]:
        """A fact: a new one, one that follows from or revises another, or one told before."""
        what, known = self.draw(st.integers(0, 5)), [f for f in self.facts if not f["decoy"]]
        if known and what == 0:
            return self.draw(st.sampled_from(known))
        old = self.draw(st.sampled_from(known)) if known and what < 4 else None
        kind = old["kind"] if old and what == 1 else self.draw(st.sampled_from(DRAWN))
        if old and what == 1 and self.draw(st.booleans()):
            kind = "done"
        number = len(self.facts)
        fact = {
            "id": f"f{number}", "kind": kind, "origin": [], "decoy": what == 5,
            "key": old["key"] if old and what == 1 else f"{AREAS[number % 4]} setting {number}",
            "value": f"val-{number}x{number}", "polarity": POLARITY.get(kind, "is"),
            "supersedes": (old["id"],) if old and what == 1 else (),
            "depends_on": (old["id"],) if old and what > 1 else (),
            "whole": self.draw(st.integers(0, 4)) == 4,
        }  # fmt: skip
        self.facts.append(fact)
        return fact

    def say(self, how: str) -> None:
        text, told = self.words()
        if how == "file":
            self.story.client(f"# AGENTS.md of this house\n{text}")
        else:
            getattr(self.story, how)(text or "ok")
        for fact in told:
            if not fact["decoy"]:
                fact["origin"].append(Source(self.story.last, 0))
        if how == "result" and told and not told[0]["decoy"]:
            told[0]["handle"] = self.story.last
        if self.facts and not self.draw(st.integers(0, 5)):
            lost = self.draw(st.sampled_from(self.facts))
            lost[self.draw(st.sampled_from(["deleted_at", "scope"]))] = self.story.last
        if how in ("answer", "acts") and self.facts:
            for fact in self.draw(st.lists(st.sampled_from(self.facts), max_size=3)):
                self.needs.append(Need(fact["id"], self.story.last))


@st.composite
def remembered(draw: st.DrawFn, kit: Any, *, rewinds: bool = True) -> Conversation:
    """A script with facts of any fate."""
    story = kit.Story()
    teller = Teller(story, draw)
    if draw(st.booleans()):
        teller.say("file")
    for _ in range(draw(st.integers(2, 7))):
        teller.say("user")
        for _ in range(draw(st.integers(0, 2))):
            teller.say("acts")
            teller.say("result")
        teller.say("answer")
        if rewinds and not draw(st.integers(0, 4)):
            said = [event.id for event in story.events if isinstance(event, Message)]
            story.rewind(draw(st.sampled_from(["", *said])))
    facts = tuple(
        Fact(**{**fact, "origin": tuple(fact["origin"])})
        for fact in teller.facts
        if fact["origin"] or fact["decoy"]
    )
    ids = {fact.id for fact in facts}
    facts = tuple(
        Fact(**{**_fields(f), "supersedes": _among(f.supersedes, ids),
                "depends_on": _among(f.depends_on, ids)})
        for f in facts
    )  # fmt: skip
    needs = tuple(need for need in teller.needs if need.fact in ids)
    # Without a fact it would be one without labels.
    return story.script(facts=facts or (Fact("d", "goal", "k", "v", decoy=True),), needs=needs)


def _fields(fact: Fact) -> dict[str, Any]:
    return {name: getattr(fact, name) for name in fact.__struct_fields__}


def _among(ids: tuple[str, ...], known: set[str]) -> tuple[str, ...]:
    return tuple(id for id in ids if id in known)


def garbled(script: Conversation, rng: random.Random) -> str:
    """Something about some of the facts and decoys of a script, not all of it true."""
    text = ""
    for fact in script.facts:
        words = statement(fact.key, fact.value, fact.polarity)
        wrong = f"The {fact.key} is something. "
        text += rng.choice(["", "", words, words, wrong, f"{fact.key}: {fact.value}. "])
        text += "Well, so much for that. " * rng.choice([0, 0, 12])
    return text or "Nothing."


def forgetting(kit: Any, script: Conversation) -> Any:
    """A strategy that drops, clears and summarises, as chance will have it."""

    def forget(view: View, host: Host) -> View:
        rng, messages = host.rng(str(len(host.log))), list(view.messages)
        deed, cut = rng.randrange(7), rng.randrange(len(messages) + 1)
        gone, left = messages[:cut], messages[cut:]
        sources = tuple(dict.fromkeys(s for m in gone for p in m.parts for s in p.sources))
        if deed > 3 or not sources:
            return view
        if deed == 0:
            return view.with_messages(left)
        if deed == 1:
            return view.with_messages([*map(cleared, gone), *left])
        part = Part("text", garbled(script, rng), "summary", sources)
        if deed == 2:
            part = Part("text", "", "opaque", sources, size=10)
        return view.with_messages([Message(f"made-{len(host.log)}", "user", (part,)), *left])

    return kit.act(forget, name="Forgetting")


def cleared(message: Message) -> Message:
    """A message without what a tool gave."""
    part = message.parts[0]
    if message.role != "tool":
        return message
    stub = Part("tool_result", "cleared", "stub", part.sources, part.name, part.call_id)
    return Message(message.id, "tool", (stub,), message.time)
