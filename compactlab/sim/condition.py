"""Under what conversations are replayed: a strategy, a model, and what is the same for all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import Any

import msgspec

from compactlab.sim.churn import Churn
from compactlab.sim.code import digest_of_classes, digest_of_folder
from compactlab.sim.metrics import METRICS
from compactlab.sim.model import Catalogue, built_in
from compactlab.sim.pricing import price_list
from compactlab.sim.rework import Closed
from compactlab.sim.strategy import Strategy
from compactlab.sim.summarize import Summarizer
from compactlab.sim.tables import USUAL


@dataclass(frozen=True)
class Setting:
    """What is the same for all runs of an experiment.

    Parameters
    ----------
    summarizer
        Makes the summaries that strategies ask for.
    window
        Narrows every model's window to so many tokens.
    catalogue
        The models that may be named; it travels to the workers with the experiment.
    churn
        How often the client changes its prompt unasked, as an audit measured it.
    loop
        The closed loop, which is replayed beside the open one; None for the open one alone.
    metrics
        Names of those that are computed; all by default.
    tables
        Names of the tables that are written, beside that of the runs.
    """

    summarizer: Summarizer | None = None
    window: int | None = None
    catalogue: Catalogue = field(default_factory=built_in)
    churn: Churn | None = None
    loop: Closed | None = None
    metrics: tuple[str, ...] = tuple(METRICS)
    tables: tuple[str, ...] = USUAL

    @property
    def effort(self) -> int:
        """How much more work a run is than in the open loop and without facts, about."""
        return (4 if self.loop else 1) * (4 if "facts" in self.tables else 1)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """All of it that can change a figure, with the versions of what computes it."""
        writer = self.summarizer
        return {
            "compactlab": version("compactlab"),
            "engine": digest_of_folder("sim"),
            "prices": price_list(),
            "tokenizer": f"tiktoken {version('tiktoken')}",
            "summarizer": writer.spec if writer else "",
            "summarizer_code": digest_of_classes([type(writer)]) if writer else "",
            "own_models": dict(self.catalogue.own),
            "churn": msgspec.to_builtins(self.churn) if self.churn else {},
            "loop": self.loop.spec if self.loop else "",
            "metrics": list(self.metrics),
            "tables": list(self.tables),
            "window": self.window or 0,
        }

    @cached_property
    def counter(self) -> str:
        """Sixteen hex digits of what counts tokens: other code may count otherwise."""
        said = f"{self.provenance['engine']} {self.provenance['tokenizer']}"
        return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Condition:
    """A strategy under a model, in a setting.

    Parameters
    ----------
    strategy
        The strategy.
    model
        The model's name; "" for the recorded one, or a current one where nothing was recorded.
    setting
        What is the same for all runs.
    """

    strategy: Strategy
    model: str
    setting: Setting

    @cached_property
    def code(self) -> str:
        """The digest of the strategy's code."""
        return digest_of_classes({type(part) for part in (self.strategy, *self.strategy.parts)})

    @cached_property
    def key(self) -> str:
        """Sixteen hex digits that change when anything about it changes."""
        what = [self.strategy.spec, self.code, self.model, self.setting.provenance]
        said = msgspec.json.encode(what, order="deterministic")
        return hashlib.blake2b(said, digest_size=8).hexdigest()
