"""Strategies held against each other: inside one store, or between several."""
