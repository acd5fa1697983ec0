"""Turn-count slicing."""

from typing import Any

from compactlab.strategies.mechanisms.cut import last_turns
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.numbers import at_least
from tests.conformance.pi import messages, places
from tests.conformance.vectors import Case


def limit_history_turns(case: Case) -> Any:
    history = messages(case.input["messages"])
    kept = history[last_turns(history, at_least(0, case.input.get("limit"))) :]
    return {"same_array": len(kept) == len(history), "messages": places(kept, history)}


ANSWERS = [
    Answer(
        "limitHistoryTurns",
        limit_history_turns,
        (last_turns,),
        under("turn_slice(history_limit=2)"),
    )
]
