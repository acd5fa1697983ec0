"""Probes: what a real model recalls from a context, and which action it takes next."""
