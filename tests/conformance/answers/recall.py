"""How much of what was found in memory is shown: OpenClaw 2026.2.17, and pull request 17345."""

from dataclasses import dataclass
from typing import Any

from compactlab.sim.core.message import Source
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.strategy import Pipeline, Strategy
from compactlab.strategies.openclaw.recovery import MemoryRecall, clamp
from tests.conformance.answers import Answer
from tests.conformance.busy import session
from tests.conformance.vectors import Case


def clamp_results(case: Case) -> Any:
    results = case.input["results"]
    snippets = [result.get("snippet") or "" for result in results]
    kept = clamp(snippets, case.input["budget"])
    # A result whose snippet stays as it is stays as it is.
    return [
        result if snippet == text else {**result, "snippet": text}
        for result, snippet, text in zip(results, snippets, kept, strict=False)
    ]


@dataclass(frozen=True)
class TakesNotes(Strategy):
    """Remembers the words of every prompt."""

    phases = frozenset({Phase.BEFORE_TURN})

    def compact(self, view: View, host: Host) -> View:
        said = host.log[-1]
        host.memory.append(Remembered("user", said.text, (Source(said.id),)))
        return view


def recalls() -> object:
    """Replay a session in which there is something to recall."""
    strategy = Pipeline((TakesNotes(), MemoryRecall()))
    return record(session(), strategy, Options("claude-sonnet-4-5"))


ANSWERS = [Answer("clampResultsByInjectedChars", clamp_results, (clamp,), recalls)]
