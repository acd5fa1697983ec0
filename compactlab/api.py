"""The functions that most people need, which take names where the engine takes objects."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, Unpack

from compactlab.reports.explain.explanation import Account, account
from compactlab.reports.render.text import printed_by
from compactlab.reports.score.score import Score, spoken
from compactlab.reports.tune.report import TuningResult
from compactlab.reports.tune.search import Axis, Search, check
from compactlab.reports.tune.tuned import Target
from compactlab.reports.tune.tuner import METRICS, TABLES, tune_all
from compactlab.request.names import (
    churn_of,
    loop_of,
    models_of,
    planned_strategy,
    planned_summarizer,
    several,
    strategy_of,
    summarizer_of,
)
from compactlab.request.plan import Given, plan
from compactlab.request.settings import Settings, completed
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
from compactlab.sim.replay.options import RECORDED, Options
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Summarizer
from compactlab.sim.replay.trace import Step
from compactlab.sim.store.results import Results
from compactlab.sim.store.store import Store
from compactlab.strategies.catalogue import forget
from compactlab.strategies.line_up import DEFAULT_STRATEGIES

T = TypeVar("T")

__all__ = ["explain", "read", "replay", "run", "score", "tune"]


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
    """Take a conversation through a strategy, call by call.

    Parameters
    ----------
    conversation
        What to replay, e.g. of :func:`compactlab.read`.
    strategy
        A strategy or its spec.
    model
        A model's name. By default the one that was recorded, call by call; for synthetic
        conversations, a current one.
    summarizer
        Makes the summaries that strategies ask for; a summariser or its spec.
    window
        Narrows the model's context window to so many tokens.
    seed
        Root of all random draws.
    models_file
        A TOML file with your own models, which win over built-in ones.
    loop
        ``open``: the agent does what the script says. ``closed``: a simulated agent also recovers
        the facts that it needs and lacks, in the worst case; ``closed(misuse=0)`` is the best case.
        Steps that the loop adds give their reason in ``recovery``; ``unmet`` names facts that could
        not be recovered.
    files
        Where strategies keep files, such as payloads of tool results: text by path. By default in
        memory; ``compactlab.Folder(path)`` is a folder on disk.
    answers
        Folder of recorded answers, which a summariser that asks a language model replays.

    Yields
    ------
    Step
        One for every call: its prompt, its usage by billing class, why tokens missed the cache.

    Raises
    ------
    ModelError, UsageError
        If a name is unknown, or something needed is not known of the model.
    InputError
        If the file of models is wrong.
    """
    options = Options(
        model or (RECORDED if conversation.recorded else DEFAULT_MODEL),
        summarizer_of(summarizer, answers),
        window,
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
        Strategies or their specs; ``"all"`` stands for every built-in one. By default whole agents
        and the strategies that this project was asked to compare.
    models
        Names of models; ``recorded`` is the one that each recorded call went to.
    progress
        Called with every finished shard; by default it writes what foreign code has printed to
        standard error.
    settings
        How it is done, as the options of ``compactlab run``, each with its meaning in
        :class:`~compactlab.request.settings.Settings`. Here ``loop`` is ``open``, ``jobs`` is 1,
        and without ``out`` results stay in memory.

    Returns
    -------
    Results
        ``results.frame()`` is a pandas DataFrame with one row a run. ``keep_all``, ``keep_none``
        and, of recordings, ``as_recorded`` are replayed, too: those that are not named are in
        ``results.bounds``.

    Raises
    ------
    InputError, UsageError
        If a file is no transcript, or a name is unknown.
    """
    chosen = completed(settings)
    out = chosen["out"]
    planned = plan(conversations, strategies, models, bounds=True, **settings)
    workers = Workers(chosen["jobs"], chosen["dask"], warnings.warn)
    progress = progress or _show_printed
    if chosen["ask"] == "record":
        planned = planned.recorded(workers, progress)
    if out is None:
        return planned.run(workers, progress, timeout=chosen["timeout"])
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
    """Replay one strategy over one conversation, and explain what each request cost and why.

    Parameters
    ----------
    conversation
        A conversation, a file or the spec of a scenario.
    strategy, model, summarizer, window, seed, models_file, churn
        As for :func:`replay` and :func:`run`.
    id, strict
        Which conversation, if there are several; whether what is not understood is an error.
    call
        The number of a call: if it was a compaction, its messages before and after are included.
    files
        As for :func:`replay`; filled at the end.
    answers
        As for :func:`replay`.
    say
        Called with what foreign code has printed; by default it goes to standard error.

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
    held = {} if files is None else dict(files)  # foreign code fills it in its own process
    options = Options(
        models_of([name], catalogue)[0],
        planned_summarizer(summarizer, answers),
        window,
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
    """What comes of foreign code, in a process of its own, and what that has printed."""
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
    """Find the trigger of a strategy, or other fields of it, that costs least with recovery.

    Parameters
    ----------
    conversations
        As for :func:`run`.
    strategies
        Strategies or their specs, each of which is tuned.
    over
        Fields to look for, one after the other, such as ``trigger`` or ``files=0,5,10``.
    recall
        Where facts are labelled: the share of needs that a setting must meet, of those as far away
        as ``distance``.
    margin
        The share by which a setting may cost more and still count as near the cheapest.
    points, sessions
        How many values are tried of each field and strategy, and how many sessions are replayed
        under each window, at most.
    race
        Whether the strategies are alternatives: those shown to cost more are not looked at finely.
    model
        Replay all calls with this model.
    settings
        As for :func:`run`; ``out`` is the folder of a store for each window. The loop is closed,
        and what is measured does not depend on settings.

    Returns
    -------
    TuningResult
        ``tuning.frame()`` is a pandas DataFrame with one row a setting; ``tuning.text()`` is the
        report, ``tuning.html()`` its page; ``tuning.tuned`` has the optimum, its interval and what
        to paste, of each strategy under each window.

    Raises
    ------
    InputError, UsageError
        If there is nothing to tune, or a name is unknown.
    """
    chosen = completed(settings)
    if points < 2 or sessions < 1:
        raise UsageError("sessions must be at least 1, and points at least 2")
    axes = tuple(map(Axis.parsed, several(over, (str,))))
    search = Search(axes, points=points, sessions=sessions, race=race)
    target = Target(recall, chosen["distance"] or None, margin)
    named = [*map(planned_strategy, several(strategies, (Strategy, str)))]
    check(named, search, target)
    settings |= Settings(loop="closed", metrics=METRICS, tables=TABLES)
    return tune_all(
        plan(conversations, "keep_all", [model] if model else (), **settings),
        named,
        search,
        target,
        chosen["out"],
        narrowed=chosen["window"],
        workers=Workers(chosen["jobs"], "", warnings.warn),
        timeout=chosen["timeout"],
    )


# Scoring what some other product made of a conversation, without replaying anything.


def score(
    original: Conversation | str | Path,
    compacted: Conversation | str | Path,
    *,
    facts: str | Path | None = None,
    model: str = "",
    id: str = "",
    models_file: str | Path | None = None,
) -> Score:
    """Score what a context that somebody else compacted still holds of a conversation.

    Parameters
    ----------
    original
        The conversation: itself, a transcript of any format, or the spec of a scenario. The labels
        in it are used; without any, facts are inferred from what its actions use later.
    compacted
        The context: messages of any format, or a file of plain text. A native conversation whose
        parts name messages of the original is believed; for anything else, the origin of its words
        is looked up, see :func:`compactlab.sim.facts.attribution.attributed`.
    facts
        A file of facts and needs, in the place of the labels of the original. Facts that no message
        states in words are left out; the score names them.
    model
        The model by which tokens are counted; a current one by default.
    id
        Which conversation, if there are several.
    models_file
        A TOML file with your own models, which win over built-in ones.

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
    """The context of a file, or the one of that id."""
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
