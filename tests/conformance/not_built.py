"""Functions of the vectors that nothing here answers, and why."""

from __future__ import annotations

NOT_BUILT = {
    "migrateSessionEntries (in place)": (
        "a reader's question: ours reads versions 1 to 3 as they are and rewrites no entries"
    ),
    "parseSessionEntries": (
        "a reader's question: a line that cannot be read is an error with file and line here, or "
        "is counted with --lenient; the original passes it over in silence"
    ),
    "normalizeUsage + hasNonzeroUsage + derivePromptTokens": (
        "a reader's question: each format's usage has one spelling here, that of the format"
    ),
}
