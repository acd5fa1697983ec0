"""Names as Bedrock, Vertex, Azure and routers write them, and prices without a cache policy."""

import pytest
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.cache import Anthropic, NoCache
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Usage
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.models import model as models
from compactlab.sim.models.listing import find_listed, price_list, sellers
from compactlab.sim.models.model import (
    Catalogue,
    Model,
    built_in,
    catalogue,
    find_model,
    replayable,
    tokenizer_of,
)
from compactlab.sim.models.pricing import prices_of
from tests.lines import lines_with, refusal

BEDROCK = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
AT = 1_793_527_204  # 2026-11-01
CALL = Usage(uncached=100_000, output=10_000)


def dollars(model: Model) -> float:
    return round(prices_of(model).rates(AT, CALL.prompt).cost(CALL), 4)


# By genai-prices 0.2.3: dollars of 100,000 tokens in and 10,000 out, and the model that sells them.
SOLD = {
    BEDROCK: (0.495, "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    "anthropic.claude-sonnet-4-5-20250929-v1:0": (
        0.495,
        "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
    "global.anthropic.claude-sonnet-4-5-20250929-v1:0": (
        0.45,
        "aws/global.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
    "eu.anthropic.claude-opus-4-5-20251101-v1:0": (
        0.825,
        "aws/regional.anthropic.claude-opus-4-5-v1:0",
    ),
    "apac.anthropic.claude-fable-5": (1.65, "aws/regional.anthropic.claude-fable-5-v1:0"),
    "us.anthropic.claude-3-opus-20240229-v1:0": (
        2.25,
        "aws/regional.anthropic.claude-3-opus-20240229-v1:0",
    ),
    "amazon.nova-pro-v1:0:300k": (0.112, "aws/amazon.nova-pro-v1:0"),
    "bedrock/converse/us.anthropic.claude-opus-4-8": (
        0.825,
        "aws/regional.anthropic.claude-opus-4-8-v1:0",
    ),
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-8": (
        0.825,
        "aws/regional.anthropic.claude-opus-4-8-v1:0",
    ),
    "claude-sonnet-4-5@20250929": (0.45, "google/claude-sonnet-4-5"),
    "claude-opus-5@default": (0.75, "google/claude-opus-5"),
    "vertex_ai/claude-opus-5": (0.75, "google/claude-opus-5"),
    "projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-5": (
        0.75,
        "google/claude-opus-5",
    ),
    "openrouter/anthropic/claude-sonnet-4.5": (0.45, "openrouter/anthropic/claude-sonnet-4.5"),
    "openrouter/anthropic/claude-sonnet-4.5:nitro": (
        0.45,
        "openrouter/anthropic/claude-sonnet-4.5",
    ),
    "openrouter/z-ai/glm-4.7": (0.0738, "openrouter/z-ai/glm-4.7"),
    "glm-4.7": (0.0386, "zhipuai/GLM-4.7"),
    "z-ai/glm-4.7": (0.082, "zai/GLM-4.7"),
    "zai-org/GLM-4.7": (0.082, "zai/GLM-4.7"),
    "MiniMax-M2": (0.042, "minimax/MiniMax-M2"),
    "minimax/minimax-m2.5": (0.042, "minimax/MiniMax-M2"),
    "github_copilot/claude-sonnet-4.6": (0.45, "github-copilot/claude-sonnet-4.6"),
    "accounts/fireworks/models/glm-4p7": (0.082, "fireworks/glm-4p7"),
    "fireworks_ai/accounts/fireworks/models/glm-4p7": (0.082, "fireworks/glm-4p7"),
    "@cf/zai-org/glm-4.7-flash": (0.01, "cloudflare/@cf/zai-org/glm-4.7-flash"),
    "composer-2.5[fast=true]": (0.45, "cursor/composer-2.5-fast"),
    "composer-2.5[fast=false]": (0.075, "cursor/composer-2.5"),
    "qwen3-coder-plus": (0.0975, "openrouter/qwen/qwen3-coder-plus"),
    "voyage-3": (0.006, "voyageai/voyage-3"),
    "deepseek/deepseek-r1:free": (0.0, "openrouter/deepseek/deepseek-r1:free"),
}


@pytest.mark.parametrize("name", SOLD)
def test_a_call_costs_what_its_seller_takes(name):
    model = built_in().billed(name)
    assert (dollars(model), model.name) == SOLD[name]
    assert model.price == model.name
    assert model.price in model.inferred
    assert built_in().billed(model.name) == model


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("anthropic/claude-4.5-sonnet-20250929", "claude-sonnet-4-5"),  # as OpenRouter answers
        ("claude-opus-4-5-20251101-thinking", "claude-opus-4-5"),
        ("models/gemini-2.5-pro", "gemini-2-5-pro"),
        ("vertex_ai/gemini-2.5-pro", "gemini-2-5-pro"),
        ("gpt-5.2-codex-xhigh", "gpt-5-2"),
        ("moonshot-ai/kimi-k3", "kimi-k3"),
        ("xai/grok-4.7", "grok-4-7"),
        ("qwen/qwen3.7-max", "qwen3-7-max"),  # its maker is not in the price list
        ("proxy.example/team/claude-opus-5", "claude-opus-5"),
        ("claude-opus-5[1m]", "claude-opus-5"),  # which has that window
    ],
)
def test_a_maker_or_an_unknown_word_before_a_name_changes_nothing(written, known):
    assert find_model(written) is catalogue()[known]


def test_claude_on_bedrock_is_claude_at_the_price_of_bedrock():
    sold, own = find_model(BEDROCK), find_model("claude-sonnet-4-5")
    assert (sold.policy, sold.tokenizer, sold.client) == (own.policy, own.tokenizer, own.client)
    assert replayable(sold)[1] == Anthropic(minimum=1024)
    assert sold.inferred == (
        f"{sold.name} is claude-sonnet-4-5 at the price of aws: priced by {price_list()} of "
        f"2026-11-21 ({sold.name}), cache policy anthropic and token counts as "
        "claude-sonnet-4-5, window 200,000"
    )
    assert tokenizer_of("claude-sonnet-4-5@20250929") == own.tokenizer
    # What its maker takes for batches, and for keeping a cache, says nothing of others.
    assert find_model("openrouter/google/gemini-2.5-pro").storage == ()
    assert dict(sold.multipliers) == {}


def test_what_has_only_a_price_is_billed_and_not_replayed():
    model = find_model("glm-4.7")
    assert (model.policy, model.tokenizer, model.window) == (None, Tokenizer(), 200_000)
    assert model.inferred == (
        f"zhipuai/GLM-4.7 is not in the catalogue: priced by {price_list()} of 2026-11-21 "
        "(zhipuai/GLM-4.7), as one of 7 sellers; no cache policy is known, tokens are counted as "
        "o200k_base, window 200,000 by the price list"
    )
    assert refusal(ModelError, lambda: replayable(model)) == snapshot("""\
no cache policy is built for zhipuai/GLM-4.7 yet; name another model, e.g. --model claude-
sonnet-4-5, or --model zhipuai/GLM-4.7@none for no cache at all\
""")
    assert replayable(find_model("glm-4.7@none"))[1] == NoCache()
    # Groq serves an open model itself, and caches it in its own way.
    assert find_model("groq/openai/gpt-oss-120b").policy is None


@pytest.mark.parametrize(
    ("written", "seller", "maker"),
    [
        ("azure/eu/gpt-5-2025-08-07", "azure", "openai"),
        ("azure_ai/claude-sonnet-4-5", "azure", "anthropic"),
        ("github-copilot/claude-sonnet-4.5", "github-copilot", "anthropic"),
        ("openai/claude-3-opus", "openai", "anthropic"),
    ],
)
def test_a_seller_without_a_price_has_the_makers_and_that_is_said(written, seller, maker):
    model = built_in().billed(written)
    own = find_model(written.rpartition("/")[2])
    assert model.name == f"{seller}/{own.name}"
    assert f"{seller} has no price for {own.name} in {price_list()}: that of {maker}" in (
        model.inferred
    )
    assert (dollars(model), model.policy) == (dollars(own), own.policy)
    assert find_model(model.name) == model


def test_behind_at_stands_a_version_or_a_policy():
    both = find_model("claude-sonnet-4-5@20250929@none")
    assert (both.name, both.policy) == ("google/claude-sonnet-4-5@none", NoCache())
    assert refusal(ModelError, lambda: find_model("claude-sonnet-4-5@v2")) == snapshot("""\
unknown cache policy 'v2'; known: anthropic, deepseek, deepseek_grid, explicit, gemini,
neutral, none, openai_endings, openai_grid, paged, pessimistic, xai\
""")


def test_a_name_may_ask_for_a_larger_window():
    wide = find_model("claude-opus-4-6[1m]")
    assert (wide.window, dollars(wide)) == (1_000_000, 0.75)
    assert lines_with(wide.inferred, "claude-opus-4-6 with") == snapshot(
        "claude-opus-4-6[1m] is claude-opus-4-6 with a window of 1,000,000, as its name says"
    )
    assert find_model(wide.name) == wide
    assert find_model(f"{BEDROCK}[1m]").price == find_model(BEDROCK).price


@pytest.mark.parametrize(
    "name",
    [
        "auto",  # a router's word, and not the price of whoever has a model of that name
        "openrouter/auto",
        "router",
        "sonnet",
        "<synthetic>",
        "azure/my-deployment",
        "ollama/qwen3-coder",  # on one's own machine
        "lmstudio/claude-opus-5",
        "qwen3:8b",
        "anthropic/claude-opus-5:free",  # nobody gives it away
        "us.anthropic.claude-opus-4-55",
        "openrouter/anthropic/claude-opus-4.55",
        "gpt-5-nano-2",
        "/",
        "@",
        "+",
        "[1m]",
        "@20250929",
        "a/" * 300,
        "claude-opus-5" * 100_000,
    ],
)
def test_what_nobody_knows_is_an_error(name):
    for look_up in (built_in().find, built_in().billed):
        with pytest.raises(ModelError, match="unknown model") as caught:
            look_up(name)
        assert len(str(caught.value)) < 700


def test_a_users_own_model_goes_before_the_price_list():
    row = {"window": 9000, "cache": "none", "prices": {"input": 1, "output": 2, "search": 0.02}}
    own = Catalogue.of({"models": {"GLM-4.7": row, "claude-sonnet-4-5": row}})
    for name in ("glm-4.7", "z-ai/glm-4.7", "openrouter/z-ai/glm-4.7:nitro"):
        assert own.billed(name) is own.models["GLM-4.7"]
    assert own.find(BEDROCK) is own.models["claude-sonnet-4-5"]
    assert own.models["GLM-4.7"].search == 0.02
    # Its maker sells that one apart.
    apart = Catalogue.of({"models": {"gpt-4o": row}})
    assert apart.find("gpt-4o-2024-05-13").price == "openai/gpt-4o-2024-05-13"


def test_where_a_call_was_processed_never_keeps_it_from_its_bill():
    billed = built_in().billed
    assert dollars(billed("claude-opus-4-8+us")) == 0.825
    assert dollars(billed("gpt-5.4-mini+us")) == 0.132  # inferred, as gpt-5.4 has it
    without = billed("claude-opus-4-5+us")
    assert (without.name, dollars(without)) == ("claude-opus-4-5", 0.75)
    assert without.inferred == "no factor +us of claude-opus-4-5 is known: priced without it"
    for look_up in (billed, find_model):
        sold = look_up(f"{BEDROCK}+us")
        assert dollars(sold) == 0.495
        assert sold.inferred.endswith(f"no factor +us of {sold.name} is known: priced without it")
    assert billed(f"{BEDROCK}+fast").price == find_model(BEDROCK).price
    for look_up, name in ((find_model, f"{BEDROCK}+fast"), (billed, f"{BEDROCK}+fats")):
        with pytest.raises(ModelError, match="unknown multiplier"):
            look_up(name)


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("claude-sonnet-4-5", 0.01),
        ("claude-opus-5+batch", 0.01),  # no other price of searches in batches is published
        ("gpt-5", 0.01),
        ("gemini-2.5-pro", 0.035),
        ("gemini-3.8-flash", 0.014),
        ("claude-3-opus", None),
        ("qwen3-7-max", None),
        ("self-hosted-8b", None),
        ("gpt-5.3-codex-spark", None),
        (BEDROCK, None),
    ],
)
def test_a_web_search_has_the_price_of_the_price_list(name, price):
    assert find_model(name).search == price


def test_all_that_the_price_list_sells_by_the_token_is_found_under_its_seller():
    known = {listed for table in sellers().values() for listed in table.values()}
    assert len(known) > 2_000
    # Whoever sells nothing by the token has nothing to be billed by it.
    assert {listed.provider for listed in known} == {each.id for each in get_snapshot().providers}
    for listed in known:
        assert find_listed(listed.price) == listed
        model = built_in().billed(listed.price)
        assert model.price == listed.price
        assert prices_of(model).rates(AT, 1).uncached >= 0
        assert built_in().find(model.name) == model


PIECES = (
    "us. anthropic. anthropic/ openrouter/ bedrock/ models/ ~ / : . - claude- opus- sonnet- 4-5 "
    "4.5 glm-4.7 gpt-5 -20250929 -v1:0 :200k @20250929 @none @default +us +batch [1m] :free "
    ":thinking -high"
)
NAMES = (
    st.lists(st.sampled_from(PIECES.split()) | st.text(max_size=3), max_size=9).map("".join)
    | st.text()
)


@given(NAMES)
def test_no_name_raises_anything_but_that_it_is_not_known(name):
    try:
        model = built_in().find(name)
    except ModelError:
        pass
    else:
        assert built_in().billed(name).price == model.price
        assert find_model(model.name).price == model.price


@given(
    st.sampled_from(sorted(catalogue())),
    st.sampled_from(["", "proxy/", "team/proxy/"]),
    st.sampled_from(["", "-20260101", "-latest", "[1m]", ":nitro"]),
)
def test_a_name_of_the_catalogue_is_found_with_what_stands_around_it(name, before, behind):
    assert find_model(name) is catalogue()[name]
    model = find_model(f"{before}{name}{behind}")
    own = catalogue()[name]
    assert (model.price, model.prices, model.policy) == (own.price, own.prices, own.policy)


def test_only_so_many_names_are_remembered(monkeypatch):
    monkeypatch.setattr(models, "_ANSWERS", 3)
    known = Catalogue(built_in().models)
    for number in range(10):
        with pytest.raises(ModelError):
            known.find(f"model {number}")
    assert len(known._answers) <= 3
    assert known.find("claude-opus-5") is known.find("claude-opus-5")
