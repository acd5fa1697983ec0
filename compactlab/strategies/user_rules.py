"""Users' rules: extracted from their messages, and appended to each summary of another strategy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import msgspec

from compactlab.sim.core.message import Kind, Message, Part, Source, frame, plain
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.answers import digest_of_answers, read_answers
from compactlab.strategies.mechanisms.cut import unanswered
from compactlab.strategies.mechanisms.handover import is_summary
from compactlab.strategies.mechanisms.text import spoken

LEAD = "Rules that hold for all of this session:"
RULES = "rules"
# Words by which the paper's extractor distinguishes rules from requests (`prompts.py` at 5485922).
_LASTING = re.compile(
    r"\b(?:from now on|going forward|whenever|always|never|for the rest of (?:this|the))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
# The extractor's request, in our own words: the original's has some 1,000 tokens.
REQUEST = (
    "Find what the user wants to hold for all later turns of this session, and not for the task "
    "alone: would it still be expected to apply three turns from now, when something else is asked "
    "for? If that is not clear, leave it out. Leave out what is recorded already, corrections, and "
    "background. Answer as JSON, a rule a sentence, with the user's own words as evidence."
)
_EXAMPLES = 900  # tokens of the original's examples


def lasting(message: Message) -> Iterator[tuple[str, Source]]:
    """Yield the sentences of a message that state lasting rules, with their positions.

    Examples
    --------
    >>> from compactlab.sim.core.message import verbatim
    >>> said = "Fix the parser. From now on, never push without asking."
    >>> [text for text, _ in lasting(Message("m", "user", (verbatim("m", "text", said),)))]
    ['From now on, never push without asking.']
    """
    for index, part in spoken(message):
        for found in _SENTENCE.finditer(part.text):
            text = found[0].strip()
            if _LASTING.search(text):
                start = found.start() + found[0].index(text)
                yield text, Source(message.id, index, start, start + len(text))


class _Answer(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    rules: list[str]


@dataclass(frozen=True)
class UserRules(Strategy):
    """Keep a list of the user's rules outside the conversation, and show it after a summary.

    The mitigation of "Compaction Integrity" (COMPINT, arXiv 2608.11242, RQ4; its code at e21ab14):
    after each user message a small model extracts lasting rules, and after each compaction the list
    is appended to the context. In the paper 90 to 96 % of the rules are kept instead of 17 %. It
    follows a strategy that summarises, ``full_summary + user_rules``, replaces its previous list,
    and inserts the new one before unanswered messages.

    The extracted rules are recorded answers from a file, each billed as a request of some 1,000
    tokens plus the rules so far. Without a file **a stand-in extracts**: sentences with words of
    duration ("from now on", "always", "never"); free of charge. Scenarios avoid such words on
    purpose, so it finds little there.

    Parameters
    ----------
    answers
        A file of recorded answers, one JSON line per user message: ``{"id": ..., "rules":
        ["..."]}``.
    model
        The billed model, by its name in the catalogue; "" for the session's.
    """

    does = (Act.RETRIEVE, Act.REQUEST)
    waits = "another to summarise"

    answers: str = ""
    model: str = ""
    phases = frozenset({Phase.BEFORE_TURN, Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType({"size": "it adds the rules to what is left; arXiv 2608.11242"})

    @property
    def outside(self) -> str:
        """The digest of the file of answers."""
        return digest_of_answers(self.answers)

    @cached_property
    def recorded(self) -> dict[str, list[str]]:
        """The recorded answers by message id."""
        return {answer.id: answer.rules for answer in read_answers(self.answers, _Answer)}

    def compact(self, view: View, host: Host) -> View:
        if host.phase is Phase.BEFORE_TURN:
            if self.answers:
                self._bill(host)
            return view
        summary = next((m for m in reversed(view.messages) if is_summary(m)), None)
        id = f"{RULES}-{summary.id}" if summary else ""
        if not id or any(message.id == id for message in view.messages):
            return view
        left = Messages(m for m in view.messages if m.origin != RULES)
        parts = [part for part in self._listed(host.log) if part.sources]
        if not parts:
            return view.with_messages(left)
        lines = [piece for n, part in enumerate(parts, 1) for piece in (frame(f"\n{n}. "), part)]
        listed = (frame(LEAD), *lines)
        block = Message(id, "user", listed, host.now, meta=True, origin=RULES)
        at = unanswered(left)
        return view.with_messages(left.branch(at, [block, *left[at:]]))

    def _listed(self, log: Iterable[Message]) -> list[Part]:
        """Return the rules, each once, in the order in which they were said."""
        parts: dict[str, Part] = {}
        for message in log:
            if message.starts_turn:
                found = self._taken(message) if self.answers else lasting(message)
                for text, source in found:
                    kind: Kind = "recovered" if source.part >= 0 else "memory"
                    parts.setdefault(text, Part("text", text, kind, (source,)))
        return list(parts.values())

    def _taken(self, message: Message) -> Iterator[tuple[str, Source]]:
        """Yield the recorded rules of a message; verbatim texts have their positions."""
        for text in self.recorded.get(message.id, ()):
            places = ((n, part.text.find(text)) for n, part in spoken(message))
            n, start = next(((n, at) for n, at in places if at >= 0), (-1, 0))
            whole = Source(message.id)
            yield text, Source(message.id, n, start, start + len(text)) if n >= 0 else whole

    def _bill(self, host: Host) -> None:
        said = [message for message in host.log if message.starts_turn]
        known = "\n".join(part.text for part in self._listed(said[:-1]))
        examples = Part("text", "", "opaque", (), name="examples", size=_EXAMPLES)
        asked = Message(RULES, "user", (plain(f"{known}\n{said[-1].text}"),), meta=True)
        prompt = View((plain(REQUEST), examples), Messages([asked]))
        answer = "\n".join(self.recorded.get(said[-1].id, ())) or "[]"
        host.send(prompt, host.count(answer), RULES, model=self.model)
