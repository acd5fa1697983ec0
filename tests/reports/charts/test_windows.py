"""Cost and recall by window: a point per window and a named line per strategy."""

import math
from collections.abc import Callable
from dataclasses import replace

from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.analysis.scope import sweeps
from compactlab.reports.charts.lines import by_window

Compare = Callable[..., Comparison]


def under(compared: Compare, window: int, **costs: float) -> Comparison:
    made = compared(**{name: {"cost_usd": cost} for name, cost in costs.items()})
    return replace(made, window=window)


def test_every_strategy_is_a_named_line_over_the_windows(compared: Compare) -> None:
    wide, narrow = under(compared, 64_000, a=1, b=2), under(compared, 40_000, a=4, b=3)
    (sweep,) = sweeps([wide, narrow])
    assert [each.window for each in sweep] == [40_000, 64_000]
    chart = by_window(sweep, {}, "windows-1")
    assert chart is not None
    axes = chart.figure.axes[0]
    number = narrow.conversations
    lines = {str(line.get_label()): line for line in axes.lines if line.get_label() in ("a", "b")}
    assert list(lines["a"].get_ydata()) == [4 / number, 1 / number]
    assert list(lines["b"].get_ydata()) == [3 / number, 2 / number]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["40k", "64k"]
    assert {"a", "b"} <= {text.get_text() for text in axes.texts}


def test_a_strategy_without_a_second_window_has_no_line(compared: Compare) -> None:
    one, two = under(compared, 64_000, a=1, b=2), under(compared, 40_000, a=4)
    (sweep,) = sweeps([one, two])
    chart = by_window(sweep, {}, "windows-1")
    assert chart is not None
    drawn = [line for line in chart.figure.axes[0].lines if line.get_label() == "b"]
    assert not drawn
    assert not any(math.isnan(y) for line in chart.figure.axes[0].lines for y in line.get_ydata())


def test_one_window_has_no_chart(compared: Compare) -> None:
    assert sweeps([under(compared, 40_000, a=1, b=2)]) == []
