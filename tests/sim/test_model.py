"""Models by name."""

import pickle
import re
from collections import Counter
from datetime import datetime

import pytest
from genai_prices.data_snapshot import get_snapshot
from inline_snapshot import snapshot

from compactlab.sim.cache import Anthropic, NoCache
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Usage
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.models.model import (
    Catalogue,
    built_in,
    catalogue,
    find_model,
    replayable,
    tokenizer_of,
)
from compactlab.sim.models.pricing import prices_of
from tests.lines import refusal, refusals

# Section 1.2 of the notes on prompt caching: the shortest prefix that is stored.
MINIMA = {
    512: [
        "fable-5",
        "fable-5-1",
        "fable-5-2",
        "mythos-5-2",
        "opus-5",
        "opus-5-5",
        "sonnet-5-5",
        "haiku-5-5",
    ],
    1024: ["opus-4-8", "sonnet-5", "sonnet-4-6", "sonnet-4-5", "sonnet-4", "opus-4-1"],
    2048: ["opus-4-7", "3-5-haiku"],
    4096: ["opus-4-6", "opus-4-5", "haiku-4-5"],
}


@pytest.mark.parametrize(("minimum", "name"), [(n, name) for n in MINIMA for name in MINIMA[n]])
def test_the_shortest_prefix_that_is_stored_differs_by_model(minimum, name):
    assert find_model(f"claude-{name}").policy == Anthropic(minimum=minimum)


def test_every_model_of_the_catalogue_is_whole():
    for name, model in catalogue().items():
        assert model.name == name
        assert model.window >= 128_000, name
        assert 0 <= model.max_output <= model.window, name
        assert model.tokenizer.factor >= 1, name
        assert model.tokenizer.text("hello world") >= 2, name
        assert model.source, name
        assert re.fullmatch(r"2026-\d\d-\d\d", model.asof), name


def test_the_catalogue_covers_the_providers():
    providers = Counter(model.provider for model in catalogue().values())
    assert providers.total() >= 35
    assert {*providers} == {
        "anthropic",
        "openai",
        "google",
        "deepseek",
        "xai",
        "moonshot",
        "zai",
        "minimax",
        "qwen",
        "self-hosted",
    }


def test_windows_are_those_of_the_price_list():
    """Two are narrower on purpose: models.toml says why."""
    snapshot = get_snapshot()
    for name, model in catalogue().items():
        if model.price:
            provider, _, key = model.price.partition("/")
            told = snapshot.find_provider_model(key, None, provider, None)[1].context_window
            on_purpose = name in ("claude-opus-4-6", "claude-sonnet-4-6")
            assert told in (None, 1_000_000 if on_purpose else model.window), name


def test_all_but_one_have_prices():
    unpriced = []
    for name, model in catalogue().items():
        try:
            prices_of(model)
        except ModelError:
            unpriced.append(name)
    assert unpriced == ["gpt-5-3-codex-spark"]


def dollars(name: str, day: str, prompt: int) -> tuple[float, ...]:
    """Input, a read and output of a request, for a million tokens each."""
    time = datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()
    rates = prices_of(find_model(name)).rates(time, prompt)
    kinds = ("uncached", "cache_read", "output")
    return tuple(round(rates.cost(Usage(**{kind: 1})) * 1e6, 6) for kind in kinds)


@pytest.mark.parametrize(
    ("name", "day", "prompt", "wanted"),
    [
        ("gpt-6.2-sol", "2026-11-27", 272_000, (2, 0.1, 10)),
        ("gpt-6.2-sol", "2026-11-27", 272_001, (4, 0.2, 15)),
        ("gpt-6.2-astra", "2026-11-27", 272_001, (16, 0.8, 60)),
        ("gemini-4-carbon", "2026-11-30", 9, (2, 0.1, 10)),
        ("gemini-4-carbon", "2026-12-01", 900_000, (4, 0.2, 20)),
        ("gemini-4-argon", "2026-12-01", 9, (4, 0.2, 20)),
        ("gemini-4-neon", "2026-11-27", 900_000, (3, 0.15, 15)),
        ("gemini-4-hydrogen", "2026-11-27", 900_000, (1.5, 0.075, 7.5)),
        ("gemini-3.7-flash", "2026-12-31", 9, (0.75, 0.075, 3.75)),
        ("gemini-3.7-flash", "2027-01-01", 9, (1.5, 0.15, 7.5)),
        ("kimi-k2.7-code", "2026-11-27", 9, (0.95, 0.19, 4)),
        ("deepseek-v4.1-flash", "2026-11-27", 9, (0.15, 0.003, 0.6)),
        ("glm-5.3", "2026-11-27", 9, (1.4, 0.26, 4.4)),
        ("MiniMax-M3", "2026-11-27", 512_001, (0.6, 0.12, 2.4)),
        ("gpt-5.6-sol", "2026-11-27", 9, (4, 0.4, 20)),
    ],
)
def test_models_of_november_2026_cost_what_their_sources_say(name, day, prompt, wanted):
    assert dollars(name, day, prompt) == wanted
    assert not find_model(name).inferred


def test_what_was_not_read_at_its_source_says_so():
    by_hand = {name: model.prices for name, model in catalogue().items() if model.prices}
    assert {name for name, prices in by_hand.items() if "second-hand" in prices.source} == {
        "gpt-6-2-astra", "gemini-4-carbon", "gemini-4-neon", "gemini-4-hydrogen",
    }  # fmt: skip
    assert all(prices.asof and prices.source for prices in by_hand.values())


def test_the_windows_that_codex_gives_are_those_in_its_package():
    """Of npm @openai/codex 0.171.0; the others are not in it any more."""
    larger = {name for name, model in catalogue().items() if model.client_window == 500_000}
    assert larger == {"gpt-6-1-sol", "gpt-6-1-terra", "gpt-6-2-sol"}
    assert find_model("gpt-6.2-astra").client_window == find_model("gpt-5").client_window == 272_000


def test_what_the_price_list_has_besides_is_named():
    """By a look through the list itself."""
    prices = {model.price for model in catalogue().values()}
    found = {each.price for each in built_in().lacking()}
    assert not found & prices
    assert {"openai/gpt-5-nano", "zai/GLM-5.2", "x-ai/grok-3", "google/gemini-2.0-flash"} <= found
    assert not {price for price in found if price.startswith(("google/claude", "aws/"))}
    assert "openai/text-embedding-3-large" not in found
    makers = {price.partition("/")[0] for price in prices}
    for provider in get_snapshot().providers:
        listed = {f"{provider.id}/{model.id}" for model in provider.models}
        assert provider.id in makers or not listed & found


@pytest.mark.parametrize(
    ("strips", "names"),
    [
        (True, ["claude-opus-4-1", "claude-sonnet-4", "claude-sonnet-4-5", "claude-haiku-4-5"]),
        (True, ["claude-3-5-haiku", "claude-haiku-5-5", "o3", "gpt-5", "gpt-5.5", "gpt-6.1-sol"]),
        (False, ["claude-opus-4-5", "claude-opus-5", "claude-sonnet-4-6", "claude-fable-5"]),
        (False, ["gpt-4o", "gpt-4.1"]),
    ],
)
def test_some_models_drop_the_thinking_of_earlier_turns(strips, names):
    assert [find_model(name).strips_thinking for name in names] == [strips] * len(names)


@pytest.mark.parametrize(
    "written",
    ["claude-opus-4-5", "claude-opus-4.5", "claude-opus-4-5-20251101", "claude-opus-4-5-latest"],
)
def test_a_model_has_many_spellings(written):
    assert find_model(written) is catalogue()["claude-opus-4-5"]


def test_a_model_can_be_put_under_another_policy():
    for written in ("claude-opus-4-5@none", "claude-opus-4.5-20251101@none"):
        model = find_model(written)
        assert (model.name, model.policy) == ("claude-opus-4-5@none", NoCache())
    assert model.price == find_model("claude-opus-4-5").price


def test_a_models_own_policy_keeps_its_figures():
    own, named = find_model("claude-opus-4-5"), find_model("claude-opus-4-5@anthropic")
    assert named.policy == own.policy


UNKNOWN = [
    "claude-opus-4-55",
    "claude-opus-45@none",
    "",
    "zzz",
    "claude-opus-4-5@nonsense",
    "claude-opus-4-5@xyz",
    "claude-opus-4-5@none@none",
    "claude-opus-4-5+batsch",
    "claude-opus-4-5+",
    "claude-opus-4-5+fast",
    "claude-opus-4-5@anthropc",
    "claude-opus-4-5-2025",
]


def test_an_unknown_name_is_told_with_the_nearest(golden):
    golden("faults/names-of-models.txt", refusals(ModelError, find_model, UNKNOWN))


@pytest.mark.parametrize("written", ["gpt-5.3-codex-sparkle", "gpt-5x", "claude-sonet-4-5", "zzz"])
def test_what_is_named_instead_can_be_replayed_at_once(written):
    """A recording may hold any name, and nobody wants to be told one that fails next."""
    with pytest.raises(ModelError) as caught:
        find_model(written)
    advice = str(caught.value).partition(";")[2].replace("NAME", "gpt-5")
    named = re.findall(r"(?:claude|gpt)[\w.@-]*\w", advice)
    assert named
    for name in named:
        replayable(find_model(name))


def test_a_window_can_only_be_narrowed():
    model = find_model("claude-opus-4-5")
    assert model.narrowed(1000).window == 1000
    assert model.narrowed(10**9).window == model.window == 200_000
    assert model.narrowed(None) is model


def test_a_model_without_a_policy_says_what_to_use_instead():
    row = {"window": 8000, "cache": "", "prices": {"input": 1, "output": 2}}
    mine = Catalogue.of({"models": {"mine": row}})
    assert refusal(ModelError, lambda: replayable(mine.find("mine"))) == snapshot("""\
no cache policy is built for mine yet; name another model, e.g. --model claude-sonnet-4-5,
or --model mine@none for no cache at all\
""")
    assert replayable(mine.find("mine@none"))[1] == NoCache()


def test_prices_can_be_multiplied_by_name():
    plain = find_model("claude-opus-4.8")
    assert (plain.chosen, plain.multiplier) == ((), 1)
    for written in ("claude-opus-4-8+us+batch", "claude-opus-4.8+batch+us+us"):
        model = find_model(written)
        assert (model.name, model.multiplier) == ("claude-opus-4-8+batch+us", 0.55)
    for written in ("claude-opus-4-8@none+fast", "claude-opus-4-8+fast@none"):
        model = find_model(written)
        assert (model.name, model.multiplier) == ("claude-opus-4-8@none+fast", 2.0)
        assert model.policy == NoCache()


@pytest.mark.parametrize(
    ("multiplier", "factor", "have", "lack"),
    [
        ("batch", 0.5, ["claude-opus-4-5", "gpt-4o", "gpt-6.1-sol"], ["grok-4.7", "kimi-k3"]),
        ("us", 1.1, ["claude-opus-4-6", "claude-haiku-5-5"], ["claude-opus-4-5", "gpt-5"]),
        ("fast", 2.0, ["claude-opus-4-8", "claude-opus-5-5", "claude-fable-5-2"], ["gpt-5"]),
        ("fast", 6.0, ["claude-opus-4-6", "claude-opus-4-7"], ["claude-opus-4-5"]),
        ("flex", 0.5, ["gpt-5", "gpt-6.1-sol"], ["gpt-4o", "claude-opus-5"]),
        ("priority", 2.0, ["gpt-5", "gpt-5.6-sol"], ["claude-opus-5"]),
    ],
)
def test_which_models_have_which_multiplier(multiplier, factor, have, lack):
    assert [find_model(f"{name}+{multiplier}").multiplier for name in have] == [factor] * len(have)
    for name in lack:
        with pytest.raises(ModelError, match="unknown multiplier"):
            find_model(f"{name}+{multiplier}")


def test_models_travel_to_workers():
    for name in ("claude-opus-4-5+batch", "self-hosted-8b", "qwen3-8-max@none"):
        model = find_model(name)
        assert pickle.loads(pickle.dumps(model)) == model
        assert hash(model) == hash(find_model(name))


def test_a_model_that_is_not_known_counts_as_o200k_does():
    assert tokenizer_of("some-model") == tokenizer_of("") == Tokenizer("o200k_base", 1.0)
    assert tokenizer_of("claude-sonnet-5-20260601") == catalogue()["claude-sonnet-5"].tokenizer
