"""An experiment: each strategy with each model and summariser, over each conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from math import prod
from operator import methodcaller
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from compactlab.llm.asker import NO_ANSWER
from compactlab.sim.core.errors import CompactlabError, UsageError
from compactlab.sim.experiment.conditions import Condition, Setting
from compactlab.sim.experiment.disclosure import check_names, under_aliases
from compactlab.sim.experiment.shard import Counted, Shard, Task, forget, shards
from compactlab.sim.experiment.sources import Source
from compactlab.sim.experiment.workers import ALONE, Workers
from compactlab.sim.replay.replay import RECORDED
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Summarizer
from compactlab.sim.store.figures_used import united
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Cell, Run, Used, shard_files
from compactlab.sim.store.store import Store

# Most cells of an experiment: more would need a gigabyte for keys, and days of replays.
MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class Done:
    """Progress: a completed shard."""

    cells: int  # number of cells (a source under a condition)
    calls: int  # how many were replayed
    failed: int  # runs that failed, and sources that could not be read
    name: str  # of its last source
    work: int = 0
    printed: tuple[tuple[str, str], ...] = ()  # output of foreign code, by row name


@dataclass(frozen=True)
class Experiment:
    """The definition of an experiment: strategies, models, summarisers and sources."""

    sources: tuple[Source, ...]
    strategies: tuple[Strategy, ...]
    # By default ``recorded``, and a current model for synthetic conversations.
    models: tuple[str, ...] = ()
    setting: Setting = field(default_factory=Setting)
    skipped: int = 0  # number of files that are not transcripts
    # All are used, even if a strategy requests no summaries, so that summarisers are compared over
    # the same strategies.
    summarizers: tuple[Summarizer, ...] = ()
    bounds: tuple[Strategy, ...] = ()  # replayed for comparison with the strategies
    distance: int = 0  # distance at which reports state recall; 0: by the largest window
    # Several windows, in tokens, each of which narrows that of the models; else the setting's.
    windows: tuple[int, ...] = ()
    line_up: str = ""  # the strategies in a word, if they were named in one: default, all

    def __post_init__(self) -> None:
        axes = (self.sources, self.strategies, self.models, self.windows, self.summarizers)
        cells = prod(max(1, len(axis)) for axis in axes)
        if cells > MOST_CELLS:
            raise UsageError(
                f"these are {cells:,} runs, every conversation under every strategy, model, "
                f"window and summariser; more than {MOST_CELLS:,} are not run: name fewer"
            )
        if self.setting.redact:
            object.__setattr__(self, "sources", under_aliases(self.sources))
            check_names({key: v for key, v in self.manifest().items() if key != "sources"})

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """The setting under each window."""
        windows = tuple(replace(self.setting, window=window) for window in self.windows)
        return windows or (self.setting,)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All combinations of strategy, model, window and summariser, without duplicates."""
        every = (
            Condition(strategy, model, setting, summarizer)
            for model in self.models or ("",)
            for setting in self.settings
            for summarizer in self.summarizers or (None,)
            for strategy in self.strategies
        )
        beside = (
            Condition.of_bound(strategy, model, setting)
            for model in self.models or ("",)
            for setting in self.settings
            for strategy in self.bounds
        )
        both = chain(every, beside)
        return tuple({condition.key: condition for condition in both}.values())

    def without_model(self, timeout: float | None = None) -> list[str]:
        """The files of the recordings, if no run can find out which model they used; else [].

        It reads until a model is named, usually in the first file. What cannot be read is left to
        its runs.
        """
        named = any(condition.model not in ("", RECORDED) for condition in self.conditions)
        if named or not all(source.stem for source in self.sources):
            return []
        files: dict[str, None] = {}
        try:
            for source in self.sources:
                for each in source.conversations(timeout):
                    if not each.recorded or any(a.call and a.call.model for a in each.calls):
                        return []
                    files[source.alias or Path(each.source).name] = None
        except CompactlabError:
            return []
        return list(files)

    def run(
        self,
        workers: Workers = ALONE,
        progress: Callable[[Done], None] | None = None,
        *,
        timeout: float | None = None,
    ) -> Results:
        """Run all cells, and keep the results in memory."""
        runs_by_place: dict[tuple[int, int, int], Run] = {}
        sources = {source.key: n for n, source in enumerate(self.sources)}
        conditions = {condition.key: n for n, condition in enumerate(self.conditions)}
        todo = list(shards(self._tasks(), timeout))
        for _, (runs, done) in workers.run(methodcaller("run", _with_shard), todo):
            for run in runs:
                index = sources[run.source_key], run.place, conditions[run.condition]
                runs_by_place[index] = run
            if progress is not None:
                progress(done)
        forget()
        runs = [runs_by_place[index] for index in sorted(runs_by_place)]
        return Results(runs, {**self.manifest(), "used": united(run.used for run in runs)})

    def run_into(
        self,
        store: Store,
        workers: Workers,
        progress: Callable[[Done], None] | None = None,
        *,
        todo: Sequence[Shard] | None = None,
        fail_fast: bool = False,
    ) -> None:
        """Run the cells that a store lacks, and store them.

        It may be interrupted at any time: stored shards are complete, and the next start continues
        from there.
        """
        if self.setting.redact and store.exists and not store.manifest().get("redact"):
            reason = "what this store holds already was not redacted; run into another folder"
            raise UsageError(f"{store.folder}: {reason}")
        store.claim()
        if not store.exists:  # remaining shards are of unknown origin
            store.begin()
        store.describe(self._manifest_for(store))
        store.drop({file.stem for file in store.lost()})
        store.tidy()
        keys = {setting.window or 0: setting.key for setting in self.settings}
        work = methodcaller("run", partial(_packed, self.setting.tables, keys))
        todo = self.missing(store) if todo is None else todo
        if fail_fast:  # one cell per shard, to stop early
            todo = [cell for shard in todo for cell in shard.apart()]
        for shard, (files, counts, used, done) in workers.run(work, todo):
            for key, figures in used.items():  # before their runs, so that it is never missing
                content = msgspec.json.encode(figures)
                store.remember(_name_of(content), key, content)
            store.put(shard.name, files)
            for source, counted in counts.items():
                store.remember(source, self.setting.counter, counted)
            if progress is not None:
                progress(done)
            if fail_fast and done.failed:
                break
        store.describe(self._manifest_for(store))
        forget()

    @cached_property
    def asking(self) -> list[Shard]:
        """Return the cells whose summariser calls a model, one per shard, without figures."""
        alone = replace(self.setting, metrics=(), tables=(), controls=(), redact=False)
        writers = tuple(writer for writer in self.summarizers if writer.asks)
        if not writers:
            return []
        todo = shards(replace(self, setting=alone, summarizers=writers, bounds=())._tasks())
        return [cell for shard in todo for cell in shard.apart()]

    def recorded(
        self, workers: Workers, progress: Callable[[Done], None] | None = None
    ) -> Experiment:
        """Record all answers of language models for the summarisers; drop the runs.

        So the stored runs replay the recording, like anyone else who has it. A missing answer ends
        the recording; a run that needs it reports why.

        Returns
        -------
        Experiment
            The same experiment, with cell names based on the new recording.
        """
        for _, (unanswered, done) in workers.run(methodcaller("run", _asked), self.asking):
            if progress is not None:
                progress(done)
            if unanswered:
                break
        forget()
        return replace(self)

    def is_described_by(self, store: Store) -> bool:
        """Whether a store's manifest describes this experiment."""
        return store.exists and store.manifest() == self._manifest_for(store)

    def _manifest_for(self, store: Store) -> dict[str, Any]:
        """Return the manifest; for a store with the code versions of its runs: columns may differ.

        The figures used by runs are stored per shard, so that they survive an interruption; the
        manifest of a merged store contains them.
        """
        manifest = self.manifest()
        before = store.manifest() if store.exists else {}
        engines = dict.fromkeys([*before.get("engines", []), manifest["engine"]])
        every: list[Used] = []
        for setting in self.settings:
            for name, content in store.remembered(setting.key).items():
                if name == _name_of(content):  # otherwise it is damaged: then versions are compared
                    every.append(msgspec.json.decode(content, type=Used))
        if all(before.get(name) == manifest[name] for name in self.setting.provenance):
            every.append(before.get("used", {}))
        return {**manifest, "engines": list(engines), "used": united(every)}

    def missing(self, store: Store, timeout: float | None = None) -> list[Shard]:
        """Return the cells that a store lacks, as shards; the longest first."""
        done = set(store.cells())
        known = store.remembered(self.setting.counter)
        todo = shards(self._tasks(done, known), timeout)
        return sorted(todo, key=lambda shard: -shard.work)

    def others(self, store: Store) -> int:
        """Return the number of stored cells that do not belong to this experiment (any more)."""
        sources = {source.key for source in self.sources}
        conditions = {condition.key for condition in self.conditions}
        return sum(s not in sources or c not in conditions for s, c in store.cells())

    def _tasks(
        self, done: Container[Cell] = (), counts: Mapping[str, bytes] = MappingProxyType({})
    ) -> Iterator[Task]:
        for source in self.sources:
            left = tuple(c for c in self.conditions if (source.key, c.key) not in done)
            if left:
                yield Task(source, left, counts.get(source.key, b""))

    def manifest(self) -> dict[str, Any]:
        """Return the provenance of the results."""
        strategies = self.strategies
        return {
            **self.setting.provenance,
            **({"window": list(self.windows)} if self.windows else {}),
            "summarizers": {c.written_by: c.writer for c in self.conditions if c.summarizer},
            "strategies": {strategy.spec: strategy.label for strategy in strategies},
            "line_up": self.line_up,
            "bounds": {bound.spec: bound.label for bound in self.bounds},
            "distance": self.distance,
            "strategies_code": {c.strategy.spec: c.code for c in self.conditions},
            "by_price": [s.spec for s in strategies if s.by_price],
            "sees_future": [s.spec for s in strategies if s.sees_future],
            "flushes": [s.spec for s in strategies if s.flushes],
            "own_strategies": list(
                dict.fromkeys(c.strategy.spec for c in self.conditions if c.own)
            ),
            "breaks": {s.spec: dict(s.breaks) for s in strategies if s.breaks},
            "caps": {s.spec: dict(s.caps) for s in strategies if s.caps},
            "beyond": {s.spec: s.beyond for s in strategies if s.beyond},
            "models": list(self.models),
            "skipped_files": self.skipped,
            "sources": [source.alias or source.name for source in self.sources],
            "source_seeds": [source.seed for source in self.sources],
            "source_keys": [source.key for source in self.sources],
            "conditions": [condition.key for condition in self.conditions],
            "seeds": sorted({source.seed for source in self.sources}),
        }


def _name_of(used: bytes) -> str:
    """Return the name of a note of used figures: a digest, which also shows damage."""
    return hashlib.blake2b(used, digest_size=8).hexdigest()


def _with_shard(shard: Shard, runs: list[Run], counts: Counted) -> tuple[list[Run], Done]:
    return runs, _done(shard, runs)


def _asked(shard: Shard, runs: list[Run], counts: Counted) -> tuple[bool, Done]:
    return any(run.error.startswith(NO_ANSWER) for run in runs), _done(shard, runs)


def _packed(
    tables: tuple[str, ...],
    keys: Mapping[int, str],
    shard: Shard,
    runs: list[Run],
    counts: Counted,
) -> tuple[dict[str, bytes], Counted, dict[str, Used], Done]:
    """Pack a shard for its store; ``keys`` has that of the setting under each window."""
    by_window = {
        key: united(run.used for run in runs if run.window == window)
        for window, key in keys.items()
    }
    used = {key: figures for key, figures in by_window.items() if figures}
    return shard_files(runs, tables), counts, used, _done(shard, runs)


def _done(shard: Shard, runs: list[Run]) -> Done:
    return Done(
        len(shard.cells),
        sum(len(run.calls) for run in runs),
        sum(run.status != "ok" for run in runs),
        shard.tasks[-1].source.alias or shard.tasks[-1].source.name,
        shard.work,
        tuple((f"{run.label} over {run.conversation}", run.printed) for run in runs if run.printed),
    )
