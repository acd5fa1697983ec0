"""Conversion of the user's names to the engine's objects."""

from __future__ import annotations

import ast
import glob
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Unpack

from compactlab.llm.asker import Asker, Mode
from compactlab.reports.analysis.comparison import JUDGING
from compactlab.request.settings import Settings, checked, completed
from compactlab.scenarios.catalogue import DEFAULT, Seeded, is_pattern, sources
from compactlab.scenarios.readers.folders import files_like
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import ModelError, UsageError, unknown
from compactlab.sim.core.spec import build, parse_spec
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.foreign import kind_of
from compactlab.sim.experiment.sources import MOST_SOURCES, TOO_MANY_SOURCES, Source
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.metrics import FAMILIES, METRICS, metrics_named
from compactlab.sim.metrics.memory import LONG
from compactlab.sim.models.model import Catalogue
from compactlab.sim.models.pricing import known_models
from compactlab.sim.replay.client import Churn, read_churn
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import RECORDED
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Summarizer
from compactlab.sim.store.tables import TABLES, USUAL
from compactlab.strategies import DEFAULT_STRATEGIES
from compactlab.strategies.catalogue import (
    find_strategy,
    forget,
    known_strategy,
    line_up_of,
    written_out,
)
from compactlab.strategies.program.exec import Exec
from compactlab.strategies.summarizers.catalogue import controls, find_summarizer, known_summarizer
from compactlab.strategies.summarizers.llm import Llm

OPEN = "open"
# Families of metrics that need the states of facts.
_FOLLOWED = ("memory", "facts")


def models_of(names: Iterable[str], catalogue: Catalogue) -> tuple[str, ...]:
    """Each model once, by its name in the catalogue.

    A name from the user must be known; an unknown one in a recording only fails its own rows.
    """
    try:
        known = [n if n == RECORDED else catalogue.find(n).name for n in names]
    except ModelError as error:
        raise UsageError(str(error)) from None
    return tuple(dict.fromkeys(known))


def check_specs(strategies: Iterable[Strategy]) -> None:
    """Check that specs are unique: a spec is the name of a strategy in every table."""
    known: dict[str, Strategy] = {}
    for strategy in strategies:
        other = known.setdefault(strategy.spec, strategy)
        if kind_of(other) != kind_of(strategy):
            raise UsageError(
                f"two different strategies are called {strategy.spec}: rename the class of one"
            )


def several(given: Any, alone: tuple[type, ...]) -> list[Any]:
    """A list, also from a single item."""
    return [given] if isinstance(given, alone) else list(given)


def strategy_of(strategy: Strategy | str) -> Strategy:
    """A strategy, also from its spec."""
    return find_strategy(strategy) if isinstance(strategy, str) else strategy


def planned_strategy(strategy: Strategy | str) -> Strategy:
    """A strategy, also from its spec; plug-in code is not loaded."""
    if not isinstance(strategy, str) and any(isinstance(p, Exec) for p in strategy.parts):
        strategy = strategy.spec
    return known_strategy(strategy) if isinstance(strategy, str) else strategy


def summarizer_of(summarizer: Summarizer | str, answers: str | Path | None = None) -> Summarizer:
    """A summariser, also from its spec; ``answers`` is the folder of recorded answers."""
    found = find_summarizer(summarizer) if isinstance(summarizer, str) else summarizer
    (answered,) = answered_by(asker_of(answers), [found])
    return answered


def planned_summarizer(
    summarizer: Summarizer | str, answers: str | Path | None = None
) -> Summarizer:
    """A summariser, also from its spec; plug-in code is not loaded."""
    (answered,) = answered_by(asker_of(answers), [_known(summarizer)])
    return answered


def _known(summarizer: Summarizer | str) -> Summarizer:
    return known_summarizer(summarizer) if isinstance(summarizer, str) else summarizer


def summarizers_of(
    summarizer: Summarizer | str | Iterable[Summarizer | str],
) -> tuple[Summarizer, ...]:
    """Summarisers, also from specs, without duplicates: a single one or several.

    Examples
    --------
    >>> [each.label for each in summarizers_of(["lexrank", "lead", "lexrank"])]
    ['lexrank', 'lead']
    """
    by_spec: dict[str, Summarizer] = {}
    for each in map(_known, several(summarizer, (Summarizer, str))):
        if kind_of(by_spec.setdefault(each.spec, each)) != kind_of(each):
            raise UsageError(
                f"two different summarisers are called {each.spec}: rename the class of one"
            )
    if not by_spec:
        raise UsageError("an experiment needs a summariser: name at least one")
    return tuple(by_spec.values())


def asker_of(
    answers: str | Path | None,
    ask: Mode = "replay",
    budget: float | None = None,
    models_file: str | Path | None = None,
) -> Asker | None:
    """The source of language models' answers; None without a folder of answers."""
    if answers is None:
        if ask == "record" or budget is not None:
            raise UsageError("answers are recorded into a folder: name it with --answers")
        return None
    return Asker(Path(answers), ask, budget, known_models(models_file))


def answered_by(asker: Asker | None, summarizers: Iterable[Summarizer]) -> tuple[Summarizer, ...]:
    """Summarisers, with the source of answers for those that call a language model.

    Raises an InputError or UsageError if one can never be answered.
    """
    answered = tuple(
        each.answered_by(asker or each.asker) if isinstance(each, Llm) else each
        for each in summarizers
    )
    for each in answered:
        if isinstance(each, Llm):
            each.check()
    return answered


def churn_of(churn: Churn | str | Path | None) -> Churn | None:
    """A measured churn, also from the file of an audit."""
    return read_churn(Path(churn)) if isinstance(churn, str | Path) else churn


def loop_of(loop: ClosedLoop | str | None) -> ClosedLoop | None:
    """The closed loop by its spec, ``closed`` or ``closed(unbound=1)``; None for ``open``.

    Examples
    --------
    >>> loop_of("closed(unbound=1)")
    ClosedLoop(misuse=1.0, unbound=1)
    >>> loop_of("open") is None
    True
    """
    if not isinstance(loop, str):
        return loop
    name, arguments = parse_spec(loop)
    if name == OPEN and not arguments:
        return None
    if name != "closed":
        raise UsageError(f"a loop is 'open' or 'closed', not {loop!r}")
    return build(ClosedLoop, arguments)


# Bounds to compare with: the prompt unchanged, nothing kept, and for recordings the recorded
# prompts.
_BOUNDS, _OF_RECORDINGS = ("keep_all", "keep_none"), "as_recorded"


def bounds_of(strategies: Iterable[Strategy], *, recorded: bool) -> tuple[Strategy, ...]:
    """The bounds to replay in addition: those that are not among the strategies.

    Examples
    --------
    >>> [each.label for each in bounds_of([find_strategy("keep_all")], recorded=True)]
    ['keep_none', 'as_recorded']
    """
    named = {strategy.spec.partition("(")[0] for strategy in strategies if not strategy.parts[1:]}
    names = (*_BOUNDS, *[_OF_RECORDINGS] * recorded)
    return tuple(find_strategy(name) for name in names if name not in named)


def distance_of(tokens: int) -> int:
    """A valid distance of recall in tokens; 0 selects it by the window.

    Raises a UsageError for any other.
    """
    if tokens and tokens not in LONG:
        known = ", ".join(f"{each:,}" for each in LONG)
        raise UsageError(f"a distance is one of {known} tokens, not {tokens:,}")
    return tokens


def metrics_of(names: Iterable[str]) -> tuple[str, ...]:
    """Names of metrics in the order of the table: those named, also by family; by default all.

    The metrics that decide whether a strategy is usable are always included.

    Examples
    --------
    >>> [name for name in metrics_of(["time"]) if name not in JUDGING]
    ['ttft_proxy_p50', 'ttft_proxy_p95']
    """
    wanted = metrics_named(names)
    return tuple(n for n in METRICS if n in wanted or n in JUDGING or not wanted)


def tables_of(names: Iterable[str], metrics: Iterable[str]) -> tuple[str, ...]:
    """Names of tables in canonical order; without any, the usual ones.

    The usual ones exclude the trace. They include facts, lags and views only if a metric of memory
    needs the states of facts.

    Examples
    --------
    >>> tables_of([], ["cost_usd"])
    ('calls', 'compactions', 'messages')
    >>> tables_of(["prompts", "calls"], [])
    ('calls', 'prompts')
    """
    named = set(names)
    for name in sorted(named - set(TABLES)):
        raise UsageError(unknown("table", name, TABLES))
    if named:
        return tuple(name for name in TABLES if name in named)
    followed = {m.name for family in FAMILIES if family.name in _FOLLOWED for m in family.metrics}
    wanted = not followed.isdisjoint(metrics)
    return tuple(name for name in USUAL if wanted or name not in ("facts", "lags", "views"))


# Paths in a file, which are relative to the file's folder.


def relative_path(folder: Path, name: str) -> str:
    """A path or pattern relative to a folder, if it exists there; else unchanged."""
    try:
        if (folder / name).exists():
            return str(folder / name)
        if is_pattern(name):
            pattern = str(Path(glob.escape(str(folder)), name))
            if next(files_like(pattern), None) is not None:
                return pattern
    except (OSError, ValueError):  # too long, or not a valid path
        pass
    return name


def relative_conversation(folder: Path, text: str) -> str:
    """A path, a pattern or the spec of a scenario; its profile may be a file."""
    path = relative_path(folder, text)
    return path if path != text else relative_profile(folder, text)


def relative_profile(folder: Path, text: str) -> str:
    """The spec of a scenario or summariser, with its profile's file relative to a folder."""

    def profile(match: re.Match[str]) -> str:
        return repr(relative_path(folder, match[2]))

    return re.sub(r"(?<=profile=)(['\"])([^'\"]+\.toml)\1", profile, text)


def relative_strategy(folder: Path, text: str) -> str:
    """The spec of a strategy, pipeline or summariser, with classes and programs from a folder."""

    def command(match: re.Match[str]) -> str:
        given = str(ast.literal_eval(match[2]))
        found = relative_command(folder, given)
        return match[0] if found == given else f"{match[1]}{found!r}"

    with suppress(SyntaxError, ValueError):  # invalid texts are reported by their reader
        text = _COMMAND.sub(command, text)
    # It starts only at the beginning of a word, so that the time is linear in the text.
    return re.sub(
        r"(?<![^\s+])[^\s+]+\.py(?=:)", lambda match: relative_path(folder, match[0]), text
    )


# The command of a program: the first text in the parentheses of exec.
_COMMAND = re.compile(
    r"""(?<![^\s+])(exec\((?:\s*command\s*=)?\s*)('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
)


def relative_command(folder: Path, command: str) -> str:
    """A command whose words become paths if a folder has such files; else unchanged.

    The program itself is a file if it has a slash; otherwise it is found on the PATH.
    """
    try:
        first, *rest = shlex.split(command)
    except ValueError:  # its reader reports it
        return command
    words = [relative_path(folder, first) if "/" in first else first]
    words += [relative_path(folder, word) for word in rest]
    return command if words == [first, *rest] else shlex.join(words)


def relative_class(folder: Path, name: str) -> str:
    """The name of a class, with its file relative to a folder."""
    file, colon, cls = name.rpartition(":")
    return f"{relative_path(folder, file)}:{cls}" if colon and file.endswith(".py") else name


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
