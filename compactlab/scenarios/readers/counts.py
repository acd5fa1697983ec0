"""Counts of tokens as providers and clients write them, and the usage that they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from compactlab.scenarios.readers.blocks import Tokens
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Usage

_PROMPT = ("prompt_tokens", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")
_READ = ("cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
_WRITTEN = ("cache_creation_input_tokens", "cache_creation_tokens", "cache_write_tokens")
_HOUR = "ephemeral_1h_input_tokens"


def count(value: Any) -> int:
    """A count of tokens as a log writes it; nothing is none.

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
        raise InputError(f"{str(value)[:40]!r} is no count of tokens") from None


def counted(told: Mapping[str, Any], keys: Iterable[str]) -> list[int]:
    """The counts of a usage under some names, in their order."""
    return [count(told.get(key)) for key in keys]


def beside(prompt: int, output: int, read: int = 0, written: int = 0, hour: int = 0) -> Usage:
    """The usage of a request whose prompt leaves out what was read and written.

    ``hour`` is the part of what was written that lives for an hour.
    """
    hour = min(hour, written)
    return Usage(prompt, read, written - hour, hour, output)


def within(prompt: int, output: int, read: int = 0, written: int = 0, hour: int = 0) -> Usage:
    """The usage of a request whose prompt contains what was read and written, in any case.

    Examples
    --------
    >>> within(100, 5, 60, 30).uncached, within(40, 5, 60).cache_read
    (10, 40)
    """
    read = min(read, prompt)
    written = min(written, prompt - read)
    return beside(prompt - read - written, output, read, written, hour)


def contained(prompt: int, output: int, read: int = 0, written: int = 0, hour: int = 0) -> Usage:
    """The usage of a request whose prompt contains what was read and written.

    Where the prompt is too small for that, it stands beside what it does not contain: routers and
    older clients write so.

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
    """The usage of a request whose total says whether its prompt contains what was cached.

    Examples
    --------
    >>> by_total(10, 5, 60, 0, total=75).uncached, by_total(70, 5, 60, 0, total=75).uncached
    (10, 10)
    """
    apart = (read or written) and total > prompt + output
    return (beside if apart else contained)(prompt, output, read, written, hour)


def less(whole: Usage, part: Usage) -> Usage:
    """What is left of a usage: of each class what is beyond a part, if anything.

    Examples
    --------
    >>> less(Usage(9, 5), Usage(3, 8))
    Usage(uncached=6, cache_read=0, cache_write_5m=0, cache_write_1h=0, output=0, storage=0)
    """
    pairs = zip(msgspec.structs.astuple(whole), msgspec.structs.astuple(part), strict=True)
    return Usage(*(max(0, one - other) for one, other in pairs))


def of_provider(usage: Any) -> Usage | None:
    """The usage that an answer of a provider tells, by the names of any of their interfaces.

    Anthropic's prompt leaves out what was cached; that of Chat Completions, of Responses and of
    LiteLLM, which speaks for all, contains it. Reasoning is a part of the output, but where the
    total shows that it stands beside it (xAI).

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
