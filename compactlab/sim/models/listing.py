"""The price list, genai-prices: sellers, their models, and the names of models.

Names come from logs and are untrusted, so every pattern takes linear time. Only the variations of a
name below (dates, versions, variants, places) are accepted. For other similar names, the user is
asked which is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

# Special characters in model names: NAME@policy, NAME+multiplier.
RESERVED = "@+"
# Most characters of a name: the longest id of genai-prices 0.2.3 has 61; paths of Vertex and
# Bedrock are longer.
LONGEST = 256

# After @ in a Vertex name: a version, not a cache policy.
VERSION = re.compile(r"\d{3,8}|\d{4}-\d{2}-\d{2}|default|latest")
# Claude Code's mark for the window of 1,000,000 tokens (its page on model configuration).
WIDE = "[1m]"

# Suffixes that do not change the model.
_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|preview-\d{2}-\d{2,4}|preview|latest|default|0)$")
_BRACKET = re.compile(r"\[[^][]*\]$")
# Router variants at the model's price: how a request is routed, or how long it thinks
# (openrouter.ai/docs, model variants). Variants with other prices (free, batch) are models of the
# price list.
_VARIANT = re.compile(
    r":(thinking|extended|beta|nitro|floor|exacto|online|none|minimal|low|medium|high|xhigh|max)$"
)
# Bedrock: claude-sonnet-4-5-20250929-v1:0, and :200k for provisioned throughput.
_REVISION = re.compile(r"-v\d(:\d{1,2})?(:\d{1,4}k)?$")
_SERVICE = re.compile(r"-maas$")  # Vertex, for open models
# Clients append the effort to the name (tokscale removes the same suffixes). In other model
# families such words are part of the name.
_EFFORT = re.compile(r"(?<=[a-z0-9])-(thinking|none|minimal|low|medium|high|xhigh|max)$")
_EFFORTFUL = re.compile(r"(claude|gpt|gemini|o\d)-")
# The price list has OpenRouter's anthropic/claude-4.5-sonnet-20250929 for claude-sonnet-4.5.
_SWAPPED = re.compile(r"claude-(\d(?:-\d)?)-(opus|sonnet|haiku|fable|mythos)$")
# Bedrock: region and maker.
_REGION = re.compile(r"^(?:[a-z]{2,4}|us-gov|global)[.](?=[a-z0-9]+[.])")
_PLACES = re.compile(r"^~?(?:(?:[a-z]+|us-gov|ai21)[.])*(?=[a-z])")


def spellings(name: str) -> Iterator[str]:
    """Yield a name with dashes for dots, then with more and more suffixes removed.

    Examples
    --------
    >>> list(spellings("us.anthropic.claude-sonnet-4-5-20250929-v1:0"))[1:3]
    ['us-anthropic-claude-sonnet-4-5-20250929', 'us-anthropic-claude-sonnet-4-5']
    """
    lowered = name.lower()
    yield from _shortened(lowered)
    if (elsewhere := _REGION.sub("", lowered)) != lowered:
        yield from _shortened(elsewhere)


def _shortened(name: str) -> Iterator[str]:
    text = dashed(re.sub(rf"@(?=({VERSION.pattern})$)", "-", name))
    cuts = [_BRACKET, _VARIANT, _SERVICE, _REVISION, _DATE]
    if _EFFORTFUL.match(text):
        cuts += [_EFFORT, _DATE]
    yield text
    for cut in cuts:
        shorter = cut.sub("", text)
        if shorter != text:
            yield (text := shorter)
    if swapped := _SWAPPED.fullmatch(text):
        yield f"claude-{swapped[2]}-{swapped[1]}"


def plain(name: str) -> str:
    """Return a name without seller and region.

    Examples
    --------
    >>> plain("bedrock/us.anthropic.claude-opus-4-8"), plain("openrouter/z-ai/glm-4.7")
    ('claude-opus-4-8', 'glm-4.7')
    """
    return _PLACES.sub("", name.lower().rpartition("/")[2])


def is_of_bedrock(name: str) -> bool:
    """Whether a name has a maker, and perhaps a region, in Bedrock's form."""
    return plain(name) != name.lower() and not name.lower().startswith(("~", "system."))


def is_of_vertex(name: str) -> bool:
    """Whether a name has a version in Vertex's form."""
    _, mark, version = name.rpartition("@")
    return bool(mark and VERSION.fullmatch(version))


def marked(name: str) -> tuple[str, list[str], list[str]]:
    """Split a name into plain name, cache policies and multipliers.

    Examples
    --------
    >>> marked("claude-sonnet-4-5@20250929@none+batch")
    ('claude-sonnet-4-5@20250929', ['none'], ['batch'])
    """
    stem, *parts = re.split(f"([{RESERVED}])", name)
    policies: list[str] = []
    multipliers: list[str] = []
    for mark, text in zip(parts[::2], parts[1::2], strict=True):
        own = "/" in text or VERSION.fullmatch(text)  # @cf/... are Cloudflare's
        if mark == "@" and own and not (policies or multipliers):
            stem += mark + text
        else:
            (policies if mark == "@" else multipliers).append(text)
    return stem, policies, multipliers


def most_alike(name: str, others: Iterable[str]) -> str:
    """Return the name with the most in common with another; the last of equals.

    Examples
    --------
    >>> most_alike("gpt-5-4-mini", ["gpt-5", "gpt-5-4", "gpt-5-5", "gpt-6-1-sol"])
    'gpt-5-4'
    """
    words = words_of(name)
    return max(reversed(list(others)), key=lambda other: _alike(words, words_of(other)))


_FAR = 1000  # distance of versions that cannot be compared


def _alike(words: list[str], others: list[str]) -> tuple[int, bool, int, int]:
    """Return the number of common leading words, and how near the following words are.

    A name that ends there is that of the family; the nearer of two versions is preferred.
    """
    same = 0
    while same < min(len(words), len(others)) and words[same] == others[same]:
        same += 1
    behind = [rest[same] for rest in (words, others) if same < len(rest)]
    numbers = [int(word) for word in behind if word.isdecimal()]
    apart = abs(numbers[0] - numbers[1]) if len(numbers) == len((words, others)) else _FAR
    return same, same == len(others), -apart, len(set(words) & set(others))


def words_of(name: str) -> list[str]:
    """Return the words and numbers of a name."""
    return re.findall(r"[a-z]+|\d+", name.lower())


def dashed(name: str) -> str:
    """Return a name with dashes for dots."""
    return name.lower().replace(".", "-")


def undated(name: str) -> str:
    """Return a name without a date, or a word in place of one."""
    return _DATE.sub("", dashed(name))


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

    Raises a LookupError if it has none.
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
