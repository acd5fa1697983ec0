"""The recorded spending of logs: totals, tables, and caveats."""
