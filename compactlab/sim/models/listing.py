"""The price list, genai-prices: sellers, their models, and the names of models."""

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

# Calls without a time use the prices of the day on which the price list was last checked.
UNDATED = datetime(2026, 11, 21, tzinfo=UTC)
# Most segments of a path; a publisher's model of Vertex has eight.
_SEGMENTS = 12
# Clients' and routers' names for sellers, if the list has no rule for them, or if another seller's
# rule would match (azure_openai is Azure). Seen 2026-11 in copies of LiteLLM's list of providers,
# in tokscale's list of resellers, and in model names of OpenCode users; zhipu, bigmodel, z-ai and
# publishers from company names and Vertex paths.
_CALLED = (
    ("bedrock", "aws"), ("vertex", "google"), ("azure", "azure"), ("openrouter", "openrouter"),
    ("fireworks", "fireworks"), ("together", "together"), ("z-ai", "zai"), ("zai", "zai"),
    ("zhipu", "zhipuai"), ("bigmodel", "zhipuai"), ("deepseek", "deepseek"), ("groq", "groq"),
    ("minimax", "minimax"), ("novita", "novita"), ("perplexity", "perplexity"),
    ("publishers", "google"),
)  # fmt: skip
# Prefixes of self-hosted models, which are paid by time and not by token. ollama, ollama_chat,
# vllm, hosted_vllm, llamafile and lm_studio are LiteLLM's; the others are assumed.
_OWN = frozenset({
    "ollama", "ollama_chat", "lmstudio", "lm_studio", "lm-studio", "llama.cpp", "llamacpp",
    "llamafile", "hosted_vllm", "vllm", "mlx", "local", "localhost", "self-hosted",
})  # fmt: skip
# The order of sellers for a name without a seller, if the list's rules match none: makers of
# models, then the seller with the most models.
_FIRST = (
    "openai", "anthropic", "google", "deepseek", "x-ai", "moonshotai", "zhipuai", "zai", "minimax",
    "mistral", "openrouter",
)  # fmt: skip


def price_list() -> str:
    """Return the name and version of the price list."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"


class Listed(NamedTuple):
    """A model of the price list that is paid by the token, as sold by one seller."""

    provider: str
    id: str
    window: int | None

    @property
    def price(self) -> str:
        """The key of its prices."""
        return f"{self.provider}/{self.id}"


def find_listed(name: str) -> Listed | None:
    """Find a model by name: of the seller in the name, else of its maker.

    Parameters
    ----------
    name
        The name from a user or a recording.

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
    # Only resellers have it, with the maker's name as a prefix.
    return next((_by_last()[way][0] for way in spellings(bare) if way in _by_last()), None)


def own_servers(name: str) -> str:
    """Return the prefix of a self-hosted model's name; "" if there is none."""
    return next((part for part in name.lower().split("/")[:-1] if part in _OWN), "")


def named_seller(name: str) -> str | None:
    """Return the list's name of the seller that a model name gives by prefix or form."""
    *before, last = name.lower().split("/")
    found = (seller_of(part) for part in before)
    by_form = "google" if is_of_vertex(last) else "aws" if is_of_bedrock(last) else None
    return next((seller for seller in found if seller), by_form)


def lacking(name: str, listed: Listed) -> str:
    """Return the named seller if it has no price for the model; "" if another one uses the name."""
    seller = named_seller(name)
    if seller in (None, listed.provider) or _sold(sellers()[listed.provider], name):
        return ""
    return seller or ""


def rivals(listed: Listed) -> list[Listed]:
    """Return all listings of a model of that name."""
    return _by_last().get(dashed(plain(listed.id)), [listed])


def _sold(models: Mapping[str, Listed], name: str) -> Listed | None:
    return next((models[way] for way in spellings(name) if way in models), None)


def _asked(path: str) -> Iterator[str]:
    """Yield the sellers to try for a name by the list's rules, its maker first."""
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
    """Return the list's name of a seller, or of a maker that sells its models."""
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
    """Return the models of each seller by all spellings of their names."""
    return {provider.id: _ways(provider) for provider in _providers()}


def _ways(provider: Any) -> dict[str, Listed]:
    found = [
        (Listed(provider.id, model.id, model.context_window), model.match)
        for model in provider.models
        if _by_token(model)
    ]
    names: dict[str, Listed] = {}
    for spell in (_own, _aliases, _short, _beginnings):  # own names before aliases
        for listed, match in found:
            for name in spell(listed.id, match):
                names.setdefault(name, listed)
    return names


@cache
def _by_last() -> Mapping[str, list[Listed]]:
    """Return models by the last part of their names, if it has a digit: "auto" is no model."""
    names: dict[str, list[Listed]] = {}
    for seller in dict.fromkeys((*_FIRST, *sellers())):
        for name, listed in sellers()[seller].items():
            last = plain(name)
            if re.search(r"\d", last):
                names.setdefault(last, []).append(listed)
    return names


def _by_token(model: Any) -> bool:
    """Whether tokens have a price (0 for free models): images and speech have none."""
    newest = newest_prices(model)
    if newest.input_mtok is None:
        return is_free(model.id)
    return newest.output_mtok is not None or answers_nothing(newest)


def answers_nothing(prices: Any) -> bool:
    """Whether only input has a price, as for an embedding."""
    return not any(
        key.startswith("output_") and price is not None for key, price in vars(prices).items()
    )


@cache
def search_price(price: str) -> float | None:
    """Return the dollars per web search of a model's provider; None if not listed.

    Gemini before 3 is said to bill a request with searches once (second-hand); free quotas of
    accounts are not known.

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
    """Whether a router offers a model for free; a mere lack of a price means unknown."""
    return id.endswith(":free")


def newest_prices(model: Any) -> Any:
    """Return the latest prices of a model in genai-prices."""
    return model.prices[-1].prices if isinstance(model.prices, list) else model.prices


def model_of(price: str) -> Any:
    """Return the genai-prices model of a provider and id, directly or by the list's rules.

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
    """Return all models by id: the list's rules miss regional and fine-tuned ones."""
    return {(each.id, model.id): model for each in _providers() for model in each.models}


def _own(id: str, match: Any) -> Iterator[str]:
    yield dashed(id)


def _short(id: str, match: Any) -> Iterator[str]:
    yield undated(id)


def _aliases(id: str, match: Any) -> Iterator[str]:
    """Yield other full names of a model in the price list."""
    if name := getattr(match, "equals", ""):
        yield dashed(name)
    if (rule := getattr(match, "regex", "")) and re.search(rule, literal := _unescaped(rule)):
        yield dashed(literal)
    for each in getattr(match, "or_", ()):
        yield from _aliases(id, each)


def _unescaped(rule: str) -> str:
    """Return the only name that a pattern without alternatives matches."""
    return rule.removeprefix("^").removesuffix("$").replace("\\", "")


def _beginnings(id: str, match: Any) -> Iterator[str]:
    """Yield the prefixes by which the price list matches a model: dates and revisions follow."""
    for kind in ("starts_with", "contains", "ends_with"):
        if part := getattr(match, kind, ""):
            yield dashed(part).strip("-@/")
    for each in getattr(match, "or_", ()):
        yield from _beginnings(id, each)
