"""Replay context-compaction strategies of LLM agents, and measure what they cost and forget."""

__version__ = "0.1.0"
