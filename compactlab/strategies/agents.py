"""Whole agents: compositions of strategies, as people really run them."""

from __future__ import annotations

from compactlab.strategies.claude_code import ClaudeCode
from compactlab.strategies.codex import Codex
from compactlab.strategies.gemini_cli import GeminiCli
from compactlab.strategies.openclaw.openclaw import Openclaw
from compactlab.strategies.opencode import Opencode
from compactlab.strategies.pi.compaction import Pi

__all__ = ["ClaudeCode", "Codex", "GeminiCli", "Openclaw", "Opencode", "Pi"]
