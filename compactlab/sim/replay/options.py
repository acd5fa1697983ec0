"""The options of a replay, apart from the conversation and the strategy."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field

from compactlab.sim.cache import Cache
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.replay.client import Churn
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.sizes import Unseen
from compactlab.sim.replay.summarize import Summarizer

RECORDED = "recorded"


@dataclass(frozen=True)
class Options:
    """The options of a replay."""

    model: str = RECORDED  # a model's name, or that of each recorded call
    summarizer: Summarizer | None = None  # makes the summaries that strategies request
    window: int | None = None  # limits the model's context window, in tokens
    seed: int = 0  # seed of all random draws
    catalogue: Catalogue = field(default_factory=built_in)  # the known models
    # The frequency of unrequested prompt changes by the client, as measured by an audit.
    churn: Churn | None = None
    loop: ClosedLoop | None = None  # makes forgetting have consequences
    # The unlogged tokens of a recording's prompts; by default inferred from the recorded usage.
    overhead: Unseen | None = None
    # The files of the agent; by default in memory.
    files: MutableMapping[str, str] | None = None
    # Whether requests are billed and summaries are checked for faults: recall needs neither.
    billed: bool = True
    # Caches by model. Sessions with the same tools and system prompt may share them; replay these
    # in order of time.
    caches: MutableMapping[str, Cache] | None = None
