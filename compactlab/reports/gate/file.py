"""The file of a baseline: JSON with a line a run, made to be read in a diff."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from compactlab.reports.comparison import Case
from compactlab.reports.gate.baseline import Baseline, Conversation
from compactlab.reports.gate.record import REUSE, Record, Subject
from compactlab.sim.errors import InputError

_VERSION = 1
Infinite = Literal["inf", "-inf"]


class _Run(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    strategy: str
    model: str
    scenario: str
    conversation: str
    seed: int
    summarizer: str = ""
    figures: dict[str, int | float | Infinite] = {}
    needs: dict[str, tuple[int, int]] = {}
    prompt: tuple[int, int] = (0, 0)
    failed: str = ""


class _Conversation(msgspec.Struct, forbid_unknown_fields=True):
    scenario: str
    conversation: str
    digest: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    baseline: int
    conversations: list[_Conversation]
    metrics: list[str]
    needs_by_type: bool
    provenance: dict[str, Any]
    runs: list[_Run]
    strategies: dict[str, str]
    unreadable: list[str] = []


def written(baseline: Baseline) -> str:
    """A baseline as the text of its file: the same for the same figures, byte by byte.

    Parameters
    ----------
    baseline
        What to write.

    Returns
    -------
    str
        JSON in ASCII, keys sorted, a line a conversation and a line a run. What is seen in a diff
        is what is there: nothing invisible and nothing that turns the direction of text.
    """
    several = len(baseline.provenance.get("summarizers", ())) > 1
    subjects = baseline.records
    parts = {
        "baseline": [_line(_VERSION)],
        "conversations": _lines(
            {"conversation": name, "digest": digest, "scenario": scenario}
            for (scenario, name), digest in baseline.digests.items()
        ),
        "metrics": _lines(baseline.metrics),
        "needs_by_type": [_line(baseline.typed)],
        "provenance": _keys(baseline.provenance),
        "runs": _lines(
            _row(baseline, subject, record, several)
            for subject, held in subjects.items()
            for record in held.values()
        ),
        "strategies": _keys({subject.label: subject.strategy for subject in subjects}),
        "unreadable": _lines(baseline.unreadable),
    }
    shown = [f'"{key}": ' + "\n".join(lines) for key, lines in sorted(parts.items())]
    return "{\n" + ",\n".join(shown) + "\n}\n"


def _row(baseline: Baseline, subject: Subject, record: Record, several: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "conversation": record.conversation,
        "model": subject.model,
        "scenario": record.scenario,
        "seed": record.seed,
        "strategy": subject.label,
    }
    if several:
        row["summarizer"] = subject.summarizer
    if record.failed:
        return row | {"failed": record.failed}
    row["figures"] = {n: _number(v) for n, v in record.figures.items() if v is not None}
    if baseline.typed:
        row["needs"] = {type: list(pair) for type, pair in record.needs.items()}
    if REUSE in baseline.metrics:
        row["prompt"] = list(record.prompt)
    return row


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "inf" if value > 0 else "-inf"


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _lines(values: Iterable[Any]) -> list[str]:
    """A list, an item a line."""
    items = [f"  {_line(value)}" for value in values]
    return ["[", *_separated(items), "]"] if items else ["[]"]


def _keys(values: Mapping[str, Any]) -> list[str]:
    """An object, a key a line."""
    items = [f"  {_line(key)}: {_line(values[key])}" for key in sorted(values)]
    return ["{", *_separated(items), "}"] if items else ["{}"]


def _separated(items: list[str]) -> Iterator[str]:
    return (f"{item}," if n < len(items) else item for n, item in enumerate(items, 1))


def read(path: Path) -> Baseline:
    """Read a baseline from its file.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        If it is not there, or no baseline, or one of another version.
    """
    try:
        return parsed(path.read_bytes())
    except FileNotFoundError:
        raise InputError("no baseline: there is no such file", str(path)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"no baseline: {error}", str(path)) from None


def parsed(content: bytes) -> Baseline:
    """A baseline from the content of its file.

    Raises
    ------
    ValueError
        If it is none.
    """
    version = json.loads(content, object_pairs_hook=_once)
    version = version.get("baseline") if isinstance(version, dict) else None
    if version != _VERSION or isinstance(version, bool):
        raise ValueError(f"it has version {version!r}, this compactlab reads {_VERSION}")
    file = msgspec.json.decode(content, type=_File)
    digests = _digests(file)
    one = file.provenance.get("summarizers")
    alone = str(one[0]) if isinstance(one, list) and len(one) == 1 else ""
    found: dict[Subject, dict[Case, Record]] = {}
    for number, row in enumerate(file.runs):
        where = f"runs[{number}]"
        if row.strategy not in file.strategies:
            raise ValueError(f"{where}: strategy {row.strategy!r} is not among the strategies")
        spec = file.strategies[row.strategy]
        subject = Subject(spec, row.model, row.summarizer or alone, row.strategy)
        if not digests.get((row.scenario, row.conversation)) and not row.failed:
            raise ValueError(f"{where}: {row.conversation!r} has no digest in the conversations")
        if fault := _fault(row, file):
            raise ValueError(f"{where}: {fault}")
        record = _record(row, file.metrics)
        if record.case in found.setdefault(subject, {}):
            raise ValueError(f"{where}: the same run stands there twice")
        found[subject][record.case] = record
    return Baseline(
        file.provenance,
        tuple(file.metrics),
        digests,
        {subject: dict(sorted(found[subject].items())) for subject in sorted(found)},
        file.needs_by_type,
        tuple(file.unreadable),
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; whoever joins two files by hand may leave both of two lines."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for n, (name, _) in enumerate(pairs) if name in dict(pairs[:n]))
        raise ValueError(f"the key {twice!r} stands there twice")
    return found


def _digests(file: _File) -> dict[Conversation, str]:
    """By conversation its digest: without one, nobody would see that it is another one now."""
    found: dict[Conversation, str] = {}
    for each in file.conversations:
        key = each.scenario, each.conversation
        if key in found:
            raise ValueError(f"conversations: {each.conversation!r} stands there twice")
        found[key] = each.digest
    return found


def _fault(row: _Run, file: _File) -> str:
    """What of a run says nothing, or contradicts itself, so that it would be held by less."""
    if row.failed and (row.figures or row.needs):
        return "it has failed and has figures"
    if odd := sorted(row.figures.keys() - set(file.metrics)):
        return f"{odd[0]!r} is not among the metrics"
    if row.needs and not file.needs_by_type:
        return "it has needs by type, and needs_by_type is false"
    for type, (needs, met) in row.needs.items():
        if not 0 <= met <= needs:
            return f"of {needs} needs of type {type!r}, {met} cannot be met"
    return ""


def _record(row: _Run, metrics: Iterable[str]) -> Record:
    if row.failed:
        return Record(row.scenario, row.conversation, row.seed, failed=row.failed)
    figures = {name: row.figures.get(name) for name in metrics}
    values = {name: None if v is None else _read(v) for name, v in figures.items()}
    return Record(row.scenario, row.conversation, row.seed, values, row.needs, row.prompt)


def _read(value: float | str) -> float:
    return float(value) if isinstance(value, str) else value
