"""OpenClaw: what it does around pi, and what three pull requests would have added."""
