"""The page for a design review: one self-contained file with its own script."""
