"""Profiles out of recordings: what is measured, what is made of it, and how close that comes."""
