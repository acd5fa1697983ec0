"""What tests of charts read back from a figure, and strategies with figures of their own."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

Make = Callable[..., Run]
Compare = Callable[..., Comparison]


@pytest.fixture
def texts() -> Callable[[Figure], list[str]]:
    """All texts of a figure."""

    def read(drawn: Figure) -> list[str]:
        artists = drawn.findobj(Text)
        return [text.get_text() for text in artists if isinstance(text, Text) and text.get_text()]

    return read


@pytest.fixture
def compared(make: Make, store: Callable[..., Results]) -> Compare:
    """A comparison of strategies, each with the metrics given for it, over some conversations."""

    def build(conversations: int = 1, **strategies: dict[str, Any]) -> Comparison:
        runs = []
        for number in range(conversations):
            for name, metrics in strategies.items():
                run = make(f"{name}()", conversation=f"c{number}")
                runs.append(replace(run, metrics={**run.metrics, **metrics}))
        return comparisons(store(*runs))[0]

    return build
