"""OpenClaw 2026.9.6: estimates, caps, and the check within a turn."""

from collections.abc import Callable, Mapping
from typing import Any

from compactlab.sim.core.message import plain
from compactlab.strategies.openclaw.caps import cap, cut_result, cut_text, reduced
from compactlab.strategies.openclaw.flush import is_silent
from compactlab.strategies.openclaw.pressure import (
    chars,
    effective_reserve,
    pressure,
    prompt_pressure,
    route,
    tokens,
)
from tests.conformance.answers import Answer, Excluded
from tests.conformance.busy import under
from tests.conformance.pi import message, messages
from tests.conformance.vectors import Case


def sizes(case: Case) -> Any:
    return _ASKS[case.input["fn"]](case)


def _text(case: Case) -> str:
    cut = cut_text(case.input["text"], case.input["most"], least=case.input["least"])
    text: str = case.input["text"] if cut is None else cut.text
    return text


def _result(case: Case) -> Any:
    original: Mapping[str, Any] = case.input["message"]
    told = cut_result(message(original), case.input["most"], case.input["least"])
    texts = iter(part.text for part in told.parts if part.type != "image")
    return [{**b, "text": next(texts)} if b["type"] == "text" else b for b in original["content"]]


def _reducible(case: Case) -> int:
    return reduced(messages(case.named("conversations")), case.input["window"]).chars


_ASKS: dict[str, Callable[[Case], Any]] = {
    "chars": lambda case: chars(case.input["text"], case.input["weight"]),
    "tokens": lambda case: tokens(message(case.input["message"])),
    "pressure": lambda case: pressure(message(case.input["message"])),
    "cap": lambda case: cap(case.input["window"]),
    "reserve": lambda case: effective_reserve(case.input["reserve"], case.input["window"]),
    "text": _text,
    "result": _result,
    "reducible": _reducible,
    "silent": lambda case: is_silent(case.input["text"], "2026.9.6"),
}


def routed(case: Case) -> Any:
    history, window = messages(case.named("conversations")), case.input["window"]
    estimated = prompt_pressure(history, [plain(case.input["system"])])
    found = route(estimated, window, case.input["reserve"], reduced(history, window).chars)
    return found._asdict()


TIGHT = under("openclaw(mid_turn_precheck=True, keep_recent_tokens=4000)", 20_000)

ANSWERS = [
    Answer(
        "OpenClaw's estimates and caps of texts, messages and results",
        sizes,
        (chars, tokens, pressure, cap, effective_reserve, cut_text, cut_result, reduced, is_silent),
        TIGHT,
    ),
    Answer("shouldPreemptivelyCompactBeforePrompt", routed, (prompt_pressure, route), TIGHT),
]

EXCLUDED: list[Excluded] = []
