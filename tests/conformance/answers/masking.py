"""Masking of old observations: SWE-agent and OpenHands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compactlab.sim.core.message import Message
from compactlab.sim.core.view import Messages
from compactlab.strategies.openhands import ObservationMasking, mask_last_n, mask_window
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.peers import Original, changed, entries, events, unentries, unevents
from tests.conformance.vectors import Case


def masked(originals: list[Original], params: dict[str, Any]) -> tuple[Messages, Messages]:
    """A history, and what the mask makes of it."""

    @dataclass(frozen=True)
    class Tagged(ObservationMasking):
        """Goes by the tags of the original's messages."""

        def tags(self, message: Message) -> set[str]:
            return set(originals[int(message.id)].get("tags") or ())

    history = entries(originals)
    rule = Tagged(**params, keep_tools=("keep_output",), remove_tools=("remove_output",))
    return history, mask_last_n(history, rule)


def last_n_observations(case: Case) -> Any:
    params = case.input["params"]
    try:
        ObservationMasking(params["n"], params.get("polling", 1))
    except ValueError:
        return {"error": "ValidationError"}
    if "history_per_step" in case.input:
        return {"elided_indices_per_step": [elided(steps, params) for steps in range(1, 13)]}
    history, kept = masked(case.input["history"], params)
    return {"history": unentries(kept, history, case.input["history"])}


def elided(steps: int, params: dict[str, Any]) -> list[int]:
    history, kept = masked(list(loop(steps)), params)
    given = {message.id: message for message in history}
    return [int(message.id) for message in kept if changed(message, given)]


def loop(steps: int) -> Iterator[Original]:
    """The history that the vectors describe in words."""
    yield {"role": "system", "content": "sys", "message_type": "system_prompt"}
    yield {"role": "user", "content": "Issue", "message_type": "observation"}
    for step in range(steps):
        yield {"role": "assistant", "content": f"act {step}", "message_type": "action"}
        yield {"role": "tool", "content": f"obs {step}", "message_type": "observation"}


def observation_masking(case: Case) -> Any:
    history = events(case.input["events"])
    kept = mask_window(history, case.input["params"].get("attention_window", 5))
    return {"rounds": [{"view": unevents(kept, history)}]}


ANSWERS = [
    Answer(
        "sweagent.agent.history_processors.LastNObservations",
        last_n_observations,
        (mask_last_n,),
        under("observation_masking(n=2, polling=3)"),
    ),
    Answer(
        "openhands.memory.condenser.impl.ObservationMaskingCondenser.condense",
        observation_masking,
        (mask_window,),
        under("observation_masking(system='openhands')"),
    ),
]
