"""Whole agents: compositions of strategies, as people really run them."""

from __future__ import annotations

from compactlab.strategies.agents.claude_code import ClaudeCode
from compactlab.strategies.agents.codex import Codex
from compactlab.strategies.agents.gemini_cli import GeminiCli
from compactlab.strategies.agents.openclaw import Openclaw
from compactlab.strategies.agents.opencode import Opencode
from compactlab.strategies.agents.pi import Pi

__all__ = ["ClaudeCode", "Codex", "GeminiCli", "Openclaw", "Opencode", "Pi"]
