"""Under what conversations are replayed: strategy, model, summariser, and what all share."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from compactlab.sim.cache import POLICIES
from compactlab.sim.core.isolation import is_foreign
from compactlab.sim.experiment.foreign import Foreign, ForeignSummarizer
from compactlab.sim.metrics import METRICS
from compactlab.sim.models.pricing import price_list
from compactlab.sim.replay.options import Options
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Summarizer
from compactlab.sim.store.code import digest_of_classes, digest_of_engine, digest_of_file
from compactlab.sim.store.tables import USUAL

# What a report reads of a bound, beside its figures.
_OF_BOUNDS = ("calls", "lags")


@dataclass(frozen=True)
class Setting(Options):
    """What is the same for all runs: their options, and what is kept; a loop is run beside none."""

    metrics: tuple[str, ...] = tuple(METRICS)  # names of those that are computed; all by default
    tables: tuple[str, ...] = USUAL  # names of the tables that are written, beside that of the runs
    redact: bool = False  # whether what looks like a secret is hidden in all that is written
    # Null summarisers that stand beside the summariser, where a strategy asks for summaries.
    controls: tuple[Summarizer, ...] = ()
    isolate: bool = True  # whether code that is not ours gets a process of its own for each run

    @property
    def effort(self) -> int:
        """How much more work a run is than in the open loop and without facts, about."""
        replays = (4 if self.loop else 1) + len(self.controls)
        return replays * (4 if "facts" in self.tables else 1)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """All of it that can change a figure, with the versions of what computes it."""
        return {
            "compactlab": version("compactlab"),
            "engine": _engine(redact=self.redact),
            "prices": price_list(),
            "tokenizer": f"tiktoken {version('tiktoken')}",
            "own_models": dict(self.catalogue.own),
            "churn": msgspec.to_builtins(self.churn) if self.churn else {},
            "loop": self.loop.spec if self.loop else "",
            "controls": {c.spec: digest_of_classes([type(c)]) for c in self.controls},
            "metrics": list(self.metrics),
            "tables": list(self.tables),
            "window": self.window or 0,
            "redact": self.redact,
        }

    @cached_property
    def key(self) -> str:
        """Sixteen hex digits of all of it that can change a figure."""
        text = msgspec.json.encode(self.provenance, order="deterministic")
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    @cached_property
    def counter(self) -> str:
        """Sixteen hex digits of what counts tokens: other code may count otherwise."""
        text = f"{self.provenance['engine']} {self.provenance['tokenizer']}"
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _engine(*, redact: bool) -> str:
    """The digest of the engine, with the cache policies that installed packages bring."""
    ours = digest_of_engine(redact=redact)
    brought = [cls for name, cls in POLICIES.usable().items() if name not in POLICIES.built_in]
    if not brought:
        return ours
    return hashlib.blake2b(
        f"{ours} {digest_of_classes(brought)}".encode(), digest_size=8
    ).hexdigest()


@dataclass(frozen=True)
class Condition:
    """A strategy under a model and a summariser, in a setting."""

    strategy: Strategy
    model: str  # "": the recorded one, or a current one where nothing was recorded
    setting: Setting
    summarizer: Summarizer | None = None
    bound: bool = False  # replayed beside the strategies to measure them by, and none of them

    @classmethod
    def of_bound(cls, strategy: Strategy, model: str, setting: Setting) -> Condition:
        """A bound: in the open loop, with no summariser and no more tables than a report reads."""
        tables = tuple(name for name in setting.tables if name in _OF_BOUNDS)
        own = replace(setting, loop=None, controls=(), tables=tables)
        return cls(strategy, model, own, bound=True)

    @cached_property
    def code(self) -> str:
        """The digest of the strategy's code."""
        parts = (self.strategy, *self.strategy.parts)
        codes = list(dict.fromkeys(part.card.code for part in parts if isinstance(part, Foreign)))
        if ours := {type(part) for part in parts if not isinstance(part, Foreign)}:
            codes.append(digest_of_classes(ours))
        if len(codes) == 1:
            return codes[0]
        return hashlib.blake2b("".join(codes).encode(), digest_size=8).hexdigest()

    @cached_property
    def foreign(self) -> bool:
        """Whether code that is not ours takes part."""
        writer = self.summarizer
        return self.own or isinstance(writer, ForeignSummarizer) or is_foreign(type(writer))

    @cached_property
    def own(self) -> bool:
        """Whether the strategy is not built in: the user's own, or another package's."""
        classes = {type(part) for part in self.strategy.parts}
        return Foreign in classes or any(map(is_foreign, classes))

    @cached_property
    def written_by(self) -> str:
        """The summariser's spec; "" for nobody."""
        return self.summarizer.spec if self.summarizer else ""

    @cached_property
    def writer(self) -> dict[str, str]:
        """The summariser's short name, what of it is simulated, and the digest of its code.

        The digests of files that its spec names stand behind that of the code.
        """
        if self.summarizer is None:
            return {}
        if isinstance(self.summarizer, ForeignSummarizer):
            codes = [self.summarizer.card.code]
        else:
            codes = [digest_of_classes([type(self.summarizer)])]
        codes += [digest_of_file(Path(file)) for file in self.summarizer.named_files]
        return {
            "label": self.summarizer.label,
            "simulated": self.summarizer.simulated,
            "code": " ".join(codes),
        }

    @cached_property
    def key(self) -> str:
        """Sixteen hex digits that change when anything about it changes."""
        what = [self.strategy.spec, self.code, self.model, self.setting.provenance]
        what += [self.written_by, self.writer, *["bound"] * self.bound]
        text = msgspec.json.encode(what, order="deterministic")
        return hashlib.blake2b(text, digest_size=8).hexdigest()
