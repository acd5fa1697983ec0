"""How providers cache prompts: one policy a file."""

from compactlab.sim.cache.anthropic import Anthropic
from compactlab.sim.cache.none import NoCache
from compactlab.sim.cache.policy import Cache, CachePolicy, Lookup

__all__ = ["POLICIES", "Anthropic", "Cache", "CachePolicy", "Lookup", "NoCache"]

POLICIES: dict[str, type[CachePolicy]] = {"anthropic": Anthropic, "none": NoCache}
