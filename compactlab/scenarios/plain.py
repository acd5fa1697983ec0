"""Scenarios that are data alone: each is its domain, told by the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story


@dataclass(frozen=True)
class HalfThoughts(Story):
    """A person thinks aloud about a story they write, a line at a time, and breaks off.

    The texture that a recency buffer is for: a thought (an open loop) is left half-finished and
    taken up again some messages later, "as I was saying"; the assistant offers three options, and
    "the second one" is chosen when other things have been said. So three quarters of all needs come
    within 1,500 tokens, some turns later, and those of thoughts and options come when the
    person refers back to them: the fact is the antecedent, labelled. The others are spread as
    elsewhere.

    People talk, and the few tools return less than a tenth of the tokens, not the 40 to 85 % of
    agents that work. Sizes, waits and shares are guesses (see ``profiles/aloud.toml``), the texts
    are made up. The last turns, for what is stated late, are forty, as turns are short.

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
    """A person and an assistant with calendar, mail and notes, over days.

    Before every second turn there is an idle gap that outlives a cache of five minutes, and before
    every fourth one that outlives a cache of an hour too: errands, afternoons, nights. In 100,000
    tokens pass about six days. Facts are about the person (preferences, entities), goals, and
    reminders: open loops that are closed, and mostly needed, days later. Sizes, waits and shares
    are guesses (see ``profiles/days.toml``), the texts are made up. The last turns, for what is
    stated late, are ten.

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
    """A person has an agent read up on a subject: search, open long pages, tables, take notes.

    Most tokens are results of tools, pages of thousands of tokens among them, and a third of the
    facts stands only there. Sizes, waits and shares are guesses (see ``profiles/research.toml``),
    the texts are made up. Facts come at 0.36 for a thousand tokens, and decoys on top.

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
    """A person plans an exhibition and changes their mind: the stress for what is stale.

    It departs from the usual shares of facts on purpose: 42 % of them replace an older one, in
    chains of two to four revisions (demands and prohibitions are revised once, so that they stay
    even), 15 % are taken back ("strike that"), ends of chains among them, and 12 % follow from one
    that is replaced later. Half of the others are near-duplicates. As revisions come late, six
    tenths of what they revise is stated in the first tenth of the tokens. Facts hold for a
    shorter time than elsewhere, so that their needs come sooner.

    Sizes and waits are guesses (see ``profiles/chat.toml``), the texts are made up.

    Examples
    --------
    >>> made = RevisedDecisions(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, sum(bool(fact.supersedes) for fact in made.facts)
    ('revised_decisions-1', 13, 3)
    """

    domain = DomainFile("revised_decisions")


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
