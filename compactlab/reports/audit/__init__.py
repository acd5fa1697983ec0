"""The audit of recorded sessions as a table, a page and JSON."""
