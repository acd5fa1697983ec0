"""The page for a design review: one file, which works alone and runs one script, its own."""
