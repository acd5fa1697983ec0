"""pi: how it estimates a session, cuts it and has it summarised."""
