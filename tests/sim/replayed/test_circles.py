"""What a replay leaves behind: nothing that only a search for circles would find."""

import gc
from functools import cache

import pytest

from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.metrics import measure
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer


@cache
def session() -> Conversation:
    return CodingAgent(turns=3, tokens=12_000).conversation(0)


def replayed(spec: str) -> None:
    writer = find_summarizer("lexrank")
    strategy, model = find_strategy(spec), "claude-sonnet-4-5"
    trace = record(
        session(), strategy, Options(model, summarizer=writer, window=9_000, loop=ClosedLoop())
    )
    measure(trace, session())


@pytest.fixture(scope="module", autouse=True)
def _alone() -> None:
    """What other tests hold is not looked at again each time."""
    gc.collect()
    gc.freeze()


@pytest.mark.parametrize("spec", ["keep_all", "auto_compact", "openclaw", "oracle", "random_keep"])
def test_memory_is_free_again_when_a_replay_is_over(spec):
    """Workers of a sweep look for circles seldom, and would hold every session meanwhile."""
    replayed(spec)  # what is made once and stays has been made
    gc.collect()
    was = gc.isenabled()
    gc.disable()
    try:
        replayed(spec)
        assert gc.collect() == 0
    finally:
        if was:
            gc.enable()
