"""Money: what tokens cost, at the date of the call and by the size of the request.

Prices come from genai-prices, which carries them by date, time of day and size. A replay counts
tokens only, so one trace can be priced again at other prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from compactlab.sim.errors import ModelError
from compactlab.sim.message import Usage

_MILLION = 1_000_000
# Calls without a time are priced as of the day on which the price list was last looked at.
_UNDATED = datetime(2026, 11, 21, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars per token, by billing class."""

    uncached: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    output: float

    def cost(self, usage: Usage) -> float:
        """Dollars for a request.

        Examples
        --------
        >>> Rates(2.0, 0.2, 2.5, 4.0, 10.0).cost(Usage(uncached=1, cache_read=10, output=1))
        14.0
        """
        return (
            usage.uncached * self.uncached
            + usage.cache_read * self.cache_read
            + usage.cache_write_5m * self.cache_write_5m
            + usage.cache_write_1h * self.cache_write_1h
            + usage.output * self.output
        )


class PriceSheet:
    """All prices of one model.

    Parameters
    ----------
    price
        ``provider/model`` in genai-prices.

    Raises
    ------
    ModelError
        If genai-prices does not have the model.
    """

    def __init__(self, price: str) -> None:
        from genai_prices.data_snapshot import get_snapshot

        provider, _, model = price.partition("/")
        try:
            self._model = get_snapshot().find_provider_model(model, None, provider, None)[1]
        except LookupError:
            raise ModelError(f"genai-prices has no price for {price}") from None
        self._name = price
        dated = isinstance(self._model.prices, list)
        self._always = None if dated else self._model.get_prices(_UNDATED)
        self._known: dict[int, list[tuple[int, Rates]]] = {}

    def rates(self, time: float, prompt: int) -> Rates:
        """The rates that hold for a request.

        Parameters
        ----------
        time
            When it starts, in seconds since 1970; 0 if that is not known.
        prompt
            Tokens of its whole prompt, cached ones included: size tiers go by that.
        """
        prices = self._always
        if prices is None:
            moment = datetime.fromtimestamp(time, UTC) if time else _UNDATED
            prices = self._model.get_prices(moment)
        # The list's own objects live as long as the list, so their ids name them.
        tiers = self._known.get(id(prices))
        if tiers is None:
            starts = sorted({0, *_starts(prices.input_mtok)}, reverse=True)
            tiers = self._known[id(prices)] = [(s, self._read(prices, s)) for s in starts]
        for start, rates in tiers:
            if prompt > start:
                return rates
        return tiers[-1][1]

    def _read(self, prices: Any, tier: int) -> Rates:
        def rate(*names: str) -> float:
            for name in names:
                value = getattr(prices, name)
                if value is not None:
                    return float(_at(value, tier)) / _MILLION
            raise ModelError(f"genai-prices has no {names[0]} of {self._name}")

        return Rates(
            uncached=rate("input_mtok"),
            cache_read=rate("cache_read_mtok", "input_mtok"),
            cache_write_5m=rate("cache_write_mtok", "input_mtok"),
            cache_write_1h=rate("cache_write_1h_mtok", "cache_write_mtok", "input_mtok"),
            output=rate("output_mtok"),
        )


@cache
def price_sheet(price: str) -> PriceSheet:
    """The price sheet of a model, read once."""
    return PriceSheet(price)


def _starts(price: Any) -> list[int]:
    """The thresholds above which a price is another one."""
    return [tier.start for tier in getattr(price, "tiers", ())]


def _at(price: Any, passed: int) -> Any:
    for tier in reversed(getattr(price, "tiers", ())):
        if passed >= tier.start:
            return tier.price
    return getattr(price, "base", price)


def price_list() -> str:
    """Which price list is used, with its version."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"
