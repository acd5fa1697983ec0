"""Cache policies of providers, one file each; the short ones are in ``prefixes.py``."""

from compactlab.sim.cache.anthropic import Anthropic
from compactlab.sim.cache.deepseek import Deepseek, DeepseekGrid
from compactlab.sim.cache.gemini import Explicit, Gemini
from compactlab.sim.cache.openai import OpenaiEndings, OpenaiGrid
from compactlab.sim.cache.policy import (
    PLAIN,
    Cache,
    CachePolicy,
    Lookup,
    NoCache,
    Request,
    Settings,
)
from compactlab.sim.cache.prefixes import Paged, Xai
from compactlab.sim.core.registry import ClassRegistry

__all__ = [
    "PLAIN",
    "POLICIES",
    "Anthropic",
    "Cache",
    "CachePolicy",
    "Deepseek",
    "DeepseekGrid",
    "Explicit",
    "Gemini",
    "Lookup",
    "NoCache",
    "OpenaiEndings",
    "OpenaiGrid",
    "Paged",
    "Request",
    "Settings",
    "Xai",
]

_POLICIES: dict[str, type[CachePolicy]] = {
    "anthropic": Anthropic,
    "deepseek": Deepseek,
    "deepseek_grid": DeepseekGrid,
    "explicit": Explicit,
    "gemini": Gemini,
    "none": NoCache,
    "openai_endings": OpenaiEndings,
    "openai_grid": OpenaiGrid,
    "paged": Paged,
    "xai": Xai,
}
POLICIES = ClassRegistry("policies", "cache policy", _POLICIES, CachePolicy)
