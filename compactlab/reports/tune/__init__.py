"""Tuning: which settings to try and to choose, how certain the choice is, and what to paste."""
