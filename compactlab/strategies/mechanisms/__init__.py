"""What strategies of several systems share: pure functions. Rules of one system stand with it."""
