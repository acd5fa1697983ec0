"""A model that is not in the catalogue, but in the price list: what its provider's models tell.

Prices, and mostly the window, stand in genai-prices. How a provider caches and counts does not:
that is taken from the model of the same provider in the catalogue whose name is most alike, because
both differ by generation (OpenAI before and from 5.6 on, Claude before and from 4.7 on). Where no
name is alike, it is the provider's newest. Providers are those of which the catalogue knows a cache
policy. A name must stand in the price list as it is written, but for a date at its end: of what is
only spelled alike, a user is asked which is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.spec import snake_case
from compactlab.sim.models.model import Model, built_in
from compactlab.sim.models.pricing import UNDATED, price_list, price_sheet

# What stands behind a name and makes it no other model.
_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|preview-\d{2}-\d{2,4}|preview|latest|0)$")
_FAR = 1000  # versions that cannot be compared


class Listed(NamedTuple):
    """A model of the price list."""

    provider: str
    id: str
    window: int | None

    @property
    def price(self) -> str:
        """By what its prices are found."""
        return f"{self.provider}/{self.id}"


@cache
def inferred(name: str) -> Model | None:
    """What can be told of a model by its provider; None if the price list does not have it.

    Of one that the catalogue has under another name, that is given.

    Examples
    --------
    >>> model = inferred("gpt-5-nano-2025-08-07")
    >>> model.name, model.window, model.policy.spec.partition("(")[0]
    ('gpt-5-nano', 400000, 'openai_grid')
    >>> inferred("gpt-5-nan") is None
    True
    """
    provider, slash, plain = name.rpartition("/")
    for spelling in dict.fromkeys((_dashed(plain), _undated(plain))):
        listed = _listed().get(spelling)
        if listed is not None and (not slash or provider == listed.provider):
            known = (m for m in built_in().models.values() if m.price == listed.price)
            return next(known, None) or _model(listed)
    return None


@cache
def _listed() -> Mapping[str, Listed]:
    """The models of the price list, by the ways in which their names are written."""
    from genai_prices.data_snapshot import get_snapshot

    families: dict[str, str] = {}  # first words of names, and whose they are
    for model in built_in().models.values():
        if provider := model.price.partition("/")[0]:
            families.setdefault(_words(model.name)[0], provider)
    providers = {each.id: each for each in get_snapshot().providers}
    found = [
        (Listed(provider, model.id, model.context_window), model.match)
        for provider in dict.fromkeys(families.values())
        for model in providers[provider].models
        # Google serves Claude, too, which is cached by Anthropic's rules.
        if families.get(_words(model.id)[0], provider) == provider
    ]
    names: dict[str, Listed] = {}
    for spell in (_own, _aliases, _short):  # a name of its own goes before another's
        for listed, match in found:
            for name in spell(listed.id, match):
                names.setdefault(name, listed)
    return names


def _own(id: str, match: Any) -> Iterator[str]:
    yield _dashed(id)


def _short(id: str, match: Any) -> Iterator[str]:
    yield _undated(id)


def _aliases(id: str, match: Any) -> Iterator[str]:
    """Other names by which the price list knows a model, those that stand there in full."""
    if name := getattr(match, "equals", ""):
        yield _dashed(name)
    for each in getattr(match, "or_", ()):
        yield from _aliases(id, each)


def _model(listed: Listed) -> Model | None:
    try:
        price_sheet(listed.price).rates(0, 0)
    except ModelError:
        return None  # it is not paid by the token: images, speech
    own, short = _dashed(listed.id), _undated(listed.id)
    name = short if _listed()[short] is listed else own
    like = _most_alike(own, listed.provider)
    window = listed.window or like.window
    policy = snake_case(type(like.policy).__name__)
    whose = "by the price list" if listed.window else f"as {like.name}"
    day = UNDATED.date().isoformat()
    said = (
        f"{name} is not in the catalogue: priced by {price_list()} of {day} ({listed.price}), "
        f"cache policy {policy} and token counts as {like.name}, window {window:,} {whose}"
    )
    # Batches are a provider's; other multipliers are a model's own.
    multipliers = {each: x for each, x in like.multipliers.items() if each == "batch"}
    return replace(
        like, name=name, price=listed.price, window=window, max_output=0, multipliers=multipliers,
        source="inferred", asof=day, inferred=said,
    )  # fmt: skip


def _most_alike(name: str, provider: str) -> Model:
    """The model of a provider whose name has most in common with another; of equals the newest."""
    models = [m for m in built_in().models.values() if m.price.startswith(f"{provider}/")]
    return max(reversed(models), key=lambda model: _alike(_words(name), _words(model.name)))


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


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+|\d+", name.lower())


def _dashed(name: str) -> str:
    return name.lower().replace(".", "-")


def _undated(name: str) -> str:
    return _DATE.sub("", _dashed(name))
