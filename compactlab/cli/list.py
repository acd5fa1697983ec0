"""``compactlab list``: list strategies, models and other choices."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from compactlab.cli.options import format_option, setting_option
from compactlab.cli.output import print_json, say
from compactlab.reports.render.document import Column, Document, Table, name, rows, sentences
from compactlab.sim.core.errors import UsageError

if TYPE_CHECKING:
    from compactlab.sim.models.model import Model
    from compactlab.sim.models.pricing import Sheet
    from compactlab.sim.replay.strategy import Strategy


_CLASSES = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output")
# A request below the first tier of every model; users' own servers have their price at this size.
_SMALL = 1_000
_TIMES = "\N{MULTIPLICATION SIGN}"


def model_rows(file: str | None = None) -> list[Listed]:
    """All data of all models."""
    from compactlab.sim.models.pricing import known_models

    return [_row(model) for model in known_models(file).models.values()]


def _row(model: Model) -> Listed:
    from compactlab.sim.models.listing import UNDATED, price_list
    from compactlab.sim.models.rates import Tiers

    policy, by_hand = model.policy, model.prices or Tiers(())
    lives = {policy.lifetime(ttl) for ttl in ("", "5m", "1h")} if policy else set()
    sheet = _sheet(model)
    return {
        "name": model.name,
        "meaning": f"{model.window:,} tokens; "
        + (policy.spec if policy else "no cache policy yet: name it with @none"),
        "provider": model.provider,
        "window": model.window,
        "client_window": min(model.client_window or model.window, model.window),
        "max_output": model.max_output,
        "encoding": model.tokenizer.encoding,
        "factor": model.tokenizer.factor,
        "framing": model.tokenizer.framing,
        "thinking": model.tokenizer.thinking,
        "cache": policy.spec if policy else None,
        "minimum": getattr(policy, "minimum", None),
        "lifetimes": sorted(life for life in lives if 0 < life < math.inf),
        "strips_thinking": model.strips_thinking,
        "price": model.price,
        "price_list": price_list() if model.price else "",
        "priced_at": UNDATED.date().isoformat() if model.price else by_hand.asof or model.asof,
        "price_source": "" if model.price else by_hand.source or model.source,
        "price_until": _last_day(getattr(sheet, "until", math.inf)),
        "promised_until": model.promised,
        "dollars_per_million_tokens": _prices(sheet) if sheet else [],
        "storage_dollars_per_million_tokens_and_hour": _storage(sheet) if sheet else 0.0,
        "multipliers": dict(model.multipliers),
        "source": model.source,
        "asof": model.asof,
    }


def _last_day(end: float) -> str:
    """The day before a moment; "" if it never comes."""
    return "" if end == math.inf else f"{datetime.fromtimestamp(end - 1, UTC).date()}"


def _sheet(model: Model) -> Sheet | None:
    from compactlab.sim.core.errors import ModelError
    from compactlab.sim.models.pricing import prices_of

    try:
        return prices_of(model)
    except ModelError:
        return None


def _prices(sheet: Sheet) -> list[Listed]:
    """Dollars by class, for each size of request at which prices change."""
    sizes: Sequence[int] = getattr(sheet, "sizes", lambda _: [0])(0)
    return [{"above": size, **_at(sheet, size)} for size in sizes]


def _at(sheet: Sheet, size: int) -> Listed:
    from compactlab.sim.core.message import Usage

    charge = sheet.rates(0, size + 1)
    costs = {name: charge.cost(Usage(**{name: _SMALL})) for name in _CLASSES}
    return {name: float(f"{cost * 1e6 / _SMALL:.6g}") for name, cost in costs.items()}


def _storage(sheet: Sheet) -> float:
    from compactlab.sim.core.message import Usage

    return float(f"{sheet.rates(0, _SMALL).cost(Usage(storage=3_600_000)) * 1_000:.6g}")


_WORDS = frozenset({"model", "provider", "tokens", "cache", "lives"})
_PRICES = ("in", "read", "write", "write 1h", "out")
_COLUMNS = tuple(
    Column(head, words=head in _WORDS, rank=rank)
    for head, rank in {
        "model": 0, "provider": 4, "window": 0, "output": 3, "tokens": 6, "cache": 1, "minimum": 7,
        "lives": 5, **dict.fromkeys(_PRICES, 0), "write 1h": 1,
    }.items()
)  # fmt: skip


def model_report(models: Sequence[Listed]) -> Document:
    """The models as a table."""
    named = next((model for model in models if model["price_list"]), models[0])
    table = Table(_COLUMNS, rows(map(_cells, models)))
    return Document((table, sentences([*_legend(named), *_endings(models)])))


def _endings(models: Sequence[Listed]) -> Iterator[str]:
    """Prices that end on a day, and promotions that may."""
    known = [f"{row['price_until']} {row['name']}" for row in models if row["price_until"]]
    promised = [f"{row['promised_until']} {row['name']}" for row in models if row["promised_until"]]
    if known:
        yield f"Prices end after: {', '.join(sorted(known))}."
    if promised:
        yield f"Promotional at least until: {', '.join(sorted(promised))}."


def _cells(row: Listed) -> Sequence[str]:
    spec = str(row["cache"]) if row["cache"] else "(none built)"
    lives = row["lifetimes"]
    prices = row["dollars_per_million_tokens"]
    assert isinstance(lives, list)
    assert isinstance(prices, list)
    return [
        name(str(row["name"])),
        name(str(row["provider"])) if row["provider"] else "-",
        f"{row['window']:,}",
        f"{row['max_output']:,}" if row["max_output"] else "?",
        f"{str(row['encoding']).removesuffix('_base')} {_TIMES} {row['factor']:g}",
        spec.partition("(")[0] if row["cache"] else spec,
        "-" if row["minimum"] is None else f"{row['minimum']:,}",
        " ".join(map(_span, lives)) or "-",
        *_money(prices),
    ]


def _money(prices: Sequence[Listed]) -> list[str]:
    """The prices of a small request, with a mark if larger ones cost more."""
    if not prices:
        return ["?"] * len(_CLASSES)
    small = {name: prices[0][name] for name in _CLASSES}
    figures = {name: f"{price:.4g}" for name, price in small.items()}
    if small["cache_write_5m"] == small["cache_write_1h"] == small["uncached"]:
        # Writes cost as much as input, so they need no column.
        figures["cache_write_5m"] = figures["cache_write_1h"] = "-"
    figures["uncached"] += "+" if len(prices) > 1 else ""
    return list(figures.values())


def _span(seconds: float) -> str:
    if seconds % 3600 == 0:
        return f"{seconds / 3600:g}h"
    return f"{seconds / 60:g}m" if seconds >= 60 else f"{seconds:g}s"


def _legend(row: Listed) -> list[str]:
    listed = f"{row['price_list']}, on {row['priced_at']}" if row["price_list"] else "by hand"
    return [
        f"Dollars per million tokens ({listed}). +: more for large requests. ?: unknown. Own "
        "servers: price at 1,000 tokens.",
        "--format json has all: cache policies, price tiers, multipliers, storage, sources.",
    ]


MODELS, STRATEGIES = "models", "strategies"
# The moments at which a strategy acts, in the order of a session.
_MOMENTS = {
    "before_turn": "turn start",
    "before_call": "every call",
    "trigger": "threshold",
    "background": "background",
    "after_call": "after a call",
    "after_turn": "turn end",
    "on_idle": "silence",
    "on_overflow": "overflow",
}
_ABOUT = (
    "threshold: when the context reaches a size, set by the parameter trigger. background: its "
    "summary is made while the agent works. overflow: when a prompt exceeds the window.",
    "--parameters adds parameters, --format json all; docs/strategies.md names their systems.",
)
Listed = dict[str, object]


def _strategies() -> list[Listed]:
    from compactlab.strategies.catalogue import STRATEGIES

    made = {name: cls() for name, cls in sorted(STRATEGIES.usable().items())}
    return [
        {**_configured(name, it), "breaks": dict(it.breaks), "does": _does(it), "when": _when(it)}
        for name, it in made.items()
    ]


def _does(strategy: Strategy) -> list[str]:
    """The declared effects of a strategy's parts on the context, in the order of the kinds."""
    from compactlab.sim.replay.strategy import Act

    declared = {act for part in strategy.parts for act in part.does}
    return [act.value for act in Act if act in declared]


def _when(strategy: Strategy) -> list[str]:
    """The moments at which a strategy's parts are called."""
    moments = {moment for part in strategy.parts for moment in _moments(part)}
    return [moment for moment in _MOMENTS.values() if moment in moments]


def _moments(part: Strategy) -> Iterator[str]:
    waits = any(field.name == "trigger" for field in dataclasses.fields(part))  # type: ignore[arg-type]
    if waits:
        yield _MOMENTS["trigger"]
    if part.background:
        yield _MOMENTS["background"]
    for phase in part.phases:
        # Parts that wait for a size are called at every call and turn only to check it.
        if not (waits and phase in ("before_call", "before_turn")):
            yield _MOMENTS[phase]


def strategy_report(listed: Sequence[Listed]) -> Document:
    """The strategies as a table: their effects on the context, and their moments."""
    heads = (
        Column("strategy", words=True),
        Column("what it does", words=True),
        Column("when", words=True),
        Column("in a sentence", words=True, rank=1),
    )
    order = sorted(listed, key=lambda row: (_place(row), str(row["name"])))
    cells = (
        [name(str(row["name"])), *map(_joined, (row["does"], row["when"])), str(row["meaning"])]
        for row in order
    )
    return Document((Table(heads, rows(cells)), sentences(_ABOUT)))


def _place(row: Listed) -> list[int]:
    from compactlab.sim.replay.strategy import Act

    kinds = [act.value for act in Act]
    does = row["does"]
    assert isinstance(does, list)
    return [kinds.index(each) for each in does]


def _joined(words: object) -> str:
    assert isinstance(words, list)
    return ", ".join(words) or "-"


def _scenarios() -> list[Listed]:
    from compactlab.scenarios.catalogue import DEFAULT, SCENARIOS, find_scenario
    from compactlab.sim.core.spec import parse_spec

    used = {parse_spec(DEFAULT)[0]: find_scenario(DEFAULT).spec}
    return [
        {**_configured(name, cls()), "used_by_run": used.get(name)}
        for name, cls in sorted(SCENARIOS.usable().items())
    ]


def _summarizers() -> list[Listed]:
    from compactlab.strategies.summarizers.catalogue import SUMMARIZERS

    made = {name: cls() for name, cls in sorted(SUMMARIZERS.usable().items())}
    return [{**_configured(name, it), "simulated": it.simulated} for name, it in made.items()]


def _policies() -> list[Listed]:
    from compactlab.sim.cache import POLICIES

    return [_configured(name, cls()) for name, cls in sorted(POLICIES.usable().items())]


def _configured(name: str, configured: Any) -> Listed:
    """The parameters with their defaults."""
    fields = [field.name for field in dataclasses.fields(configured) if field.repr and field.init]
    parameters = {field: getattr(configured, field) for field in fields}
    meaning = _first_line(type(configured))
    return {"name": name, "meaning": meaning, "spec": configured.spec, "parameters": parameters}


def _metrics() -> list[Listed]:
    from compactlab.sim.metrics import FAMILIES

    return [
        {
            "name": metric.name,
            "meaning": f"{metric.meaning} ({metric.unit}, {metric.better} is better)",
            "family": family.name,
            "heading": family.title,
            "unit": metric.unit,
            "better": metric.better,
            "of_run": metric.of_run,
            "source": metric.source,
        }
        for family in FAMILIES
        for metric in family.metrics
    ]


def _formats() -> list[Listed]:
    from compactlab.scenarios.readers.transcript import formats

    return [{"name": form.name, "meaning": form.description} for form in formats().values()]


_KINDS: dict[str, Callable[[], list[Listed]]] = {
    "strategies": _strategies,
    "scenarios": _scenarios,
    "summarizers": _summarizers,
    "metrics": _metrics,
    "formats": _formats,
    "policies": _policies,
}
# Notes below a list.
_NOTES = {
    "scenarios": "suite is the ten usual ones; other sizes: 'rewinds(tokens=20000)',"
    " 'suite(tokens=400000)'",
}


@click.command("list")
@click.argument("kind", metavar="KIND", type=click.Choice((*_KINDS, MODELS)))
@click.option("--parameters", "-p", is_flag=True, help="Add parameters and their defaults.")
@click.option(
    "--unknown", is_flag=True, help="Models of our providers that only the price list has."
)
@setting_option("models_file")
@format_option("table", "json")
def list_(kind: str, parameters: bool, unknown: bool, models_file: str | None, form: str) -> None:
    """List strategies, summarisers, models, and more.

    Strategies are a table with their effects and moments. Others have one line each; a second line
    says what is simulated, and --parameters adds the parameters. Metrics are grouped by family;
    --metrics of compactlab run also takes names of families.
    """
    if models_file and kind != MODELS:
        raise UsageError(f"--models FILE adds to the list of models, not of {kind}")
    if unknown and kind != MODELS:
        raise UsageError(f"--unknown is of models, not of {kind}")
    from compactlab.reports.render import terminal

    if unknown:
        listed = _unknown(models_file)
    else:
        listed = model_rows(models_file) if kind == MODELS else _KINDS[kind]()
    if form == "json":
        print_json(json.dumps(listed, indent=2, default=str))
        return
    if unknown:
        say("\n".join(_by_provider(listed)))
        return
    if kind == MODELS:
        say(terminal.write(model_report(listed)), styled=True)
        return
    if kind == STRATEGIES and not parameters:
        say(terminal.write(strategy_report(listed)), styled=True)
        return
    for line in _lines(listed, parameters):
        say(line)
    if kind in _NOTES:
        say(f"  {_NOTES[kind]}")


def _unknown(models_file: str | None) -> list[Listed]:
    """The models of our providers that are in the price list but not in the catalogue."""
    from compactlab.sim.models.pricing import known_models

    lacking = known_models(models_file).lacking()
    return [{"name": each.id, "provider": each.provider, "window": each.window} for each in lacking]


def _by_provider(listed: list[Listed]) -> Iterator[str]:
    """Their names, a paragraph a provider."""
    import textwrap

    from compactlab.sim.models.listing import price_list

    yield f"In {price_list()}, and not in this catalogue:"
    for provider, sold in itertools.groupby(listed, lambda row: row["provider"]):
        names = f"{provider}: {', '.join(str(row['name']) for row in sold)}"
        yield textwrap.fill(names, 100, subsequent_indent="  ", break_on_hyphens=False)


def _lines(items: list[Listed], parameters: bool) -> Iterator[str]:
    width = max(len(str(row["name"])) for row in items)
    family = None
    for row in items:
        if row.get("family") != family:
            family = row["family"]
            yield f"{family}: {row['heading']}"
        indent = "  " if family else ""
        yield f"{indent}{row['name']:<{width}}  {row['meaning']}"
        if row.get("simulated"):
            yield f"{'':<{width}}  simulated: {row['simulated']}"
        for line in _below(row) if parameters else ():
            yield f"{'':<{width}}  {line}"


def _below(row: Listed) -> Iterator[str]:
    """The lines below an entry: parameters, and the default spec."""
    import textwrap

    parameters = row.get("parameters")
    if isinstance(parameters, dict):
        # Values must not wrap at their blanks.
        written = [f"{name}={value!r}".replace(" ", "\0") for name, value in parameters.items()]
        lines = textwrap.wrap(", ".join(written), 76, break_long_words=False)
        yield from (line.replace("\0", " ") for line in lines)
    if row.get("used_by_run"):
        yield f"compactlab run uses {row['used_by_run']}"


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0]
