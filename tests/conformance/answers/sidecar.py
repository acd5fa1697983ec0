"""The summary sidecar: OpenClaw pull request 17345, its first version."""

from collections.abc import Mapping
from typing import Any

from compactlab.strategies.openclaw.sidecar import Item, Sidecar, block, dump, load, update
from tests.conformance.answers import Answer
from tests.conformance.answers.recovery import readable
from tests.conformance.busy import under
from tests.conformance.vectors import Case


def _told(state: Sidecar) -> dict[str, Any]:
    return {
        "version": state.version,
        "lastProcessedMessageCount": state.processed,
        "items": [item.text for item in state.items],
        "updatedAt": state.updated,
    }


def _state(told: Mapping[str, Any]) -> Sidecar:
    return Sidecar(
        told["lastProcessedMessageCount"],
        tuple(map(Item, told["items"])),
        told["updatedAt"],
        told["version"],
    )


def update_state(case: Case) -> Any:
    state = _state(case.input["state"])
    history = readable(case.named("conversations"))
    now, most = case.shared["now_ms"], case.input["maxItems"]
    after = update(state, history, now, max_items=most)
    return {"same_state": after is state, "state": _told(after)}


def load_and_persist(case: Case) -> Any:
    now = case.shared["now_ms"]
    state = load(case.input["fileContent"], now)
    return {"loaded": _told(state), "persisted": dump(state, now)}


def build_prompt(case: Case) -> Any:
    items = [Item(text) for text in case.input["items"]]
    shown = block(items, case.input["maxChars"], instruction=_instruction(case))
    return shown and shown.text


def _instruction(case: Case) -> str:
    """The second line of the header: the original's wording, which is only in the vectors."""
    lines = (answer.split("\n") for answer in case.answers if isinstance(answer, str))
    return next(text[1] for text in lines if len(text) > 2)


RUNS = under("summary_sidecar(hardened=False)")
ANSWERS = [
    Answer("updateSessionSummaryState", update_state, (update,), RUNS),
    Answer(
        "loadSessionSummaryState then persistSessionSummaryState",
        load_and_persist,
        (load, dump),
        RUNS,
    ),
    Answer("buildSessionSummaryPrompt", build_prompt, (block,), RUNS),
]
