"""Where the results come from, and how to get them again."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from typing import Any

from compactlab.reports.analysis.comparison import label
from compactlab.reports.render.text import clean, counted, listed
from compactlab.sim.experiment.results import Results
from compactlab.sim.experiment.tables import USUAL
from compactlab.sim.metrics import METRICS

_GENERATED = re.compile(r"(.+\))-\d+")
_DEFAULTS = {
    "models": "none named: those that were recorded, or the default",
    "window": "not narrowed",
    "own_models": "none",
    "loop": "open",
    "summarizers": "none",
    "redact": "nothing",
    "churn": "none: the client changes its prompt only where the recording says so",
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
        "Prices": manifest.get("prices", "not said"),
        "Tokens counted by": manifest.get("tokenizer", "not said"),
    }
    return [(term, clean(str(text))) for term, text in lines.items()]


def provenance(results: Results) -> list[tuple[str, str]]:
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
    made = dict.fromkeys(found[1] for s in sources if (found := _GENERATED.fullmatch(s)))
    others = [s for s in sources if not _GENERATED.fullmatch(s)]
    return [*map(_quoted, made), *(["FOLDER_OF_RECORDINGS"] if others else [])]


def _quoted(word: Any) -> str:
    """A word as a shell takes it: in double quotes if it has single ones and nothing to expand."""
    text = clean(str(word))
    plain = "'" in text and not re.search(r'["$`\\!]', text)
    return f'"{text}"' if plain else shlex.quote(text)
