"""Prices: ours agree with those that genai-prices works out."""

from datetime import UTC, datetime
from itertools import product

import pytest
from genai_prices import Usage as Tokens
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Usage
from compactlab.sim.models.model import Catalogue, catalogue, find_model
from compactlab.sim.models.pricing import TokenPrices, price_list, price_sheet, prices_of
from compactlab.sim.models.rates import Rates
from tests.lines import refusal

PRICES = sorted({model.price for model in catalogue().values()} - {""})
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
def test_a_request_costs_what_genai_prices_says(price, usage, time):
    assert ours(price, usage, time) == pytest.approx(
        theirs(price, usage, time), rel=1e-9, abs=1e-15
    )


@pytest.mark.parametrize("price", PRICES)
def test_they_agree_at_every_edge(price):
    totals = [edge + more for edge in (100_000, 200_000, 272_000) for more in (-1, 0, 1)]
    for total, time in product(totals, (FLAT_SINCE - 1, FLAT_SINCE, TODAY)):
        usage = Usage(total - 60, 10, 20, 30, 40)
        assert ours(price, usage, time) == pytest.approx(theirs(price, usage, time), rel=1e-9)


def per_million(price: str, time: float, prompt: int) -> list[float]:
    return in_millions(price_sheet(price).rates(time, prompt))


def in_millions(rates: Rates) -> list[float]:
    classes = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output")
    return [round(getattr(rates, name) * 1e6, 6) for name in classes]


def test_opus_4_6_doubled_above_200_k_until_13_march_2026():
    price = "anthropic/claude-opus-4-6"
    plain, doubled = [5, 0.5, 6.25, 10, 25], [10, 1, 12.5, 20, 37.5]
    assert per_million(price, FLAT_SINCE - 1, 200_000) == plain
    assert per_million(price, FLAT_SINCE - 1, 200_001) == doubled
    assert per_million(price, FLAT_SINCE, 200_001) == per_million(price, TODAY, 10**6) == plain


def test_sonnet_4_5_still_doubles():
    price = "anthropic/claude-sonnet-4-5"
    assert per_million(price, TODAY, 200_000) == [3, 0.3, 3.75, 6, 15]
    assert per_million(price, TODAY, 200_001) == [6, 0.6, 7.5, 12, 22.5]


def test_haiku_5_5_is_five_times_dearer_above_100_k():
    price = "anthropic/claude-haiku-5-5"
    small, large = per_million(price, TODAY, 100_000), per_million(price, TODAY, 100_001)
    assert small == [0.1, 0.01, 0.125, 0.2, 0.5]
    assert large == pytest.approx([5 * rate for rate in small])


@pytest.mark.parametrize(
    ("model", "share"),
    [("opus-4-8", 0.1), ("opus-5-5", 0.05), ("sonnet-5-5", 0.05), ("fable-5-1", 0.025)],
)
def test_reads_cost_a_share_of_the_input(model, share):
    base, read, *_ = per_million(f"anthropic/claude-{model}", TODAY, 1000)
    assert read == pytest.approx(share * base)


def test_prices_may_go_by_the_hour():
    price, usage = "deepseek/deepseek-v4-pro", Usage(1000, 1000, output=1000)
    morning = [ours(price, usage, TODAY + hour * 3600) for hour in range(12)]
    assert morning == pytest.approx([theirs(price, usage, TODAY + h * 3600) for h in range(12)])
    assert max(morning) == pytest.approx(2 * min(morning))


def test_where_writes_have_no_price_they_are_input():
    base, read, write, hour, _ = per_million("openai/gpt-5", TODAY, 1000)
    assert (write, hour) == (base, base)
    assert read == pytest.approx(base / 10)


def test_a_call_without_a_date_is_priced_as_of_today():
    for price, prompt in product(PRICES, (1000, 250_000)):
        assert per_million(price, 0, prompt) == per_million(price, TODAY, prompt)


def test_each_class_has_its_rate():
    rates = Rates(1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0)
    assert rates.cost(Usage(1, 2, 3, 4, 5, 6)) == 654_321
    assert rates.times(2).cost(Usage(1, 2, 3, 4, 5, 6)) == 2 * 654_321
    assert rates.cost(Usage()) == 0


@pytest.mark.parametrize("price", ["anthropic/claude-nonsense-9", "nobody/claude-opus-5", "", "x"])
def test_an_unknown_model_has_no_price(price):
    with pytest.raises(ModelError, match="no price for"):
        price_sheet(price)


def test_a_price_that_is_not_there_is_told_with_the_nearest_and_what_to_do():
    said = refusal(ModelError, lambda: price_sheet("anthropic/claude-opus-55"))
    assert said == snapshot("""\
genai-prices has no price for anthropic/claude-opus-55; did you mean anthropic/claude-
opus-5-5 or anthropic/claude-opus-5 or anthropic/claude-opus-4-5? Or give its prices by
hand, in a file for --models: prices = { input = ..., cache_read = ..., output = ... }, in
dollars per million tokens\
""")


def test_a_model_without_a_price_says_how_to_give_one():
    said = refusal(ModelError, lambda: prices_of(find_model("gpt-5.3-codex-spark")))
    assert said == snapshot("""\
no price is known of gpt-5-3-codex-spark; give its prices by hand, in a file for --models:
prices = { input = ..., cache_read = ..., output = ... }, in dollars per million tokens\
""")


@pytest.mark.parametrize("time", [1.7e12, -1e15, float("inf"), float("nan"), 1e300])
def test_a_time_that_is_none_is_told(time):
    with pytest.raises(ModelError, match="times are in seconds since 1970, and not in milli"):
        price_sheet("anthropic/claude-opus-4-6").rates(time, 1000)


# Sections 1.5 and 2 of the notes on prompt caching, as of 2026-11-21: input, read, write, output.
NOTED = {
    "claude-opus-4-5": (5, 0.5, 6.25, 25),
    "claude-opus-4-8": (5, 0.5, 6.25, 25),
    "claude-opus-5": (5, 0.5, 6.25, 25),
    "claude-opus-5-5": (4, 0.2, 5, 20),
    "claude-sonnet-4": (3, 0.3, 3.75, 15),
    "claude-sonnet-4-6": (3, 0.3, 3.75, 15),
    "claude-sonnet-5": (2, 0.2, 2.5, 10),
    "claude-sonnet-5-5": (2, 0.1, 2.5, 10),
    "claude-haiku-4-5": (1, 0.1, 1.25, 5),
    "claude-fable-5": (10, 1, 12.5, 50),
    "claude-fable-5-1": (10, 0.25, 12.5, 50),
    "claude-fable-5-2": (8, 0.2, 10, 40),
    "claude-mythos-5-2": (8, 0.2, 10, 40),
    "claude-opus-4-1": (15, 1.5, 18.75, 75),
    "gpt-5.6-sol": (4, 0.4, 5, 20),
    "gpt-5.6-terra": (2, 0.2, 2.5, 12),
    "gpt-5.6-luna": (0.2, 0.02, 0.25, 1.2),
    "gpt-6-sol": (2, 0.2, 2.5, 10),
    "gpt-6.1-sol": (2, 0.1, 2.5, 10),
    "gpt-6.1-terra": (1, 0.05, 1.25, 5),
    "gpt-5.5": (5, 0.5, 5, 30),
    "gpt-5.4": (2.5, 0.25, 2.5, 15),
    "gpt-5.2": (1.75, 0.175, 1.75, 14),
    "gpt-5": (1.25, 0.125, 1.25, 10),
}


@pytest.mark.parametrize("name", NOTED)
def test_prices_are_those_that_were_noted(name):
    base, read, write, _, output = in_millions(token_rates(name))
    assert (base, read, write, output) == NOTED[name]


def token_rates(name: str, time: float = TODAY, prompt: int = 1000) -> Rates:
    return TokenPrices(find_model(name)).rates(time, prompt)


def test_openai_is_dearer_above_272_k():
    for name in ("gpt-5.4", "gpt-5.5", "gpt-5.6-sol", "gpt-6.1-terra"):
        small, large = (in_millions(token_rates(name, TODAY, n)) for n in (272_000, 272_001))
        assert large == pytest.approx([factor * rate for factor, rate in zip(
            (2, 2, 2, 2, 1.5), small, strict=True)])  # fmt: skip


def test_a_read_write_and_hour_of_anthropic_are_multiples_of_the_input():
    for name, model in catalogue().items():
        if model.provider == "anthropic":
            base, _, write, hour, _ = in_millions(token_rates(name))
            assert (write, hour) == pytest.approx((1.25 * base, 2 * base))


@given(st.sampled_from(sorted(catalogue())), USAGES, TIMES, st.data())
def test_multipliers_multiply_every_class(name, usage, time, data):
    model = catalogue()[name]
    if not model.multipliers or not (model.price or model.prices):
        return
    chosen = data.draw(st.sets(st.sampled_from(sorted(model.multipliers))))
    factor = 1.0
    for each in chosen:
        factor *= model.multipliers[each]
    plain = prices_of(model).rates(time, usage.prompt).cost(usage)
    multiplied = prices_of(model.at(chosen)).rates(time, usage.prompt).cost(usage)
    assert multiplied == pytest.approx(plain * factor, rel=1e-12, abs=1e-15)


def test_multipliers_multiply_each_other():
    plain = in_millions(token_rates("claude-opus-5"))
    told = in_millions(token_rates("claude-opus-5+batch+us"))
    assert told == pytest.approx([0.55 * rate for rate in plain])


def test_storage_is_paid_by_tokens_and_time():
    hour = Usage(storage=1_000_000 * 3600)
    end_of_2026 = datetime(2027, 1, 1, tzinfo=UTC).timestamp()

    def dollars(name: str, time: float) -> float:
        return round(prices_of(find_model(name)).rates(time, 0).cost(hour), 9)

    assert dollars("gemini-2.5-pro", TODAY) == dollars("gemini-3.1-pro-preview", 0) == 4.5
    assert dollars("gemini-2.5-flash", TODAY) == dollars("gemini-3.5-flash", 0) == 1.0
    told = [dollars("gemini-3.8-flash", time) for time in (0, end_of_2026 - 1, end_of_2026)]
    assert told == [0.5, 0.5, 1.0]
    assert dollars("claude-opus-5", TODAY) == 0


def test_what_openai_counts_together_is_taken_apart():
    """Its input includes what was cached and written; ours are apart, and cost the same."""
    reported = {"input_tokens": 120_000, "cached_tokens": 100_000, "cache_write_tokens": 15_000}
    usage = Usage(
        uncached=reported["input_tokens"] - reported["cached_tokens"] - 15_000,
        cache_read=reported["cached_tokens"],
        cache_write_5m=reported["cache_write_tokens"],
        output=1_000,
    )
    assert usage.prompt == reported["input_tokens"]
    told = calc_price(
        Tokens(
            input_tokens=120_000,
            cache_read_tokens=100_000,
            cache_write_tokens=15_000,
            output_tokens=1_000,
        ),
        "gpt-5.6-sol",
        provider_id="openai",
        genai_request_timestamp=datetime.fromtimestamp(TODAY, UTC),
    )
    mine = token_rates("gpt-5.6-sol", TODAY, usage.prompt).cost(usage)
    assert mine == pytest.approx(float(told.total_price))
    assert mine == pytest.approx((5 * 4 + 100 * 0.4 + 15 * 5 + 1 * 20) / 1_000)


def test_prices_by_hand_need_no_price_list():
    row = {"window": 9, "cache": "none", "prices": {"input": 1, "cache_read": 0.5, "output": 3}}
    own = Catalogue.of({"models": {"mine": row}}).find("mine")
    for time in (0, 1.7e12, TODAY):
        rates = TokenPrices(own).rates(time, 1000)
        assert in_millions(rates) == [1, 0.5, 1, 1, 3]


def test_the_price_list_says_its_version():
    assert price_list().startswith("genai-prices 0.")
