"""The functions that most users need; they accept names for the engine's objects."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack

from compactlab.reports.explain.explanation import Account, account
from compactlab.reports.render.text import printed_by
from compactlab.reports.score import Score, spoken
from compactlab.reports.tune.report import TuningResult
from compactlab.reports.tune.search import Axis, Search, check
from compactlab.reports.tune.tuned import Target
from compactlab.reports.tune.tuner import METRICS, TABLES, tune_all
from compactlab.request.names import (
    Given,
    churn_of,
    loop_of,
    models_of,
    plan,
    planned_strategy,
    planned_summarizer,
    several,
    strategy_of,
    summarizer_of,
)
from compactlab.request.settings import Settings, completed, one_window
from compactlab.scenarios.catalogue import DEFAULT, find_conversation
from compactlab.scenarios.readers.native import read_facts
from compactlab.scenarios.readers.transcript import read, read_compacted
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError, ModelError, UsageError, unknown
from compactlab.sim.core.isolation import isolated
from compactlab.sim.core.view import Messages, View
from compactlab.sim.experiment.foreign import Foreign, ForeignSummarizer, loaded
from compactlab.sim.experiment.shard import DEFAULT_MODEL
from compactlab.sim.experiment.sweep import Done
from compactlab.sim.experiment.workers import Workers
from compactlab.sim.facts.attribution import attributed, declared
from compactlab.sim.metrics import RunData
from compactlab.sim.models.model import Catalogue, Model
from compactlab.sim.models.pricing import known_models
from compactlab.sim.replay import replay as engine
from compactlab.sim.replay.client import Churn
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import RECORDED, Options
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Summarizer
from compactlab.sim.replay.trace import Step
from compactlab.sim.store.results import Results as Runs
from compactlab.sim.store.store import Store
from compactlab.strategies import DEFAULT_STRATEGIES
from compactlab.strategies.catalogue import forget

if TYPE_CHECKING:
    import pandas as pd

    from compactlab.reports.charts.plot import Plots

T = TypeVar("T")

__all__ = ["Results", "explain", "read", "replay", "run", "score", "tune"]


class Results(Runs):
    """All runs of an experiment, with their summary and their charts.

    ``frame()`` has every figure of every run, ``summary()`` ten columns with one row per strategy,
    and ``plot`` the charts. A notebook shows the summary.
    """

    def summary(self, *, bounds: bool = False) -> pd.DataFrame:
        """Return one row per strategy with ten columns, the cheapest first.

        Parameters
        ----------
        bounds
            Whether to add the bounds that no one named.

        Returns
        -------
        pandas.DataFrame
            ``strategy``; ``cost_usd``, USD for a conversation; ``cost_change_percent``, its
            difference from the reference, with the ends of the 95 % interval in
            ``cost_change_low`` and ``cost_change_high``; ``recall_percent``, recall of facts last
            stated ``distance_tokens`` ago or earlier; ``recall_change_points``, its difference from
            the reference; ``unusable_calls_percent``, the calls that exceed the window or that the
            API would reject, whichever are more; ``compactions`` of a conversation. Unknown figures
            are NaN. With several models, windows or summarisers the index says which;
            ``attrs["reference"]`` names the reference of each.
        """
        from compactlab.reports.page.summary import frame

        return frame(self, bounds=bounds)

    def to_latex(self) -> str:
        """Return the summary as a table for the LaTeX package booktabs."""
        from compactlab.reports.page.summary import as_latex

        return as_latex(self)

    def __repr__(self) -> str:
        return f"Results({len(self.runs)} runs, {len(self.failed)} failed)"

    def _repr_html_(self) -> str:
        from compactlab.reports.page.summary import as_html

        return as_html(self)

    @property
    def plot(self) -> Plots:
        """Charts as matplotlib axes, such as ``results.plot.cost_and_recall()``."""
        from compactlab.reports.charts.plot import Plots

        return Plots(self)


def _to_stderr(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _show_printed(done: Done) -> None:
    for name, printed in done.printed:
        _to_stderr(printed_by(name, printed))


def replay(
    conversation: Conversation,
    strategy: Strategy | str,
    model: str = "",
    *,
    summarizer: Summarizer | str = "calibrated",
    window: int | None = None,
    seed: int = 0,
    models_file: str | Path | None = None,
    loop: ClosedLoop | str = "open",
    files: MutableMapping[str, str] | None = None,
    answers: str | Path | None = None,
) -> Iterator[Step]:
    """Replay a strategy over a conversation, call by call.

    Parameters
    ----------
    conversation
        The conversation, e.g. from :func:`compactlab.read`.
    strategy
        A strategy or its spec.
    model
        A model's name. By default the recorded model of each call; for synthetic conversations, a
        current one.
    summarizer
        A summariser or its spec; it writes the summaries that strategies request.
    window
        A smaller context window, in tokens.
    seed
        Root of all random draws.
    models_file
        A TOML file with your own models, which override built-in ones.
    loop
        ``open``: the agent follows the script. ``closed``: a simulated agent also recovers the
        facts that it needs and misses, in the worst case; ``closed(misuse=0)`` is the best case.
        Steps that the loop adds give their reason in ``recovery``; ``unmet`` names facts that could
        not be recovered.
    files
        The storage for strategies' files, such as payloads of tool results: text by path. By
        default in memory; ``compactlab.Folder(path)`` is a folder on disk.
    answers
        Folder of recorded answers, for summarisers that call a language model.

    Yields
    ------
    Step
        One for every call: its prompt, its usage by billing class, the causes of cache misses.

    Raises
    ------
    ModelError, UsageError
        If a name is unknown, or a needed figure of the model is unknown.
    InputError
        If the file of models is invalid.
    """
    options = Options(
        model or (RECORDED if conversation.recorded else DEFAULT_MODEL),
        summarizer_of(summarizer, answers),
        one_window(window),
        seed,
        known_models(models_file),
        loop=loop_of(loop),
        files=files,
    )
    return engine.replay(conversation, strategy_of(strategy), options)


def run(
    conversations: Iterable[Given] | Given = (DEFAULT,),
    strategies: Iterable[Strategy | str] | Strategy | str = DEFAULT_STRATEGIES,
    models: Iterable[str] = (),
    *,
    progress: Callable[[Done], None] | None = None,
    **settings: Unpack[Settings],
) -> Results:
    """Replay strategies over conversations and measure them.

    Parameters
    ----------
    conversations
        Conversations, files, directories, specs of scenarios.
    strategies
        Strategies or their specs; ``"all"`` stands for every built-in one. By default the
        strategies of whole agents and some common ones (``DEFAULT_STRATEGIES``).
    models
        Names of models; ``recorded`` is the recorded model of each call.
    progress
        Called with every finished shard; by default it writes the output of plug-in code to
        standard error.
    settings
        The options of ``compactlab run``, which are explained in
        :class:`~compactlab.request.settings.Settings`. Here ``loop`` is ``open``, ``jobs`` is 1,
        and without ``out`` results stay in memory. ``window=[40_000, 100_000]`` replays all under
        each window; recall is at one distance, by the largest.

    Returns
    -------
    Results
        ``results.frame()`` is a pandas DataFrame with one row per run. The bounds ``keep_all``,
        ``keep_none`` and (for recordings) ``as_recorded`` are always replayed; those that you do
        not name are in ``results.bounds``.

    Raises
    ------
    InputError, UsageError
        If a file is not a transcript, or a name is unknown.
    """
    chosen = completed(settings)
    out = chosen["out"]
    planned = plan(conversations, strategies, models, bounds=True, **chosen)
    workers = Workers(chosen["jobs"], chosen["dask"], warnings.warn)
    progress = progress or _show_printed
    if chosen["ask"] == "record":
        planned = planned.recorded(workers, progress)
    if out is None:
        runs = planned.run(workers, progress, timeout=chosen["timeout"])
        return Results(runs.runs, runs.manifest, runs.store, runs.bounds)
    store = Store(out)
    with store.locked():
        todo = planned.missing(store, chosen["timeout"])
        planned.run_into(store, workers, progress, todo=todo, fail_fast=chosen["fail_fast"])
    return Results.load(out)


def explain(
    conversation: Conversation | str | Path,
    strategy: Strategy | str,
    model: str = "",
    *,
    id: str = "",
    summarizer: Summarizer | str = "calibrated",
    window: int | None = None,
    seed: int = 0,
    strict: bool = False,
    models_file: str | Path | None = None,
    churn: Churn | str | Path | None = None,
    call: int | None = None,
    files: MutableMapping[str, str] | None = None,
    answers: str | Path | None = None,
    say: Callable[[str], object] = _to_stderr,
) -> Account:
    """Replay one strategy over one conversation, and explain the cost of each request.

    Parameters
    ----------
    conversation
        A conversation, a file or the spec of a scenario.
    strategy, model, summarizer, window, seed, models_file, churn
        As for :func:`replay` and :func:`run`.
    id, strict
        The conversation's id, if there are several; whether unknown records are errors.
    call
        The number of a call; if it is a compaction, its messages before and after are included.
    files
        As for :func:`replay`; filled at the end.
    answers
        As for :func:`replay`.
    say
        Called with the output of plug-in code; by default it goes to standard error.

    Raises
    ------
    InputError, ModelError, UsageError
        If there is not exactly one such conversation, or a name is unknown.
    """
    planned = planned_strategy(strategy)
    forget()
    if isinstance(conversation, str | Path):
        conversation = find_conversation(conversation, id, seed, strict=strict)
    catalogue = known_models(models_file)
    name = model or (RECORDED if conversation.recorded else DEFAULT_MODEL)
    held = {} if files is None else dict(files)  # plug-in code fills it in its own process
    options = Options(
        models_of([name], catalogue)[0],
        planned_summarizer(summarizer, answers),
        one_window(window),
        seed,
        catalogue,
        churn_of(churn),
        files=held,
    )

    def explained() -> tuple[Account, dict[str, str]]:
        trace = engine.record(conversation, loaded(planned), options)
        return account(RunData(trace, conversation), call), held

    parts = (*planned.parts, options.summarizer)
    foreign = any(isinstance(part, Foreign | ForeignSummarizer) for part in parts)
    done, held = _apart(explained, planned, say) if foreign else explained()
    if files is not None:
        files.update(held)
    return done


def _apart(work: Callable[[], T], planned: Strategy, say: Callable[[str], object]) -> T:
    """Run plug-in code in a separate process; return the result and pass its output to ``say``."""
    outcome = isolated(work)
    if outcome.printed:
        say(printed_by(planned.label, outcome.printed))
    if outcome.value is None:
        raise UsageError(f"{planned.spec} fails: {outcome.fault}")
    return outcome.value


def tune(
    conversations: Iterable[Given] | Given,
    strategies: Iterable[Strategy | str] | Strategy | str = "claude_code",
    over: Iterable[str] | str = "trigger",
    *,
    recall: float = 0.8,
    margin: float = 0.02,
    points: int = 12,
    sessions: int = 40,
    race: bool = False,
    model: str = "",
    **settings: Unpack[Settings],
) -> TuningResult:
    """Find the trigger of a strategy, or other fields, with the lowest cost including recovery.

    Parameters
    ----------
    conversations
        As for :func:`run`.
    strategies
        Strategies or their specs; each is tuned.
    over
        Fields to tune, in order, such as ``trigger`` or ``files=0,5,10``.
    recall
        The minimum recall of a setting at ``distance``, if facts are labelled.
    margin
        The relative margin by which a setting may cost more than the cheapest.
    points, sessions
        The maximum number of values of each field and strategy, and of sessions under each window.
    race
        Whether strategies are alternatives: those that cost significantly more are not refined.
    model
        Replay all calls with this model.
    settings
        As for :func:`run`; ``out`` is the folder of a store for each window. The loop is always
        closed, and the metrics are fixed.

    Returns
    -------
    TuningResult
        ``tuning.frame()`` is a pandas DataFrame with one row per setting; ``tuning.text()`` is the
        report, ``tuning.html()`` its page; ``tuning.tuned`` has the optimum, its interval and the
        lines to paste for each strategy and window.

    Raises
    ------
    InputError, UsageError
        If there is nothing to tune, or a name is unknown.
    """
    chosen, window = completed(settings), one_window(settings.get("window"))
    if points < 2 or sessions < 1:
        raise UsageError("sessions must be at least 1, and points at least 2")
    axes = tuple(map(Axis.parsed, several(over, (str,))))
    search = Search(axes, points=points, sessions=sessions, race=race)
    target = Target(recall, chosen["distance"] or None, margin)
    named = [*map(planned_strategy, several(strategies, (Strategy, str)))]
    check(named, search, target)
    fixed = chosen | Settings(loop="closed", metrics=METRICS, tables=TABLES)
    return tune_all(
        plan(conversations, "keep_all", [model] if model else (), **fixed),
        named,
        search,
        target,
        chosen["out"],
        narrowed=window,
        workers=Workers(chosen["jobs"], "", warnings.warn),
        timeout=chosen["timeout"],
    )


# Score a context that another product compacted, without any replay.


def score(
    original: Conversation | str | Path,
    compacted: Conversation | str | Path,
    *,
    facts: str | Path | None = None,
    model: str = "",
    id: str = "",
    models_file: str | Path | None = None,
) -> Score:
    """Score which facts of a conversation a context keeps that another product compacted.

    Parameters
    ----------
    original
        A conversation, a transcript of any format, or the spec of a scenario. Its labels are used;
        without any, facts are inferred from later actions.
    compacted
        The context: messages of any format, or a file of plain text. If parts of a native
        conversation name messages of the original, these are its sources; otherwise the origin of
        its words is searched, see :func:`compactlab.sim.facts.attribution.attributed`.
    facts
        A file of facts and needs that replaces the labels of the original. Facts that no message
        states in words are left out; the score names them.
    model
        The model whose tokenizer counts tokens; a current one by default.
    id
        The conversation's id, if there are several.
    models_file
        A TOML file with your own models, which override built-in ones.

    Returns
    -------
    Score
        States of facts, figures, and where each fact was found.

    Raises
    ------
    InputError, UsageError
        If something cannot be read, or there is not exactly one such conversation.
    """
    if not isinstance(original, Conversation):
        original = find_conversation(original, id)
    if not isinstance(compacted, Conversation):
        compacted = _context(Path(compacted), id)
    left_out: tuple[str, ...] = ()
    if facts is not None:
        labels = read_facts(facts, original)
        original = replace(original, facts=labels.facts, needs=labels.needs)
        left_out = labels.left_out
    messages = spoken(original)
    if not messages:
        raise InputError("there is no message in the original", original.source)
    view = View(compacted.system, Messages(spoken(compacted)))
    try:
        declaration = declared(messages, view) if compacted.format == "native" else None
    except InputError as error:
        raise InputError(error.message, compacted.source) from None
    catalogue = known_models(models_file)
    attribution = declaration or attributed(messages, original.system, view)
    return Score(original, attribution, _model(model, catalogue), catalogue, left_out)


def _context(path: Path, id: str) -> Conversation:
    """The context in a file, or the one with that id."""
    conversations = read_compacted(path)
    if len(conversations) == 1:
        return conversations[0]
    named = [each for each in conversations if id and each.id.endswith(id)]
    if len(named) == 1:
        return named[0]
    ids = [each.id for each in conversations]
    if id and not named:
        raise UsageError(unknown("conversation", id, ids))
    raise UsageError(
        f"{len(conversations):,} conversations in {str(path)!r}; name one of both files"
    )


def _model(name: str, catalogue: Catalogue) -> Model:
    try:
        return catalogue.find(name or DEFAULT_MODEL)
    except ModelError as error:
        raise UsageError(str(error)) from None
