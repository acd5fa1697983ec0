"""Old outputs are cleared after pauses, and everything becomes a summary: Qwen Code's."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Usage, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies import FractionSplit, HistorySummary, MicroCompaction, QwenCode
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.qwen_code import (
    CLEARED,
    auto_threshold,
    cleared,
    hard_threshold,
    history_end,
    output_chars,
)

SMALL = HistorySummary(trigger=2000)


def use(id, output, *, failed=False):
    """A call and its result."""
    call = verbatim(id, "tool_call", "{}", name="shell", call_id=id)
    result = verbatim(f"{id}-out", "tool_result", output, call_id=id, is_error=failed)
    return [Message(id, "assistant", (call,)), Message(f"{id}-out", "tool", (result,))]


def told(messages):
    return ["-" if m.text == CLEARED else m.text[:1] for m in messages if m.role == "tool"]


@pytest.mark.parametrize(
    ("window", "share", "auto", "hard"),
    [
        (1_000_000, 0.85, 850_000, 977_000),
        (200_000, 0.85, 167_000, 177_000),
        (200_000, 0.5, 100_000, 177_000),
        (33_000, 0.85, 28_050, 31_050),
        (20_000, 1.0, 20_000, 20_000),
    ],
)
def test_it_is_time_where_a_summary_still_fits(window, share, auto, hard):
    assert auto_threshold(window, share) == auto
    assert hard_threshold(window, share) == hard


def test_after_a_pause_all_but_the_newest_outputs_are_cleared():
    history = Messages([m for n in "abcd" for m in use(n, n * 50)])
    assert told(cleared(history, 2)) == ["-", "-", "c", "d"]
    assert cleared(history, 4) is history
    assert told(cleared(cleared(history, 2), 2)) == ["-", "-", "c", "d"]


def test_a_failure_and_an_empty_output_are_passed_over():
    history = Messages([*use("a", "a" * 50, failed=True), *use("b", ""), *use("c", "c" * 50)])
    assert cleared(history, 1) is history
    assert [output_chars(message) for message in history] == [0, 0, 0, 0, 0, 50]


def test_where_they_are_too_many_half_of_them_is_left():
    history = Messages([m for n in "abcdef" for m in use(n, n * 100)])
    assert told(cleared(history, 1, until=300)) == ["-", "-", "-", "d", "e", "f"]
    # What is about to be sent counts, but neither goes nor is among the newest.
    assert told(cleared(history, 1, until=0, pending=10)) == ["-", "-", "-", "-", "e", "f"]


@settings(max_examples=50)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 30, 200]), max_size=10),
    keep=st.integers(1, 4),
    until=st.sampled_from([0, 50, 300]),
)
def test_clearing_by_brute_force(sizes, keep, until):
    history = Messages([m for n, size in enumerate(sizes) for m in use(str(n), "x" * size)])
    full = [n for n, size in enumerate(sizes) if size]
    left, gone = sum(sizes), []
    for n in full[:-keep]:
        if left > until:
            gone.append(n)
            left -= sizes[n]
    after = [m.text == CLEARED for m in cleared(history, keep, until=until) if m.role == "tool"]
    assert [n for n, is_gone in enumerate(after) if is_gone] == gone


def test_a_pause_clears_before_the_turn_and_a_short_one_does_not(tell, play):
    story = tell("u" + "cr" * 8 + "a ~ ucra", size=400)
    prompt = [*play(story, MicroCompaction(), window=200_000).prompts()][-1]
    assert [m.id for m in prompt if m.text == CLEARED] == ["r3", "r5", "r7"]
    short = [*play(story, MicroCompaction(minutes=61), window=200_000).prompts()][-1]
    assert not any(m.text == CLEARED for m in short)
    never = [*play(story, MicroCompaction(minutes=-1), window=200_000).prompts()][-1]
    assert not any(m.text == CLEARED for m in never)


def test_too_many_characters_clear_within_a_turn(tell, play):
    story = tell("u" + "cr" * 8 + "a", size=400)
    small = MicroCompaction(total_chars=2000, keep=1)
    prompt = [*play(story, small, window=200_000).prompts()][-1]
    assert sum(m.text == CLEARED for m in prompt) >= 4
    off = MicroCompaction(total_chars=-1)
    assert not any(m.text == CLEARED for p in play(story, off).prompts() for m in p)


def test_files_that_were_touched_last_are_embedded_again():
    texts = {"a.py": "first", "b.py": "second", "big.py": "x" * 30_000}
    parts = []
    for path, text in texts.items():
        call = verbatim(
            path, "tool_call", f'{{"file_path":"{path}"}}', name="read_file", call_id=path
        )
        result = verbatim(f"{path}-out", "tool_result", text, call_id=path)
        parts += [Message(path, "assistant", (call,)), Message(f"{path}-out", "tool", (result,))]
    history = Messages(parts)
    host = type("Host", (), {"log": history})()
    files = HistorySummary(files=2)._files(history, host)
    assert [part.text for part in files if part.kind != "synthetic"] == [
        "big.py was in use; read it again if need be.",
        "second",
    ]
    assert HistorySummary(files=0)._files(history, host) == []


def test_it_goes_by_report_answer_and_what_comes(moment):
    at = moment("uau", window=60_000, size=400, reported=Usage(uncached=1800, output=120))
    assert history_end(at.messages) == 2
    assert HistorySummary(trigger=2021).compact(at.view, at.host) is at.view


def test_a_request_that_does_not_fit_over_the_live_prompt_has_its_own(tell, play):
    story = tell("ua" * 12, size=800, system=3000)
    roomy, narrow = (play(story, HistorySummary(trigger=4000), window=w) for w in (60_000, 20_000))
    live, own = (next(c for s in t.steps for c in s.side) for t in (roomy, narrow))
    assert live.usage.cache_read > 0
    assert own.usage.cache_read == 0


def test_a_stale_report_does_not_set_it_off_again(tell, play):
    acted = [step.compaction for step in play(tell("ua" * 40, size=800), SMALL).steps]
    assert sum(acted) > 1
    assert not any(one and other for one, other in pairwise(acted))


def test_the_agent_is_both_and_its_first_version_is_a_split():
    assert QwenCode().parts == (MicroCompaction(), HistorySummary())
    parts = find_strategy("qwen_code(trigger=0.5, files=0, keep=3, minutes=5)").parts
    assert parts == (MicroCompaction(5, 3), HistorySummary(0.5, files=0))
    (former,) = QwenCode(version="0.0").parts
    assert former == FractionSplit(0.7, 0.3, output_budget=10**9, verify=False)
    assert QwenCode(version="0.0", trigger=0.5).parts[0].trigger == 0.5
