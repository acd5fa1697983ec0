"""What the agent is set to."""

MODEL = "claude-sonnet-4-5"

# The same text in production and in the tests: whoever changes it sees what is forgotten.
COMPACTION = "auto_compact(reserve_tokens=6000, reserve_tokens_floor=6000, keep_recent_tokens=8000)"
