"""A synthetic chat with the support of a furnisher: orders, deliveries, complaints, plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story


@dataclass(frozen=True)
class SupportChat(Story):
    """A customer plans rooms and chases orders with a furnisher's agent, in short messages.

    People talk, and tools are few and small: they return about a tenth of the tokens, not the 40
    to 85 % of agents that work. Much is preferences, who is who and how things are done, and a
    sixth of the facts are open loops that the customer closes later. Sizes, waits and shares are
    guesses (see ``profiles/chat.toml``), the texts are made up. The last turns, for what is stated
    late, are twenty, as turns are short.

    Examples
    --------
    >>> made = SupportChat(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('support_chat-1', 61, 7)
    """

    domain = DomainFile("support_chat")
    results: ClassVar[tuple[float, float]] = (0.03, 0.35)
