"""A synthetic week with a personal assistant: calendar, mail, notes, reminders, nights between."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story


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
