"""Under every provider's cache, every cache-miss token of a replay has exactly one cause."""

import dataclasses
from functools import cache

import pytest
from inline_snapshot import snapshot

from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.replay.client import Churn, Rate
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.trace import SideCall, Step
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.lines import refusal


@cache
def session() -> Conversation:
    return CodingAgent(turns=6, tokens=30_000).conversation(seed=1)


STRATEGIES = [
    "keep_all",
    "sliding_window(keep=10)",
    "observation_masking",
    "auto_compact",
    "summary_sidecar",
    "memory_flush + auto_compact",
]
# One model a policy, and what may be asked for beside it.
MODELS = [
    "claude-opus-4-5",
    "claude-haiku-4-5",
    "claude-opus-4-5@pessimistic",
    "claude-opus-4-5@none",
    "gpt-5-5",
    "gpt-6-sol",
    "gpt-5-5@pessimistic",
    "gemini-2-5-pro",
    "gemini-2-5-pro@explicit",
    "deepseek-v4-flash",
    "grok-4-6",
    "self-hosted-8b",
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_fresh_token_has_one_cause(model, strategy):
    steps = replayed(model, strategy)
    for request in requests(steps):
        cache_misses = request.usage.prompt - request.usage.cache_read
        assert sum(request.causes.values()) == cache_misses
        assert all(tokens > 0 for tokens in request.causes.values())
        assert "unexplained" not in request.causes


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "gpt-6-sol"])
def test_thinking_that_is_dropped_from_a_prompt_over_the_window_is_no_riddle(model):
    """Such a prompt is measured twice: before the strategy is asked for relief, and after."""
    steps = replayed(model, "observation_masking", window=8_000)
    assert any(step.overflow and "thinking_strip" in step.causes for step in steps)
    assert not any("unexplained" in request.causes for request in requests(steps))


@pytest.mark.parametrize("model", MODELS)
def test_the_same_bytes_come_out_twice(model):
    assert replayed(model, "auto_compact") == replayed.__wrapped__(model, "auto_compact")


def test_a_worse_provider_is_dearer_by_what_it_lets_go():
    good, bad = (replayed(name, "keep_all") for name in MODELS[::2][:2])
    assert sum(step.usage.cache_read for step in bad) < sum(s.usage.cache_read for s in good)
    lost = [step for step in bad if "eviction" in step.causes]
    assert len(lost) == len(bad) // 20


def test_a_client_that_churns_makes_every_strategy_pay_at_the_same_calls():
    often = Churn("toy", turn=Rate(calls=10, messages=5), call=Rate(calls=100, front=5))
    struck = [
        {step.answer for step in replayed("claude-opus-4-5", spec, often) if "churn" in step.causes}
        for spec in ("keep_all", "sliding_window(keep=10)")
    ]
    assert struck[0]
    # A window has less to lose, but never at another call.
    assert struck[1] <= struck[0]


def test_the_churn_of_one_client_is_not_the_churn_of_another():
    log = dataclasses.replace(session(), seed=-1, format="claude-code")
    said = refusal(
        UsageError,
        lambda: record(
            log, find_strategy("keep_all"), Options("claude-opus-4-5", churn=Churn("codex"))
        ),
    )
    assert said == snapshot("this churn was measured on codex, and not on claude-code")


@cache
def replayed(
    model: str, strategy: str, churn: Churn | None = None, *, window: int = 30_000
) -> list[Step]:
    return record(
        session(),
        find_strategy(strategy),
        Options(model, summarizer=find_summarizer("lexrank"), window=window, churn=churn),
    ).steps


def requests(steps: list[Step]) -> list[Step | SideCall]:
    return [each for step in steps for each in (step, *step.side)]
