"""Asks a real model what it can use of a context: what it recalls, and which action it takes."""
