"""Models by name: window, tokenizer, cache policy and where the prices stand."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from compactlab.sim.cache import POLICIES, CachePolicy
from compactlab.sim.errors import ModelError, unknown
from compactlab.sim.tokens import Tokenizer

# A model that can be replayed, for those who have to name one.
EXAMPLE = "claude-sonnet-4-5"


@dataclass(frozen=True)
class Model:
    """A model, as far as a replay is concerned.

    Parameters
    ----------
    name
        As in reports and on the command line.
    window
        Tokens of context; a run may narrow it.
    max_output
        Tokens of the longest answer; 0 if not known.
    tokenizer
        How it counts.
    price
        ``provider/model`` in genai-prices.
    policy
        By which rules its provider caches; None if that is not built yet.
    """

    name: str
    window: int
    max_output: int
    tokenizer: Tokenizer
    price: str
    policy: CachePolicy | None

    def narrowed(self, window: int | None) -> Model:
        """This model with a window of at most so many tokens."""
        return self if window is None else replace(self, window=min(window, self.window))


@cache
def catalogue() -> dict[str, Model]:
    """All models that are known, by name."""
    data = tomllib.loads((files("compactlab.sim") / "models.toml").read_text("utf-8"))
    return {name: _model(name, row) for name, row in data["models"].items()}


def _model(name: str, row: dict[str, Any]) -> Model:
    figures = {key: row[key] for key in ("minimum",) if key in row}
    policy = POLICIES[row["cache"]](**figures) if row["cache"] else None
    tokenizer = Tokenizer("o200k_base", row["factor"])
    return Model(name, row["window"], row["max_output"], tokenizer, row["price"], policy)


def find_model(name: str) -> Model:
    """Look a model up by the name that a recording or a user gives.

    A trailing date is ignored, a dot counts as a dash, and ``@policy`` puts the model under
    another cache policy.

    Raises
    ------
    ModelError
        If there is no such model, or no such policy.

    Examples
    --------
    >>> find_model("claude-opus-4-5-20251101").name
    'claude-opus-4-5'
    >>> find_model("claude-opus-4-5@none").policy
    NoCache()
    """
    stem, _, policy = name.partition("@")
    known = catalogue()
    plain = re.sub(r"-(\d{8}|latest)$", "", stem.replace(".", "-"))
    if plain not in known:
        raise ModelError(_unknown(name, plain))
    model = known[plain]
    if not policy:
        return model
    if policy not in POLICIES:
        raise ModelError(unknown("cache policy", policy, POLICIES))
    own = isinstance(model.policy, POLICIES[policy])
    kept = model.policy if own else POLICIES[policy]()
    return replace(model, name=f"{model.name}@{policy}", policy=kept)


def _unknown(name: str, plain: str) -> str:
    """Say that a model is not known, and name only what can be replayed at once."""
    near = difflib.get_close_matches(plain, catalogue(), n=3, cutoff=0.7)
    at = "@none" if name.endswith("@none") else ""
    usable = [each + (at if catalogue()[each].policy else "@none") for each in near]
    meant = f"did you mean {' or '.join(usable)}? Or " if usable else ""
    return (
        f"unknown model {name!r}; {meant}name another, e.g. --model {EXAMPLE}, or NAME@none for "
        "one without a cache (compactlab list models)"
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


def tokenizer_of(name: str) -> Tokenizer:
    """How a recorded model counts; o200k as it is for a model that is not known."""
    try:
        return find_model(name).tokenizer
    except ModelError:
        return Tokenizer()
