"""The price list, genai-prices: which models it has, and under which names.

A name must stand there as it is written, but for a date at its end: of what is only spelled alike,
a user is asked which is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

# Calls without a time are priced as of the day on which the price list was last looked at.
UNDATED = datetime(2026, 11, 21, tzinfo=UTC)
# What stands behind a name and makes it no other model.
_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|preview-\d{2}-\d{2,4}|preview|latest|0)$")
_FAR = 1000  # versions that cannot be compared


def price_list() -> str:
    """Which price list is used, with its version."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"


class Listed(NamedTuple):
    """A model of the price list that is paid by the token."""

    provider: str
    id: str
    window: int | None

    @property
    def price(self) -> str:
        """By what its prices are found."""
        return f"{self.provider}/{self.id}"


def find_listed(name: str, families: Iterable[tuple[str, str]]) -> Listed | None:
    """The model of a name, with or without its provider in front; None if it is not listed.

    Parameters
    ----------
    name
        As a user or a recording writes it.
    families
        First words of the names of models, and their providers: others are not looked at.

    Examples
    --------
    >>> find_listed("gpt-5-nano-2025-08-07", [("gpt", "openai")])
    Listed(provider='openai', id='gpt-5-nano', window=400000)
    """
    provider, slash, plain = name.rpartition("/")
    names = names_of(tuple(families))
    for spelling in (dashed(plain), undated(plain)):
        listed = names.get(spelling)
        if listed is not None and (not slash or provider == listed.provider):
            return listed
    return None


@cache
def names_of(families: tuple[tuple[str, str], ...]) -> Mapping[str, Listed]:
    """The models of providers, by the ways in which their names are written."""
    from genai_prices.data_snapshot import get_snapshot

    owners, snapshot = dict(families), get_snapshot()
    providers = {each.id: each for each in snapshot.providers}
    found = [
        (Listed(provider, model.id, model.context_window), model.match)
        for provider in dict.fromkeys(owners.values())
        for model in providers[provider].models
        # Google serves Claude, too, which is cached by Anthropic's rules.
        if owners.get(words_of(model.id)[0], provider) == provider
        and _by_token(model.prices)
        and _is_found(snapshot, provider, model)
    ]
    names: dict[str, Listed] = {}
    for spell in (_own, _aliases, _short):  # a name of its own goes before another's
        for listed, match in found:
            for name in spell(listed.id, match):
                names.setdefault(name, listed)
    return names


def _by_token(prices: Any) -> bool:
    """Whether both directions have a price by the token: images and speech have not."""
    newest = prices[-1].prices if isinstance(prices, list) else prices
    return newest.input_mtok is not None and newest.output_mtok is not None


def _is_found(snapshot: Any, provider: str, model: Any) -> bool:
    """Whether prices are asked for by its id, and not by another's that looks alike."""
    try:
        return snapshot.find_provider_model(model.id, None, provider, None)[1] is model
    except LookupError:
        return False


def _own(id: str, match: Any) -> Iterator[str]:
    yield dashed(id)


def _short(id: str, match: Any) -> Iterator[str]:
    yield undated(id)


def _aliases(id: str, match: Any) -> Iterator[str]:
    """Other names by which the price list knows a model, those that stand there in full."""
    if name := getattr(match, "equals", ""):
        yield dashed(name)
    for each in getattr(match, "or_", ()):
        yield from _aliases(id, each)


def most_alike(name: str, others: Iterable[str]) -> str:
    """The name that has most in common with another; of equals the last.

    Examples
    --------
    >>> most_alike("gpt-5-4-mini", ["gpt-5", "gpt-5-4", "gpt-5-5", "gpt-6-1-sol"])
    'gpt-5-4'
    """
    words = words_of(name)
    return max(reversed(list(others)), key=lambda other: _alike(words, words_of(other)))


def _alike(words: list[str], others: list[str]) -> tuple[int, bool, int, int]:
    """By how many words two names begin alike, and how near what follows is.

    A name that ends there is that of the family; of two versions the nearer one is meant.
    """
    same = 0
    while same < min(len(words), len(others)) and words[same] == others[same]:
        same += 1
    behind = [rest[same] for rest in (words, others) if same < len(rest)]
    numbers = [int(word) for word in behind if word.isdecimal()]
    apart = abs(numbers[0] - numbers[1]) if len(numbers) == len((words, others)) else _FAR
    return same, same == len(others), -apart, len(set(words) & set(others))


def words_of(name: str) -> list[str]:
    """The words and numbers of a name."""
    return re.findall(r"[a-z]+|\d+", name.lower())


def dashed(name: str) -> str:
    """A name with dashes for dots."""
    return name.lower().replace(".", "-")


def undated(name: str) -> str:
    """The same without a date, or a word that stands for one."""
    return _DATE.sub("", dashed(name))
