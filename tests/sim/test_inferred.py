"""Models that are not in the catalogue are inferred from the price list and their provider."""

import pytest
from inline_snapshot import snapshot

from compactlab.sim.core.errors import ModelError
from compactlab.sim.models.listing import sellers
from compactlab.sim.models.model import Catalogue, built_in, find_model, tokenizer_of
from compactlab.sim.models.pricing import price_list, prices_of
from tests.lines import refusal


def test_its_price_and_window_are_the_price_lists_and_the_rest_is_its_familys():
    model, like = find_model("gpt-5-nano"), find_model("gpt-5")
    assert (model.name, model.price, model.window) == ("gpt-5-nano", "openai/gpt-5-nano", 400_000)
    assert (model.policy, model.tokenizer) == (like.policy, like.tokenizer)
    assert model.strips_thinking == like.strips_thinking
    assert prices_of(model).rates(0, 1).uncached == pytest.approx(0.05e-6)


def test_it_says_so():
    assert find_model("claude-3-7-sonnet").inferred == (
        f"claude-3-7-sonnet is not in the catalogue: priced by {price_list()} of 2026-11-21 "
        "(anthropic/claude-3-7-sonnet-latest), cache policy anthropic and token counts as "
        "claude-3-5-haiku, window 200,000 by the price list"
    )
    assert not any(model.inferred for model in built_in().models.values())


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("claude-opus-4-0", "claude-opus-4-1"),  # a version nearer than all others
        ("claude-3-opus", "claude-3-5-haiku"),
        ("gpt-5.4-mini", "gpt-5-4"),  # the family, not gpt-5-4's successors
        ("gpt-5-pro", "gpt-5"),
        ("gpt-6-cyber", "gpt-6-1-terra"),  # of equals the newest
        ("o1", "o3"),
        ("gemini-2.0-flash", "gemini-2-5-flash"),  # and not the newest Pro
        ("gemini-3.5-flash-lite", "gemini-3-5-flash"),
        ("deepseek-chat", "deepseek-v4-pro"),
        ("grok-3", "grok-4-3"),
        ("kimi-k2-thinking", "kimi-k2-7-code"),  # of equals the newest, here too
        ("codex-mini", "gpt-5-3-codex"),
    ],
)
def test_its_cache_is_that_of_the_model_with_the_name_most_alike(name, like):
    model, other = find_model(name), find_model(like)
    assert f"as {like}," in model.inferred
    assert (model.policy, model.tokenizer) == (other.policy, other.tokenizer)


@pytest.mark.parametrize(
    "written",
    [
        "claude-3-7-sonnet-20250219",
        "claude-3-7-sonnet-latest",
        "claude-3.7-sonnet",
        "anthropic/claude-3-7-sonnet",
    ],
)
def test_it_has_many_spellings_and_one_name(written):
    assert find_model(written) == find_model("claude-3-7-sonnet")


@pytest.mark.parametrize(
    ("written", "known"),
    [("gpt-4o-2024-08-06", "gpt-4o"), ("gpt-5-codex", "gpt-5"), ("openai/gpt-5.1", "gpt-5-1")],
)
def test_another_name_of_a_model_that_is_known_leads_to_it(written, known):
    assert find_model(written) is built_in().models[known]


def test_a_dated_model_with_a_price_of_its_own_keeps_it():
    old, new = find_model("gpt-4o-2024-05-13"), find_model("gpt-4o")
    before, now = (prices_of(model).rates(0, 1).uncached for model in (old, new))
    assert before == pytest.approx(2 * now)


def test_every_name_leads_to_one_model_whose_own_name_leads_to_it_again():
    providers = ("openai", "anthropic", "google", "deepseek", "x-ai", "moonshotai")
    found = [find_model(name) for provider in providers for name in sellers()[provider]]
    models = [model for model in found if model.inferred]
    assert len(models) > 80
    for model in models:
        assert find_model(model.name) == model
        rates = prices_of(model).rates(0, 1)
        assert rates.output > 0 or (rates.uncached > 0 and "embedding" in model.name)
        assert model.window > 0


@pytest.mark.parametrize(
    "name",
    [
        "whisper-1",  # paid by the hour
        "gpt-5-nan",
        "gpt-5-nano-2",
    ],
)
def test_what_the_price_list_does_not_tell_is_an_error(name):
    with pytest.raises(ModelError, match="unknown model"):
        find_model(name)


def test_policies_and_multipliers_can_be_named_as_of_any_other():
    assert find_model("claude-3-opus@none+batch").name == "claude-3-opus@none+batch"
    assert find_model("claude-3-opus+batch").multiplier == 0.5
    assert refusal(ModelError, lambda: find_model("gpt-5-nano+flex")) == snapshot(
        "unknown multiplier of gpt-5-nano 'flex'; known: batch"
    )


def test_a_users_own_model_of_that_name_goes_first():
    row = {"window": 9000, "cache": "none", "prices": {"input": 1, "output": 2}}
    own = Catalogue.of({"models": {"gpt-5-nano": row}})
    assert (own.find("gpt-5-nano").window, own.find("gpt-5-nano").inferred) == (9000, "")
    assert own.find("gpt-5-pro").price == "openai/gpt-5-pro"


def test_recorded_answers_are_counted_as_its_own():
    assert tokenizer_of("claude-3-opus-20240229").factor == 1.12


def test_gpt_6_astra_is_in_the_catalogue():
    """OpenAI's page by way of genai-prices, 2026-10-12: 10, 1, 12.50, 50; more above 272,000."""
    model = find_model("gpt-6-astra")
    small, large = (prices_of(model).rates(0, size) for size in (272_000, 272_001))
    assert (model.inferred, model.window, model.max_output) == ("", 1_050_000, 128_000)
    assert [small.uncached, small.cache_read, small.cache_write_5m, small.output] == pytest.approx(
        [10e-6, 1e-6, 12.5e-6, 50e-6]
    )
    assert [large.uncached, large.output] == pytest.approx([20e-6, 75e-6])
