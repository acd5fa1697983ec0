"""What a conversation's facts and messages are called where somebody reads of them."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.conversation import Conversation, Fact
from compactlab.sim.disclosure import Disclosure
from compactlab.sim.facts.ledger import ledger_of

_HIDDEN = "[redacted]"


@dataclass(frozen=True)
class Teller:
    """Tells of one conversation.

    Parameters
    ----------
    conversation
        The conversation.
    disclosure
        Knows its secrets, where they are to be hidden; None if nothing is.
    """

    conversation: Conversation
    disclosure: Disclosure | None = None

    def fact(self, id: str) -> str:
        """A fact by its id in a table: what it says, or the id where nobody knows that."""
        for fact in ledger_of(self.conversation).facts:
            if self._shown(fact.id) == id:
                return self._shown(self._said(fact))
        return id

    def message(self, id: str) -> str:
        """A message by its id in a table: its number, from 1 on, and the id."""
        ids = [self._shown(message.id) for message in self.conversation.messages]
        return f"{ids.index(id) + 1:,} ({id})" if id in ids else id

    def _said(self, fact: Fact) -> str:
        key, value = map(self._open, (fact.key, fact.value))
        if key and value:
            return f"{key!r}: {value!r}"
        return repr(key or value or fact.id)

    def _shown(self, text: str) -> str:
        return self.disclosure.text(text) if self.disclosure else text

    def _open(self, text: str) -> str:
        """A text, or a word in its place, if what stands around it in a message gives it away.

        What is given to a name such as ``password`` looks like nothing by itself.
        """
        if self.disclosure is None or not text:
            return text
        every = (part.text for message in self.conversation.messages for part in message.parts)
        said = (each for each in every if text in each)
        hidden = any(each.count(text) > self._shown(each).count(text) for each in said)
        return _HIDDEN if hidden else text
