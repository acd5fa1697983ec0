"""A step of the generator looks at facts that are due, and words of a session are found once."""

from __future__ import annotations

from compactlab.scenarios.engine.generator import _Untold
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Call, Message, verbatim
from compactlab.sim.facts import needs


class Planned:
    """A planned fact that counts how often its position is looked at."""

    looks = 0

    def __init__(self, at: float) -> None:
        self.at = at

    @property
    def place(self) -> float:
        Planned.looks += 1
        return self.at


def test_facts_that_are_far_away_are_not_looked_at() -> None:
    facts = [Planned(at) for at in (30.0, 10.0, *range(1_000, 2_000), 20.0)]
    untold = _Untold(facts)  # type: ignore[arg-type]
    Planned.looks = 0
    assert [fact.place for fact in untold.due(25)] == [10, 20]
    for _ in range(100):
        untold.due(25)
    assert Planned.looks < 500
    untold.remove(facts[1])  # type: ignore[arg-type]
    assert [fact.place for fact in untold.due(35)] == [30, 20]  # in their first order
    assert facts[1] not in untold
    assert len([*untold]) == len(facts) - 1


def test_the_words_of_a_long_session_are_found_once(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    events = [
        Message(f"m{n}", "assistant", (verbatim(f"m{n}", "text", f"src/a{n}.py"),), call=Call())
        for n in range(20_500)
    ]
    known = needs.ForwardNeeds(Conversation("c", "native", tuple(events)))
    calls = []
    monkeypatch.setattr(needs, "words_among", lambda *asked: calls.append(asked) or ())
    for event in events:
        known.held_in(event)
    assert not calls
