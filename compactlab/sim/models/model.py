"""Models by name: window, tokenizer, cache policy, prices; built in, or from a TOML file."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any

from compactlab.sim.cache import POLICIES, CachePolicy
from compactlab.sim.core.errors import InputError, ModelError, unknown
from compactlab.sim.core.spec import snake_case
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.toml import parse_toml, read_toml
from compactlab.sim.models.listing import (
    LONGEST,
    RESERVED,
    UNDATED,
    WIDE,
    Listed,
    answers_nothing,
    dashed,
    find_listed,
    lacking,
    marked,
    model_of,
    most_alike,
    named_seller,
    newest_prices,
    own_servers,
    plain,
    price_list,
    rivals,
    search_price,
    sellers,
    spellings,
    undated,
    words_of,
)
from compactlab.sim.models.model_file import models_of
from compactlab.sim.models.rates import Prefill, StorageRate, Tiers

# How well a provider's cache works: as documented, or worse.
#
# The pessimistic case is that of a third party's trace replay (cacheeconomics 0.2, 2026): lifetimes
# 20 % shorter, every twentieth hit lost, 5 seconds until a write can be read.


@dataclass(frozen=True)
class Degradation:
    """By how much a provider's cache is worse than documented."""

    lifetimes: float = 1.0  # share of the documented lifetime (or capacity)
    lose_every: int = 0  # every n-th request misses; 0: none
    # Seconds until the answer to a summary call begins: only then its cache writes can be read.
    latency: float = 0.0


NEUTRAL = Degradation()
DEGRADATIONS = {"neutral": NEUTRAL, "pessimistic": Degradation(0.8, 20, 5.0)}


_DAY = UNDATED.date().isoformat()
# A replayable model, as an example in messages.
EXAMPLE = "claude-sonnet-4-5"


@dataclass(frozen=True)
class Model:
    """A model, as far as a replay is concerned.

    Parameters
    ----------
    name
        The name in reports and on the command line, with the chosen policy and multipliers.
    window
        Tokens of context; a run may narrow it.
    max_output
        Tokens of the longest answer; 0 if not known.
    tokenizer
        The tokenizer that counts its tokens.
    price
        ``provider/model`` in genai-prices; "" if its prices are elsewhere, or not known.
    policy
        The cache policy of its provider; None if it is not implemented.
    provider
        The provider that serves it.
    client
        The strategy of the provider's own client; "" if there is none.
    client_window
        The window that this client assumes, if that is smaller; 0 otherwise.
    prices
        Its prices, if they were given by hand.
    promised
        The last day of a promotional price whose successor is not announced; "" if none is known.
    servers
        The GPUs that it runs on, if they are paid by time and not by token.
    storage
        Prices of cache storage, if genai-prices has the other prices; the earliest end date first.
    multipliers
        The price multipliers by name: ``batch``, ``us``.
    chosen
        Names of the multipliers in use.
    arm
        By how much its provider's cache is worse than documented.
    strips_thinking
        Whether thinking of earlier turns is dropped at a new user message.
    source, asof
        Where its figures come from, and their day.
    own_window
        Its window before a run narrowed it; 0 if no run did.
    inferred
        A note for readers on a model that is not in the catalogue; "" for a catalogue model.
    """

    name: str
    window: int
    max_output: int
    tokenizer: Tokenizer
    price: str
    policy: CachePolicy | None
    provider: str = ""
    client: str = ""
    client_window: int = 0
    prices: Tiers | None = None
    promised: str = ""
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
        """Return this model with a window of at most this many tokens."""
        if window is None or window >= self.window:
            return self
        return replace(self, window=window, own_window=self.own_window or self.window)

    @property
    def search(self) -> float | None:
        """The price of a web search by the provider in dollars; None if not known."""
        if self.prices:
            return self.prices.search
        return search_price(self.price) if self.price else None

    @property
    def multiplier(self) -> float:
        """The product of the chosen price multipliers."""
        return prod(self.multipliers[name] for name in self.chosen)

    def under(self, policy: str) -> Model:
        """Return this model under another cache policy, or degraded (``pessimistic``)."""
        name = f"{self.name}@{policy}"
        if policy in DEGRADATIONS:
            degradation = DEGRADATIONS[policy]
            policy_kept = self.policy and self.policy.shortened(degradation.lifetimes)
            return replace(self, name=name, policy=policy_kept, degradation=degradation)
        if policy not in POLICIES:
            raise ModelError(unknown("cache policy", policy, [*POLICIES, *DEGRADATIONS]))
        kind = POLICIES.find(policy)
        policy_kept = self.policy if isinstance(self.policy, kind) else kind()
        return replace(self, name=name, policy=policy_kept)

    def at(self, multipliers: Iterable[str]) -> Model:
        """Return this model with its prices multiplied."""
        chosen = tuple(sorted(set(multipliers)))
        for name in chosen:
            if name not in self.multipliers:
                raise ModelError(unknown(f"multiplier of {self.name}", name, self.multipliers))
        return replace(self, name="+".join([self.name, *chosen]), chosen=chosen)


@dataclass(frozen=True)
class Catalogue:
    """The known models: the built-in ones and the user's own.

    Parameters
    ----------
    models
        All models by name; the user's own replaces a built-in one of the same name.
    own
        The tables of the user's file, as JSON values; empty if there is none.

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
        """Return the built-in models and those of a file."""
        try:
            tables = read_toml(Path(path), "file of models")
        except InputError as error:
            if str(path).partition("@")[0] not in built_in().models:
                raise
            text = f"{error.message}; the model of this name is --model"
            raise InputError(text, str(path)) from None
        return cls.of(tables, str(path))

    @classmethod
    def of(cls, tables: Mapping[str, Any], file: str = "") -> Catalogue:
        """Return the built-in models and those of the tables of a file."""
        if not tables:
            return built_in()
        return cls({**built_in().models, **_built(dict(tables), file)}, tables)

    @property
    def digest(self) -> str:
        """A digest of the user's own figures; "" if there are none."""
        if not self.own:
            return ""
        text = json.dumps(self.own, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def find(self, name: str) -> Model:
        """Find the model to replay, by the name that a recording or a user gives.

        A trailing date is ignored, and a dot equals a dash. ``@policy`` selects another cache
        policy, and ``+multiplier`` multiplies the prices. A model that is not in the catalogue is
        looked up in the price list. If its provider is in the catalogue, the rest is inferred from
        that provider's models. If another seller offers a catalogue model, it is that model at the
        seller's price. Of any other model only the price is known, and no policy.

        Raises
        ------
        ModelError
            If the model, its policy or its multiplier is unknown.
        """
        return self._remembered(name, strict=True)

    def lacking(self) -> list[Listed]:
        """Return the models of the catalogue's makers that are only in the price list."""
        known, families = {model.price for model in self.models.values()} - {""}, _families()
        makers = dict.fromkeys(price.partition("/")[0] for price in known)
        sold = (
            each for maker in sorted(makers) for each in dict.fromkeys(sellers()[maker].values())
        )
        return [
            each
            for each in sold
            if each.price not in known
            # Google also serves Claude.
            and families.get(words_of(each.id)[0], each.provider) == each.provider
            and not answers_nothing(newest_prices(model_of(each.price)))
        ]

    def billed(self, name: str) -> Model:
        """Find a model to bill a recording; unknown multipliers are ignored."""
        return self._remembered(name, strict=False)

    def _remembered(self, name: str, *, strict: bool) -> Model:
        known = self._answers.get((name, strict))
        if known is None:
            try:
                known = self._look_up(name, strict=strict)
            except ModelError as error:
                known = str(error)
            if len(name) <= LONGEST:
                if len(self._answers) >= _ANSWERS:
                    self._answers.clear()
                self._answers[name, strict] = known
        if isinstance(known, str):
            raise ModelError(known)
        return known

    def _look_up(self, name: str, *, strict: bool) -> Model:
        if len(name) > LONGEST:
            raise ModelError(f"unknown model {name[:40]!r}... of {len(name):,} characters")
        stem, policies, multipliers = marked(name)
        if len(policies) > 1:
            raise ModelError(f"{name!r} names two cache policies")
        model = self._plain(stem, name)
        if policies:
            model = model.under(policies[0])
        # Logs state the processing region; no user chose it.
        passed = self._factors if not strict else {"us"} if model.inferred else set()
        without = sorted(passed.intersection(multipliers).difference(model.multipliers))
        if chosen := [each for each in multipliers if each not in without]:
            model = model.at(chosen)
        if without:
            said = f"no factor +{' +'.join(without)} of {model.name} is known: priced without it"
            model = replace(model, inferred="; ".join(filter(None, (model.inferred, said))))
        return model

    def _plain(self, stem: str, name: str) -> Model:
        """Find a model by its plain name; first as written: a user's own may end in a date."""
        for spelling in (stem, _dashed(stem), _undated(stem)):
            if spelling in self._spelled:
                return self._spelled[spelling]
        if server := own_servers(stem):
            raise ModelError(f"{_unknown(name, '', {})}: {server} stands for servers of your own")
        if stem.lower().endswith(WIDE):
            return _widened(self._plain(stem[: -len(WIDE)], name))
        listed, same = find_listed(stem), self._same(stem)
        if same and listed and _is_another(listed, same):
            same = None
        if same and same.name in self.own.get("models", {}):
            return same
        if listed is None and same is None:
            raise ModelError(_unknown(name, _undated(stem), self._spelled))
        if listed is None or (same and not named_seller(stem)):
            assert same is not None
            return same
        model, seller = self._listed(listed, same), lacking(stem, listed)
        return _instead(model, seller, listed) if seller else model

    def _same(self, stem: str) -> Model | None:
        """Return the catalogue model that a name refers to, regardless of the seller."""
        ways = list(spellings(plain(stem)))
        found = [self._spelled[way] for way in ways if way in self._spelled]
        return next((each for each in found if each.name in self.own.get("models", {})), None) or (
            found[0] if found else None
        )

    def _listed(self, listed: Listed, same: Model | None) -> Model:
        """Return a model of the price list, which may also be in the catalogue."""
        for model in self.models.values():
            if model.price == listed.price and model.name in built_in().models:
                return model
        if same is None and (same := _inferred(listed)):
            return same
        if same is None and (by_maker := find_listed(plain(listed.id))) and _is_closed(by_maker):
            same = _inferred(by_maker)
        return _resold(listed, same) if same else _priced(listed)

    @cached_property
    def _spelled(self) -> dict[str, Model]:
        """The models by name, and by name with dashes for dots."""
        ways = {_dashed(name): model for name, model in self.models.items()}
        return {**{way.lower(): ways[way] for way in ways}, **ways, **self.models}

    @cached_property
    def _factors(self) -> set[str]:
        """All multipliers of any model; any other word may be a typo, or one of thousands."""
        return {each for model in self.models.values() for each in model.multipliers}

    @cached_property
    def _answers(self) -> dict[tuple[str, bool], Model | str]:
        """A cache of models and error messages by name: audits look up every call."""
        return {}


# Size limit of the cache: untrusted logs may contain a new name on every line.
_ANSWERS = 4096


@cache
def built_in() -> Catalogue:
    """Return the built-in catalogue."""
    text = (files("compactlab.sim.models") / "models.toml").read_text("utf-8")
    return Catalogue(_built(parse_toml(text), "models.toml"))


def _built(tables: dict[str, Any], file: str) -> dict[str, Model]:
    return {name: Model(name, **row) for name, row in models_of(tables, file).items()}


def catalogue() -> Mapping[str, Model]:
    """Return all built-in models by name."""
    return built_in().models


def find_model(name: str) -> Model:
    """Find a built-in model, see :meth:`Catalogue.find`.

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


# Makers whose cache is an assumption of the catalogue, for its own models alone.
_ASSUMED = ("zai", "minimax")


@cache
def _inferred(listed: Listed) -> Model | None:
    """Infer a model from its maker's models; None if the catalogue has none of them.

    The price list does not say how a provider caches and counts tokens. Both differ by generation
    (OpenAI from 5.6 on, Claude from 4.7 on). So they are taken from the maker's catalogue model
    with the most similar name.
    """
    makers = _families()
    # Google also serves Claude, which is cached by Anthropic's rules.
    if makers.get(words_of(listed.id)[0], listed.provider) != listed.provider:
        return None
    models = built_in().models
    served = {name: m for name, m in models.items() if m.price.startswith(f"{listed.provider}/")}
    if not served or listed.provider in _ASSUMED:
        return None
    own, short = dashed(listed.id), undated(listed.id)
    name = short if sellers()[listed.provider][short] is listed else own
    like = served[most_alike(own, served)]
    window = listed.window or like.window
    whose = "by the price list" if listed.window else f"as {like.name}"
    said = (
        f"{name} is not in the catalogue: {_by_list(listed)}, {_as(like)}, "
        f"window {window:,} {whose}"
    )
    # Multipliers for batches and regions belong to the provider; others belong to one model.
    shared = {each: x for each, x in like.multipliers.items() if each in ("batch", "us")}
    return replace(
        like, name=name, price=listed.price, window=window, max_output=0, multipliers=shared,
        source="inferred", asof=_DAY, inferred=said,
    )  # fmt: skip


@cache
def _resold(listed: Listed, same: Model) -> Model:
    """Return a model at the price of a seller other than its maker."""
    window = min(same.window, listed.window or same.window)
    said = (
        f"{listed.price} is {same.name} at the price of {listed.provider}: {_by_list(listed)}, "
        f"{_as(same)}, window {window:,}"
    )
    # The maker's batch and storage prices do not apply to other sellers.
    return replace(
        same, name=listed.price, price=listed.price, prices=None, storage=(), window=window,
        multipliers={}, source="inferred", asof=_DAY, inferred=said,
    )  # fmt: skip


# Used if the price list has no window: few current models have a smaller one.
_WINDOW = 128_000


@cache
def _priced(listed: Listed) -> Model:
    """Return a model of which only the price is known: it can be billed, but not replayed."""
    tokenizer, others = Tokenizer(), rivals(listed)
    known = next((each.window for each in (listed, *others) if each.window), None)
    window, whose = known or _WINDOW, "by the price list" if known else "assumed"
    many = len({each.provider for each in others})
    sellers = f", as one of {many} sellers" if many > 1 else ""
    said = (
        f"{listed.price} is not in the catalogue: {_by_list(listed)}{sellers}; no cache policy is "
        f"known, tokens are counted as {tokenizer.encoding}, window {window:,} {whose}"
    )
    return Model(
        listed.price, window, 0, tokenizer, listed.price, None, listed.provider,
        source="inferred", asof=_DAY, inferred=said,
    )  # fmt: skip


def _instead(model: Model, seller: str, listed: Listed) -> Model:
    """Return a model at another seller's price, because its own has none in the price list."""
    said = (
        f"{seller} has no price for {model.name} in {price_list()}: that of {listed.provider} is "
        "taken"
    )
    said = "; ".join(filter(None, (said, model.inferred)))
    return replace(model, name=f"{seller}/{model.name}", inferred=said)


def _widened(model: Model) -> Model:
    """Return the model with the window that its name asks for."""
    window = 1_000_000
    if model.window >= window:
        return model
    said = f"{model.name}{WIDE} is {model.name} with a window of {window:,}, as its name says"
    said = "; ".join(filter(None, (said, model.inferred)))
    return replace(model, name=model.name + WIDE, window=window, inferred=said)


def _by_list(listed: Listed) -> str:
    return f"priced by {price_list()} of {_DAY} ({listed.price})"


def _as(like: Model) -> str:
    if like.policy is None:
        return f"no cache policy is known, token counts as {like.name}"
    policy = snake_case(type(like.policy).__name__)
    return f"cache policy {policy} and token counts as {like.name}"


def _is_closed(listed: Listed) -> bool:
    """Whether others only resell the model: a host of an open model has a cache of its own."""
    words = words_of(listed.id)
    makers = ("anthropic", "openai", "google", "x-ai")
    return listed.provider in makers and words[0] in _families() and "oss" not in words


def _is_another(listed: Listed, same: Model) -> bool:
    """Whether the maker sells the name as a separate model, such as gpt-4o-2024-05-13."""
    price = built_in().models.get(same.name, same).price
    return price.startswith(f"{listed.provider}/") and price != listed.price


@cache
def _families() -> Mapping[str, str]:
    """Return the makers in the price list by the first word of their models' names."""
    models = reversed(list(built_in().models.values()))
    providers = {words_of(m.name)[0]: m.price.partition("/")[0] for m in models}
    return {word: provider for word, provider in providers.items() if provider}


def _dashed(stem: str) -> str:
    return stem.replace(".", "-")


def _undated(stem: str) -> str:
    return re.sub(r"-(\d{8}|latest)$", "", _dashed(stem))


def _unknown(name: str, plain: str, known: Mapping[str, Model]) -> str:
    """Return the error for an unknown model; it suggests only models that can be replayed."""
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
    """Return a model with its cache policy; raise if it has none."""
    if model.policy is None:
        raise ModelError(
            f"no cache policy is built for {model.name} yet; name another model, "
            f"e.g. --model {EXAMPLE}, or --model {model.name}@none for no cache at all"
        )
    return model, model.policy


def tokenizer_of(name: str, catalogue: Catalogue | None = None) -> Tokenizer:
    """Return the tokenizer of a recorded model; plain o200k for an unknown model."""
    plain = re.split(f"[{RESERVED}]", name, maxsplit=1)[0]  # the price is irrelevant
    try:
        return (catalogue or built_in()).find(plain).tokenizer
    except ModelError:
        return Tokenizer()
