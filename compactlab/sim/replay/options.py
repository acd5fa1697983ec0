"""How a conversation is replayed: all that is set, but for the conversation and the strategy."""

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
    """How a conversation is replayed."""

    model: str = RECORDED  # a name, or that of each recorded call
    summarizer: Summarizer | None = None  # makes the summaries that strategies ask for
    window: int | None = None  # narrows the model's context window to so many tokens
    seed: int = 0  # root of all random draws
    catalogue: Catalogue = field(default_factory=built_in)  # the models that may be named
    # How often the client changes its prompt unasked, as an audit measured it.
    churn: Churn | None = None
    loop: ClosedLoop | None = None  # in which forgetting has consequences
    # What the recording's prompts held beside the text of its messages; by default that is taken
    # from the recorded usage.
    overhead: Unseen | None = None
    # What real agents keep in files; in memory by default.
    files: MutableMapping[str, str] | None = None
    # By model, where prompts are stored. Sessions that are given the same one share it, as those do
    # that have the same tools and system prompt; call them in the order of time.
    caches: MutableMapping[str, Cache] | None = None
