"""Comparisons made of nothing but values, a list for each strategy."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.analysis.contrast import Contrast, contrasts
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

Values = Sequence[float | None]


def compared(
    strategies: Mapping[str, Mapping[str, Values]], names: Sequence[str] = ()
) -> Comparison:
    """Compare strategies that have these values, a conversation each."""
    runs = []
    for spec, metrics in strategies.items():
        count = max(map(len, metrics.values()))
        for number in range(count):
            name = names[number] if names else f"c{number:04}"
            figures = {metric: values[number] for metric, values in metrics.items()}
            runs.append(Run(name, "made", spec, "model", 0, 0, metrics=figures))
    (comparison,) = comparisons(Results(runs, {}))
    return comparison


def contrasted(metric: str, ours: Values, theirs: Values) -> Contrast:
    """One strategy against another in one metric."""
    return both_ways(metric, ours, theirs)[0]


def both_ways(metric: str, ours: Values, theirs: Values) -> tuple[Contrast, Contrast]:
    """Each of two strategies against the other."""
    comparison = compared({"ours()": {metric: ours}, "theirs()": {metric: theirs}})
    rows = {row.spec: row for row in comparison.rows}
    there = contrasts(comparison, rows["theirs()"], [metric])["ours()", metric]
    back = contrasts(comparison, rows["ours()"], [metric])["theirs()", metric]
    return there, back


Compared = Callable[..., Comparison]
Contrasted = Callable[[str, Values, Values], Contrast]


@pytest.fixture(scope="session", name="compared")
def _compared() -> Compared:
    return compared


@pytest.fixture(scope="session", name="contrasted")
def _contrasted() -> Contrasted:
    return contrasted


@pytest.fixture(scope="session", name="both_ways")
def _both_ways() -> Callable[[str, Values, Values], tuple[Contrast, Contrast]]:
    return both_ways
