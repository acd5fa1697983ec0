"""Token counts as providers and clients write them, and the usages they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Usage

Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**12)]

_PROMPT = ("prompt_tokens", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")
_READ = ("cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
_WRITTEN = ("cache_creation_input_tokens", "cache_creation_tokens", "cache_write_tokens")
_HOUR = "ephemeral_1h_input_tokens"


def count(value: Any) -> int:
    """Read a token count from a log; a missing one is 0.

    Examples
    --------
    >>> count(None), count(3), count("12"), count(7.0)
    (0, 3, 12, 7)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return msgspec.convert(0 if value is None else value, Tokens, strict=False)
    except msgspec.ValidationError:
        raise InputError(f"{str(value)[:40]!r} is not a token count") from None


def counted(told: Mapping[str, Any], keys: Iterable[str]) -> list[int]:
    """Read the counts of a usage under some names, in their order."""
    return [count(told.get(key)) for key in keys]


def beside(prompt: int, output: int, read: int = 0, written: int = 0, hour: int = 0) -> Usage:
    """Return the usage of a request whose prompt excludes cache reads and writes.

    ``hour`` is the part of the writes with a lifetime of an hour.
    """
    hour = min(hour, written)
    return Usage(prompt, read, written - hour, hour, output)


def within(prompt: int, output: int, read: int = 0, written: int = 0, hour: int = 0) -> Usage:
    """Return the usage of a request whose prompt always includes cache reads and writes.

    Examples
    --------
    >>> within(100, 5, 60, 30).uncached, within(40, 5, 60).cache_read
    (10, 40)
    """
    read = min(read, prompt)
    written = min(written, prompt - read)
    return beside(prompt - read - written, output, read, written, hour)


def contained(prompt: int, output: int, read: int = 0, written: int = 0, hour: int = 0) -> Usage:
    """Return the usage of a request whose prompt should include cache reads and writes.

    If the prompt is too small for that, it excludes them, as with routers and older clients.

    Examples
    --------
    >>> contained(100, 5, 60, 30).uncached, contained(63, 5, 60, 30).uncached
    (10, 3)
    >>> contained(3, 5, 60).uncached
    3
    """
    cached = next((cached for cached in (read + written, read) if cached <= prompt), 0)
    return beside(prompt - cached, output, read, written, hour)


def by_total(
    prompt: int, output: int, read: int, written: int, *, total: int, hour: int = 0
) -> Usage:
    """Return the usage of a request whose total shows if the prompt includes cached tokens.

    Examples
    --------
    >>> by_total(10, 5, 60, 0, total=75).uncached, by_total(70, 5, 60, 0, total=75).uncached
    (10, 10)
    """
    apart = (read or written) and total > prompt + output
    return (beside if apart else contained)(prompt, output, read, written, hour)


def less(whole: Usage, part: Usage) -> Usage:
    """Subtract a part from a usage; no class becomes negative.

    Examples
    --------
    >>> less(Usage(9, 5), Usage(3, 8))
    Usage(uncached=6, cache_read=0, cache_write_5m=0, cache_write_1h=0, output=0, storage=0)
    """
    pairs = zip(msgspec.structs.astuple(whole), msgspec.structs.astuple(part), strict=True)
    return Usage(*(max(0, one - other) for one, other in pairs))


def of_provider(usage: Any) -> Usage | None:
    """Return the usage in a provider's answer, with the field names of any provider.

    Anthropic's prompt excludes cached tokens. The prompts of Chat Completions, of Responses and of
    LiteLLM, which covers all providers, include them. Reasoning is part of the output, unless the
    total shows that it is separate (xAI).

    Examples
    --------
    >>> anthropic = {"input_tokens": 3, "cache_read_input_tokens": 60, "output_tokens": 5}
    >>> openai = {"input_tokens": 63, "input_tokens_details": {"cached_tokens": 60}}
    >>> of_provider(anthropic) == of_provider(openai | {"output_tokens": 5})
    True
    """
    if not isinstance(usage, dict) or not any(key in usage for key in (*_PROMPT, *_OUTPUT)):
        return None
    prompt, output = _first(usage, _PROMPT), _first(usage, _OUTPUT)
    details = _inside(usage, "prompt_tokens_details", "input_tokens_details")
    read = _first(usage, _READ) or _first(details, _READ)
    written = _first(usage, _WRITTEN) or _first(details, _WRITTEN)
    lifetimes = _inside(usage, "cache_creation") or _inside(details, "cache_creation_token_details")
    hour = count(lifetimes.get(_HOUR))
    if "prompt_tokens" not in usage and not details:
        return beside(prompt, output, read, written, hour)
    made = _inside(usage, "completion_tokens_details", "output_tokens_details")
    apart = count(usage.get("total_tokens")) - prompt - output
    if apart > 0 and apart == count(made.get("reasoning_tokens")):
        output += apart
    return contained(prompt, output, read, written, hour)


def _first(usage: dict[str, Any], keys: tuple[str, ...]) -> int:
    return next((number for key in keys if (number := count(usage.get(key)))), 0)


def _inside(usage: dict[str, Any], *keys: str) -> dict[str, Any]:
    found = (usage.get(key) for key in keys)
    return next((each for each in found if isinstance(each, dict) and each), {})
