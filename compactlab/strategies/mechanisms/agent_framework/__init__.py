"""Microsoft's Agent Framework: groups of messages, and what becomes of them."""
