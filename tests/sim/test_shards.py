"""Shards: all cells, each once, in order; and the same files whatever was done before."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.experiment.conditions import Condition, Setting
from compactlab.sim.experiment.shard import FULL, Shard, Task, shards
from compactlab.sim.experiment.sources import Source
from compactlab.strategies.windows import SlidingWindow

SETTING = Setting(tables=("calls",))
CONDITIONS = [Condition(SlidingWindow(keep=n), "", SETTING) for n in range(1, 3 * FULL)]
SIZES = st.sampled_from([0, 1_000, 400_000, 600_000, 5_000_000, 20_000_000, 10**9])
COUNTS = st.one_of(
    st.integers(1, 9), st.sampled_from([FULL // 2 - 1, FULL // 2, FULL - 1, FULL, FULL + 1]),
    st.integers(1, len(CONDITIONS)),
)  # fmt: skip


def nothing() -> list[Any]:
    return []


def holding(number: int) -> Callable[[], str]:
    return lambda: str(number)


@st.composite
def tasks(draw: st.DrawFn) -> list[Task]:
    drawn = draw(st.lists(st.tuples(SIZES, COUNTS), max_size=8))
    return [
        Task(
            Source(f"source {n}", nothing, content=holding(n), size=size), tuple(CONDITIONS[:count])
        )
        for n, (size, count) in enumerate(drawn)
    ]


def cells(tasks: Any) -> list[Any]:
    return [cell for task in tasks for cell in task.cells]


@given(tasks())
def test_they_hold_each_cell_once_and_in_order(given):
    assert cells(shards(given)) == cells(given)
    assert all(shard.tasks for shard in shards(given))


@given(tasks(), st.randoms(use_true_random=False))
def test_whoever_goes_on_makes_the_files_that_would_be_there_without_an_end(given, chance):
    """Shards that are done are taken away, any of them: all others stay as they were."""
    every = list(shards(given))
    done = {shard.name for shard in every if chance.random() < 0.5}
    held = {cell for shard in every if shard.name in done for cell in shard.cells}
    left = []
    for task in given:
        conditions = [c for c in task.conditions if (task.source.key, c.key) not in held]
        if conditions:
            left.append(Task(task.source, tuple(conditions)))
    again = [(shard.name, shard.cells) for shard in shards(left)]
    assert again == [(shard.name, shard.cells) for shard in every if shard.name not in done]


@given(tasks())
def test_they_are_of_about_the_same_work(given):
    """A conversation counts for more if it is long; none but the last is nearly empty."""

    def work(shard: Shard) -> int:
        return sum((1 + t.source.size // 500_000) * len(t.conditions) for t in shard.tasks)

    every = list(shards(given))
    assert all(work(shard) >= FULL // 2 for shard in every[:-1])
    for shard in every:
        assert work(shard) < FULL // 2 + FULL or len(shard.cells) == 1 or _ends_large(shard)


def _ends_large(shard: Shard) -> bool:
    """Whether what makes it large is a single cell, at its end."""
    return len(shard.tasks[-1].conditions) == 1


@given(tasks(), tasks())
def test_their_names_differ_just_as_their_cells_do(one, other):
    every = [*shards(one), *shards(other), *(cell for s in shards(one) for cell in s.apart()[:3])]
    names = {shard.name for shard in every}
    assert len(names) == len({frozenset(shard.cells) for shard in every})


@given(tasks())
def test_taken_apart_they_are_their_cells(given):
    for shard in shards(given, 7.0):
        apart = shard.apart()
        assert [each.cells for each in apart] == [[cell] for cell in shard.cells]
        assert {each.timeout for each in apart} == {7.0}
