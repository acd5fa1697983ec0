"""The page for a design review: one file, with nothing in it from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from compactlab.reports.analysis.advice import agreement
from compactlab.reports.analysis.aggregate import together
from compactlab.reports.analysis.comparison import (
    ARROWS,
    Comparison,
    comparisons,
    label,
    model_names,
    told_apart,
    window,
)
from compactlab.reports.charts.drawing import COLOURS, strategy_colours
from compactlab.reports.charts.sensitivity import sensitivity
from compactlab.reports.page.conversations import BUDGET, must_be_there
from compactlab.reports.page.notes import (
    failures,
    faults,
    legend,
    passed_over,
    summaries,
    unfinished,
)
from compactlab.reports.page.sections import drawing, section
from compactlab.reports.render.html import set_page
from compactlab.reports.render.text import clean, counted, listed
from compactlab.sim.core.files import replace_file
from compactlab.sim.experiment.results import Results
from compactlab.sim.experiment.tables import USUAL
from compactlab.sim.metrics import METRICS

# Where the results come from, and how to get them again.

_GENERATED = re.compile(r"(.+\))-\d+")
_DEFAULTS = {
    "models": "as recorded, or the default",
    "window": "not narrowed",
    "own_models": "none",
    "loop": "open",
    "summarizers": "none",
    "redact": "nothing",
    "churn": "none: the client changes its prompt only where the recording does",
}
_OTHERWISE_SHOWN = frozenset(
    {
        "strategies",
        "strategies_code",
        "sources",
        "source_keys",
        "source_seeds",
        "engines",
        "conditions",
        "breaks",
        "sees_future",
        "flushes",
        "metrics",
    }
)


def facts(results: Results) -> list[tuple[str, str]]:
    """What was compared on what and with what, a line each."""
    manifest = results.manifest
    # A dict, not a set: where two formats have as many conversations, the first run's comes first.
    conversations = dict.fromkeys((r.scenario, r.conversation) for r in results.runs if r.strategy)
    formats = Counter(clean(scenario) for scenario, _ in conversations)
    names = [f"{name} {number:,}" for name, number in formats.most_common()]
    strategies = {run.strategy for run in results.runs if run.strategy}
    lines = {
        "Compared": counted(len(strategies), "strategy"),
        "On": f"{counted(len(conversations), 'conversation')} ({', '.join(names)})",
        "Made with": f"compactlab {manifest.get('compactlab', 'of an unknown version')}",
        "Prices": manifest.get("prices", "unknown"),
        "Tokens counted by": manifest.get("tokenizer", "unknown"),
    }
    return [(term, clean(str(text))) for term, text in lines.items()]


def origin(results: Results) -> list[tuple[str, str]]:
    """The manifest, an entry a line."""
    return [
        (clean(key), clean(_written(value) if value or key not in _DEFAULTS else _DEFAULTS[key]))
        for key, value in sorted(results.manifest.items())
        if key not in _OTHERWISE_SHOWN
    ]


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def specs(results: Results) -> list[tuple[str, str]]:
    """Label and full spec of every strategy."""
    run = dict.fromkeys(run.strategy for run in results.runs if run.strategy)
    return [(label(results, spec), clean(spec)) for spec in run]


def digests(results: Results) -> list[tuple[str, str, str]]:
    """Conversation, format and digest, by which one can tell whether it is the same."""
    seen = {(run.conversation, run.scenario): run.digest for run in results.runs if run.strategy}
    return [(clean(name), clean(form), clean(d)) for (name, form), d in seen.items()]


def command(results: Results) -> str:
    """What to type to run it again; recordings must be put where the command says."""
    manifest = results.manifest
    words: list[str] = []
    for source in _conversations(manifest):
        words.append(f"--conversations {source}")
    specs = dict.fromkeys(run.strategy for run in results.runs if run.strategy)
    words += [f"--strategies {_quoted(spec)}" for spec in specs]
    words += [f"--model {_quoted(name)}" for name in manifest.get("models", ())]
    if manifest.get("own_models"):
        words.append("--models FILE_OF_OWN_MODELS")
    if manifest.get("churn"):
        words.append("--churn FILE_OF_CHURN")
    if manifest.get("window"):
        words.append(f"--window {_quoted(manifest['window'])}")
    words += [f"--summarizer {_quoted(spec)}" for spec in manifest.get("summarizers", ())]
    words.append(f"--loop {_quoted(manifest.get('loop') or 'open')}")
    computed = manifest.get("metrics", ())
    if len(computed) < len(METRICS):
        words += [f"--metrics {_quoted(name)}" for name in computed]
    if len(manifest.get("seeds", ())) > 1:
        words.append(f"--seeds {len(manifest['seeds'])}")
    written = manifest.get("tables", USUAL)
    if set(written) != set(USUAL):
        words += [f"--tables {_quoted(name)}" for name in written]
    if manifest.get("redact"):
        words.append("--redact")
    return " \\\n  ".join(["compactlab run", *words])


def recordings(results: Results) -> str:
    """The names of the transcripts that the command needs, in words."""
    sources = dict.fromkeys(results.manifest.get("sources", ()))
    names = [clean(source) for source in sources if not _GENERATED.fullmatch(source)]
    shown = names[:20] + ([f"{len(names) - 20:,} more"] if len(names) > 20 else [])
    return listed(shown)


def _conversations(manifest: dict[str, Any]) -> list[str]:
    """Scenarios by their specs, and a place for all recordings together."""
    sources = [clean(source) for source in manifest.get("sources", ())]
    made = dict.fromkeys(match[1] for s in sources if (match := _GENERATED.fullmatch(s)))
    others = [s for s in sources if not _GENERATED.fullmatch(s)]
    return [*map(_quoted, made), *(["FOLDER_OF_RECORDINGS"] if others else [])]


def _quoted(word: Any) -> str:
    """A word as a shell takes it: in double quotes if it has single ones and nothing to expand."""
    text = clean(str(word))
    plain = "'" in text and not re.search(r'["$`\\!]', text)
    return f'"{text}"' if plain else shlex.quote(text)


# The page for a design review: one file, with nothing in it from elsewhere.

# The page's script and the policy under which a browser opens it: that script and no other.

# In the order in which they stand on the page: a later one uses what an earlier one defines.
_PARTS = ("report.js", "drawing.js", "conversation.js")


@cache
def script() -> str:
    """The script, as it stands on the page between its tags."""
    folder = resources.files("compactlab.reports") / "templates"
    return "\n" + "\n".join((folder / part).read_text(encoding="utf-8") for part in _PARTS)


@cache
def policy() -> str:
    """What the page may do: show what is in it, and run the one script that hashes to this.

    Nothing is fetched from anywhere, no form sent, and no text is made markup of. Drawings have
    their styles inline, so styles are let.
    """
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    rules = (
        "default-src 'none'",
        f"script-src 'sha256-{digest}'",
        "style-src 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(rules)


# The page for a design review: one file, with nothing in it from elsewhere.


def page(results: Results, conversation: str | None = None) -> str:
    """Set the page."""
    must_be_there(results, conversation)
    return set_page("report.html.j2", _content(results, conversation))


def write(results: Results, path: Path) -> None:
    """Write the page to a file, which is whole or not there."""
    replace_file(path, page(results).encode())


def _facts(results: Results, compared: Sequence[Comparison]) -> list[tuple[str, str]]:
    """What stands at the head of the page."""
    models = dict.fromkeys(model_names(each) for each in compared)
    windows = dict.fromkeys(window(each).removeprefix("window").strip(" :") for each in compared)
    over, lacking = passed_over(results), unfinished(results)
    return [
        *facts(results),
        ("Models", "; ".join(models) or "none"),
        ("Window", "; ".join(windows) or "none"),
        ("Summaries", summaries(results).removeprefix("summaries ")),
        *([("Not finished", lacking.removeprefix("Not finished: "))] if lacking else []),
        *([("Passed over", over.removeprefix("Passed over: "))] if over else []),
    ]


def _content(results: Results, wanted: str | None) -> dict[str, Any]:
    compared = comparisons(results)
    colours = strategy_colours(results, compared)
    chart = sensitivity(compared, colours)
    budget = BUDGET // max(1, len(compared))
    return {
        "policy": policy(),
        "script": script(),
        "colours": COLOURS,
        "arrows": ARROWS,
        "facts": _facts(results, compared),
        "sections": [
            section(results, comparison, colours, f"part-{number}", wanted=wanted, budget=budget)
            for number, comparison in enumerate(compared, 1)
        ],
        "names": [told_apart(each, compared) for each in compared],
        "agreement": list(agreement(compared)),
        "sensitivity": [drawing(chart)] if chart else [],
        "legend": legend(compared),
        "failed": len(results.failed),
        "faults": faults(failures(results)),
        "metrics": [(name, metric, together(name)) for name, metric in METRICS.items()],
        "manifest": origin(results),
        "specs": specs(results),
        "digests": digests(results),
        "command": command(results),
        "recordings": recordings(results),
    }
