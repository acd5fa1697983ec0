"""What of the facts is in memory when a compaction has followed a flush."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.notes import Remembered
from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.metrics.flush import TOPICS
from compactlab.sim.replay.summarize import Summarizer, SummaryRequest, TurnRequest, Written

KINDS: list[Any] = ["decision", "preference", "entity", "artifact", "open_loop", "goal"]
FACTS = {
    kind: Fact(kind, kind, f"{kind} thing", f"{kind}-7x7", (Source(f"u{n}", 0),))
    for n, kind in enumerate(KINDS, 1)
}


@dataclass(frozen=True)
class Diary(Summarizer):
    """Writes down what it is to write down, of messages of these ids."""

    kinds: tuple[str, ...] = ()

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        return ()

    def write(
        self, messages: Sequence[Message], request: TurnRequest, count: Callable[[str], int]
    ) -> Written:
        items = tuple(
            Remembered("decision", f"{fact.key}: {fact.value}", fact.origin)
            for kind, fact in FACTS.items()
            if kind in self.kinds
        )
        return Written("", items)


@pytest.fixture
def script(story: Any) -> Conversation:
    """Six facts of six kinds, one a turn, and a last turn."""
    for fact in FACTS.values():
        story.user(f"The {fact.key} is {fact.value}.").answer("ok")
    script: Conversation = story.user("Go").answer("ok").script(facts=tuple(FACTS.values()))
    return script


def figures(
    kit: Any,
    script: Conversation,
    *,
    flush: int,
    cut: int,
    purpose: str = "flush",
    kinds: tuple[str, ...] = (),
) -> list[float | None]:
    """The four figures where there is a flush before an answer, and a compaction before one."""

    def act(view: Any, host: Any) -> Any:
        answered = sum(m.call is not None for m in host.log)
        if answered == flush - 1:
            view = host.run_turn(view, TurnRequest("Write it down.", purpose=purpose))
        return view.with_messages(view.messages[-1:]) if answered == cut - 1 else view

    trace = kit.replayed(script, kit.act(act), summarizer=Diary(kinds))
    reading = RunData(trace, script)
    return [METRICS[f"flush_{topic}"].compute(reading) for topic in TOPICS]


# In the order of decisions, the user, progress and action items.
@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"flush": 7, "cut": 7, "kinds": ("decision", "entity", "goal")}, [1, 1 / 2, 0, 1 / 2]),
        # What has not been said by then is not asked for.
        ({"flush": 2, "cut": 3, "kinds": ("decision",)}, [1, 0, None, None]),
        # A flush after the compaction is too late; without one there is no figure.
        ({"flush": 7, "cut": 3, "kinds": ("decision",)}, [None] * 4),
        ({"flush": 7, "cut": 7, "kinds": ("decision",), "purpose": "turn"}, [None] * 4),
    ],
)
def test_what_memory_holds_when_a_compaction_followed_a_flush(kit, script, how, expected):
    assert figures(kit, script, **how) == expected
