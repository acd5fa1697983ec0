"""A session with facts, and the command over it with a reader of one's choice."""

from collections.abc import Callable
from pathlib import Path

import pytest

from compactlab.scenarios.catalogue import find_scenario
from compactlab.sim.core.conversation import Conversation
from tests.cli.conftest import Outcome, called

SESSION = "coding_agent(turns=8, tokens=16000)"
Probe = Callable[..., Outcome]


@pytest.fixture(scope="module", autouse=True)
def _scenarios(made_once: None) -> None:
    """Each is made once."""


def session() -> Conversation:
    return find_scenario(SESSION).conversation(seed=0)


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Probe:
    """Probe two strategies with answers in a folder of their own; nothing is asked unless said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMPACTLAB_API_KEY", "a key of this test")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def call(*more: object) -> Outcome:
        return called(
            "probe", SESSION, "--strategies", "keep_all", "--strategies", "sliding_window(keep=4)",
            "--window", 4_000, "--reader", "gpt-5-mini", "--answers", "answers",
            "--questions", 3, *more,
        )  # fmt: skip

    return call
