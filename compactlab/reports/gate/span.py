"""Between which values a figure lies now, where replays of a conversation differ.

For a rule on a change, by the paired cluster bootstrap over conversations: what was is taken for
given, and the interval is that of the change on top of it. For a rule on where a figure must
stand, by the interval of the figure alone. Both are those of :mod:`compactlab.reports.statistics`.
"""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.reports.aggregate import POOLED, figures_of, rule_of
from compactlab.reports.comparison import Comparison, Row
from compactlab.reports.gate.record import Record
from compactlab.reports.gate.rules import Rule
from compactlab.reports.gate.verdict import Span
from compactlab.reports.text import counted
from compactlab.sim.metrics import METRICS


def span_of(rule: Rule, before: Iterable[Record], after: Iterable[Record], type: str = "") -> Span:
    """The interval in which the figure that a rule is about lies now.

    Parameters
    ----------
    rule
        The rule.
    before, after
        The runs; those before are only looked at for a rule on a change.
    type
        The type of fact; "" for all.
    """
    was, is_ = _row("before", before, type), _row("after", after, type)
    return _of_change(rule.metric, was, is_) if rule.relative else _of_figure(rule.metric, is_)


def _row(name: str, records: Iterable[Record], type: str) -> Row:
    runs = tuple(record.run(type) for record in records)
    return Row(name, name, runs, figures_of(runs), False, {}, False, 0)


def _of_change(metric: str, before: Row, after: Row) -> Span:
    from compactlab.reports.statistics.contrast import contrasts

    comparison = Comparison("", 0, (before, after), (), (), ())
    found = contrasts(comparison, before, [metric])[after.spec, metric]
    figure = before.figures[metric]
    if figure is None:
        return Span(missing="no value before")
    if found.kind == "ratio":
        base, times = 0.0, figure
    else:
        # The difference of an amount is told for a conversation, and the figure is for all.
        base, times = figure, found.conversations if rule_of(metric) == "sum" else 1
    detectable = None if found.detectable is None else found.detectable * times
    missing = _missing(metric, found.conversations)
    if found.low is None or found.high is None:
        return Span(None, None, "", found.conversations, detectable, missing)
    ends = base + found.low * times, base + found.high * times
    return Span(*ends, found.method, found.conversations, detectable)


def _of_figure(metric: str, row: Row) -> Span:
    from compactlab.reports.statistics.interval import row_interval

    found = row_interval(row, metric)
    if found.low is None or found.high is None:
        return Span(None, None, "", row.conversations, None, _missing(metric, row.conversations))
    detectable = _smallest_distance(metric, row)
    return Span(found.low, found.high, found.method, row.conversations, detectable)


def _smallest_distance(metric: str, row: Row) -> float | None:
    """The smallest distance from a limit that so many conversations show, as of a difference."""
    import numpy as np

    from compactlab.reports.statistics.detectable import smallest_difference
    from compactlab.reports.statistics.quotient import Quotient, mean_of
    from compactlab.reports.statistics.sample import Sample

    if rule_of(metric) == "median":
        return None
    sample = Sample([row], [metric])
    if metric in POOLED:
        figure = Quotient(*sample.parts(metric))
    else:
        values = sample.values(metric)
        figure = mean_of(values, ~np.isnan(values))
    counts = (figure.below > 0).sum(axis=1)
    times = counts[0] if rule_of(metric) == "sum" else 1
    pull, sizes = figure.influence(counts), np.abs(figure.value)
    found = smallest_difference(pull, counts, sizes)[0] * times
    return float(found) if np.isfinite(found) else None


def _missing(metric: str, conversations: int) -> str:
    """Why there is no interval."""
    from compactlab.reports.statistics.bootstrap import FEWEST

    if rule_of(metric) == "maximum":
        return "a maximum has no interval"
    if conversations < FEWEST:
        return f"{counted(conversations, 'conversation')}; an interval takes {FEWEST}"
    return f"{metric} of these conversations has no interval ({METRICS[metric].unit})"
