"""Sessions that no compaction helps: too many files to be held at once, and too high a floor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from statistics import fmean

import pytest

from compactlab.scenarios.catalogue import find_scenario
from compactlab.scenarios.plain import HighFloor
from compactlab.scenarios.rereading import FILES, WorkingSet
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.scenarios.made import SEEDS, made

WINDOW = 32_000
FILES_OF_36K, FLOOR_OF_24K = "working_set(tokens=60000)", "high_floor(tokens=30000)"
CONVERSATIONS = (FILES_OF_36K, FLOOR_OF_24K)
# The same with a set that fits, and with a floor that leaves room.
LESS = {
    FILES_OF_36K: "working_set(tokens=60000, working_set=6000)",
    FLOOR_OF_24K: "high_floor(tokens=30000, floor=3000)",
}
SPECS = ("auto_compact", "claude_code")


@cache
def run(seed: int, spec: str, strategy: str, window: int = WINDOW) -> RunData:
    script = find_scenario(spec).conversation(seed)
    options = Options("gpt-5", summarizer=find_summarizer("calibrated"), window=window)
    return RunData(record(script, find_strategy(strategy), options), script)


def figure(name: str, *of: str, **more: int) -> float:
    """A figure's mean over three conversations: one alone says little of a share."""
    values = [METRICS[name].compute(run(seed, *of, **more)) for seed in range(3)]
    assert None not in values
    return fmean(value for value in values if value is not None)


def read(conversation: Conversation) -> list[tuple[str, str]]:
    """What was read, and what came back."""
    parts = [part for message in conversation.messages for part in message.parts]
    asked = {p.call_id: p.text for p in parts if p.type == "tool_call" and p.name == "read"}
    results = [p for p in parts if p.type == "tool_result" and p.call_id in asked]
    return [(asked[part.call_id], part.text) for part in results]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_files_are_read_in_rotation(seed: int) -> None:
    files = [file for file, _ in read(made("working_set", 100_000, seed))]
    assert len(set(files)) == FILES < len(files) / 2
    assert all(here == files[n % FILES] for n, here in enumerate(files))


def sizes(texts: Sequence[str]) -> int:
    return sum(map(Tokenizer().text, texts))


@pytest.mark.parametrize("working_set", [12_000, 36_000, 90_000])
def test_together_they_are_as_large_as_the_working_set(working_set: int) -> None:
    script = WorkingSet(tokens=300_000, working_set=working_set).conversation(0)
    whole: dict[str, str] = {}
    for file, text in read(script):  # the last one of a turn may be a beginning
        whole[file] = max(whole.get(file, ""), text, key=len)
    assert sizes([*whole.values()]) == pytest.approx(working_set, rel=0.1)


def test_a_file_is_as_it_was_but_for_its_facts() -> None:
    before: dict[str, str] = {}
    for file, text in read(made("working_set", 100_000, 0)):
        if file in before:
            shorter = min(before[file].count("\n"), text.count("\n"))
            lines, old = (each.split("\n")[:shorter] for each in (text, before[file]))
            assert len(set(lines) - set(old)) <= 4
        before[file] = text


def test_the_floor_is_in_the_system_prompt_alone() -> None:
    low, high = (HighFloor(tokens=20_000, floor=f).conversation(1) for f in (5_000, 90_000))
    assert sum(part.size for part in low.system) == 5_000
    assert sum(part.size for part in high.system) == 90_000
    assert low.events == high.events


@pytest.mark.parametrize("wrong", ["working_set(working_set=11)", "high_floor(floor=-1)"])
def test_sizes_that_cannot_be_are_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="must be from"):
        find_scenario(wrong)


# -------------------------------------------------------------------------------------- they thrash


@pytest.mark.parametrize("strategy", SPECS)
@pytest.mark.parametrize("spec", CONVERSATIONS)
def test_compaction_follows_compaction(spec: str, strategy: str) -> None:
    often = figure("compactions_per_100_calls", spec, strategy)
    assert often > 15
    assert often > 2 * figure("compactions_per_100_calls", LESS[spec], strategy)
    assert figure("compaction_interval_min", spec, strategy) == 1
    assert figure("compaction_floor", spec, strategy) > 0.75


@pytest.mark.parametrize("spec", CONVERSATIONS)
def test_who_keeps_everything_never_compacts(spec: str) -> None:
    assert figure("compactions_per_100_calls", spec, "keep_all") == 0
    assert figure("overflows", spec, "keep_all") > 0


@pytest.mark.parametrize("strategy", SPECS)
def test_the_one_is_caused_by_re_reads_and_the_other_by_its_floor(strategy: str) -> None:
    assert figure("compactions_by_rereads", FILES_OF_36K, strategy) > 0.3
    assert figure("compactions_small_gain", FILES_OF_36K, strategy) < 2 / 3
    assert figure("compactions_by_rereads", FLOOR_OF_24K, strategy) == 0
    assert figure("compactions_small_gain", FLOOR_OF_24K, strategy) == 1


def test_what_no_strategy_can_remove_is_told_from_what_it_left() -> None:
    assert figure("floor_system", FLOOR_OF_24K, "claude_code") > 0.95
    assert figure("floor_system", FILES_OF_36K, "claude_code") < 0.3


@pytest.mark.parametrize("spec", CONVERSATIONS)
def test_in_a_large_window_neither_compacts(spec: str) -> None:
    assert figure("compactions_per_100_calls", spec, "claude_code", window=200_000) == 0
