"""Models by name: window, tokenizer, cache policy and where the prices stand."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any

from compactlab.sim.arm import ARMS, NEUTRAL, Arm
from compactlab.sim.cache import POLICIES, CachePolicy
from compactlab.sim.errors import ModelError, unknown
from compactlab.sim.model_file import RESERVED, models_of
from compactlab.sim.prefill import Prefill
from compactlab.sim.rates import StorageRate, Tiers
from compactlab.sim.section import parse_toml, read_toml
from compactlab.sim.tokens import Tokenizer

# A model that can be replayed, for those who have to name one.
EXAMPLE = "claude-sonnet-4-5"


@dataclass(frozen=True)
class Model:
    """A model, as far as a replay is concerned.

    Parameters
    ----------
    name
        As in reports and on the command line, with the policy and the multipliers that were asked
        for.
    window
        Tokens of context; a run may narrow it.
    max_output
        Tokens of the longest answer; 0 if not known.
    tokenizer
        How it counts.
    price
        ``provider/model`` in genai-prices; "" if its prices stand elsewhere, or are not known.
    policy
        By which rules its provider caches; None if that is not built yet.
    provider
        Who serves it.
    prices
        Its prices, where they were written by hand.
    servers
        What it runs on, where one pays for the time of one's own GPUs and not by the token.
    storage
        What keeping a cache costs where genai-prices has the other prices, the earliest end first.
    multipliers
        What its prices may be multiplied by, by name: ``batch``, ``us``.
    chosen
        Names of those that they are multiplied by.
    arm
        What its provider's cache falls short of its documentation.
    strips_thinking
        Whether thinking of earlier turns is dropped at a new user message.
    source, asof
        Where its figures come from, and their day.
    """

    name: str
    window: int
    max_output: int
    tokenizer: Tokenizer
    price: str
    policy: CachePolicy | None
    provider: str = ""
    prices: Tiers | None = None
    servers: Prefill | None = None
    storage: tuple[StorageRate, ...] = ()
    multipliers: Mapping[str, float] = field(default_factory=dict, hash=False)
    chosen: tuple[str, ...] = ()
    arm: Arm = NEUTRAL
    strips_thinking: bool = False
    source: str = ""
    asof: str = ""

    def narrowed(self, window: int | None) -> Model:
        """This model with a window of at most so many tokens."""
        return self if window is None else replace(self, window=min(window, self.window))

    @property
    def multiplier(self) -> float:
        """What all its prices are multiplied by."""
        return prod(self.multipliers[name] for name in self.chosen)

    def under(self, policy: str) -> Model:
        """This model under another cache policy, or its own in a worse arm (``pessimistic``).

        Raises
        ------
        ModelError
            If there is no such policy.
        """
        name = f"{self.name}@{policy}"
        if policy in ARMS:
            arm = ARMS[policy]
            kept = self.policy and self.policy.shortened(arm.lifetimes)
            return replace(self, name=name, policy=kept, arm=arm)
        if policy not in POLICIES:
            raise ModelError(unknown("cache policy", policy, [*POLICIES, *ARMS]))
        own = isinstance(self.policy, POLICIES[policy])
        kept = self.policy if own else POLICIES[policy]()
        return replace(self, name=name, policy=kept)

    def at(self, multipliers: Iterable[str]) -> Model:
        """This model with its prices multiplied.

        Raises
        ------
        ModelError
            If it has no such multiplier.
        """
        chosen = tuple(sorted(set(multipliers)))
        for name in chosen:
            if name not in self.multipliers:
                raise ModelError(unknown(f"multiplier of {self.name}", name, self.multipliers))
        return replace(self, name="+".join([self.name, *chosen]), chosen=chosen)


@dataclass(frozen=True)
class Catalogue:
    """The models that are known: those that are built in, and a user's own.

    Parameters
    ----------
    models
        All of them, by name; of two with one name, the user's own.
    own
        The tables of the user's file, as JSON could hold them; empty if there is none.

    Examples
    --------
    >>> row = {"window": 8000, "cache": "none", "prices": {"input": 1, "output": 2}}
    >>> Catalogue.of({"models": {"tiny": row}}).find("tiny").window
    8000
    """

    models: Mapping[str, Model]
    own: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> Catalogue:
        """The built-in models and those of a file.

        Raises
        ------
        InputError
            If the file cannot be read, or anything in it is wrong.
        """
        return cls.of(read_toml(Path(path), "file of models"), str(path))

    @classmethod
    def of(cls, tables: Mapping[str, Any], file: str = "") -> Catalogue:
        """The built-in models and those of the tables of a file."""
        if not tables:
            return built_in()
        return cls({**built_in().models, **_built(dict(tables), file)}, tables)

    @property
    def digest(self) -> str:
        """What tells the user's own figures from others; "" if there are none."""
        if not self.own:
            return ""
        text = json.dumps(self.own, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def find(self, name: str) -> Model:
        """Look a model up by the name that a recording or a user gives.

        A trailing date is ignored, a dot counts as a dash, ``@policy`` puts the model under
        another cache policy, and ``+multiplier`` multiplies its prices.

        Raises
        ------
        ModelError
            If there is no such model, no such policy, or no such multiplier of it.
        """
        stem, *parts = re.split(f"([{RESERVED}])", name)
        marked = list(zip(parts[::2], parts[1::2], strict=True))
        policies = [text for mark, text in marked if mark == "@"]
        if len(policies) > 1:
            raise ModelError(f"{name!r} names two cache policies")
        model = self._plain(stem, name)
        if policies:
            model = model.under(policies[0])
        multipliers = [text for mark, text in marked if mark == "+"]
        return model.at(multipliers) if multipliers else model

    def _plain(self, stem: str, name: str) -> Model:
        """A model by its name alone; as it is written first, for a user's own may be dated."""
        for spelling in (stem, _dashed(stem), _undated(stem)):
            if spelling in self._spelled:
                return self._spelled[spelling]
        raise ModelError(_unknown(name, _undated(stem), self._spelled))

    @cached_property
    def _spelled(self) -> dict[str, Model]:
        """The models by their names, and by those with dashes for dots."""
        dashed = {_dashed(name): model for name, model in self.models.items()}
        return {**dashed, **self.models}


@cache
def built_in() -> Catalogue:
    """The models that compactlab knows by itself."""
    text = (files("compactlab.sim") / "models.toml").read_text("utf-8")
    return Catalogue(_built(parse_toml(text), "models.toml"))


def _built(tables: dict[str, Any], file: str) -> dict[str, Model]:
    return {name: Model(name, **row) for name, row in models_of(tables, file).items()}


def catalogue() -> Mapping[str, Model]:
    """All models that are built in, by name."""
    return built_in().models


def find_model(name: str) -> Model:
    """Look a built-in model up, see :meth:`Catalogue.find`.

    Raises
    ------
    ModelError
        If there is no such model, no such policy, or no such multiplier of it.

    Examples
    --------
    >>> find_model("claude-opus-4-5-20251101").name
    'claude-opus-4-5'
    >>> find_model("claude-opus-4-5@none").policy
    NoCache()
    >>> find_model("claude-opus-4-8+us+batch").multiplier
    0.55
    """
    return built_in().find(name)


def _dashed(stem: str) -> str:
    return stem.replace(".", "-")


def _undated(stem: str) -> str:
    return re.sub(r"-(\d{8}|latest)$", "", _dashed(stem))


def _unknown(name: str, plain: str, known: Mapping[str, Model]) -> str:
    """Say that a model is not known, and name only what can be replayed at once."""
    near = difflib.get_close_matches(plain, known, n=3, cutoff=0.7)
    at = "@none" if "@none" in name else ""
    usable = [known[each].name + (at if known[each].policy else "@none") for each in near]
    meant = f"did you mean {' or '.join(dict.fromkeys(usable))}? Or " if usable else ""
    return (
        f"unknown model {name!r}; {meant}name another, e.g. --model {EXAMPLE}, or NAME@none for "
        "one without a cache (compactlab list models), or write it down with its prices in a file "
        "of your own: --models FILE"
    )


def replayable(model: Model) -> tuple[Model, CachePolicy]:
    """A model with its policy.

    Raises
    ------
    ModelError
        If no policy is built for it yet; the text names what to use instead.
    """
    if model.policy is None:
        raise ModelError(
            f"no cache policy is built for {model.name} yet; name another model, "
            f"e.g. --model {EXAMPLE}, or --model {model.name}@none for no cache at all"
        )
    return model, model.policy


def tokenizer_of(name: str, catalogue: Catalogue | None = None) -> Tokenizer:
    """How a recorded model counts; o200k as it is for a model that is not known.

    Examples
    --------
    >>> tokenizer_of("claude-opus-5+unheard") == tokenizer_of("claude-opus-5")
    True
    """
    plain = re.split(f"[{RESERVED}]", name, maxsplit=1)[0]  # its price changes nothing
    try:
        return (catalogue or built_in()).find(plain).tokenizer
    except ModelError:
        return Tokenizer()
