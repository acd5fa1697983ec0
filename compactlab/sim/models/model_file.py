"""Files of models: TOML with checks of each key; the built-in models use the same format."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from compactlab.sim.cache import POLICIES, CachePolicy
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.spec import build
from compactlab.sim.core.tokens import ENCODINGS, Tokenizer
from compactlab.sim.core.toml import (
    AMOUNT,
    COUNT,
    DAY,
    FACTOR,
    FLAG,
    SIZE,
    TEXT,
    Kind,
    Section,
    one_of,
)
from compactlab.sim.models.listing import RESERVED
from compactlab.sim.models.rates import MILLION, PRESETS, Prefill, Rates, StorageRate, Tiers

MODEL_KEYS = (
    "provider", "window", "client_window", "max_output", "encoding", "factor", "framing",
    "thinking", "cache", "price", "prices", "promised", "servers", "storage", "multipliers",
    "strips_thinking", "source", "asof",
)  # fmt: skip
PROVIDER_KEYS = (
    "encoding", "factor", "framing", "thinking", "multipliers", "client", "client_window",
    "source", "asof",
)  # fmt: skip
# Sources of prices: genai-prices, the file itself, or the time of self-hosted GPUs.
PRICED_BY = ("price", "prices", "servers")
CLASSES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "storage")

_POLICY = Kind(
    "the name of a cache policy, or a table with it", lambda v: isinstance(v, str | dict)
)
_STORAGE = Kind("a number, or a list of tables", lambda v: AMOUNT.fits(v) or isinstance(v, list))
_PRICES = Kind("a table, or a list of tables", lambda v: isinstance(v, dict | list) and v != [])
# A class without a price is billed like the class given here.
_INSTEAD = {"cache_read": "input", "cache_write_5m": "input", "cache_write_1h": "cache_write_5m"}


def models_of(tables: dict[str, Any], file: str = "") -> dict[str, dict[str, Any]]:
    """Check the tables of a file, and return the fields of each model."""
    whole = Section(tables, file).only(("models", "providers"))
    providers = {
        name: row.only(PROVIDER_KEYS) for name, row in whole.section("providers").sections()
    }
    return {
        name: _model(name, _whole(name, row), providers)
        for name, row in whole.section("models").sections()
    }


def _whole(name: str, row: Section) -> Section:
    """Return a model's table if it has such keys; TOML splits names at dots."""
    for key, value in row.values.items():
        if key not in MODEL_KEYS and isinstance(value, dict):
            written = f'[models."{name}.{key}"]'
            raise row.fault(key, f"is no key; if it is of the name, that needs quotes: {written}")
    return row.only(MODEL_KEYS)


def _model(name: str, row: Section, providers: dict[str, Section]) -> dict[str, Any]:
    if name in ("", "recorded") or any(c in RESERVED or c.isspace() for c in name):
        raise row.fault(
            "", "a model's name is not empty and not 'recorded', and has no blank, @ or + in it"
        )
    if len(given := [key for key in PRICED_BY if key in row.values]) > 1:
        raise row.fault(given[0], f"stands beside {given[1]}: prices come from one place")
    if "servers" in row.values and "multipliers" in row.values:
        raise row.fault("multipliers", "are of prices by the token, and servers are paid by time")
    provider = row.take("provider", TEXT, "")
    # A model's table only contains differences from its provider's.
    shared = providers.get(provider, Section({}))
    encoding = row.take("encoding", one_of(*ENCODINGS), "") or shared.take(
        "encoding", one_of(*ENCODINGS), "o200k_base"
    )
    factor = row.take("factor", FACTOR, shared.take("factor", FACTOR, 1.0))
    framing = row.take("framing", SIZE, shared.take("framing", SIZE, 0))
    thinking = row.take("thinking", FACTOR, shared.take("thinking", FACTOR, 1.0))
    return {
        "window": row.take("window", COUNT),
        "max_output": row.take("max_output", SIZE, 0),
        "tokenizer": Tokenizer(encoding, float(factor), framing, float(thinking)),
        "price": _price(row),
        "policy": _policy(row),
        "provider": provider,
        "client": shared.take("client", TEXT, ""),
        "client_window": row.take("client_window", SIZE, shared.take("client_window", SIZE, 0)),
        "promised": row.take("promised", DAY, ""),
        "prices": _prices(row),
        "servers": _servers(row),
        "storage": _storage(row),
        "multipliers": {**_multipliers(shared), **_multipliers(row)},
        "strips_thinking": row.take("strips_thinking", FLAG, False),
        "source": row.take("source", TEXT, "") or shared.take("source", TEXT, ""),
        "asof": row.take("asof", DAY, "") or shared.take("asof", DAY, ""),
    }


def _price(row: Section) -> str:
    price: str = row.take("price", TEXT, "")
    provider, _, model = price.partition("/")
    if price and not (provider and model):
        raise row.fault("price", f"must be provider/model of genai-prices, not {price!r}")
    return price


def _policy(row: Section) -> CachePolicy | None:
    """Return the cache policy from its name or a table with figures; None for ""."""
    given = row.take("cache", _POLICY)
    table = Section({"policy": given}) if isinstance(given, str) else row.section("cache")
    name = table.take("policy", TEXT)
    if not name:
        return None
    if name not in POLICIES:
        raise row.fault("cache", f"names an {unknown('cache policy', name, POLICIES)}")
    figures = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in table.values.items()
        if key != "policy"
    }
    try:
        return build(POLICIES.find(name), figures)
    except UsageError as error:
        raise row.fault("cache", f"is wrong: {error}") from None


def _prices(row: Section) -> Tiers | None:
    """Return prices by hand in dollars per million tokens (storage: and hour), by end date."""
    given = row.take("prices", _PRICES, None)
    if given is None:
        return None
    tables = row.listed("prices") if isinstance(given, list) else [row.section("prices")]
    *earlier, last = sorted(map(_period, tables), key=lambda period: period.until)
    if last.until != math.inf or any(period.until == math.inf for period in earlier):
        raise row.fault("prices", "end with one table that has no day in until")
    for period in reversed(earlier):
        last = replace(period, then=last)
    return last


def _period(table: Section) -> Tiers:
    table.only((*CLASSES, "search", "tiers", "until", "asof", "source"))
    plain = {key: table.take(key, AMOUNT) for key in ("input", "output")}
    plain |= {key: table.take(key, AMOUNT) for key in CLASSES if key in table.values}
    steps = {0: _rates(plain)}
    for tier in table.listed("tiers"):
        above = tier.only(("above", *CLASSES)).take("above", COUNT)
        if above in steps:
            raise tier.fault("above", f"is {above} in two tiers")
        # A price that a tier lacks is that of the tier below.
        own = {key: tier.take(key, AMOUNT) for key in CLASSES if key in tier.values}
        steps[above] = _rates({**plain, **own})
    search = table.take("search", AMOUNT) if "search" in table.values else None
    return Tiers(
        tuple(sorted(steps.items(), reverse=True)),
        search,
        table.take("source", TEXT, ""),
        table.take("asof", DAY, ""),
        _end(table.take("until", DAY, "")),
    )


def _rates(prices: dict[str, float]) -> Rates:
    whole = dict(prices)
    for key, other in _INSTEAD.items():
        whole.setdefault(key, whole[other])
    return Rates(
        uncached=whole["input"] / MILLION,
        cache_read=whole["cache_read"] / MILLION,
        cache_write_5m=whole["cache_write_5m"] / MILLION,
        cache_write_1h=whole["cache_write_1h"] / MILLION,
        output=whole["output"] / MILLION,
        storage=StorageRate(whole.get("storage", 0.0), math.inf).rate,
    )


def _servers(row: Section) -> Prefill | None:
    """Return self-hosted GPUs: a preset with changes, or all figures."""
    if "servers" not in row.values:
        return None
    figures = dict(row.section("servers").values)
    preset = figures.pop("preset", None)
    if preset is not None and preset not in PRESETS:
        raise row.fault("servers", f"names an {unknown('preset', str(preset), PRESETS)}")
    whole = {**(asdict(PRESETS[preset]) if preset else {}), **figures}
    try:
        return build(Prefill, whole)
    except UsageError as error:
        raise row.fault("servers", f"is wrong: {error}") from None


def _storage(row: Section) -> tuple[StorageRate, ...]:
    """Return storage rates for a model with genai-prices, by end date."""
    given = row.take("storage", _STORAGE, [])
    if not isinstance(given, list):
        return (StorageRate(given, math.inf),)
    rates = []
    for each in row.listed("storage"):
        each.only(("price", "until"))
        end = _end(each.take("until", DAY, ""))
        rates.append(StorageRate(each.take("price", AMOUNT), end))
    return tuple(sorted(rates, key=lambda rate: rate.until))


def _end(day: str) -> float:
    """Return the moment after a day, in seconds since 1970; infinite without one."""
    if not day:
        return math.inf
    return (datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(1)).timestamp()


def _multipliers(row: Section) -> dict[str, float]:
    table = row.section("multipliers")
    for name in table.values:
        if not name.isalnum():
            raise table.fault(name, "is not a name of a multiplier: letters and digits only")
    return {name: float(table.take(name, FACTOR)) for name in table.values}
