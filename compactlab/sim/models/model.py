"""Models by name: window, tokenizer, cache policy, prices; built in, or from a TOML file."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any

from compactlab.sim.cache import POLICIES, CachePolicy
from compactlab.sim.core.errors import ModelError, UsageError, unknown
from compactlab.sim.core.spec import build, snake_case
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
    parse_toml,
    read_toml,
)
from compactlab.sim.models.listing import (
    UNDATED,
    dashed,
    find_listed,
    most_alike,
    names_of,
    price_list,
    undated,
    words_of,
)
from compactlab.sim.models.rates import MILLION, PRESETS, Prefill, Rates, StorageRate, Tiers

# Files of models: TOML, checked key by key. The built-in models stand in one, too.

# What has a meaning in the name of a model: NAME@policy, NAME+multiplier.
RESERVED = "@+"

MODEL_KEYS = (
    "provider", "window", "max_output", "encoding", "factor", "framing", "thinking", "cache",
    "price", "prices", "servers", "storage", "multipliers", "strips_thinking", "source", "asof",
)  # fmt: skip
PROVIDER_KEYS = (
    "encoding", "factor", "framing", "thinking", "multipliers", "client", "source", "asof",
)  # fmt: skip
# Where prices may come from: genai-prices, the file itself, or the time of one's own GPUs.
PRICED_BY = ("price", "prices", "servers")
CLASSES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "storage")

_POLICY = Kind(
    "the name of a cache policy, or a table with it", lambda v: isinstance(v, str | dict)
)
_STORAGE = Kind("a number, or a list of tables", lambda v: AMOUNT.fits(v) or isinstance(v, list))
# A class without a price of its own is billed as the one that its tokens came from.
_INSTEAD = {"cache_read": "input", "cache_write_5m": "input", "cache_write_1h": "cache_write_5m"}


def models_of(tables: dict[str, Any], file: str = "") -> dict[str, dict[str, Any]]:
    """Check the tables of a file, and give for each model the fields that it is built of."""
    whole = Section(tables, file).only(("models", "providers"))
    providers = {
        name: row.only(PROVIDER_KEYS) for name, row in whole.section("providers").sections()
    }
    return {
        name: _model(name, _whole(name, row), providers)
        for name, row in whole.section("models").sections()
    }


def _whole(name: str, row: Section) -> Section:
    """A model's table, if it has the keys of one; TOML takes a name with a dot apart."""
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
    # A model says what is different with it; the rest is its provider's.
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
    """The cache policy: its name, or a table with its name and figures; "" if none is built."""
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
        return build(POLICIES[name], figures)
    except UsageError as error:
        raise row.fault("cache", f"is wrong: {error}") from None


def _prices(row: Section) -> Tiers | None:
    """Prices by hand, in dollars per million tokens; of storage, and hour."""
    if "prices" not in row.values:
        return None
    table = row.section("prices").only((*CLASSES, "tiers", "asof", "source"))
    table.take("asof", DAY, "")
    table.take("source", TEXT, "")
    plain = {key: table.take(key, AMOUNT) for key in ("input", "output")}
    plain |= {key: table.take(key, AMOUNT) for key in CLASSES if key in table.values}
    steps = {0: _rates(plain)}
    for tier in table.listed("tiers"):
        above = tier.only(("above", *CLASSES)).take("above", COUNT)
        if above in steps:
            raise tier.fault("above", f"is {above} in two tiers")
        # What a tier does not name costs in it what it costs below.
        own = {key: tier.take(key, AMOUNT) for key in CLASSES if key in tier.values}
        steps[above] = _rates({**plain, **own})
    return Tiers(tuple(sorted(steps.items(), reverse=True)))


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
    """One's own GPUs: a preset with what differs from it, or all figures."""
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
    """What keeping a cache costs, where genai-prices has the other prices; by end."""
    given = row.take("storage", _STORAGE, [])
    if not isinstance(given, list):
        return (StorageRate(given, math.inf),)
    rates = []
    for each in row.listed("storage"):
        each.only(("price", "until"))
        day = each.take("until", DAY, "")
        # Until a day is to the end of that day.
        after = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(1) if day else None
        end = after.timestamp() if after else math.inf
        rates.append(StorageRate(each.take("price", AMOUNT), end))
    return tuple(sorted(rates, key=lambda rate: rate.until))


def _multipliers(row: Section) -> dict[str, float]:
    table = row.section("multipliers")
    for name in table.values:
        if not name.isalnum():
            raise table.fault(name, "is no name of a multiplier: letters and digits only")
    return {name: float(table.take(name, FACTOR)) for name in table.values}


# How well a provider keeps what it promises: as documented, or worse.
#
# The pessimistic arm is that of a third party's replay of traces (cacheeconomics 0.2, 2026):
# lifetimes a fifth shorter, every twentieth hit lost, 5 seconds until what was written can be
# read.


@dataclass(frozen=True)
class Degradation:
    """What a provider's cache falls short of its documentation."""

    lifetimes: float = 1.0  # share of the documented ones; of capacities, where nothing expires
    lose_every: int = 0  # every so manieth request finds nothing; 0 for none
    # Seconds until the answer to a side call begins: until then nobody can read what it wrote.
    latency: float = 0.0


NEUTRAL = Degradation()
DEGRADATIONS = {"neutral": NEUTRAL, "pessimistic": Degradation(0.8, 20, 5.0)}


# A model that can be replayed, for those who have to name one.
EXAMPLE = "claude-sonnet-4-5"


@dataclass(frozen=True)
class Model:
    """A model, as far as a replay is concerned.

    Parameters
    ----------
    name
        As in reports and on the command line, with the policy and the multipliers that were asked
        for.
    window
        Tokens of context; a run may narrow it.
    max_output
        Tokens of the longest answer; 0 if not known.
    tokenizer
        How it counts.
    price
        ``provider/model`` in genai-prices; "" if its prices stand elsewhere, or are not known.
    policy
        By which rules its provider caches; None if that is not built yet.
    provider
        Who serves it.
    client
        The strategy of its provider's own client; "" if there is none here.
    prices
        Its prices, where they were written by hand.
    servers
        What it runs on, where one pays for the time of one's own GPUs and not by the token.
    storage
        What keeping a cache costs where genai-prices has the other prices, the earliest end first.
    multipliers
        What its prices may be multiplied by, by name: ``batch``, ``us``.
    chosen
        Names of those that they are multiplied by.
    arm
        What its provider's cache falls short of its documentation.
    strips_thinking
        Whether thinking of earlier turns is dropped at a new user message.
    source, asof
        Where its figures come from, and their day.
    own_window
        Its window before a run narrowed it; 0 where none did.
    inferred
        What a reader must know of a model that is not in the catalogue; "" of one that is.
    """

    name: str
    window: int
    max_output: int
    tokenizer: Tokenizer
    price: str
    policy: CachePolicy | None
    provider: str = ""
    client: str = ""
    prices: Tiers | None = None
    servers: Prefill | None = None
    storage: tuple[StorageRate, ...] = ()
    multipliers: Mapping[str, float] = field(default_factory=dict, hash=False)
    chosen: tuple[str, ...] = ()
    degradation: Degradation = NEUTRAL
    strips_thinking: bool = False
    source: str = ""
    asof: str = ""
    own_window: int = 0
    inferred: str = ""

    def narrowed(self, window: int | None) -> Model:
        """This model with a window of at most so many tokens."""
        if window is None or window >= self.window:
            return self
        return replace(self, window=window, own_window=self.own_window or self.window)

    @property
    def multiplier(self) -> float:
        """What all its prices are multiplied by."""
        return prod(self.multipliers[name] for name in self.chosen)

    def under(self, policy: str) -> Model:
        """This model under another cache policy, or its own in a worse arm (``pessimistic``)."""
        name = f"{self.name}@{policy}"
        if policy in DEGRADATIONS:
            degradation = DEGRADATIONS[policy]
            policy_kept = self.policy and self.policy.shortened(degradation.lifetimes)
            return replace(self, name=name, policy=policy_kept, degradation=degradation)
        if policy not in POLICIES:
            raise ModelError(unknown("cache policy", policy, [*POLICIES, *DEGRADATIONS]))
        own = isinstance(self.policy, POLICIES[policy])
        policy_kept = self.policy if own else POLICIES[policy]()
        return replace(self, name=name, policy=policy_kept)

    def at(self, multipliers: Iterable[str]) -> Model:
        """This model with its prices multiplied."""
        chosen = tuple(sorted(set(multipliers)))
        for name in chosen:
            if name not in self.multipliers:
                raise ModelError(unknown(f"multiplier of {self.name}", name, self.multipliers))
        return replace(self, name="+".join([self.name, *chosen]), chosen=chosen)


@dataclass(frozen=True)
class Catalogue:
    """The models that are known: those that are built in, and a user's own.

    Parameters
    ----------
    models
        All of them, by name; of two with one name, the user's own.
    own
        The tables of the user's file, as JSON could hold them; empty if there is none.

    Examples
    --------
    >>> row = {"window": 8000, "cache": "none", "prices": {"input": 1, "output": 2}}
    >>> Catalogue.of({"models": {"tiny": row}}).find("tiny").window
    8000
    """

    models: Mapping[str, Model]
    own: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> Catalogue:
        """The built-in models and those of a file."""
        return cls.of(read_toml(Path(path), "file of models"), str(path))

    @classmethod
    def of(cls, tables: Mapping[str, Any], file: str = "") -> Catalogue:
        """The built-in models and those of the tables of a file."""
        if not tables:
            return built_in()
        return cls({**built_in().models, **_built(dict(tables), file)}, tables)

    @property
    def digest(self) -> str:
        """What tells the user's own figures from others; "" if there are none."""
        if not self.own:
            return ""
        text = json.dumps(self.own, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def find(self, name: str) -> Model:
        """Look a model up by the name that a recording or a user gives.

        A trailing date is ignored, a dot counts as a dash, ``@policy`` puts the model under
        another cache policy, and ``+multiplier`` multiplies its prices. What is not in the
        catalogue is inferred from the price list and the models of the same provider.
        """
        stem, *parts = re.split(f"([{RESERVED}])", name)
        marked = list(zip(parts[::2], parts[1::2], strict=True))
        policies = [text for mark, text in marked if mark == "@"]
        if len(policies) > 1:
            raise ModelError(f"{name!r} names two cache policies")
        model = self._plain(stem, name)
        if policies:
            model = model.under(policies[0])
        multipliers = [text for mark, text in marked if mark == "+"]
        return model.at(multipliers) if multipliers else model

    def _plain(self, stem: str, name: str) -> Model:
        """A model by its name alone; as it is written first, for a user's own may be dated."""
        for spelling in (stem, _dashed(stem), _undated(stem)):
            if spelling in self._spelled:
                return self._spelled[spelling]
        model = _inferred(stem)
        if model is not None:
            return model if model.inferred else self.models[model.name]
        raise ModelError(_unknown(name, _undated(stem), self._spelled))

    @cached_property
    def _spelled(self) -> dict[str, Model]:
        """The models by their names, and by those with dashes for dots."""
        dashed = {_dashed(name): model for name, model in self.models.items()}
        return {**dashed, **self.models}


@cache
def built_in() -> Catalogue:
    """The models that compactlab knows by itself."""
    text = (files("compactlab.sim.models") / "models.toml").read_text("utf-8")
    return Catalogue(_built(parse_toml(text), "models.toml"))


def _built(tables: dict[str, Any], file: str) -> dict[str, Model]:
    return {name: Model(name, **row) for name, row in models_of(tables, file).items()}


def catalogue() -> Mapping[str, Model]:
    """All models that are built in, by name."""
    return built_in().models


def find_model(name: str) -> Model:
    """Look a built-in model up, see :meth:`Catalogue.find`.

    Examples
    --------
    >>> find_model("claude-opus-4-5-20251101").name
    'claude-opus-4-5'
    >>> find_model("claude-opus-4-5@none").policy
    NoCache()
    >>> find_model("claude-opus-4-8+us+batch").multiplier
    0.55
    """
    return built_in().find(name)


@cache
def _inferred(stem: str) -> Model | None:
    """What can be told of a model by its provider; None if the price list does not have it.

    How a provider caches and counts does not stand there: that is taken from its model in the
    catalogue whose name is most alike, because both differ by generation (OpenAI before and from
    5.6 on, Claude before and from 4.7 on). Of a model that the catalogue has under another name,
    that is given.
    """
    models, families = built_in().models, _families()
    listed = find_listed(stem, families)
    if listed is None:
        return None
    served = {name: m for name, m in models.items() if m.price.startswith(f"{listed.provider}/")}
    for model in served.values():
        if model.price == listed.price:
            return model
    own, short = dashed(listed.id), undated(listed.id)
    name = short if names_of(families)[short] is listed else own
    like = served[most_alike(own, served)]
    window = listed.window or like.window
    whose = "by the price list" if listed.window else f"as {like.name}"
    day = UNDATED.date().isoformat()
    said = (
        f"{name} is not in the catalogue: priced by {price_list()} of {day} ({listed.price}), "
        f"cache policy {snake_case(type(like.policy).__name__)} and token counts as {like.name}, "
        f"window {window:,} {whose}"
    )
    # Batches are a provider's; other multipliers are a model's own.
    multipliers = {each: x for each, x in like.multipliers.items() if each == "batch"}
    return replace(
        like, name=name, price=listed.price, window=window, max_output=0, multipliers=multipliers,
        source="inferred", asof=day, inferred=said,
    )  # fmt: skip


@cache
def _families() -> tuple[tuple[str, str], ...]:
    """First words of the names of models, and whose they are in the price list."""
    models = reversed(list(built_in().models.values()))
    providers = {words_of(m.name)[0]: m.price.partition("/")[0] for m in models}
    return tuple((word, provider) for word, provider in providers.items() if provider)


def _dashed(stem: str) -> str:
    return stem.replace(".", "-")


def _undated(stem: str) -> str:
    return re.sub(r"-(\d{8}|latest)$", "", _dashed(stem))


def _unknown(name: str, plain: str, known: Mapping[str, Model]) -> str:
    """Say that a model is not known, and name only what can be replayed at once."""
    near = difflib.get_close_matches(plain, known, n=3, cutoff=0.7)
    at = "@none" if "@none" in name else ""
    usable = [known[each].name + (at if known[each].policy else "@none") for each in near]
    meant = f"did you mean {' or '.join(dict.fromkeys(usable))}? Or " if usable else ""
    return (
        f"unknown model {name!r}; {meant}name another, e.g. --model {EXAMPLE}, or NAME@none for "
        "one without a cache (compactlab list models), or write it down with its prices in a file "
        "of your own: --models FILE"
    )


def replayable(model: Model) -> tuple[Model, CachePolicy]:
    """A model with its policy."""
    if model.policy is None:
        raise ModelError(
            f"no cache policy is built for {model.name} yet; name another model, "
            f"e.g. --model {EXAMPLE}, or --model {model.name}@none for no cache at all"
        )
    return model, model.policy


def tokenizer_of(name: str, catalogue: Catalogue | None = None) -> Tokenizer:
    """How a recorded model counts; o200k as it is for a model that is not known."""
    plain = re.split(f"[{RESERVED}]", name, maxsplit=1)[0]  # its price changes nothing
    try:
        return (catalogue or built_in()).find(plain).tokenizer
    except ModelError:
        return Tokenizer()
