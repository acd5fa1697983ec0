"""Replays of a test session: each is made once, whoever asks for it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from compactlab.sim.results import Results
from compactlab.sim.store import Store
from compactlab.sim.sweep import Experiment


class Replays:
    """Makes replays, and keeps them for the session.

    Parameters
    ----------
    shared
        A folder in which the processes of one session share them; None for one process.
    """

    def __init__(self, shared: Path | None = None) -> None:
        self._shared = shared
        self._known: dict[str, Results] = {}

    def of(self, experiment: Experiment) -> Results:
        """What an experiment finds.

        Parameters
        ----------
        experiment
            The experiment: others of the same sources and conditions find the same.
        """
        keys = [source.key for source in experiment.sources]
        keys += [condition.key for condition in experiment.conditions]
        key = hashlib.blake2b("".join(keys).encode(), digest_size=8).hexdigest()
        if key not in self._known:
            shared = self._shared
            self._known[key] = _once(experiment, shared / key) if shared else experiment.run()
        return self._known[key]


def _once(experiment: Experiment, folder: Path) -> Results:
    """What is in a folder; the first that comes puts it there, and the others wait."""
    from filelock import FileLock

    folder.parent.mkdir(exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not Store(folder).exists:
            experiment.run().save(folder)
    return Results.load(folder)
