"""How a conversation is replayed: all that is set, but for the conversation and the strategy."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field

from compactlab.sim.cache import Cache
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.replay.client import Churn
from compactlab.sim.replay.recording import Unseen
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.summarize import Summarizer

RECORDED = "recorded"


@dataclass(frozen=True)
class Options:
    """How a conversation is replayed.

    Parameters
    ----------
    model
        A model's name, or ``recorded`` for the one that each recorded call went to.
    summarizer
        Makes the summaries that strategies ask for.
    window
        Narrows the model's context window to so many tokens.
    seed
        Root of all random draws.
    catalogue
        The models that may be named; those that are built in by default.
    churn
        How often the client changes its prompt unasked, as an audit measured it.
    loop
        The closed loop, in which forgetting has consequences; by default the agent does what the
        script says.
    overhead
        Tokens that the recording's prompts held beside its messages; by default they are
        estimated from the recorded usage.
    files
        Where strategies keep what real agents keep in files; in memory by default.
    caches
        By model, where prompts are stored. Sessions that are given the same one share it, as those
        do that have the same tools and system prompt; call them in the order of time.
    """

    model: str = RECORDED
    summarizer: Summarizer | None = None
    window: int | None = None
    seed: int = 0
    catalogue: Catalogue = field(default_factory=built_in)
    churn: Churn | None = None
    loop: ClosedLoop | None = None
    overhead: Unseen | None = None
    files: MutableMapping[str, str] | None = None
    caches: MutableMapping[str, Cache] | None = None
