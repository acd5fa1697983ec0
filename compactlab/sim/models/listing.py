"""The price list, genai-prices: who sells which models, and under which names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

from compactlab.sim.models.spelling import (
    dashed,
    is_of_bedrock,
    is_of_vertex,
    plain,
    spellings,
    undated,
)

# Calls without a time are priced as of the day on which the price list was last looked at.
UNDATED = datetime(2026, 11, 21, tzinfo=UTC)
# Segments of a path; a publisher's model of Vertex has eight.
_SEGMENTS = 12
# How clients and routers call sellers, where the list has no rule for it, or another seller's rule
# would hold (azure_openai is Azure). Seen 2026-11 in copies of LiteLLM's list of providers, in
# tokscale's list of resellers, and in names that users of OpenCode write; zhipu, bigmodel, z-ai and
# publishers by the names of the firms and of Vertex's paths.
_CALLED = (
    ("bedrock", "aws"), ("vertex", "google"), ("azure", "azure"), ("openrouter", "openrouter"),
    ("fireworks", "fireworks"), ("together", "together"), ("z-ai", "zai"), ("zai", "zai"),
    ("zhipu", "zhipuai"), ("bigmodel", "zhipuai"), ("deepseek", "deepseek"), ("groq", "groq"),
    ("minimax", "minimax"), ("novita", "novita"), ("perplexity", "perplexity"),
    ("publishers", "google"),
)  # fmt: skip
# Before a name: one's own servers, whose time has a price, and not their tokens. ollama,
# ollama_chat, vllm, hosted_vllm, llamafile and lm_studio are LiteLLM's; the others are assumed.
_OWN = frozenset({
    "ollama", "ollama_chat", "lmstudio", "lm_studio", "lm-studio", "llama.cpp", "llamacpp",
    "llamafile", "hosted_vllm", "vllm", "mlx", "local", "localhost", "self-hosted",
})  # fmt: skip
# Who is asked first for a name that does not say who sold it, where the list's own rules name
# nobody: makers of models, then the seller who has most of them.
_FIRST = (
    "openai", "anthropic", "google", "deepseek", "x-ai", "moonshotai", "zhipuai", "zai", "minimax",
    "mistral", "openrouter",
)  # fmt: skip


def price_list() -> str:
    """Which price list is used, with its version."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"


class Listed(NamedTuple):
    """A model of the price list that is paid by the token, as one of its sellers has it."""

    provider: str
    id: str
    window: int | None

    @property
    def price(self) -> str:
        """By what its prices are found."""
        return f"{self.provider}/{self.id}"


def find_listed(name: str) -> Listed | None:
    """The model of a name: with its seller before it as that one sells it, else as its maker does.

    Parameters
    ----------
    name
        As a user or a recording writes it.

    Examples
    --------
    >>> find_listed("gpt-5-nano-2025-08-07")
    Listed(provider='openai', id='gpt-5-nano', window=400000)
    >>> find_listed("us.anthropic.claude-opus-4-8").price
    'aws/regional.anthropic.claude-opus-4-8-v1:0'
    """
    parts = name.lower().split("/")
    if len(parts) > _SEGMENTS:
        return None
    paths = ["/".join(parts[start:]) for start in range(len(parts))]
    bare = plain(name)
    models = sellers()
    for start, part in enumerate(parts[:-1]):
        if seller := seller_of(part):
            for path in paths[start + 1 :]:
                if found := _sold(models[seller], path):
                    return found
    if is_of_bedrock(parts[-1]):
        for path in (parts[-1], bare):
            if found := _sold(models["aws"], path):
                return found
    for path in dict.fromkeys((*paths, bare)):
        for seller in _asked(path):
            if found := _sold(models[seller], path):
                return found
    # Only sellers have it, who write its maker's name before it.
    return next((_by_last()[way][0] for way in spellings(bare) if way in _by_last()), None)


def own_servers(name: str) -> str:
    """The word before a name that stands for servers of one's own; "" if there is none."""
    return next((part for part in name.lower().split("/")[:-1] if part in _OWN), "")


def named_seller(name: str) -> str | None:
    """The seller that a name says, as the list calls it: before it, or by the form of the name."""
    *before, last = name.lower().split("/")
    found = (seller_of(part) for part in before)
    by_form = "google" if is_of_vertex(last) else "aws" if is_of_bedrock(last) else None
    return next((seller for seller in found if seller), by_form)


def lacking(name: str, listed: Listed) -> str:
    """The seller whom a name says and who has no price for it; "" if another one writes it so."""
    seller = named_seller(name)
    if seller in (None, listed.provider) or _sold(sellers()[listed.provider], name):
        return ""
    return seller or ""


def rivals(listed: Listed) -> list[Listed]:
    """All who sell a model of that name."""
    return _by_last().get(dashed(plain(listed.id)), [listed])


def _sold(models: Mapping[str, Listed], name: str) -> Listed | None:
    return next((models[way] for way in spellings(name) if way in models), None)


def _asked(path: str) -> Iterator[str]:
    """Whom to ask for a name, its maker first: by the list's own rules for names."""
    if is_of_vertex(path):
        yield "google"
    if "/" not in path:
        for provider in _providers():
            if provider.model_match is not None and provider.model_match.is_match(path):
                yield provider.id
    yield from _FIRST
    yield from sellers()


@lru_cache(1024)
def seller_of(word: str) -> str | None:
    """What the list calls the seller of a name, or its maker, if it sells it."""
    if word in sellers():
        return word
    for part, seller in _CALLED:
        if part in word:
            return seller
    rules = ((each.id, each.provider_match) for each in _providers())
    return next((id for id, rule in rules if rule is not None and rule.is_match(word)), None)


def _providers() -> list[Any]:
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot().providers


@cache
def sellers() -> Mapping[str, Mapping[str, Listed]]:
    """Of every seller its models, by the ways in which their names are written."""
    return {provider.id: _ways(provider) for provider in _providers()}


def _ways(provider: Any) -> dict[str, Listed]:
    found = [
        (Listed(provider.id, model.id, model.context_window), model.match)
        for model in provider.models
        if _by_token(model)
    ]
    names: dict[str, Listed] = {}
    for spell in (_own, _aliases, _short, _beginnings):  # a name of its own goes before another's
        for listed, match in found:
            for name in spell(listed.id, match):
                names.setdefault(name, listed)
    return names


@cache
def _by_last() -> Mapping[str, list[Listed]]:
    """Models by the last part of their names, where that has a number: "auto" is no model."""
    names: dict[str, list[Listed]] = {}
    for seller in dict.fromkeys((*_FIRST, *sellers())):
        for name, listed in sellers()[seller].items():
            last = plain(name)
            if re.search(r"\d", last):
                names.setdefault(last, []).append(listed)
    return names


def _by_token(model: Any) -> bool:
    """Whether tokens have a price: images and speech have not, and free models have that of 0."""
    newest = newest_prices(model)
    if newest.input_mtok is None:
        return is_free(model.id)
    return newest.output_mtok is not None or answers_nothing(newest)


def answers_nothing(prices: Any) -> bool:
    """Whether only input has a price, as of an embedding."""
    return not any(
        key.startswith("output_") and price is not None for key, price in vars(prices).items()
    )


@cache
def search_price(price: str) -> float | None:
    """Dollars of a web search that a model's provider makes; None where the list has none.

    Gemini before 3 is said to bill a request that searched, however often it did (second-hand);
    what accounts have free is not known.

    Examples
    --------
    >>> search_price("anthropic/claude-opus-5"), search_price("zhipuai/GLM-4.7")
    (0.01, None)
    """
    try:
        thousand = newest_prices(model_of(price)).web_searches_kcount
    except LookupError:
        return None
    return None if thousand is None else float(thousand) / 1_000


def is_free(id: str) -> bool:
    """Whether a router gives a model away; where there is just no price, none is known."""
    return id.endswith(":free")


def newest_prices(model: Any) -> Any:
    """The last of the prices of a model in genai-prices."""
    return model.prices[-1].prices if isinstance(model.prices, list) else model.prices


def model_of(price: str) -> Any:
    """The model of genai-prices by its provider and id, or by what it takes for it.

    Raises
    ------
    LookupError
        If it has none.
    """
    from genai_prices.data_snapshot import get_snapshot

    provider, _, id = price.partition("/")
    if found := _by_id().get((provider, id)):
        return found
    return get_snapshot().find_provider_model(id, None, provider, None)[1]


@cache
def _by_id() -> Mapping[tuple[str, str], Any]:
    """All models by id: the list's own rules do not find those of regions and of fine-tuning."""
    return {(each.id, model.id): model for each in _providers() for model in each.models}


def _own(id: str, match: Any) -> Iterator[str]:
    yield dashed(id)


def _short(id: str, match: Any) -> Iterator[str]:
    yield undated(id)


def _aliases(id: str, match: Any) -> Iterator[str]:
    """Other names by which the price list knows a model, those that stand there in full."""
    if name := getattr(match, "equals", ""):
        yield dashed(name)
    if (rule := getattr(match, "regex", "")) and re.search(rule, literal := _unescaped(rule)):
        yield dashed(literal)
    for each in getattr(match, "or_", ()):
        yield from _aliases(id, each)


def _unescaped(rule: str) -> str:
    """The one name that a pattern without any choice stands for."""
    return rule.removeprefix("^").removesuffix("$").replace("\\", "")


def _beginnings(id: str, match: Any) -> Iterator[str]:
    """Parts of names by which the price list knows a model: dates and revisions stand behind."""
    for kind in ("starts_with", "contains", "ends_with"):
        if part := getattr(match, kind, ""):
            yield dashed(part).strip("-@/")
    for each in getattr(match, "or_", ()):
        yield from _beginnings(id, each)
