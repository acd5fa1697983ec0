"""Which sessions are replayed, and which have nothing to say."""

from collections import Counter

import pytest

from compactlab.api import read
from compactlab.reports.tune.survey import Surveyed, select, surveyed
from compactlab.sim.experiment.sources import Source
from compactlab.sim.models.model import built_in
from tests.recordings import CALM, IDLE, claude_code

WINDOW = 200_000


def session(name: str, peak: int, tokens: int, *, compacted: bool = False) -> Surveyed:
    source = Source(name, list, content=lambda: name)
    return Surveyed(source, WINDOW, Counter({"m": 1}), tokens, peak, 20_000, compacted)


def names(chosen: tuple[Surveyed, ...]) -> list[str]:
    return [each.source.name for each in chosen]


def test_a_log_tells_how_large_its_prompts_were(tmp_path):
    conversations = read(claude_code(tmp_path / "idle.jsonl", IDLE))
    found = surveyed(Source("idle", list), conversations, built_in())
    assert (found.peak, found.first) == (42_800, 40_000)
    assert found.tokens == 40_000 + 41_000 + 41_500 + 42_000 + 42_400 + 42_800
    assert found.window == WINDOW
    assert not found.compacted


@pytest.mark.parametrize(("narrowed", "window"), [(None, WINDOW), (50_000, 50_000)])
def test_the_window_is_that_of_the_model_or_narrowed(tmp_path, narrowed, window):
    conversations = read(claude_code(tmp_path / "calm.jsonl", CALM))
    assert surveyed(Source("calm", list), conversations, built_in(), "", narrowed).window == window


def test_what_never_reaches_the_smallest_trigger_is_left_out_and_counted():
    every = [session("small", 30_000, 9), session("large", 90_000, 9)]
    some = select(WINDOW, every, 50_000, 10)
    assert names(some.chosen) == ["large"]
    assert (some.quiet, some.shorter) == (1, 0)


def test_a_session_that_was_compacted_may_grow_larger_than_its_log_shows():
    assert select(WINDOW, [session("cut", 30_000, 9, compacted=True)], 50_000, 10).quiet == 0


def test_the_longest_are_picked_in_the_order_given():
    every = [session(each, 90_000, tokens) for each, tokens in zip("abc", (5, 1, 4), strict=True)]
    some = select(WINDOW, every, 0, 2)
    assert names(some.chosen) == ["a", "c"]
    assert (some.shorter, some.share) == (1, 0.9)
