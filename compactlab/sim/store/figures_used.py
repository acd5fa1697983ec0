"""The external figures that runs have used: of models, their prices, token counts.

Library versions name the source of such figures, not their values. Stores whose runs used equal
figures are comparable, regardless of the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.spec import snake_case
from compactlab.sim.core.tokens import digest_of_counts
from compactlab.sim.metrics import RunData
from compactlab.sim.models.model import Catalogue, Model
from compactlab.sim.models.pricing import Charge, TokenPrices, prices_of
from compactlab.sim.models.rates import HOUR, MILLION, Prefill, Rates
from compactlab.sim.replay.trace import SideCall, Step
from compactlab.sim.store.run import Figures, Used


def used_in(readings: Sequence[RunData], condition: str) -> Used:
    """Return the figures used by a run: models, its condition's models, token counts."""
    first = readings[0]
    window, conversation = first.trace.header.window, first.conversation
    models: dict[str, Figures] = {}
    for reading in {id(each.trace): each for each in readings}.values():
        for request, charge in _charges(reading):
            model = reading.model(request.model)
            narrowed = model.narrowed(window or None)
            figures = models.setdefault(request.model, dict(_figures(narrowed)))
            for name, value in _prices(model, charge, request):
                figures[name] = sorted({*figures.get(name, ()), value})
    encodings = {encoding for figures in models.values() for encoding in figures["encoding"]}
    counts = {name: [digest_of_counts(conversation, name)] for name in sorted(encodings)}
    recorded = dict(_recorded(conversation, first.trace.catalogue))
    return {
        "conditions": {condition: {"models": sorted({*models, *recorded})}},
        "models": _joined([models, recorded]),
        "counts": {first.trace.header.digest: counts},
    }


def united(every: Iterable[Used]) -> Used:
    """Merge the figures of several runs, independent of their order."""
    groups: dict[str, list[Mapping[str, Figures]]] = {}
    for used in every:
        for name, entries in used.items():
            groups.setdefault(name, []).append(entries)
    return {name: _joined(groups[name]) for name in sorted(groups)}


def _joined(every: Iterable[Mapping[str, Figures]]) -> dict[str, Figures]:
    values: dict[str, dict[str, set[str]]] = {}
    for entries in every:
        for entry, figures in entries.items():
            held = values.setdefault(entry, {})
            for name, texts in figures.items():
                held.setdefault(name, set()).update(texts)
    return {
        entry: {name: sorted(values[entry][name]) for name in sorted(values[entry])}
        for entry in sorted(values)
    }


def _charges(data: RunData) -> Iterable[tuple[Step | SideCall, Charge]]:
    """Yield the distinct charges of requests, each with one request."""
    charges: dict[tuple[str, int], tuple[Step | SideCall, Charge]] = {}
    for request in data.requests:
        charge = data.rates(request)  # kept by its sheet, so its id() identifies it
        charges.setdefault((request.model, id(charge)), (request, charge))
    return charges.values()


def _figures(model: Model) -> Iterator[tuple[str, list[str]]]:
    yield "window", [str(model.window)]
    yield "max_output", [str(model.max_output)]
    if policy := model.policy:
        yield "cache.policy", [snake_case(type(policy).__name__)]
        yield from _fields("cache.", policy)
    yield "strips_thinking", [str(model.strips_thinking)]
    yield from _fields("degradation.", model.degradation)
    yield from _fields("", model.tokenizer)


def _fields(prefix: str, figures: Any) -> Iterator[tuple[str, list[str]]]:
    return ((f"{prefix}{name}", [str(value)]) for name, value in asdict(figures).items())


def _recorded(conversation: Conversation, catalogue: Catalogue) -> Iterator[tuple[str, Figures]]:
    """Yield the models with recorded usage: their counts determine the unlogged tokens."""
    calls = (answer.call for answer in conversation.calls)
    for name in dict.fromkeys(call.model for call in calls if call and call.usage):
        try:
            yield name, dict(_fields("", catalogue.find(name).tokenizer))
        except ModelError:
            continue


def _prices(model: Model, charge: Charge, request: Step | SideCall) -> Iterator[tuple[str, str]]:
    """Yield the charge of a request in dollars per million tokens (storage: and hour)."""
    yield "charged", "by token" if isinstance(charge, Rates) else "by time"
    if isinstance(charge, Prefill):
        for name, value in asdict(charge).items():
            yield f"servers.{name}", str(value)
    if isinstance(charge, Rates):
        sheet = prices_of(model)
        sizes = sheet.sizes(request.time) if isinstance(sheet, TokenPrices) else []
        above = max((size for size in sizes if request.usage.prompt > size), default=0)
        for name, value in asdict(charge).items():
            dollars = value * MILLION * (HOUR if name == "storage" else 1)
            key = {"uncached": "input"}.get(name, name)
            # More digits than a price has; further digits are rounding errors.
            yield f"prices.{key}{f' above {above}' if above else ''}", f"{dollars:.12g}"
