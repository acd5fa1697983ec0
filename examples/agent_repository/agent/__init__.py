"""An agent, of which only the settings are here."""
