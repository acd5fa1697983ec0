"""What the programs of Codex 0.171.0 and OpenCode 1.18.33 say of models."""

from dataclasses import replace
from typing import Any

from compactlab.sim.models.model import find_model
from compactlab.sim.replay.host import Host
from compactlab.strategies.codex import codex_window, comp_hash
from compactlab.strategies.opencode import tail_budget, usable
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.vectors import Case


def of_codex(case: Case) -> Any:
    model = find_model(case.input["model"])
    return {"window": codex_window(model), "hash": comp_hash(model)}


def of_opencode(case: Case) -> Any:
    """A limit of the prompt alone is the rule of OpenAI's models here."""
    window, output = case.input["context"], case.input["output"]
    provider = "openai" if case.input["input"] else "anthropic"
    model = replace(find_model("gpt-5"), window=window, max_output=output, provider=provider)
    tokens = usable(Host(model))
    return {"usable": tokens, "tail": tail_budget(tokens)}


ANSWERS = [
    Answer(
        "Codex's window and comp_hash of a model",
        of_codex,
        (codex_window, comp_hash),
        under("codex"),
    ),
    Answer(
        "OpenCode's usable window and tail", of_opencode, (usable, tail_budget), under("opencode")
    ),
]
