"""An experiment: every strategy over every conversation, on one worker or several."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import msgspec

from compactlab.sim.blocks import forget_blocks
from compactlab.sim.caller import RECORDED
from compactlab.sim.churn import Churn
from compactlab.sim.conversation import Conversation
from compactlab.sim.errors import CompactlabError
from compactlab.sim.metrics import METRICS
from compactlab.sim.model import Catalogue, built_in
from compactlab.sim.one_run import run_one, told
from compactlab.sim.pricing import price_list
from compactlab.sim.recording import unseen
from compactlab.sim.results import Results, Run
from compactlab.sim.rework import Closed
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import Remembering, Summarizer
from compactlab.sim.tokens import forget_counts

DEFAULT_MODEL = "claude-sonnet-4-5"


@dataclass(frozen=True)
class Source:
    """Where conversations come from; small, so that it travels to a worker in their place.

    Parameters
    ----------
    name
        Unique in the experiment; begins the ids of its conversations.
    load
        Reads or makes them. Must be picklable: a function of a module, or a partial of one.
    seed
        The seed of the replays.
    stem
        With what the ids of its conversations begin as they are loaded.
    """

    name: str
    load: Callable[[], Iterable[Conversation]]
    seed: int = 0
    stem: str = ""

    def named(self, conversation: Conversation) -> Conversation:
        """A conversation of this source, with an id that begins with the source's name."""
        if not self.stem or self.name == self.stem:
            return conversation
        return replace(conversation, id=self.name + conversation.id.removeprefix(self.stem))


@dataclass(frozen=True)
class Experiment:
    """What is to be run: every strategy, under every model, over every source.

    Parameters
    ----------
    sources
        Where the conversations come from.
    strategies
        The strategies.
    models
        Names of models, or ``recorded``. Empty: ``recorded`` for recordings, and
        :data:`DEFAULT_MODEL` for conversations that were made up.
    summarizer
        Makes the summaries that strategies ask for.
    window
        Narrows every model's window to so many tokens.
    skipped
        Files that were passed over because they are no transcripts.
    catalogue
        The models that may be named; it travels to the workers with the experiment.
    churn
        How often the client changes its prompt unasked, as an audit measured it.
    loop
        The closed loop, which is replayed beside the open one; None for the open one alone.
    metrics
        Names of those that are computed; all by default.
    """

    sources: tuple[Source, ...]
    strategies: tuple[Strategy, ...]
    models: tuple[str, ...] = ()
    summarizer: Summarizer | None = None
    window: int | None = None
    skipped: int = 0
    catalogue: Catalogue = field(default_factory=built_in)
    churn: Churn | None = None
    loop: Closed | None = None
    metrics: tuple[str, ...] = tuple(METRICS)

    def run(
        self, jobs: int = 1, progress: Callable[[Source, list[Run]], None] | None = None
    ) -> Results:
        """Run everything.

        Parameters
        ----------
        jobs
            Number of workers; the results do not depend on it.
        progress
            Told of every source that is done, in the order in which they are.

        Returns
        -------
        Results
            All runs, in the order of sources, models and strategies.
        """
        done: dict[int, list[Run]] = {}
        for number, runs in self._shards(jobs):
            done[number] = runs
            if progress is not None:
                progress(self.sources[number], runs)
        runs = self._told_apart(done)
        lines = {run.conversation: run.skipped for run in runs if run.skipped}
        return Results(runs, {**self.manifest(), "skipped_lines": lines})

    def _told_apart(self, done: dict[int, list[Run]]) -> list[Run]:
        """All runs in order; different conversations of one id get the names of their sources."""
        digests: dict[str, set[str]] = {}
        for runs in done.values():
            for run in runs:
                digests.setdefault(run.conversation, set()).add(run.digest)
        return [
            replace(run, conversation=f"{self.sources[number].name}:{run.conversation}")
            if len(digests[run.conversation]) > 1
            else run
            for number in sorted(done)
            for run in done[number]
        ]

    def _shards(self, jobs: int) -> Iterator[tuple[int, list[Run]]]:
        if jobs == 1 or len(self.sources) < 2:
            yield from ((n, self.run_source(source)) for n, source in enumerate(self.sources))
            return
        from joblib import Parallel, delayed

        _send_along(self.strategies)
        workers = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        numbered = enumerate(self.sources)
        yield from workers(delayed(self._shard)(number, source) for number, source in numbered)

    def _shard(self, number: int, source: Source) -> tuple[int, list[Run]]:
        return number, self.run_source(source)

    def run_source(self, source: Source) -> list[Run]:
        """Run everything over the conversations of one source, in order."""
        runs: list[Run] = []
        try:
            for conversation in source.load():
                runs += self._run_conversation(source.named(conversation), source.seed)
                forget_counts()
                forget_blocks()
        except Exception as error:
            said = str(error) if isinstance(error, CompactlabError) else told(error)
            unread = Run(source.name, "", "", "", self.window or 0, source.seed)
            runs.append(replace(unread, status="unreadable", error=said))
        return runs

    def _run_conversation(self, conversation: Conversation, seed: int) -> Iterator[Run]:
        summarizer = Remembering(self.summarizer) if self.summarizer else None
        fallback = RECORDED if conversation.recorded else DEFAULT_MODEL
        overhead = unseen(conversation, self.catalogue)
        for model in self.models or (fallback,):
            for strategy in self.strategies:
                run = Run(
                    conversation=conversation.id,
                    scenario=conversation.format,
                    strategy=strategy.spec,
                    model=model,
                    window=self.window or 0,
                    seed=seed,
                    digest=conversation.digest,
                    summarizer=summarizer.spec if summarizer else "",
                    skipped=conversation.skipped,
                    own_models=self.catalogue.digest,
                    loop=self.loop.spec if self.loop else "",
                    labels="declared" if conversation.facts else "inferred",
                )
                yield run_one(
                    run,
                    conversation,
                    strategy,
                    summarizer,
                    overhead=overhead,
                    catalogue=self.catalogue,
                    churn=self.churn,
                    loop=self.loop,
                    metrics=self.metrics,
                )

    def manifest(self) -> dict[str, Any]:
        """Where the results come from."""
        return {
            "compactlab": version("compactlab"),
            "prices": price_list(),
            "tokenizer": f"tiktoken {version('tiktoken')}",
            "summarizer": self.summarizer.spec if self.summarizer else "",
            "simulated": self.summarizer.simulated if self.summarizer else "",
            "strategies": {strategy.spec: strategy.label for strategy in self.strategies},
            "sees_future": [s.spec for s in self.strategies if s.sees_future],
            "flushes": [s.spec for s in self.strategies if s.flushes],
            "breaks": {s.spec: dict(s.breaks) for s in self.strategies if s.breaks},
            "models": list(self.models),
            "own_models": dict(self.catalogue.own),
            "churn": msgspec.to_builtins(self.churn) if self.churn else {},
            "loop": self.loop.spec if self.loop else "",
            "metrics": list(self.metrics),
            "window": self.window or 0,
            "skipped_files": self.skipped,
            "sources": [source.name for source in self.sources],
            "seeds": sorted({source.seed for source in self.sources}),
        }


def _send_along(strategies: Iterable[Strategy]) -> None:
    """Have the code of users' own strategies sent to the workers, which could not import it."""
    import cloudpickle

    for part in (part for strategy in strategies for part in strategy.parts):
        module = type(part).__module__
        if module != "__main__" and not module.startswith(f"{__package__.partition('.')[0]}."):
            cloudpickle.register_pickle_by_value(sys.modules[module])
