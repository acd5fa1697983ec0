"""Prices: ours agree with those that genai-prices works out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from genai_prices import Usage as Tokens
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.errors import ModelError
from compactlab.sim.message import Usage
from compactlab.sim.model import catalogue
from compactlab.sim.pricing import Rates, price_list, price_sheet

PRICES = sorted(model.price for model in catalogue().values())
FLAT_SINCE = datetime(2026, 3, 13, tzinfo=UTC).timestamp()
TODAY = datetime(2026, 11, 21, tzinfo=UTC).timestamp()

SIZE = st.sampled_from([0, 1, 999, 100_000, 200_000, 272_000]) | st.integers(0, 300_000)
USAGES = st.builds(Usage, SIZE, SIZE, SIZE, SIZE, SIZE)
TIMES = st.sampled_from([FLAT_SINCE - 1, FLAT_SINCE, TODAY]) | st.floats(1.7e9, 1.8e9)


def ours(price: str, usage: Usage, time: float) -> float:
    return price_sheet(price).rates(time, usage.prompt).cost(usage)


def theirs(price: str, usage: Usage, time: float) -> float:
    provider, _, model = price.partition("/")
    tokens = Tokens(
        input_tokens=usage.prompt,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        cache_write_1h_tokens=usage.cache_write_1h,
        output_tokens=usage.output,
    )
    moment = datetime.fromtimestamp(time, UTC)
    priced = calc_price(tokens, model, provider_id=provider, genai_request_timestamp=moment)
    return float(priced.total_price)


@given(st.sampled_from(PRICES), USAGES, TIMES)
def test_a_request_costs_what_genai_prices_says(price: str, usage: Usage, time: float) -> None:
    assert ours(price, usage, time) == pytest.approx(
        theirs(price, usage, time), rel=1e-9, abs=1e-15
    )


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("edge", [100_000, 200_000, 272_000])
def test_they_agree_at_every_edge(price: str, edge: int) -> None:
    for total in (edge - 1, edge, edge + 1):
        for time in (FLAT_SINCE - 1, FLAT_SINCE, TODAY):
            usage = Usage(total - 60, 10, 20, 30, 40)
            assert ours(price, usage, time) == pytest.approx(theirs(price, usage, time), rel=1e-9)


def per_million(price: str, time: float, prompt: int) -> list[float]:
    rates = price_sheet(price).rates(time, prompt)
    classes = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output")
    return [round(getattr(rates, name) * 1e6, 6) for name in classes]


def test_opus_4_6_doubled_above_200_k_until_13_march_2026() -> None:
    price = "anthropic/claude-opus-4-6"
    plain, doubled = [5, 0.5, 6.25, 10, 25], [10, 1, 12.5, 20, 37.5]
    assert per_million(price, FLAT_SINCE - 1, 200_000) == plain
    assert per_million(price, FLAT_SINCE - 1, 200_001) == doubled
    assert per_million(price, FLAT_SINCE, 200_001) == per_million(price, TODAY, 10**6) == plain


def test_sonnet_4_5_still_doubles() -> None:
    price = "anthropic/claude-sonnet-4-5"
    assert per_million(price, TODAY, 200_000) == [3, 0.3, 3.75, 6, 15]
    assert per_million(price, TODAY, 200_001) == [6, 0.6, 7.5, 12, 22.5]


def test_haiku_5_5_is_five_times_dearer_above_100_k() -> None:
    price = "anthropic/claude-haiku-5-5"
    small, large = per_million(price, TODAY, 100_000), per_million(price, TODAY, 100_001)
    assert small == [0.1, 0.01, 0.125, 0.2, 0.5]
    assert large == pytest.approx([5 * rate for rate in small])


@pytest.mark.parametrize(
    ("model", "share"),
    [("opus-4-8", 0.1), ("opus-5-5", 0.05), ("sonnet-5-5", 0.05), ("fable-5-1", 0.025)],
)
def test_reads_cost_a_share_of_the_input(model: str, share: float) -> None:
    base, read, *_ = per_million(f"anthropic/claude-{model}", TODAY, 1000)
    assert read == pytest.approx(share * base)


def test_prices_may_go_by_the_hour() -> None:
    price, usage = "deepseek/deepseek-v4-pro", Usage(1000, 1000, output=1000)
    morning = [ours(price, usage, TODAY + hour * 3600) for hour in range(12)]
    assert morning == pytest.approx([theirs(price, usage, TODAY + h * 3600) for h in range(12)])
    assert max(morning) == pytest.approx(2 * min(morning))


def test_where_writes_have_no_price_they_are_input() -> None:
    base, read, write, hour, _ = per_million("openai/gpt-5", TODAY, 1000)
    assert (write, hour) == (base, base)
    assert read == pytest.approx(base / 10)


@pytest.mark.parametrize("price", PRICES)
def test_a_call_without_a_date_is_priced_as_of_today(price: str) -> None:
    for prompt in (1000, 250_000):
        assert per_million(price, 0, prompt) == per_million(price, TODAY, prompt)


def test_each_class_has_its_rate() -> None:
    rates = Rates(1.0, 10.0, 100.0, 1000.0, 10_000.0)
    assert rates.cost(Usage(1, 2, 3, 4, 5)) == 54_321
    assert rates.cost(Usage()) == 0


@pytest.mark.parametrize("price", ["anthropic/claude-nonsense-9", "nobody/claude-opus-5", "", "x"])
def test_an_unknown_model_has_no_price(price: str) -> None:
    with pytest.raises(ModelError, match="no price for"):
        price_sheet(price)


def test_the_price_list_says_its_version() -> None:
    assert price_list().startswith("genai-prices 0.")
