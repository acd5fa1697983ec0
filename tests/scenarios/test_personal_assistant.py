"""A personal assistant over days: idle gaps, nights, and reminders that are due days later."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from compactlab.scenarios.engine.profile import find_profile
from compactlab.sim.core.conversation import Conversation
from tests.scenarios.made import all_made, made, of_all_seeds, stated

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def gaps(conversation: Conversation) -> list[float]:
    """Seconds before the user speaks again."""
    return [b.time - a.time for a, b in pairwise(conversation.messages) if b.starts_turn]


@of_all_seeds
def test_gaps_outlive_caches(seed: int) -> None:
    found = gaps(made("personal_assistant", 100_000, seed))
    assert 0.35 < sum(gap > 5 * MINUTE for gap in found) / len(found) < 0.65
    assert 0.15 < sum(gap > HOUR for gap in found) / len(found) < 0.45


@of_all_seeds
def test_days_go_by_and_nobody_writes_at_night(seed: int) -> None:
    conversation = made("personal_assistant", 100_000, seed)
    first, last = conversation.messages[0], conversation.messages[-1]
    assert 3 * DAY < last.time - first.time < 12 * DAY
    night = find_profile("days").breaks.night
    assert night == 8 * HOUR
    assert all(m.time % DAY >= night for m in conversation.messages if m.starts_turn)
    nights = sum(a.time // DAY < b.time // DAY for a, b in pairwise(conversation.messages))
    assert nights >= 3


def test_reminders_are_due_days_later() -> None:
    open_for: list[float] = []
    needed_after: list[float] = []
    for conversation in all_made("personal_assistant", 100_000):
        when = {message.id: message.time for message in conversation.messages}
        loops = {f.id: f for f in stated(conversation) if f.kind == "open_loop"}
        open_for += [when[f.scope] - when[f.origin[0].id] for f in loops.values()]
        for need in conversation.needs:
            if need.fact in loops:
                needed_after.append(when[need.at] - when[loops[need.fact].origin[0].id])
    assert median(open_for) > DAY
    assert max(open_for) > 3 * DAY
    assert sum(after > DAY for after in needed_after) > 0.2 * len(needed_after)


def test_it_knows_the_person() -> None:
    kinds = [fact.kind for c in all_made("personal_assistant", 100_000) for fact in stated(c)]
    personal = ("preference", "entity", "goal", "open_loop")
    assert sum(map(kinds.count, personal)) > 0.4 * len(kinds)
