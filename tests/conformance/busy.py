"""A session in which every mechanism has something to do, replayed under a strategy."""

from collections.abc import Callable
from functools import cache

from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer


@cache
def session() -> Conversation:
    """A made-up session of long outputs, idle gaps and a few turns."""
    return CodingAgent(turns=8, tokens=60_000).conversation(seed=0)


def under(spec: str, window: int = 40_000) -> Callable[[], object]:
    """Replay it under a strategy, in a window that is too small for it."""
    return lambda: record(
        session(),
        find_strategy(spec),
        Options("claude-sonnet-4-5", summarizer=find_summarizer("lexrank"), window=window),
    )
