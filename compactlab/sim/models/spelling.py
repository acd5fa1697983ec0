"""The spelling of model names: suffixes (dates, versions, variants) and prefixes (places).

Only these variations are accepted. For other similar names, the user is asked which is meant. Names
come from logs and are untrusted, so every pattern takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
