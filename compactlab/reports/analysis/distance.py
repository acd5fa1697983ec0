"""At which distance the recall of a store is told: how long ago a needed fact was last stated."""

from __future__ import annotations

from compactlab.reports.analysis.calls import models
from compactlab.sim.core.errors import ModelError
from compactlab.sim.metrics.lag import LONG
from compactlab.sim.models.model import Catalogue
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

# Nearer than the first, real agents keep the conversation word for word, whatever a summary says;
# in larger windows they keep more of it. By the tokens of the window from which on it holds.
_BY_WINDOW = {0: 20_000, 200_000: 40_000, 1_000_000: 80_000}


def distance_of(results: Results) -> int:
    """The one distance of a store: as it was asked for, else by the largest of its windows.

    It does not depend on the strategies, so that no row changes what another one's recall means.
    """
    asked = results.manifest.get("distance")
    if asked in LONG:
        return int(asked)
    # The calls of one strategy go to the models to which those of all go.
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
    """Tokens of a model's window, as a run narrows it; 0 if the model is not known."""
    try:
        return catalogue.find(model).narrowed(narrowed or None).window
    except ModelError:
        return narrowed
