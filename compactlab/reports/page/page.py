"""The page for a design review: one self-contained file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from compactlab.reports.analysis.advice import agreement
from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.analysis.effects import caps, without_effect
from compactlab.reports.analysis.scope import (
    model_names,
    sweep_title,
    sweeps,
    told_apart,
    window,
)
from compactlab.reports.charts.drawing import settings, strategy_colours
from compactlab.reports.charts.gallery import drawings
from compactlab.reports.charts.palette import COLOURS
from compactlab.reports.page.brief import command, recordings, specs, sweep_table
from compactlab.reports.page.conversations import BUDGET, must_be_there
from compactlab.reports.page.figures import preserved_data
from compactlab.reports.page.sections import drawing, section
from compactlab.reports.page.table import (
    NOTHING,
    failures,
    faults,
    legend,
    markdown,
    passed_over,
    summaries,
    table,
    unfinished,
)
from compactlab.reports.render import html
from compactlab.reports.render.document import (
    Block,
    Code,
    Column,
    Document,
    Folded,
    Heading,
    Table,
    Terms,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.fields import write_csv
from compactlab.reports.render.text import capitalised, clean, counted, plain
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.files import replace_file
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import IDENTITY, Run

# The origin of the results, and how to reproduce them.

_DEFAULTS = {
    "models": "as recorded, or the default",
    "window": "not narrowed",
    "own_models": "none",
    "loop": "open",
    "summarizers": "none",
    "redact": "nothing",
    "churn": "none: the client changes its prompt only where the recording does",
}
_SHOWN_ELSEWHERE = {
    "strategies", "strategies_code", "sources", "source_keys", "source_seeds", "engines",
    "conditions", "breaks", "by_price", "sees_future", "flushes", "metrics",
    "used", "compactlab", "prices", "tokenizer", "bounds", "caps", "controls", "line_up",
}  # fmt: skip


def facts(results: Results, compared: Sequence[Comparison]) -> list[tuple[str, str]]:
    """What was compared, one fact per line."""
    manifest = results.manifest
    # A dict keeps the order: of formats with equal counts, that of the first run comes first.
    conversations = dict.fromkeys((r.scenario, r.conversation) for r in results.runs if r.strategy)
    formats = Counter(clean(scenario) for scenario, _ in conversations)
    listing = ", ".join(f"{form} {number:,}" for form, number in formats.most_common())
    strategies = {run.strategy for run in results.runs if run.strategy}
    under = dict.fromkeys(window(each).removeprefix("window").strip(" :") for each in compared)
    lines = {
        "Compared": counted(len(strategies), "strategy"),
        "On": f"{counted(len(conversations), 'conversation')} ({listing})",
        "Made with": clean(f"compactlab {manifest.get('compactlab', 'of an unknown version')}"),
        "Prices": clean(str(manifest.get("prices", "unknown"))),
        "Tokens counted by": clean(str(manifest.get("tokenizer", "unknown"))),
        "Models": "; ".join(dict.fromkeys(map(model_names, compared))) or "none",
        "Window": "; ".join(under) or "none",
        "Summaries": summaries(results).removeprefix("summaries "),
        "Not finished": unfinished(results).removeprefix("Not finished: "),
        "Passed over": passed_over(results).removeprefix("Passed over: "),
    }
    return [(term, text) for term, text in lines.items() if text]


def origin(results: Results) -> list[tuple[str, str]]:
    """The manifest, one entry per line."""
    return [
        (clean(key), clean(_written(value) if value or key not in _DEFAULTS else _DEFAULTS[key]))
        for key, value in sorted(results.manifest.items())
        if key not in _SHOWN_ELSEWHERE
    ]


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


# The page itself.

# In their order on the page: later scripts use definitions of earlier ones.
_SCRIPTS = (
    "report.js", "tips.js", "drawing.js", "copy.js", "compactions.js", "conversation.js",
    "explorer.js",
)  # fmt: skip
# Up to this many conversations and strategies are named per error; JSON and CSV have all.
_NAMED = 20
# Up to this many conversations are listed with their digests.
_LISTED = 1_000
_INTRODUCTION = (
    "When an agent's context window fills up, compaction decides what is sent on. Here, the same "
    "conversations are replayed under each strategy: what it costs with the prompt cache, and "
    "which needed facts its prompts still hold. Whether the task is solved is not measured."
)
_ABOUT = (
    "An agent sends its whole conversation to the model with every call, until it no longer fits. "
    "Compaction replaces a part of it by something shorter, such as a summary; when and how, a "
    "strategy decides. Cost is computed from the prompt of each call. Recall is the share of the "
    "facts that a call needs long after they were stated, and that its prompt still holds.",
    "The head of a column says what its figures mean: point at it, tap it, or go there with the "
    "Tab key. The documentation has a table of all metrics (`docs/metrics-table.md`), also of "
    "those that only CSV and JSON show; `compactlab list metrics` prints it.",
)
_NO_PAIR = (
    "No two comparisons are over the same conversations and differ only in the model or the "
    "summariser. So it is unknown whether the recommendation depends on them."
)


def page(results: Results, conversation: str | None = None) -> str:
    """Render the page."""
    must_be_there(results, conversation)
    return html.write(document(results, conversation), COLOURS, _SCRIPTS)


def write(results: Results, path: Path) -> None:
    """Write the page to a file, completely or not at all."""
    replace_file(path, page(results).encode())


def document(results: Results, conversation: str | None = None) -> Document:
    """All comparisons, with the origin of the results."""
    with settings():
        blocks = tuple(_blocks(results, conversation))
    # The parts of a single comparison follow it, collapsed, and serve as its contents.
    several = sum(isinstance(block, Heading) and block.level == 2 for block in blocks) > 2
    return Document(blocks, contents=several)


def _blocks(results: Results, wanted: str | None) -> Iterator[Block]:
    compared = comparisons(results)
    colours = strategy_colours(results, compared)
    yield Heading("Context compaction compared", 1)
    yield sentences([_INTRODUCTION], "quiet", bullets=False)
    if results.failed:
        failed = counted(len(results.failed), "run")
        note = "Strategies are compared only on conversations where all of them succeeded."
        yield sentences([f"{failed} failed. {note}"], "bad", bullets=False)
    if not compared:
        yield sentences([NOTHING], "important", bullets=False)
    alone = len(compared) == 1
    if len(compared) > 1:
        yield from _across(compared, colours)
    for number, comparison in enumerate(compared, 1):
        yield from section(
            results,
            comparison,
            colours,
            f"part-{number}",
            legend=legend(compared),
            label="Comparison" if alone else told_apart(comparison, compared),
            alone=alone,
            wanted=wanted,
            budget=BUDGET // len(compared),
        )
    yield from _failed(results)
    yield Heading("About these results", 2, "about")
    yield sentences(_ABOUT, "quiet", bullets=False)
    yield _provenance(results, compared)


def _across(compared: Sequence[Comparison], colours: Mapping[str, str]) -> Iterator[Block]:
    title = "Across models, windows and summarisers"
    yield Heading(title, 2, "agreement", "Across comparisons")
    agreed = list(agreement(compared))
    if agreed:
        yield sentences(agreed, "strong", bullets=False)
    elif len({(each.model, each.summarizer) for each in compared}) > 1:
        yield sentences([_NO_PAIR], "important", bullets=False)
    given = {"compared": compared, "colours": colours}
    for number, sweep in enumerate(sweeps(compared), 1):
        yield Heading(capitalised(sweep_title(sweep, name)), 3)
        yield sweep_table(sweep, colours)
        yield from map(drawing, drawings("windows", {**given, "sweep": sweep}, "", f"{number}"))
    yield from map(drawing, drawings("results", given))


def _words(*titles: str, figures: Sequence[str] = ()) -> tuple[Column, ...]:
    return tuple(Column(title, words=title not in figures) for title in titles)


def _failed(results: Results) -> Iterator[Block]:
    if results.failed:
        yield Heading("Failed runs", 2, "failed")
        heads = _words("error", "runs", "conversations", "strategies", "model", figures=["runs"])
        yield Table(heads, rows(
            [name(f.error), f"{len(f.runs)}", name(f.conversations(_NAMED)),
             name(f.strategies(_NAMED)), name(f.model)]
            for f in faults(failures(results))
        ))  # fmt: skip


def _provenance(results: Results, compared: Sequence[Comparison]) -> Folded:
    about = "versions, prices, settings, digests, and the command to run this again"
    blocks = (Terms(tuple(facts(results, compared))), *_origins(results))
    return Folded("Provenance", blocks, "provenance", about)


def _origins(results: Results) -> Iterator[Block]:
    known = specs(results)
    if known:
        yield Heading("Command to run this again", 4)
        yield Code(tuple(command(results).splitlines()))
        if needed := recordings(results):
            yield sentences([f"The folder of recordings needs: {needed}."], "quiet", bullets=False)
    yield Terms(tuple(origin(results)))
    if not known:
        return
    yield Folded("Strategies with all settings", (Code(tuple(map(clean, known))),))
    seen = {(run.conversation, run.scenario): run for run in results.runs if run.strategy}
    cells = rows(
        [name(each), name(form), name(run.title), name(run.digest)]
        for (each, form), run in islice(seen.items(), _LISTED)
    )
    table = Table(_words("conversation", "format", "first prompt", "digest"), cells)
    more = len(seen) - _LISTED
    rest = [f"and {more:,} more, which `compactlab report --format csv` names"] if more > 0 else []
    listing = (table, sentences(rest, "quiet", bullets=False)) if rest else (table,)
    yield Folded("Conversations and their digests", listing)


# CSV: one row per run, at full precision.

# Columns that identify a run, and its outcome.
TEXTS = ("label", "digest", "loop", "labels", "status", "error")


def as_csv(results: Results) -> str:
    """Write one row per run: its identity, status, error and all metrics.

    Texts may come from untrusted file names. Texts that a spreadsheet would read as formulas get an
    apostrophe, and invisible characters become replacement characters. Ids are exact in the JSON
    only.
    """
    names = (*IDENTITY, *TEXTS)
    rows = (
        [*(getattr(run, name) for name in names), *(plain(run.metrics.get(m)) for m in METRICS)]
        for run in results.runs
    )
    return write_csv([[*names, *METRICS], *rows])


# JSON: the contents of a store, without its calls.


def as_json(results: Results) -> str:
    """Write all runs and the meanings of their figures as strict JSON in ASCII.

    Texts are exact. Missing values and NaN are null.
    """
    metrics = {
        name: {"unit": metric.unit, "better": metric.better, "meaning": metric.meaning}
        for name, metric in METRICS.items()
    }
    compared = comparisons(results)
    data = {
        "metrics": metrics,
        "memory": [preserved_data(comparison) for comparison in compared],
        "parameters": [_parameters(comparison) for comparison in compared],
        "passed_over": {
            run.conversation: run.passed_over for run in results.runs if run.passed_over
        },
        "runs": [_run(run) for run in results.runs],
        "bounds": [_run(run) for run in results.bounds],
    }
    return json.dumps(data, indent=2, allow_nan=False)


def _parameters(comparison: Comparison) -> dict[str, Any]:
    """Parameters without effect, and defaults that a narrowed window reduced."""
    model, window, summarizer = comparison.kind
    return {
        "model": model,
        "window": window,
        "summarizer": summarizer,
        "without_effect": [
            {
                "strategies": [row.spec for row in each.rows],
                "parameters": list(each.parameters),
                "why": "0 compactions" if each.idle else "the same runs",
            }
            for each in without_effect(comparison)
        ],
        "capped": [
            {
                "strategies": [row.spec for row in each.rows],
                "what": each.what,
                "tokens": each.tokens,
                "counts_as": each.counts,
            }
            for each in caps(comparison)
        ],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        **{name: getattr(run, name) for name in (*IDENTITY, *TEXTS)},
        "metrics": {name: plain(run.metrics.get(name)) for name in METRICS},
    }


_REPORTS: dict[str, Callable[[Results], str]] = {
    "table": table,
    "md": markdown,
    "csv": as_csv,
    "json": as_json,
    "html": page,
}

FORMATS = tuple(_REPORTS)


def render(results: Results, format: str) -> str:
    """Render results in a format."""
    if format not in _REPORTS:
        raise UsageError(unknown("format", format, FORMATS))
    return _REPORTS[format](results)
