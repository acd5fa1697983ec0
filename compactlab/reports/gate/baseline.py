"""A baseline: agreed figures in a file that is reviewed in git."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from compactlab.reports.analysis.calls import distance_of
from compactlab.reports.analysis.comparison import RECALL, Case
from compactlab.reports.gate.record import (
    BESIDE,
    HEADLINE,
    NEED,
    REUSE,
    Record,
    Subject,
    brief,
    record_of,
    some,
)
from compactlab.reports.render.text import counted, listed
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.json import parse, read_bytes
from compactlab.sim.metrics import METRICS
from compactlab.sim.metrics.metric import MOST
from compactlab.sim.store.manifest import windows_of
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Figures, Run, Used

T = TypeVar("T")

# The provenance of a baseline: figures of different provenance are not compared.

Provenance = dict[str, Any]

# The provenance that must be equal, and its names in messages.
COMPARED = {
    "compactlab": "the version of compactlab",
    "tokenizer": "the tokenizer",
    "prices": "the price list",
    "summarizers": "the summariser",
    "window": "the window",
    "loop": "the closed loop",
    "own_models": "the figures of your own models",
    "churn": "the client's churn",
    "seeds": "the seeds",
}
ENGINE = "engine"


# For these, only the figures that were used are compared, if both sides know them.
FIGURES = ("tokenizer", "prices", "own_models")


def provenance(results: Results) -> Provenance:
    """The provenance of results, as far as it can change a figure.

    It includes the digest of the engine as information only: the engine is often under test.
    """
    manifest = results.manifest
    values = {name: manifest.get(name) for name in ("compactlab", "tokenizer", "prices", "engine")}
    return {
        **{name: str(value or "") for name, value in values.items()},
        "summarizers": sorted({run.summarizer for run in results.runs if run.strategy}),
        "window": _window(manifest),
        "loop": str(manifest.get("loop") or ""),
        "own_models": results.catalogue.digest,
        "churn": _digest(manifest.get("churn")),
        "seeds": sorted(set(manifest.get("seeds", ()))),
    }


def _window(manifest: Mapping[str, Any]) -> int:
    """The only window; a baseline's runs do not name theirs."""
    window, *others = windows_of(manifest)
    if others:
        several = listed([f"{each:,}" for each in (window, *others)])
        raise UsageError(
            f"a baseline and a gate are for one window, and this store has {several} tokens: run "
            "each window into a folder of its own"
        )
    return window


def _digest(value: Any) -> str:
    """Sixteen hex digits of any JSON value; "" if it is empty."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest() if value else ""


def differences(before: Baseline, after: Baseline) -> Iterator[tuple[str, Any, Any]]:
    """Differences of provenance: the name in words, the old and the new value."""
    by_figures = before.by_figures and after.by_figures
    for name, words in COMPARED.items():
        was, is_ = before.provenance.get(name), after.provenance.get(name)
        if was != is_ and not (by_figures and name in FIGURES):
            yield words, was, is_


def other_figures(before: Baseline, after: Baseline) -> Iterator[str]:
    """Differences in the model figures and token counts that both sides used.

    What only one side used belongs to runs that the other lacks, or to larger prompts. It changes
    nothing that both have.
    """
    for model in sorted(before.models.keys() & after.models.keys()):
        for name, was, is_ in _other(before.models[model], after.models[model]):
            yield f"{brief(model)}: {brief(name)}: was {_values(was)}, is {_values(is_)}"
    names: dict[str, list[str]] = {}
    for key in sorted(before.counts.keys() & after.counts.keys()):
        if before.digests.get(key) == after.digests.get(key):
            for encoding, _, _ in _other(before.counts[key], after.counts[key]):
                names.setdefault(encoding, []).append(key[1])
    for encoding, changed in names.items():
        number = counted(len(changed), "conversation")
        yield f"token counts ({brief(encoding)}) of {number} changed: {some(changed)}"


def _other(before: Mapping[str, T], after: Mapping[str, T]) -> Iterator[tuple[str, T, T]]:
    """Keys of both mappings whose values differ."""
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield name, before[name], after[name]


def _values(values: Sequence[str]) -> str:
    return brief(", ".join(values))


GATED = (
    "cost_usd",
    "side_cost_usd",
    "cost_with_recovery_usd",
    "tokens_uncached",
    "tokens_cache_read",
    "tokens_cache_write",
    "tokens_output",
    "write_spike_ratio",
    "calls",
    "compactions",
    "overflows",
    HEADLINE,
    *BESIDE,
    NEED,
    "structural_validity",
    "rejected_calls",
)
"""The default metrics of a baseline, besides recall at the store's distance."""


def gated(results: Results) -> tuple[str, ...]:
    """The metrics of a baseline if none are named."""
    return tuple(dict.fromkeys((*GATED, RECALL[distance_of(results)])))


# The numerators and denominators of a share over all conversations.
_WITH = {"over_window": ("calls", "overflows")}

Conversation = tuple[str, str]
"""Scenario and id."""


@dataclass(frozen=True)
class Baseline:
    """The figures of an experiment by run, and their provenance."""

    provenance: Provenance  # versions, prices, setting, seeds
    metrics: tuple[str, ...]
    digests: Mapping[Conversation, str]  # of conversations
    records: Mapping[Subject, Mapping[Case, Record]]
    typed: bool = True  # whether it has needs by type of fact
    unreadable: tuple[str, ...] = ()  # sources
    # The figures that its runs used; both are empty if some are unknown.
    models: Mapping[str, Figures] = field(default_factory=dict)
    counts: Mapping[Conversation, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Results, metrics: Iterable[str] = GATED) -> Baseline:
        """A baseline of results, including failed runs."""
        runs = [run for run in results.runs if run.status != "unreadable"]
        held = computed(results)
        asked = {each for name in metrics for each in (name, *_WITH.get(name, ()))}
        names = tuple(name for name in METRICS if name in asked & held)
        records: dict[Subject, dict[Case, Record]] = {}
        labels = _labels(results, runs)
        for run in runs:
            subject = Subject(run.strategy, run.model, run.summarizer, labels[run.strategy])
            record = record_of(run, names)
            known = records.setdefault(subject, {})
            # As in reports: of two runs of the same case, the first successful one counts.
            if record.case not in known or (known[record.case].failed and not record.failed):
                known[record.case] = record
        return cls(
            provenance(results),
            names,
            _digests(runs),
            {subject: dict(sorted(records[subject].items())) for subject in sorted(records)},
            any(len(run.rows.get("facts", ())) for run in runs),
            tuple(sorted(run.conversation for run in results.runs if run.status == "unreadable")),
            *_used(results.manifest.get("used", {}), [run for run in runs if run.status == "ok"]),
        )

    @property
    def by_figures(self) -> bool:
        """Whether the figures that its runs used are known, and not only their versions."""
        every = (record for held in self.records.values() for record in held.values())
        well = {(each.scenario, each.conversation) for each in every if not each.failed}
        return bool(self.models) and well <= self.counts.keys()

    @property
    def failed(self) -> list[tuple[Subject, Record]]:
        every = ((subject, r) for subject, held in self.records.items() for r in held.values())
        return [(subject, record) for subject, record in every if record.failed]

    @property
    def size(self) -> int:
        """How many runs it holds."""
        return sum(map(len, self.records.values()))

    @property
    def types(self) -> tuple[str, ...]:
        """The types of needed facts, sorted."""
        every = (record for held in self.records.values() for record in held.values())
        return tuple(sorted({type for record in every for type in record.needs}))


def computed(results: Results) -> set[str]:
    """Names of the metrics in the results."""
    in_manifest = results.manifest.get("metrics")
    if in_manifest is not None:
        return set(in_manifest) & set(METRICS)
    return {name for run in results.runs for name in run.metrics} & set(METRICS)


def fit_to_keep(results: Results, named: Sequence[str], *, allow_failed: bool) -> None:
    """Check that results are complete, so that their baseline is worth a review."""
    if not results.runs:
        raise UsageError("no baseline was written: the store holds no runs")
    if results.missing:
        reason = f"{counted(results.missing, 'cell')} of the experiment are not in the store yet"
        raise UsageError(f"no baseline was written: {reason}; finish the run first")
    lacking = [name for name in named if name not in computed(results)]
    if lacking:
        reason = some(lacking)
        raise UsageError(f"no baseline was written: the store has no figures of {reason}")
    failed = results.failed
    if failed and not allow_failed:
        names = [f"{run.conversation} ({run.strategy or 'unreadable'})" for run in failed]
        raise UsageError(
            f"no baseline was written: {counted(len(failed), 'run')} failed: "
            f"{some(names)}; --allow-failed records them as failed"
        )


def _labels(results: Results, runs: Iterable[Run]) -> dict[str, str]:
    """Labels of strategies; full specs where two labels are equal."""
    manifest_labels = results.manifest.get("strategies", {})
    labels = {run.strategy: str(manifest_labels.get(run.strategy, run.strategy)) for run in runs}
    names = list(labels.values())
    return {spec: name if names.count(name) == 1 else spec for spec, name in labels.items()}


def _used(
    used: Used, runs: Sequence[Run]
) -> tuple[dict[str, Figures], dict[Conversation, dict[str, str]]]:
    """What runs used: figures by model, and digests of counts by conversation."""
    conditions, counts = used.get("conditions", {}), used.get("counts", {})
    if not all(run.condition in conditions and run.digest in counts for run in runs):
        return {}, {}
    models = {m for run in runs for m in conditions[run.condition].get("models", ())}
    counted = {
        (run.scenario, run.conversation): {
            name: " ".join(digests) for name, digests in counts[run.digest].items()
        }
        for run in runs
    }
    held = used.get("models", {})
    return {name: held[name] for name in sorted(models & held.keys())}, counted


def _digests(runs: Iterable[Run]) -> dict[Conversation, str]:
    by_conversation: dict[Conversation, set[str]] = {}
    for run in runs:
        held = by_conversation.setdefault((run.scenario, run.conversation), set())
        held.update([run.digest] if run.digest else ())
    return {key: " ".join(sorted(by_conversation[key])) for key in sorted(by_conversation)}


# The file of a baseline: JSON with one line per run, for reading in a diff.

_VERSION = 1
Infinite = Literal["inf", "-inf"]


Count = Annotated[int, msgspec.Meta(ge=0, le=int(MOST))]


class _Run(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    strategy: str
    model: str
    scenario: str
    conversation: str
    seed: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
    summarizer: str = ""
    figures: dict[str, int | float | Infinite] = {}
    needs: dict[str, tuple[Count, Count]] = {}
    prompt: tuple[Count, Count] = (0, 0)
    failed: str = ""


class _Conversation(msgspec.Struct, forbid_unknown_fields=True):
    scenario: str
    conversation: str
    digest: str
    counts: dict[str, str] = {}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    baseline: int
    conversations: list[_Conversation]
    metrics: list[str]
    needs_by_type: bool
    provenance: dict[str, Any]
    runs: list[_Run]
    strategies: dict[str, str]
    models: dict[str, Figures] = {}
    unreadable: list[str] = []


def written(baseline: Baseline) -> str:
    """The text of a baseline's file; equal figures give equal bytes."""
    several = len(baseline.provenance.get("summarizers", ())) > 1
    subjects = baseline.records
    parts = {
        "baseline": _line(_VERSION),
        "conversations": _lines(
            {"conversation": name, "digest": digest, "scenario": scenario}
            | ({"counts": counts} if (counts := baseline.counts.get((scenario, name))) else {})
            for (scenario, name), digest in baseline.digests.items()
        ),
        "models": _keys(baseline.models),
        "metrics": _lines(baseline.metrics),
        "needs_by_type": _line(baseline.typed),
        "provenance": _keys(baseline.provenance),
        "runs": _lines(
            _row(baseline, subject, record, several)
            for subject, held in subjects.items()
            for record in held.values()
        ),
        "strategies": _keys({subject.label: subject.strategy for subject in subjects}),
        "unreadable": _lines(baseline.unreadable),
    }
    shown = [f'"{key}": {text}' for key, text in sorted(parts.items())]
    return "{\n" + ",\n".join(shown) + "\n}\n"


def _row(baseline: Baseline, subject: Subject, record: Record, several: bool) -> dict[str, Any]:
    run = _Run(
        subject.label, subject.model, record.scenario, record.conversation, record.seed,
        subject.summarizer if several else "",
        {name: _number(value) for name, value in record.figures.items() if value is not None},
        dict(record.needs) if baseline.typed else {},
        record.prompt if REUSE in baseline.metrics else (0, 0),
        record.failed,
    )  # fmt: skip
    row: dict[str, Any] = msgspec.to_builtins(run)
    return row


def _number(value: float) -> float | Infinite:
    return value if math.isfinite(value) else "inf" if value > 0 else "-inf"


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _lines(values: Iterable[Any]) -> str:
    """A list with one item per line."""
    items = ",\n".join(f"  {_line(value)}" for value in values)
    return f"[\n{items}\n]" if items else "[]"


def _keys(values: Mapping[str, Any]) -> str:
    """An object with one key per line."""
    items = ",\n".join(f"  {_line(key)}: {_line(values[key])}" for key in sorted(values))
    return f"{{\n{items}\n}}" if items else "{}"


def read(path: Path) -> Baseline:
    """Read a baseline from its file."""
    try:
        return parsed(read_bytes(path))
    except FileNotFoundError:
        raise InputError("no baseline: there is no such file", str(path)) from None
    except (OSError, ValueError) as error:
        line = getattr(error, "line", 0)
        raise InputError(f"no baseline: {error}", str(path), line) from None


def parsed(content: bytes) -> Baseline:
    """A baseline from the content of its file."""
    version = parse(content)
    version = version.get("baseline") if isinstance(version, dict) else None
    if version != _VERSION or isinstance(version, bool):
        raise ValueError(f"it has version {version!r}, this compactlab reads {_VERSION}")
    file = msgspec.json.decode(content, type=_File)
    digests = _digests_of_file(file)
    one = file.provenance.get("summarizers")
    alone = str(one[0]) if isinstance(one, list) and len(one) == 1 else ""
    records: dict[Subject, dict[Case, Record]] = {}
    for number, row in enumerate(file.runs):
        where = f"runs[{number}]"
        if row.strategy not in file.strategies:
            raise ValueError(f"{where}: strategy {row.strategy!r} is not among the strategies")
        spec = file.strategies[row.strategy]
        subject = Subject(spec, row.model, row.summarizer or alone, row.strategy)
        if not digests.get((row.scenario, row.conversation)) and not row.failed:
            raise ValueError(f"{where}: {row.conversation!r} has no digest in the conversations")
        if fault := _fault(row, file):
            which = f"{brief(row.conversation)} under {brief(row.strategy)}"
            raise ValueError(f"{where} ({which}): {fault}")
        record = _record(row, file.metrics)
        if record.case in records.setdefault(subject, {}):
            raise ValueError(f"{where}: the same run occurs twice")
        records[subject][record.case] = record
    return Baseline(
        file.provenance,
        tuple(file.metrics),
        digests,
        {subject: dict(sorted(records[subject].items())) for subject in sorted(records)},
        file.needs_by_type,
        tuple(file.unreadable),
        file.models,
        {(c.scenario, c.conversation): c.counts for c in file.conversations if c.counts},
    )


def _digests_of_file(file: _File) -> dict[Conversation, str]:
    """The digest of each conversation, which shows whether it has changed."""
    digests: dict[Conversation, str] = {}
    for each in file.conversations:
        key = each.scenario, each.conversation
        if key in digests:
            raise ValueError(f"conversations: {each.conversation!r} occurs twice")
        digests[key] = each.digest
    return digests


def _fault(row: _Run, file: _File) -> str:
    """What in a run is missing or contradictory, so that it would be judged less strictly."""
    if row.failed and (row.figures or row.needs):
        return "it has failed and has figures"
    if odd := sorted(row.figures.keys() - set(file.metrics)):
        return f"{odd[0]!r} is not among the metrics"
    for name, value in row.figures.items():
        if name in METRICS and (wrong := METRICS[name].fault(_read(value))):
            return wrong
    if row.needs and not file.needs_by_type:
        return "it has needs by type, and needs_by_type is false"
    for type, (needs, met) in row.needs.items():
        if not 0 <= met <= needs:
            return f"type {type!r} has {needs} needs, and {met} of them met"
    return ""


def _record(row: _Run, metrics: Iterable[str]) -> Record:
    if row.failed:
        return Record(row.scenario, row.conversation, row.seed, failed=row.failed)
    figures = {name: row.figures.get(name) for name in metrics}
    values = {name: None if v is None else _read(v) for name, v in figures.items()}
    return Record(row.scenario, row.conversation, row.seed, values, row.needs, row.prompt)


def _read(value: float | str) -> float:
    return float(value) if isinstance(value, str) else value
