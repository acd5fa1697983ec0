"""Finding settings: what to try next, which to choose, how sure that is, and what to paste."""
