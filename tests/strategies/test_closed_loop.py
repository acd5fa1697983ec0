"""Every strategy goes through the closed loop, in which messages are born that no script holds."""

from functools import cache

import pytest

from compactlab.scenarios.catalogue import find_scenario
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.metrics import RunData, figures
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer

FAST = ("revised_decisions(tokens=20000)", "tool_flood(tokens=60000)")
INPUTS = "clear_tool_results(trigger=8000, clear_tool_inputs=True)"
SLOW = ("adversarial(tokens=40000)", "rewinds(tokens=40000)", "coding_agent(tokens=60000)")


@cache
def told(scenario: str) -> Conversation:
    return find_scenario(scenario).conversation(0)


def go_through(spec: str, scenario: str) -> None:
    script = told(scenario)
    for summarizer in ("lexrank", "lossy"):
        trace = record(
            script,
            find_strategy(spec),
            Options(
                "claude-sonnet-4-5",
                window=24_000,
                summarizer=find_summarizer(summarizer),
                loop=ClosedLoop(),
            ),
        )
        answers = [step.answer for step in trace.steps if not step.recovery]
        assert answers == [message.id for message in script.calls]
        assert figures(RunData(trace, script), ("amnesia_need", "rejected_calls", "calls"))


@pytest.mark.parametrize("scenario", FAST)
@pytest.mark.parametrize("spec", [*ALL_STRATEGIES, INPUTS])
def test_every_strategy_goes_through_it(spec, scenario):
    go_through(spec, scenario)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SLOW)
@pytest.mark.parametrize("spec", ALL_STRATEGIES)
def test_and_through_longer_ones(spec, scenario):
    go_through(spec, scenario)
