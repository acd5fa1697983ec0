"""Holds the cache model against what was recorded."""
