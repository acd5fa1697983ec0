"""When a flush is due, and what a configuration comes to, whatever stands in it."""

import math

import pytest

from compactlab.sim.replay.state import Compacted
from compactlab.strategies.openclaw.flush import (
    PROMPT,
    SILENT,
    SYSTEM_PROMPT,
    SessionEntry,
    booked_under,
    flush_settings,
    flush_threshold,
    flush_window,
    projected_tokens,
    should_flush,
)

OLD, NEW = "2026.1.29", "2026.3.13"
AT = {"window": 200_000, "reserve": 20_000, "soft": 4_000}


def due(tokens, version=NEW, **more) -> bool:
    return should_flush(SessionEntry(tokens), **{**AT, **more}, version=version)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_it_is_due_as_soon_as_the_threshold_is_reached(version):
    assert not due(175_999, version)
    assert due(176_000, version)
    assert due(math.inf, OLD)


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("tokens", [None, 0, -1, math.nan, True, "176000"])
def test_a_count_that_says_nothing_is_never_enough(tokens, version):
    assert not due(tokens, version)


def test_only_the_later_version_asks_whether_a_count_is_fresh_and_finite():
    stale = SessionEntry(176_000, total_tokens_fresh=False)
    assert should_flush(stale, **AT, version=OLD)
    assert not should_flush(stale, **AT, version=NEW)
    assert not due(math.inf, NEW)


def test_only_the_later_version_takes_a_newer_count():
    assert due(10, token_count=176_000.9)
    assert not due(10, OLD, token_count=176_000)
    assert not due(176_000, token_count=10)
    assert not due(176_000, token_count=0.5)
    assert due(176_000, token_count=math.inf)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_there_is_one_in_each_cycle(version):
    def again(count, last):
        entry = SessionEntry(176_000, compaction_count=count, memory_flush_compaction_count=last)
        return should_flush(entry, **AT, version=version)

    assert [again(0, 0), again(None, 0), again(2, 2)] == [False, False, False]
    assert [again(1, 0), again(0, 1), again(1, None), again(1, "1")] == [True] * 4
    assert not should_flush(None, **AT, version=version)


def test_the_threshold_is_reckoned_as_javascript_does():
    assert flush_threshold(200_000.9, 20_000, 3_999.9) == 176_001
    assert flush_threshold(8_000, 20_000, 4_000) == 0
    assert flush_threshold(None, None, None) == 1
    assert flush_threshold(100, -5, -5) == 100
    assert math.isnan(flush_threshold(math.nan, 0, 0))
    assert math.isnan(flush_threshold(math.inf, math.inf, 0))
    assert due(1, window=math.nan), "what is no number is always reached"
    assert not due(1_000_000, window=0)


def test_the_last_answer_counts_near_the_threshold_only():
    assert projected_tokens(160_000, 30_000, 7_000, 176_000) == 167_000
    assert projected_tokens(160_000, 30_000, 7_808, 176_000) == 197_808


def test_the_window_is_that_of_the_model_or_what_is_configured_never_the_smaller():
    assert flush_window(100_000, 50_000) == 100_000
    assert flush_window(None, 50_000) == 50_000
    assert flush_window(None, None) == 200_000
    assert flush_window(0, 50_000) == 0


def test_what_is_not_configured_is_the_default():
    settings = flush_settings()
    assert settings is not None
    assert (settings.soft_threshold_tokens, settings.reserve_tokens_floor) == (4_000, 20_000)
    assert settings.force_flush_transcript_bytes == 2 * 1024**2
    assert (settings.prompt, settings.system_prompt) == (PROMPT, SYSTEM_PROMPT)
    assert SILENT in PROMPT
    assert SILENT in SYSTEM_PROMPT


@pytest.mark.parametrize("value", [None, -1, -0.5, math.nan, math.inf, "5000", True, [], {}])
def test_what_is_no_number_is_the_default(value):
    settings = flush_settings(soft_threshold_tokens=value, reserve_tokens_floor=value)
    assert settings == flush_settings()


def test_fractions_are_dropped_and_nothing_is_a_number():
    settings = flush_settings(soft_threshold_tokens=1.9, reserve_tokens_floor=0)
    assert settings is not None
    assert (settings.soft_threshold_tokens, settings.reserve_tokens_floor) == (1, 0)


@pytest.mark.parametrize(
    ("size", "bytes"),
    [
        ("1mb", 1024**2), (" 1.5KB ", 1536), ("2t", 2 * 1024**4), ("7", 7), ("0", 0), (9.9, 9),
        ("1 mb", None), ("1xb", None), (".5k", None), ("-1", None), ("", None), (-1, None),
        ("1e3", None), ("9" * 400, None),
    ],
)  # fmt: skip
def test_a_size_may_have_a_unit(size, bytes):
    settings = flush_settings(force_flush_transcript_bytes=size)
    assert settings is not None
    assert settings.force_flush_transcript_bytes == (2 * 1024**2 if bytes is None else bytes)


def test_the_older_version_looks_at_no_size():
    settings = flush_settings(force_flush_transcript_bytes=1, version=OLD)
    assert settings is not None
    assert settings.force_flush_transcript_bytes == 0


def test_only_what_is_false_turns_it_off():
    assert [flush_settings(enabled=x) for x in (False, 0, "", math.nan)] == [None] * 4
    assert all(flush_settings(enabled=x) for x in (None, True, 1, "no", {}))


def test_a_prompt_that_does_not_tell_how_to_be_silent_is_told():
    old = flush_settings(prompt=" Save. ", system_prompt=f"{SILENT} or save.", version=OLD)
    assert old is not None
    assert old.prompt.startswith("Save.\n\n")
    assert SILENT in old.prompt
    assert old.system_prompt == f"{SILENT} or save."


def test_the_later_version_keeps_files_safe_as_well():
    new = flush_settings(prompt=f"Save. {SILENT}", system_prompt="  ")
    assert new is not None
    assert new.prompt.startswith(f"Save. {SILENT}\n\nStore durable memories ")
    assert new.system_prompt == SYSTEM_PROMPT
    again = flush_settings(prompt=new.prompt)
    assert again is not None
    assert again.prompt == new.prompt


def test_a_flush_that_a_compaction_ends_counts_for_the_cycle_after_it():
    compactions = [Compacted(9, 1, "u1"), Compacted(9, 1, "u7"), Compacted(9, 1, "a9")]
    assert booked_under(1, "u7", compactions[:1]) == 1
    assert booked_under(1, "u7", compactions) == 2
    assert booked_under(1, "u5", compactions) == 1
