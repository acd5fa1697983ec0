"""Commands that a report names: to repeat the run, and to explain the row that wastes most."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import label
from compactlab.reports.page.headlines import waste
from compactlab.reports.render.document import name
from compactlab.reports.render.text import clean, listed
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.manifest import windows_of
from compactlab.sim.store.results import Results
from compactlab.sim.store.tables import USUAL

_GENERATED = re.compile(r"(.+\))-\d+")


def specs(results: Results) -> list[str]:
    """The specs of the strategies, in the order of the runs."""
    return list(dict.fromkeys(run.strategy for run in results.runs if run.strategy))


def why(results: Results, advice: Advice) -> Iterator[str]:
    """The command that explains the row that wastes most, in its most expensive conversation."""
    found = waste(advice.comparison)
    if found is None:
        return
    run = max(found.row.runs, key=lambda run: run.metrics["cost_usd"] or 0.0)
    options = {"strategies": label(results, run.strategy)}
    made = [
        match[1]
        for source in results.manifest.get("sources", ())
        if (match := _GENERATED.fullmatch(source)) and match[1].startswith(f"{run.scenario}(")
    ]
    if len(made) == 1:
        where, seed = made[0], run.seed
        options |= {"seed": str(seed)} if seed else {}
    else:
        where = "FOLDER_OF_RECORDINGS" if not made else run.scenario
        options |= {"conversation": run.conversation}
    if run.model != "recorded":
        options |= {"model": run.model}
    options |= {"window": str(run.window)} if run.window else {}
    words = [_quoted(where), *(f"--{key} {_quoted(value)}" for key, value in options.items())]
    yield f"Why {name(found.row.label)} costs so much: `compactlab explain {' '.join(words)}`"


def command(results: Results) -> str:
    """The command that repeats the run; the user must supply the recordings that it names."""
    manifest = results.manifest
    computed, written = manifest.get("metrics", ()), manifest.get("tables", USUAL)
    seeds = len(manifest.get("seeds", ()))
    options: list[tuple[str, Iterable[Any]]] = [
        ("strategies", _named(results)),
        ("model", manifest.get("models", ())),
        ("models", ["FILE_OF_OWN_MODELS"] if manifest.get("own_models") else ()),
        ("churn", ["FILE_OF_CHURN"] if manifest.get("churn") else ()),
        ("window", filter(None, windows_of(manifest))),
        ("summarizer", manifest.get("summarizers", ())),
        ("loop", [manifest.get("loop") or "open"]),
        ("metrics", computed if len(computed) < len(METRICS) else ()),
        ("seeds", [seeds] if seeds > 1 else ()),
        ("tables", written if set(written) != set(USUAL) else ()),
    ]
    words = [f"--conversations {source}" for source in _conversations(manifest)]
    words += [f"--{option} {_quoted(value)}" for option, values in options for value in values]
    return " \\\n  ".join(["compactlab run", *words, *["--redact"] * bool(manifest.get("redact"))])


def _named(results: Results) -> list[str]:
    """The strategies as somebody would type them; nothing for the default ones."""
    manifest, known = results.manifest, specs(results)
    if set(known) == manifest.get("strategies", {}).keys() and manifest.get("line_up"):
        return [] if manifest["line_up"] == "default" else [manifest["line_up"]]
    own = manifest.get("own_strategies", ())
    return [spec if spec in own else label(results, spec) for spec in known]


def recordings(results: Results) -> str:
    """The names of the transcripts that the command needs, in words."""
    sources = dict.fromkeys(results.manifest.get("sources", ()))
    names = [clean(source) for source in sources if not _GENERATED.fullmatch(source)]
    shown = names[:20] + ([f"{len(names) - 20:,} more"] if len(names) > 20 else [])
    return listed(shown)


def _conversations(manifest: dict[str, Any]) -> list[str]:
    """The specs of scenarios, and a placeholder for all recordings."""
    sources = [clean(source) for source in manifest.get("sources", ())]
    made = dict.fromkeys(match[1] for s in sources if (match := _GENERATED.fullmatch(s)))
    others = [s for s in sources if not _GENERATED.fullmatch(s)]
    return [*map(_quoted, made), *(["FOLDER_OF_RECORDINGS"] if others else [])]


def _quoted(word: Any) -> str:
    """A word quoted for a shell; in double quotes if it has single ones and nothing to expand."""
    text = clean(str(word))
    plain = "'" in text and not re.search(r'["$`\\!]', text)
    return f'"{text}"' if plain else shlex.quote(text)
