"""Strategies that are alternatives: who is shown to cost more is not looked at finely."""

from dataclasses import replace

import numpy as np

from compactlab.reports.tune.tuned import Tuned
from compactlab.reports.tune.tuner import more_expensive
from tests.reports.tune.test_report import tuned


def dropped(times: dict[str, float], sessions: int = 12) -> dict[str, bool]:
    """Whether each is dropped, by how many times as much as the first it costs."""
    found: dict[str, Tuned] = {}
    for name, factor in times.items():
        one = tuned(sessions)
        noise = 1 + 0.01 * np.cos(np.arange(sessions) * factor)
        costs = replace(one.choice, costs=one.choice.costs * factor * noise)
        found[name] = replace(one, choice=costs)
    left = more_expensive(found)
    return {name: name in left for name in times}


def test_at_most_the_dearer_half_is_dropped():
    assert dropped({"codex": 1.0, "pi": 2.0, "opencode": 3.0, "claude_code": 4.0}) == {
        "codex": False, "pi": False, "opencode": True, "claude_code": True,
    }  # fmt: skip


def test_who_is_not_shown_to_be_dearer_stays():
    assert not any(dropped({"codex": 1.0, "pi": 1.0}).values())


def test_few_sessions_show_nothing():
    assert not any(dropped({"codex": 1.0, "pi": 2.0}, sessions=6).values())
