"""Gates: compare results with a reviewed baseline, by rules as text."""
