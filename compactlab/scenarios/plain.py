"""Scenarios that are a domain, written by the engine, and at most one behaviour of their own."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, DomainFile
from compactlab.scenarios.engine.profile import Profile
from compactlab.scenarios.engine.story import MOST, Story
from compactlab.scenarios.engine.world import Draft, Open, ToolCall, World
from compactlab.sim.core.conversation import FactType


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


_STARTS = "delegate"  # the tool that starts an agent and returns its name


class _Lead(World):
    """The world of an agent whose tool starts other agents."""

    def shows(self, call: ToolCall, kind: FactType) -> bool:
        """Only the tool that starts an agent states its handle; see :meth:`World.shows`."""
        return super().shows(call, kind) and (call.name == _STARTS) == (kind == "handle")


@dataclass(frozen=True)
class Delegation(Story):
    """A user has an agent run a garden's season: it works, delegates, asks and finishes tasks.

    It shows the four failures of docs/concepts.md. The user requests tasks (open loops); four in
    five end in a fact of type done, with which the agent reports the result. The tool that starts
    an agent or a job returns its handle, which the agent uses to ask for it until the user reports
    its return. The agent asks questions (proposals), which the user closes some turns later, with
    or without an answer. An instruction file at the start states constraints, prohibitions and
    procedures, some of which the user replaces later. Sizes, waits and shares are guesses
    (``profiles/research.toml``).

    Examples
    --------
    >>> made = Delegation(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('delegation-1', 8, 5)
    """

    profile: str = "research"
    domain = DomainFile("delegation")
    world: ClassVar[type[World]] = _Lead


@dataclass(frozen=True)
class HighFloor(Story):
    """An agent with hundreds of connected tools and long instructions does small errands.

    Tool definitions and instructions are sent with every call, and no compaction can shorten them.
    If they are above or just below a strategy's trigger, each call triggers a compaction, which
    saves almost nothing: the complaint of anthropics/claude-code issue 24179 (2026-02: 211
    compactions without progress) and openai/codex issue 35032 (2026-07: a thread 80 % full after
    each compaction). At a window of 40,000 tokens, the default exceeds the trigger of most agents.
    Sizes, waits and shares are guesses (``profiles/chat.toml``).

    Parameters
    ----------
    floor
        Tokens (o200k) of system prompt, instructions and tool definitions together.

    Examples
    --------
    >>> made = HighFloor(tokens=20_000).conversation(seed=1)
    >>> {part.name: part.size for part in made.system}
    {'system prompt': 1200, 'instructions': 5700, 'tools': 17100}
    """

    floor: int = 24_000
    domain = DomainFile("high_floor")
    results: ClassVar[tuple[float, float]] = (0.2, 0.75)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.floor <= MOST["tokens"]:
            raise ValueError(f"floor must be from 0 to {MOST['tokens']:,} tokens")

    def system(self, profile: Profile) -> Mapping[str, int]:
        """The system prompt: a quarter of the floor is instructions, the rest is mostly tools."""
        more = max(0, self.floor - sum(profile.system.values()))
        return {**profile.system, "instructions": more // 4, "tools": more - more // 4}


# Consecutive turns on branch 0 and on another branch; and the probability that an old branch is
# resumed instead of a new one. All guesses.
_STRAIGHT, _ASIDE, _TAKEN_UP = (2, 4), (1, 2), 0.4


class _Variants(World):
    """The first request on a new branch is a variant."""

    def __init__(self, domain: Domain, draft: Draft, open: Open) -> None:
        super().__init__(domain, draft, open)
        self._known = {0}

    def request(self, left: float) -> str:
        asked = super().request(left)
        if self.draft.branch in self._known:
            return asked
        self._known.add(self.draft.branch)
        return f"{self.writer.one(self.domain.texts['forks'])} {asked}"


@dataclass(frozen=True)
class Rewinds(Story):
    """A user works on a timetable with an agent, tries variants, and goes back.

    A third of the turns is on branches that are abandoned. Facts stated there are valid and needed
    only there. Four in ten of them replace a fact of the trunk, which is valid and needed again
    after the rewind. In four of ten cases the user resumes an old branch. ``tokens`` counts all
    messages: a prompt has at most about two thirds of them. Sizes, waits and shares are guesses
    (``profiles/rewinds.toml``).

    Examples
    --------
    >>> made = Rewinds(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len(made.events) - len(made.messages)
    ('rewinds-1', 8, 3)
    """

    profile: str = "rewinds"
    domain = DomainFile("rewinds")
    world: ClassVar[type[World]] = _Variants

    def route(self, rng: random.Random, turns: int) -> Sequence[int]:
        """Return the branch of each turn; see :meth:`Story.route`."""
        route = [0] * rng.randint(1, 2)
        asides: list[int] = []
        while len(route) < turns:
            # The first branch is resumed early, so that short sessions contain a resumed branch,
            # too.
            again = len(asides) == 1 or (len(asides) > 1 and rng.random() < _TAKEN_UP)
            asides.append(rng.choice(asides) if again else max(asides, default=0) + 1)
            route += [asides[-1]] * rng.randint(*_ASIDE)
            route += [0] * (rng.randint(*_STRAIGHT) if len(asides) > 1 else 1)
        return [*route[: turns - 1], 0]


# The longest result in characters: above OpenClaw's guard (cuts at 120,000), its preview (8,000)
# and Gemini CLI's threshold (40,000); see offload_outputs.py and mechanisms/history_split.py for
# sources. The share of results as long as the turn allows, and the characters per fact, are
# guesses.
LONGEST, _UNCUT, _APART = 150_000, 0.5, 9_000
_LINES = 2_000  # room for the lines of facts


class _Flood(World):
    """Results may be as long as the turn allows, and then state several facts."""

    def result(self, name: str, left: float) -> str:
        uncut = self.domain.tools[name].shows and self.rng.random() < _UNCUT
        text = self._long(name, left) if uncut else super().result(name, left)
        most = LONGEST - _LINES
        return text if len(text) <= most else text[: text.rindex("\n", 0, most)]

    def _long(self, name: str, left: float) -> str:
        length = min(self.draft.characters(left, name), LONGEST)
        return self.writer.lines(self.domain.tools[name].lines, length)

    def room(self, call: ToolCall) -> tuple[int, float]:
        """A long result may state all facts that are due by its end; see :meth:`World.room`."""
        return 1 + len(call.result) // _APART, len(call.result) / 4


@dataclass(frozen=True)
class ToolFlood(Story):
    """An agent searches logs, dumps and query results of enormous length for an on-call engineer.

    Nearly all tokens are tool results, and four in ten facts are only in them, with the result as
    their handle. Half of the results are as long as the turn allows, up to 150,000 characters (some
    38,000 tokens). There are few and very uneven turns.

    100,000 tokens have at least one result that Gemini CLI may cut (over 40,000 characters), and
    half of such sessions have one over the 120,000 of OpenClaw's guard; 20,000 tokens only have
    some above OpenClaw's preview of 8,000. Sizes, waits and shares are guesses
    (``profiles/flood.toml``).

    Examples
    --------
    >>> made = ToolFlood().conversation(seed=1)
    >>> made.id, made.turns
    ('tool_flood-1', 8)
    """

    profile: str = "flood"
    domain = DomainFile("tool_flood")
    world: ClassVar[type[World]] = _Flood
    results: ClassVar[tuple[float, float]] = (0.7, 0.99)
