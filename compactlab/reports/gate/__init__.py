"""Gates: whether results still are what a reviewed baseline says, by rules as text."""
