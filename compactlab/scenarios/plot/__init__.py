"""The engine of made-up conversations."""
