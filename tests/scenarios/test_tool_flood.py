"""The flood: results longer than what real agents let through, with facts that stand only there."""

from __future__ import annotations

from compactlab.scenarios.plain import LONGEST, ToolFlood
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.metrics import RunData, figures
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.gemini_cli import KEPT_CHARS
from compactlab.strategies.openclaw.outputs import OffloadOutputs
from tests.scenarios.made import SEEDS, made, of_all_seeds, stated

GUARD = OffloadOutputs().max_text_chars


def lengths(conversation: Conversation) -> list[int]:
    parts = (part for message in conversation.messages for part in message.parts)
    return sorted(len(part.text) for part in parts if part.type == "tool_result")


@of_all_seeds
def test_no_result_is_over_its_limit_and_some_come_near(seed: int) -> None:
    assert lengths(made("tool_flood", 100_000, seed))[-1] > KEPT_CHARS
    assert lengths(made("tool_flood", 400_000, seed))[-3] > KEPT_CHARS
    assert 0.95 * LONGEST < lengths(made("tool_flood", 400_000, seed))[-1] <= LONGEST


def test_many_sessions_have_a_result_over_the_guard_of_openclaw() -> None:
    over = [lengths(ToolFlood().conversation(seed))[-1] > GUARD for seed in range(12)]
    assert sum(over) > len(over) / 3


def test_in_twenty_thousand_tokens_there_is_room_for_a_preview_and_no_more() -> None:
    for seed in SEEDS:
        longest = lengths(made("tool_flood", 20_000, seed))[-1]
        assert OffloadOutputs().preview_chars < longest < GUARD


@of_all_seeds
def test_many_facts_stand_only_in_results_and_can_be_fetched_again(seed: int) -> None:
    session = made("tool_flood", 400_000, seed)
    found = stated(session)
    shown = [fact for fact in found if fact.handle]
    assert len(shown) > 0.35 * len(found)
    by_result = [sum(f.handle == handle for f in shown) for handle in {f.handle for f in shown}]
    assert max(by_result) > 3  # long results hold several


def test_offloading_acts_and_what_it_hides_can_be_fetched() -> None:
    session = made("tool_flood", 100_000, 0)
    model = "claude-sonnet-4-5"
    hidden, whole = (
        figures(
            RunData(record(session, find_strategy(spec), Options(model)), session),
            ["amnesia_need", "amnesia_effective", "prompt_tokens_peak"],
        )
        for spec in ("offload_outputs", "keep_all")
    )
    assert whole["amnesia_need"] == 0
    assert hidden["prompt_tokens_peak"] < whole["prompt_tokens_peak"]  # type: ignore[operator]
    assert hidden["amnesia_need"] > hidden["amnesia_effective"]  # type: ignore[operator]


def test_bytes_never_change_unnoticed() -> None:
    assert ToolFlood(tokens=10_000).conversation(0).digest == "6036b67f2d7573e6"
