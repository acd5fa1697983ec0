"""The conditions of a replay: strategy, model, summariser, and common settings."""

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
from compactlab.sim.replay.replay import Options
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Summarizer
from compactlab.sim.store.code import digest_of_classes, digest_of_engine, digest_of_file
from compactlab.sim.store.tables import USUAL

# Tables of a bound that reports read, in addition to its figures.
_OF_BOUNDS = ("calls", "lags")


@dataclass(frozen=True)
class Setting(Options):
    """The common settings of all runs; the open loop is always replayed, too."""

    metrics: tuple[str, ...] = tuple(METRICS)  # names of the computed metrics; all by default
    tables: tuple[str, ...] = USUAL  # names of the written tables, besides the runs
    redact: bool = False  # whether possible secrets are redacted in all output
    # Bound summarisers for comparison, if a strategy requests summaries.
    controls: tuple[Summarizer, ...] = ()
    isolate: bool = True  # whether each run of foreign code has a separate process

    @property
    def effort(self) -> int:
        """The approximate work of a run, relative to the open loop without facts."""
        replays = (4 if self.loop else 1) + len(self.controls)
        return replays * (4 if "facts" in self.tables else 1)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """All settings that can change a figure, with the versions of the code."""
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
        """Sixteen hex digits: a digest of all settings that can change a figure."""
        text = msgspec.json.encode(self.provenance, order="deterministic")
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    @cached_property
    def counter(self) -> str:
        """Sixteen hex digits: a digest of the token-counting code."""
        text = f"{self.provenance['engine']} {self.provenance['tokenizer']}"
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _engine(*, redact: bool) -> str:
    """Return the digest of the engine, including installed cache policies."""
    ours = digest_of_engine(redact=redact)
    brought = [cls for name, cls in POLICIES.usable().items() if name not in POLICIES.built_in]
    if not brought:
        return ours
    return hashlib.blake2b(
        f"{ours} {digest_of_classes(brought)}".encode(), digest_size=8
    ).hexdigest()


@dataclass(frozen=True)
class Condition:
    """A strategy with a model, a summariser and a setting."""

    strategy: Strategy
    model: str  # "": the recorded one, or a current one for synthetic conversations
    setting: Setting
    summarizer: Summarizer | None = None
    bound: bool = False  # whether it is a bound, replayed for comparison only

    @classmethod
    def of_bound(cls, strategy: Strategy, model: str, setting: Setting) -> Condition:
        """Return a bound: open loop, no summariser, and only the tables that reports read."""
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
        codes += [part.outside for part in parts if not isinstance(part, Foreign) and part.outside]
        if len(codes) == 1:
            return codes[0]
        return hashlib.blake2b("".join(codes).encode(), digest_size=8).hexdigest()

    @cached_property
    def foreign(self) -> bool:
        """Whether it uses foreign code."""
        writer = self.summarizer
        return self.own or isinstance(writer, ForeignSummarizer) or is_foreign(type(writer))

    @cached_property
    def own(self) -> bool:
        """Whether the strategy is not built in but the user's own, or from another package."""
        classes = {type(part) for part in self.strategy.parts}
        return Foreign in classes or any(map(is_foreign, classes))

    @cached_property
    def written_by(self) -> str:
        """The summariser's spec; "" if there is none."""
        return self.summarizer.spec if self.summarizer else ""

    @cached_property
    def writer(self) -> dict[str, str]:
        """The summariser's short name, its simulated part, and the digest of its code.

        The digests of files in its spec follow that of the code.
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
        """Sixteen hex digits: a digest of the whole condition."""
        what = [self.strategy.spec, self.code, self.model, self.setting.provenance]
        what += [self.written_by, self.writer, *["bound"] * self.bound]
        text = msgspec.json.encode(what, order="deterministic")
        return hashlib.blake2b(text, digest_size=8).hexdigest()
