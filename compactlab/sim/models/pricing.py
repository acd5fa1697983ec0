"""Prices: the cost of tokens by date of the call and size of the request.

Prices come from genai-prices, which has them by date, time of day and size, or from a user's file.
A replay only counts tokens, so a trace can be priced again at other prices.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from compactlab.sim.core.errors import InputError, ModelError
from compactlab.sim.core.message import Usage
from compactlab.sim.models.listing import UNDATED, answers_nothing, is_free, model_of, price_list
from compactlab.sim.models.model import Catalogue, Model, built_in
from compactlab.sim.models.rates import MILLION, Bill, Rates, step_of

__all__ = [
    "Charge",
    "PriceSheet",
    "Rates",
    "Sheet",
    "TokenPrices",
    "price_list",
    "price_sheet",
    "prices_of",
]

FREE = Rates(0.0, 0.0, 0.0, 0.0, 0.0)
BY_HAND = (
    "give its prices by hand, in a file for --models: "
    "prices = { input = ..., cache_read = ..., output = ... }, in dollars per million tokens"
)


class Charge(Protocol):
    """The basis of a charge: token rates, or server time."""

    def cost(self, usage: Usage) -> float:
        """Return the dollars of a request."""

    def bill(self, usage: Usage) -> Bill:
        """Return the dollars by class of tokens."""


class Sheet(Protocol):
    """A source of charges."""

    def rates(self, time: float, prompt: int) -> Charge:
        """Return the charge of a request; see :meth:`PriceSheet.rates`."""


class PriceSheet:
    """All prices of one model in genai-prices."""

    def __init__(self, price: str) -> None:
        try:
            self._model = model_of(price)
        except LookupError:
            raise ModelError(_without(price)) from None
        self._name = price
        dated = isinstance(self._model.prices, list)
        self._always = None if dated else self._model.get_prices(UNDATED)
        self._known: dict[int, list[tuple[int, Rates]]] = {}

    def rates(self, time: float, prompt: int) -> Rates:
        return step_of(self._tiers(time), prompt)

    def sizes(self, time: float) -> list[int]:
        """Return the prompt sizes above which other rates apply; 0 for those of small requests."""
        return sorted(start for start, _ in self._tiers(time))

    @property
    def until(self) -> float:
        """When today's prices end, in seconds since 1970; infinite if no day is known."""
        dated = self._model.prices if self._always is None else ()
        starts = [getattr(each.constraint, "start_date", None) for each in dated]
        ends = [datetime(d.year, d.month, d.day, tzinfo=UTC) for d in starts if d]
        return min((day.timestamp() for day in ends if day > UNDATED), default=math.inf)

    def _tiers(self, time: float) -> list[tuple[int, Rates]]:
        prices = self._always
        if prices is None:
            prices = self._model.get_prices(moment_of(time))
        # The list's objects are never deleted, so their id() identifies them.
        tiers = self._known.get(id(prices))
        if tiers is None:
            starts = sorted({0, *_starts(prices.input_mtok)}, reverse=True)
            tiers = self._known[id(prices)] = [(s, self._read(prices, s)) for s in starts]
        return tiers

    def _read(self, prices: Any, tier: int) -> Rates:
        if prices.input_mtok is None and is_free(self._name):
            return FREE

        def rate(*names: str) -> float:
            for name in names:
                value = getattr(prices, name)
                if value is not None:
                    return float(_at(value, tier)) / MILLION
            raise ModelError(f"genai-prices has no {names[0]} of {self._name}")

        return Rates(
            uncached=rate("input_mtok"),
            cache_read=rate("cache_read_mtok", "input_mtok"),
            cache_write_5m=rate("cache_write_mtok", "input_mtok"),
            cache_write_1h=rate("cache_write_1h_mtok", "cache_write_mtok", "input_mtok"),
            output=0.0 if answers_nothing(prices) else rate("output_mtok"),
        )


class TokenPrices:
    """All prices of a model that is paid by the token, with storage and multipliers."""

    def __init__(self, model: Model) -> None:
        if not (model.prices or model.price):
            raise ModelError(f"no price is known of {model.name}; {BY_HAND}")
        self._tiers = model.prices or price_sheet(model.price)
        self._storage = model.storage
        self._factor = model.multiplier
        self._known: dict[tuple[int, float], Rates] = {}

    def rates(self, time: float, prompt: int) -> Rates:
        """Return the rates of a request; see :meth:`PriceSheet.rates`."""
        listed = self._tiers.rates(time or UNDATED.timestamp(), prompt)
        storage = self._stored(time) if self._storage else listed.storage
        if storage == listed.storage and self._factor == 1.0:
            return listed
        # Sheets and tiers keep their rates, so their id() identifies them.
        key = id(listed), storage
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = replace(listed, storage=storage).times(self._factor)
        return known

    def sizes(self, time: float) -> list[int]:
        """Return the prompt sizes above which other rates apply; 0 for those of small requests."""
        return self._tiers.sizes(time or UNDATED.timestamp())

    @property
    def until(self) -> float:
        """When today's prices end, in seconds since 1970; infinite if no day is known."""
        return self._tiers.until

    def _stored(self, time: float) -> float:
        at = time or UNDATED.timestamp()
        return next((each.rate for each in self._storage if at < each.until), 0.0)


def moment_of(time: float) -> datetime:
    """Convert seconds since 1970 to a date; 0 gives the date of the price list."""
    try:
        return datetime.fromtimestamp(time, UTC) if time else UNDATED
    except (ValueError, OverflowError, OSError):
        raise ModelError(
            f"there are no prices for the time {time:.0f}: times are in seconds since 1970, "
            "and not in milliseconds"
        ) from None


@cache
def price_sheet(price: str) -> PriceSheet:
    """Return the price sheet of a model in genai-prices; it is read once."""
    return PriceSheet(price)


@cache
def prices_of(model: Model) -> Sheet:
    """Return the prices of a model; they are read once.

    Examples
    --------
    >>> from compactlab.sim.core.message import Usage
    >>> from compactlab.sim.models.model import find_model
    >>> million = Usage(uncached=1_000_000)
    >>> prices_of(find_model("claude-opus-5+batch")).rates(0, million.prompt).cost(million)
    2.5
    """
    return model.servers or TokenPrices(model)


def _without(price: str) -> str:
    """Return the error for a model that genai-prices lacks, with similar names."""
    from genai_prices.data_snapshot import get_snapshot

    names = [f"{each.id}/{model.id}" for each in get_snapshot().providers for model in each.models]
    near = difflib.get_close_matches(price, names, n=3, cutoff=0.7)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"genai-prices has no price for {price}{meant or ';'} {'Or ' if meant else ''}{BY_HAND}"


def _starts(price: Any) -> list[int]:
    """Return the thresholds at which a price changes."""
    return [tier.start for tier in getattr(price, "tiers", ())]


def _at(price: Any, passed: int) -> Any:
    for tier in reversed(getattr(price, "tiers", ())):
        if passed >= tier.start:
            return tier.price
    return getattr(price, "base", price)


def known_models(file: str | Path | None) -> Catalogue:
    """Return the built-in models and those of a file."""
    if file is None:
        return built_in()
    catalogue = Catalogue.load(file)
    for name in catalogue.own.get("models", {}):
        model = catalogue.models[name]
        if model.price:
            try:
                prices_of(model)
            except ModelError as error:
                raise InputError(f"models.{name}.price: {error}", str(file)) from None
    return catalogue
