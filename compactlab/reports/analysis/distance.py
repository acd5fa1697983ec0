"""The distance of a store's recall: how many tokens ago a needed fact was last stated."""

from __future__ import annotations

from compactlab.reports.analysis.calls import models
from compactlab.sim.core.errors import ModelError
from compactlab.sim.metrics.lag import LONG
from compactlab.sim.models.model import Catalogue
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

# Nearer than the first, real agents keep the conversation verbatim, independent of summaries; in
# larger windows they keep more. The key is the smallest window, in tokens, with this distance.
_BY_WINDOW = {0: 20_000, 200_000: 40_000, 1_000_000: 80_000}


def distance_of(results: Results) -> int:
    """The distance of a store: the requested one, else by the largest of its windows.

    It is independent of the strategies, so adding a row changes no other row's recall.
    """
    asked = results.manifest.get("distance")
    if asked in LONG:
        return int(asked)
    # All strategies call the same models, so one is enough.
    one: dict[tuple[object, ...], Run] = {}
    for run in results.runs:
        if run.status == "ok":
            one.setdefault((run.model, run.window, run.scenario, run.conversation), run)
    by_window: dict[int, list[Run]] = {}
    for run in one.values():
        by_window.setdefault(run.window, []).append(run)
    windows = [
        window_of(model, narrowed, results.catalogue)
        for narrowed, runs in by_window.items()
        for model in models(runs) or {run.model for run in runs}
    ]
    return _BY_WINDOW[max(least for least in _BY_WINDOW if least <= max(windows, default=0))]


def window_of(model: str, narrowed: int, catalogue: Catalogue) -> int:
    """The context window of a model in a run, in tokens; 0 if the model is unknown."""
    try:
        return catalogue.find(model).narrowed(narrowed or None).window
    except ModelError:
        return narrowed
