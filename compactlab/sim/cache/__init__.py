"""How providers cache prompts: one policy a file."""

from compactlab.sim.cache.anthropic import Anthropic
from compactlab.sim.cache.none import NoCache
from compactlab.sim.cache.policy import Cache, CachePolicy, Lookup, Request, Settings

__all__ = [
    "POLICIES",
    "Anthropic",
    "Cache",
    "CachePolicy",
    "Lookup",
    "NoCache",
    "Request",
    "Settings",
]

POLICIES: dict[str, type[CachePolicy]] = {"anthropic": Anthropic, "none": NoCache}
