"""Functions of the vectors that nothing here answers, and why."""

from __future__ import annotations

NOT_BUILT = {
    'extractSections(content, ["Session Startup","Red Lines"])': (
        "a file's question: no recording holds the AGENTS.md whose sections are told anew after a "
        "compaction"
    ),
    "extractOpaqueIdentifiers": (
        "the check of a summary's quality, off by default, asks for another summary if one of "
        "these is missing; it is not built"
    ),
    "resolveContextWindowInfo + evaluateContextWindowGuard": (
        "a configuration's question: the window is the model's here, or what --window says"
    ),
    "getDmHistoryLimitFromSessionKey": (
        "a configuration's question: turn_slice is told the limit, and no session has a key"
    ),
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
