"""Scenarios that consist of data: each is a domain, written by the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story


@dataclass(frozen=True)
class HalfThoughts(Story):
    """A user thinks aloud about a story, one line at a time, and breaks off.

    This is the pattern that a recency buffer is for. A thought (an open loop) is left unfinished
    and resumed some messages later, "as I was saying". The assistant offers three options, and the
    user chooses "the second one" after other messages. So three quarters of all needs come within
    1,500 tokens, some turns later, and needs of thoughts and options come when the user refers back
    to them: the fact is the labelled antecedent. The other needs are distributed as in other
    scenarios.

    Most of it is talk, and the few tools return less than a tenth of the tokens, not the 40 to 85 %
    of working agents. Sizes, waits and shares are guesses (see ``profiles/aloud.toml``), the texts
    are synthetic. Facts stated late are stated in the last forty turns, because turns are short.

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

    Before every second turn there is an idle gap that outlives a cache of five minutes, and before
    every fourth one a gap that also outlives a cache of an hour: errands, afternoons, nights.
    100,000 tokens span about six days. Facts are about the user (preferences, entities), goals, and
    reminders: open loops that are closed, and mostly needed, days later. Sizes, waits and shares
    are guesses (see ``profiles/days.toml``), the texts are synthetic. Facts stated late are stated
    in the last ten turns.

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

    Most tokens are tool results, including pages of thousands of tokens, and a third of the facts
    is only in them. Sizes, waits and shares are guesses (see ``profiles/research.toml``), the texts
    are synthetic. There are 0.36 facts for a thousand tokens, plus decoys.

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

    The shares of facts differ from the usual ones on purpose. 42 % of the facts replace an older
    one, in chains of two to four revisions (demands and prohibitions are revised once, so that they
    stay balanced). 15 % are withdrawn ("strike that"), including ends of chains, and 12 % follow
    from one that is replaced later. Half of the others are near-duplicates. Because revisions come
    late, six tenths of the revised facts are stated in the first tenth of the tokens. Facts are
    valid for a shorter time than in other scenarios, so that their needs come sooner.

    Sizes and waits are guesses (see ``profiles/chat.toml``), the texts are synthetic.

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

    Most of it is talk, and tools are few and small: they return about a tenth of the tokens, not
    the 40 to 85 % of working agents. Many facts are preferences, persons and procedures, and a
    sixth of the facts are open loops that the customer closes later. Sizes, waits and shares are
    guesses (see ``profiles/chat.toml``), the texts are synthetic. Facts stated late are stated in
    the last twenty turns, because turns are short.

    Examples
    --------
    >>> made = SupportChat(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('support_chat-1', 61, 7)
    """

    domain = DomainFile("support_chat")
    results: ClassVar[tuple[float, float]] = (0.03, 0.35)
