"""Scenarios that consist of data: each is a domain, written by the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story


@dataclass(frozen=True)
class HalfThoughts(Story):
    """A user thinks aloud about a story, one line at a time, and breaks off.

    A recency buffer should help here. A thought (an open loop) is left unfinished and resumed some
    messages later, "as I was saying". The assistant offers three options, and the user chooses "the
    second one" after other messages. So three quarters of all needs are at distances below 1,500
    tokens: the fact is the labelled antecedent. Tools return less than a tenth of the tokens.
    Sizes, waits and shares are guesses (``profiles/aloud.toml``).

    Examples
    --------
    >>> made = HalfThoughts(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('half_thoughts-1', 154, 8)
    """

    profile: str = "aloud"
    domain = DomainFile("half_thoughts")
    results: ClassVar[tuple[float, float]] = (0.02, 0.30)


@dataclass(frozen=True)
class PersonalAssistant(Story):
    """A user and an assistant with calendar, mail and notes, over several days.

    Every second turn follows a gap of more than five minutes, every fourth one a gap of more than
    an hour, so caches expire; 100,000 tokens span about six days. Facts are about the user, goals,
    and reminders: open loops that are closed, and mostly needed, days later. Sizes, waits and
    shares are guesses (``profiles/days.toml``).

    Examples
    --------
    >>> made = PersonalAssistant(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('personal_assistant-1', 20, 7)
    """

    profile: str = "days"
    domain = DomainFile("personal_assistant")


@dataclass(frozen=True)
class ResearchAssistant(Story):
    """An agent reads up on a subject for a user: search, open long pages, tables, take notes.

    Most tokens are tool results, with pages of thousands of tokens, and a third of the facts is
    only in them. Sizes, waits and shares are guesses (``profiles/research.toml``).

    Examples
    --------
    >>> made = ResearchAssistant(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('research_assistant-1', 8, 7)
    """

    profile: str = "research"
    domain = DomainFile("research_assistant")


@dataclass(frozen=True)
class RevisedDecisions(Story):
    """A user plans an exhibition and revises decisions: a stress test for stale facts.

    42 % of the facts replace an older one, in chains of two to four revisions (demands and
    prohibitions are revised once, to stay balanced). 15 % are withdrawn ("strike that"), 12 %
    follow from one that is replaced later, and half of the others are near-duplicates. Revisions
    come late, so six tenths of the revised facts are stated in the first tenth. Sizes, waits and
    shares are guesses (``profiles/chat.toml``).

    Examples
    --------
    >>> made = RevisedDecisions(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, sum(bool(fact.supersedes) for fact in made.facts)
    ('revised_decisions-1', 13, 3)
    """

    domain = DomainFile("revised_decisions")


@dataclass(frozen=True)
class SupportChat(Story):
    """A customer plans rooms and tracks orders with a furniture shop's agent, in short messages.

    Tools are few and small: a tenth of the tokens, not the 40 to 85 % of working agents. Many facts
    are preferences, persons and procedures, and a sixth are open loops that the customer closes
    later. Sizes, waits and shares are guesses (``profiles/chat.toml``).

    Examples
    --------
    >>> made = SupportChat(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('support_chat-1', 61, 7)
    """

    domain = DomainFile("support_chat")
    results: ClassVar[tuple[float, float]] = (0.03, 0.35)
