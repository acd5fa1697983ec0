"""Every built-in strategy keeps the contract of the family, at its defaults."""

from functools import cache

import pytest

from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies.catalogue import STRATEGIES, find_strategy
from compactlab.testing.contract import Violation, check_strategy

# A size in which a strategy does within the battery's windows what it declares to break, where
# its default is too large for that.
ACTING = (
    "pair_repair",  # behind a repair, or a guard that makes results up, there is little left
    "recent_events(max_events=20)",
    "amortized_forgetting(max_size=20)",
    "turn_checkpoints(every=1, keep=1)",
    "auto_compact(reserve_tokens=3000, reserve_tokens_floor=0, keep_recent_tokens=500)",
    "preserve_turns(reserve_tokens=8000, reserve_tokens_floor=0, keep_recent_tokens=100)",
    "distilled_summary(trigger=3000, keep_recent_tokens=100, mid_turn_precheck=True)",
    "distilled_summary(keep_recent_tokens=100, max_active_transcript_bytes=3000)",
    "prune_then_summarize(protect_tokens=1, minimum_tokens=2)",
    "endpoint_compaction(trigger=3000, item_tokens=20)",
    "event_ranges(compaction_interval=1, trigger=1000, event_retention_size=2)",
    "context_windows(trigger=2000, reminder_tokens=0)",
    "fraction_split(trigger=2000, output_budget=0)",
    "middle_summary(trigger=2000, protect_first_n=0)",
    "agentic_compaction(trigger=2000, preserve_recent_tokens=100)",
    "half_truncation(trigger=2000)",
    "inspect_compaction(kind='edit', trigger=3000)",
    "cliff_compaction(trigger=800, keep_recent=1)",
)

# What these declare to break takes more conversations to occur.
RARELY = (
    "rolling_summary", "tool_groups", "endpoint_compaction(trigger=3000, item_tokens=20)",
    "event_ranges(compaction_interval=1, trigger=1000, event_retention_size=2)",
)  # fmt: skip
# Conversations: the dozen of extremes and one more; the extremes and some.
EXTREMES, FEW, MORE = 13, 34, 50


def told(found: list[Violation]) -> str:
    return "\n".join(map(str, found))


@cache
def checked(spec: str, conversations: int = 0, seed: int = 0) -> list[Violation]:
    usual = MORE if spec in RARELY else FEW
    return check_strategy(find_strategy(spec), conversations or usual, seed=seed)


def broken(spec: str, conversations: int = 0, seed: int = 0) -> list[Violation]:
    """What it breaks and does not declare."""
    return [each for each in checked(spec, conversations, seed) if each.rule != "breaks"]


@pytest.mark.parametrize("spec", ALL_STRATEGIES)
def test_it_keeps_the_contract(spec):
    found = broken(spec, EXTREMES)
    assert not found, told(found)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [*ALL_STRATEGIES, *ACTING])
def test_it_keeps_the_contract_over_some(spec):
    found = broken(spec)
    assert not found, told(found)


@pytest.mark.slow
def test_what_is_declared_occurs():
    declared = {
        (type(part), rule)
        for spec in ALL_STRATEGIES
        for part in find_strategy(spec).parts
        for rule in part.breaks
    }
    missing = declared.copy()
    for spec in (*ALL_STRATEGIES, *ACTING):
        strategy = find_strategy(spec)
        never = {each.what for each in checked(spec, 0, 0) if each.rule == "breaks"}
        for part in strategy.parts:
            missing -= {
                (type(part), rule)
                for rule in part.breaks
                if not any(f"break {rule!r}" in what for what in never)
            }
    assert not missing


@pytest.mark.slow
@pytest.mark.parametrize("spec", [*ALL_STRATEGIES, *ACTING])
def test_it_keeps_the_contract_over_very_many(spec):
    found = broken(spec, 2000, seed=1)
    assert not found, told(found)


def test_every_strategy_is_in_the_line_up():
    named = {type(part) for spec in ALL_STRATEGIES for part in find_strategy(spec).parts}
    whole = {type(find_strategy(spec)) for spec in ALL_STRATEGIES}
    assert set(STRATEGIES.usable().values()) <= named | whole
