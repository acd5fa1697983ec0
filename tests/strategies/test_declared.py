"""What strategies declare that they do is what they do."""

import pytest

from compactlab import api
from compactlab.cli.list import _does, _when
from compactlab.reports.explain.explanation import CALL
from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.replay.strategy import Act, Agent
from compactlab.strategies.catalogue import STRATEGIES, find_strategy

# These send what is sent anyway.
NOTHING = {"keep_all", "as_recorded"}


@pytest.fixture(scope="module")
def session() -> Conversation:
    return CodingAgent(turns=8, tokens=40_000).conversation(seed=0)


def test_every_strategy_declares_what_it_does():
    silent = {name for name, cls in STRATEGIES.usable().items() if not _does(cls())}
    assert silent == NOTHING
    assert not [cls for cls in STRATEGIES.usable().values() if issubclass(cls, Agent) and cls.does]


@pytest.mark.parametrize("name", sorted(set(STRATEGIES.built_in) - NOTHING))
def test_it_does_what_it_declares(name, session):
    """Side calls and files tell of it."""
    does = _does(find_strategy(name))
    files: dict[str, str] = {}
    account = api.explain(session, name, window=20_000, files=files)
    if any(entry.kind != CALL for entry in account.entries):
        assert {Act.SUMMARISE, Act.NOTE, Act.REQUEST} & set(does)
    if files:
        assert {Act.OFFLOAD, Act.NOTE} & set(does)


def test_when_is_read_off_the_phases():
    assert _when(find_strategy("sliding_window")) == ["every call"]
    assert _when(find_strategy("idle_compaction")) == ["threshold", "silence"]
    assert _when(find_strategy("copilot_cli")) == ["threshold", "background", "overflow"]
    assert _when(find_strategy("full_summary + pair_repair")) == [
        "turn start", "threshold", "overflow",
    ]  # fmt: skip
