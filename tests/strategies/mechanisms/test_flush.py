"""When a flush is due, and what the agent is told."""

from compactlab.sim.replay.host import Compacted
from compactlab.strategies.openclaw.flush import (
    PROMPT,
    SILENT,
    SYSTEM_PROMPT,
    booked_under,
    flush_threshold,
    hinted,
    projected_tokens,
    should_flush,
)

OLD, NEW = "2026.1.29", "2026.3.13"


def test_it_is_due_as_soon_as_the_threshold_is_reached():
    threshold = flush_threshold(200_000, 20_000, 4_000)
    assert threshold == 176_000
    assert [should_flush(tokens, threshold) for tokens in (175_999, 176_000)] == [False, True]
    assert flush_threshold(8_000, 20_000, 4_000) == 0
    assert not should_flush(1_000_000, 0)


def test_the_last_answer_counts_near_the_threshold_only():
    assert projected_tokens(160_000, 30_000, 7_000, 176_000) == 167_000
    assert projected_tokens(160_000, 30_000, 7_808, 176_000) == 197_808


def test_a_prompt_that_does_not_tell_how_to_be_silent_is_told():
    assert SILENT in PROMPT
    assert SILENT in SYSTEM_PROMPT
    told = hinted(" Save. ", PROMPT, OLD)
    assert told.startswith("Save.\n\n")
    assert SILENT in told
    assert hinted(f"{SILENT} or save.", SYSTEM_PROMPT, OLD) == f"{SILENT} or save."


def test_the_later_version_keeps_files_safe_as_well():
    told = hinted(f"Save. {SILENT}", PROMPT, NEW)
    assert told.startswith(f"Save. {SILENT}\n\nStore durable memories ")
    assert hinted(told, PROMPT, NEW) == told
    assert hinted("  ", SYSTEM_PROMPT, NEW) == SYSTEM_PROMPT


def test_a_flush_that_a_compaction_ends_counts_for_the_cycle_after_it():
    compactions = [Compacted(9, 1, "u1"), Compacted(9, 1, "u7"), Compacted(9, 1, "a9")]
    assert booked_under(1, "u7", compactions[:1]) == 1
    assert booked_under(1, "u7", compactions) == 2
    assert booked_under(1, "u5", compactions) == 1
