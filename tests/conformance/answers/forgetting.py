"""A pinned head and the newest events: OpenHands."""

from typing import Any

from compactlab.sim.core.view import Messages
from compactlab.strategies.openhands import forgotten, recent
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.peers import event, events, unevents
from tests.conformance.vectors import Case


def recent_events(case: Case) -> Any:
    history, params = events(case.input["events"]), case.input["params"]
    kept = recent(history, params.get("keep_first", 1), params.get("max_events", 10))
    return {"rounds": [{"view": unevents(kept, history)}]}


def amortized_forgetting(case: Case) -> Any:
    """Rounds of forgetting; the event that says what is forgotten has an id, too."""
    view, params = list(events(case.input["events"])), case.input["params"]
    created = len(view)
    rounds = []
    for _ in range(case.input.get("rounds", 1)):
        gone = forgotten(len(view), params.get("keep_first", 0), params.get("max_size", 100))
        if gone:
            first, last = int(view[gone.start].id), int(view[gone.stop - 1].id)
            del view[gone.start : gone.stop]
            after = unevents(view, Messages(view))
            none = {"summary": None, "summary_offset": None}
            rounds.append({"forgotten": [*range(first, last + 1)], "view_after": after} | none)
            created += 1
        else:
            rounds.append({"view": unevents(view, Messages(view))})
        for letter in case.input.get("grow", ""):
            view.append(event(letter, created))
            created += 1
    return {"rounds": rounds}


ANSWERS = [
    Answer(
        "openhands.memory.condenser.impl.RecentEventsCondenser.condense",
        recent_events,
        (recent,),
        under("recent_events(max_events=20)"),
    ),
    Answer(
        "openhands.memory.condenser.impl.AmortizedForgettingCondenser.condense",
        amortized_forgetting,
        (forgotten,),
        under("amortized_forgetting(max_size=20)"),
    ),
]
