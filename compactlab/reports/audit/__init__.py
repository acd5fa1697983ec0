"""The audit of recorded sessions, as a table, as a page and for machines."""
