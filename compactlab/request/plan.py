"""Make an experiment from names: find, check and combine its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Unpack

from compactlab.llm.asker import Asker
from compactlab.request.names import (
    answered_by,
    asker_of,
    bounds_of,
    check_specs,
    churn_of,
    distance_of,
    loop_of,
    metrics_of,
    models_of,
    planned_strategy,
    several,
    summarizers_of,
    tables_of,
)
from compactlab.request.settings import Settings, checked, completed
from compactlab.scenarios.catalogue import DEFAULT, Seeded, sources
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.sources import MOST_SOURCES, TOO_MANY_SOURCES, Source
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.models.model import Catalogue
from compactlab.sim.models.pricing import known_models
from compactlab.sim.replay.strategy import Strategy
from compactlab.strategies import DEFAULT_STRATEGIES
from compactlab.strategies.catalogue import forget, line_up_of, written_out
from compactlab.strategies.summarizers.catalogue import controls

Given = Conversation | Seeded | str | Path
"""Conversations, or names of them; :class:`Seeded` has its own seeds."""


def plan(
    conversations: Iterable[Given] | Given = (DEFAULT,),
    strategies: Iterable[Strategy | str] | Strategy | str = DEFAULT_STRATEGIES,
    models: Iterable[str] = (),
    *,
    asker: Asker | None = None,
    bounds: bool = False,
    **settings: Unpack[Settings],
) -> Experiment:
    """Make an experiment without running it; see :func:`run`.

    Parameters
    ----------
    asker
        The source of language models' answers; by default the recorded ones in ``answers``.
    bounds
        Whether the bounds are replayed in addition to the strategies.
    """
    chosen = completed(settings)
    conversations = checked("conversations", conversations)
    strategies, models = checked("strategies", strategies), checked("models", models)
    catalogue = known_models(chosen["models_file"])
    names = models_of(several(models, (str,)), catalogue)
    given: list[Given] = several(conversations, (Conversation, Seeded, str, Path))
    held = [each for each in given if isinstance(each, Conversation)]
    named = [each for each in given if not isinstance(each, Conversation)]
    seeds = chosen["seeds"]
    inputs, skipped = sources(named, seeds, strict=chosen["strict"])
    if seeds * len(held) + len(inputs) > MOST_SOURCES:
        raise UsageError(TOO_MANY_SOURCES)
    wanted = several(strategies, (Strategy, str))
    compared = tuple(map(planned_strategy, written_out(wanted)))
    check_specs(compared)
    asker = asker or asker_of(
        chosen["answers"], chosen["ask"], chosen["budget"], chosen["models_file"]
    )
    writers = answered_by(asker, summarizers_of(chosen["summarizer"]))
    forget()
    by_key = {source.key: source for source in (*_held(held, seeds), *inputs)}  # without duplicates
    recorded = any(source.stem for source in inputs) or any(each.recorded for each in held)
    windows = _windows(chosen["window"])
    return Experiment(
        tuple(by_key.values()),
        compared,
        names,
        replace(_setting(chosen, catalogue), window=windows[0] if len(windows) == 1 else None),
        skipped,
        writers,
        bounds_of(compared, recorded=recorded) if bounds else (),
        distance_of(chosen["distance"]),
        windows if len(windows) > 1 else (),
        line_up_of(wanted),
    )


def _held(conversations: Iterable[Conversation], seeds: int) -> Iterator[Source]:
    """Sources of conversations in memory, by their seeds."""
    for each in conversations:
        digest = partial(attrgetter("digest"), each)
        for seed in range(seeds):
            yield Source(each.id, partial(list, (each,)), seed, content=digest)


def _windows(given: int | Iterable[int] | None) -> tuple[int, ...]:
    """The windows in tokens, the smallest first; empty for the models' own."""
    if given is None:
        return ()
    return tuple(sorted({*given} if isinstance(given, Iterable) else {given}))


def _setting(chosen: Settings, catalogue: Catalogue) -> Setting:
    """The setting that all replays share."""
    metrics = metrics_of(several(chosen["metrics"], (str,)))
    tables = tables_of(several(chosen["tables"], (str,)), metrics)
    return Setting(
        catalogue=catalogue,
        churn=churn_of(chosen["churn"]),
        loop=loop_of(chosen["loop"]),
        metrics=metrics,
        tables=tables,
        controls=controls() if chosen["controls"] and "lags" in tables else (),
        redact=chosen["redact"],
        isolate=chosen["isolate"],
    )
