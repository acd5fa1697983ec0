"""What a part of a prompt says about the facts of its sources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from compactlab.sim.core.message import KEPT_UNSEEN, Message, Part, Source
from compactlab.sim.core.notes import Remembered
from compactlab.sim.facts.ledger import Ledger, numbers
from compactlab.sim.facts.wording import Wording

# Kinds of parts that may quote the log; other kinds only paraphrase it.
QUOTING = ("verbatim", "truncated", "recovered")


class Evidence(NamedTuple):
    """Facts as bits, by the kind of evidence in a part of a prompt."""

    # Origins that are there unchanged; a bit per origin if only all together state a fact.
    verbatim: int = 0
    key: int = 0  # statements in other words, as in Spoken
    stated: int = 0
    intact: int = 0
    ordered: int = 0
    wrong: int = 0
    thought: int = 0  # like `verbatim`, for thinking
    # Origins stated in other words; a bit per origin if only all together state a fact.
    parts: int = 0
    handle: int = 0  # facts that a call or pointer in it would fetch
    opaque: int = 0  # facts present only as tokens without text

    def __or__(self, other: Evidence) -> Evidence:
        return Evidence(*(mine | its for mine, its in zip(self, other, strict=True)))


NOTHING = Evidence()


class Witness:
    """Reads the evidence in parts."""

    def __init__(self, ledger: Ledger, stored: Mapping[str, str] | None = None) -> None:
        self.ledger = ledger
        self.stored = {} if stored is None else stored
        self.created: dict[str, tuple[Source, ...]] = {}
        self._read: dict[tuple[object, ...], Evidence] = {}

    def hear(self, message: Message) -> None:
        """Add a message created in the replay; later parts made from it represent its sources."""
        self.created[message.id] = tuple(
            dict.fromkeys(source for part in message.parts for source in part.sources)
        )

    def message(self, message: Message) -> Evidence:
        """Return the evidence in a message."""
        if self.ledger.messages.get(message.id) is message:
            return self._script(message)
        return self.parts(message.parts)

    def _script(self, message: Message) -> Evidence:
        """Return the evidence in a script message: its statements, and the results of its calls."""
        thought = self.ledger.thought.get(message.id, 0)
        verbatim = self.ledger.verbatim.get(message.id, 0) & ~thought
        handle = 0
        if message.role == "assistant" and self.ledger.fetched:
            for part in message.parts:
                if part.type == "tool_call":
                    handle |= self.ledger.fetched.get(part.call_id, 0)
        if not (verbatim or handle or thought):
            return NOTHING
        return Evidence(verbatim, handle=handle, thought=thought)

    def parts(self, parts: Iterable[Part]) -> Evidence:
        """Return the combined evidence in parts."""
        evidence = NOTHING
        for part in parts:
            shown = self._part(part)
            if shown is not NOTHING:
                evidence = evidence | shown
        return evidence

    def note(self, note: Remembered) -> int:
        """Return the facts that a note in memory states, verbatim or intact."""
        text = Part("text", note.text, "memory", note.sources)
        shown = self._part(text)
        quoted = Evidence(verbatim=self._quoted(text))
        return self.ledger.held(quoted.verbatim | shown.parts) | shown.intact

    def _part(self, part: Part) -> Evidence:
        if not part.sources:
            return NOTHING
        key = (part.text, part.sources, part.kind, part.call_id, part.handle, part.name)
        evidence = self._read.get(key)
        if evidence is None:
            evidence = self._read[key] = self._shown(part)
        return evidence

    def _shown(self, part: Part) -> Evidence:
        facts = self._facts(part)
        called = self._called(part)
        if not facts:
            return Evidence(handle=called) if called else NOTHING
        if part.kind == "opaque":
            kept = part.name == KEPT_UNSEEN
            return Evidence(intact=facts) if kept else Evidence(opaque=facts)
        quoted = self._quoted(part) if part.kind in QUOTING else 0
        handle = called | self.pointed(part) | self._stubbed(part, facts)
        # Verbatim facts are not searched for in other words.
        stated = self._stated(part.text, facts & ~self.ledger.touched(quoted))
        parts = self._parts_said(part, quoted) if self.ledger.wholes else 0
        if part.type == "thinking":
            return stated._replace(thought=quoted, parts=parts, handle=handle)
        return stated._replace(verbatim=quoted, parts=parts, handle=handle)

    def _parts_said(self, part: Part, done: int) -> int:
        """Return the origins of multi-part facts that a text states in its own words."""
        bits, wording = 0, Wording(part.text, self.ledger.shared_ends)
        for id in self._messages(part.sources):
            for number, place, source in self.ledger.origins.get(id, ()):
                if number in self.ledger.wholes and not (done | bits) >> place & 1:
                    said = " ".join(self.texts(source))
                    bits |= wording.holds(self.ledger.facts[number], said) << place
        return bits

    def _stated(self, text: str, facts: int) -> Evidence:
        """Return what a text says about facts in its own words; cached per conversation."""
        if not facts:
            return Evidence()
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self.ledger.said.get((digest, facts))
        if known is None:
            known = self.ledger.said[digest, facts] = self._judged(text, facts)
        return Evidence(*known)

    def _judged(self, text: str, facts: int) -> Evidence:
        wording = Wording(text, self.ledger.shared_ends)
        key = stated = intact = ordered = wrong = 0
        for number in numbers(facts & self.ledger.sayable(wording.words)):
            spoken = wording.says(self.ledger.facts[number])
            if spoken.key:
                bit = 1 << number
                key |= bit
                stated |= bit * spoken.stated
                intact |= bit * spoken.intact
                ordered |= bit * spoken.ordered
                # A statement about one of several parts is no other value of the whole.
                wrong |= bit * (spoken.wrong and number not in self.ledger.wholes)
        return Evidence(0, key, stated, intact, ordered, wrong)

    def _messages(self, sources: Iterable[Source]) -> Iterable[str]:
        """Return the ids of a part's source messages."""
        return dict.fromkeys(
            origin.id for source in sources for origin in (self.created.get(source.id) or (source,))
        )

    def _facts(self, part: Part) -> int:
        """Return the facts that those messages state."""
        facts = 0
        for id in self._messages(part.sources):
            facts |= self.ledger.stating.get(id, 0)
        return facts

    def _quoted(self, part: Part) -> int:
        """Return the origins that a part contains completely."""
        bits = 0
        for id in self._messages(part.sources):
            for source, its in self.ledger.pieces.get(id, {}).items():
                texts = self.texts(source) if its & ~bits else []
                if any(texts) and all(text in part.text for text in texts):
                    bits |= its
        return bits

    def texts(self, source: Source) -> list[str]:
        """Return the texts of a piece of the script; thinking states nothing."""
        parts = self.ledger.messages[source.id].parts
        if source.part < 0:
            return [part.text for part in parts if part.text and part.type != "thinking"]
        text = parts[source.part].text
        return [text[source.start : None if source.end < 0 else source.end]]

    def pointed(self, part: Part) -> int:
        """Return the facts in the content of a part's handle."""
        text = self.stored.get(part.handle, "") if part.handle else ""
        if not text:
            return 0
        held = self.ledger.held(self._quoted(Part("text", text, "recovered", part.sources)))
        return held | self._stated(text, self._facts(part)).intact

    def _stubbed(self, part: Part, facts: int) -> int:
        """Return the facts that a repeated call would fetch, for a cut or cleared result.

        The call precedes its result, or the provider would reject the prompt.
        """
        if part.type != "tool_result" or not part.call_id:
            return 0
        return facts & self.ledger.fetched.get(part.call_id, 0)

    def _called(self, part: Part) -> int:
        """Return the facts that a call in a part would fetch, if all its arguments are there."""
        if part.type == "tool_call" and part.kind == "verbatim":
            return self.ledger.fetched.get(part.call_id, 0)
        return 0
