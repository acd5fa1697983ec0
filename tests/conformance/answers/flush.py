"""The memory flush: its configuration, when it runs, and silent replies."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from compactlab.strategies.openclaw.flush import (
    PROMPT,
    SILENT,
    SYSTEM_PROMPT,
    FlushSettings,
    SessionEntry,
    Version,
    flush_settings,
    flush_window,
    is_silent,
    is_silent_start,
    should_flush,
    strip_silent,
)
from tests.conformance.answers import Answer, Excluded
from tests.conformance.busy import under
from tests.conformance.vectors import Case


def version_of(case: Case) -> Version:
    """The older rules hold up to what the vectors show of the newer ones."""
    return "2026.1.29" if case.version == "2026.1.29" else "2026.3.13"


def should_run(case: Case) -> Any:
    given = case.input
    entry = given.get("entry")
    return should_flush(
        SessionEntry(
            entry.get("totalTokens"),
            entry.get("totalTokensFresh"),
            entry.get("compactionCount"),
            entry.get("memoryFlushCompactionCount"),
        )
        if entry is not None
        else None,
        window=given.get("contextWindowTokens", math.nan),
        reserve=given.get("reserveTokensFloor", math.nan),
        soft=given.get("softThresholdTokens", math.nan),
        token_count=given.get("tokenCount"),
        version=version_of(case),
    )


def settings(case: Case) -> Any:
    compaction = _inside(case.input.get("cfg"), "agents", "defaults", "compaction")
    flush = _inside(compaction, "memoryFlush")
    found = flush_settings(
        enabled=flush.get("enabled"),
        soft_threshold_tokens=flush.get("softThresholdTokens"),
        reserve_tokens_floor=compaction.get("reserveTokensFloor"),
        force_flush_transcript_bytes=flush.get("forceFlushTranscriptBytes"),
        prompt=flush.get("prompt"),
        system_prompt=flush.get("systemPrompt"),
        version=version_of(case),
    )
    return None if found is None else _told(found, flush.get("enabled"), version_of(case))


def _inside(value: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _told(found: FlushSettings, enabled: Any, version: Version) -> dict[str, Any]:
    told = {
        "enabled": True if enabled is None else enabled,
        "softThresholdTokens": found.soft_threshold_tokens,
        "forceFlushTranscriptBytes": found.force_flush_transcript_bytes,
        "prompt": _words("prompt", found.prompt, PROMPT, version),
        "systemPrompt": _words("systemPrompt", found.system_prompt, SYSTEM_PROMPT, version),
        "reserveTokensFloor": found.reserve_tokens_floor,
    }
    if version == "2026.1.29":
        del told["forceFlushTranscriptBytes"]
    return told


def _words(name: str, text: str, default: str, version: Version) -> Any:
    if text == default:
        return {"$default": name}
    if version == "2026.1.29":
        return text
    return {"startsWith": text[:30], "contains_NO_REPLY": SILENT in text, "length": len(text)}


def window(case: Case) -> Any:
    # The stub that the file tells of answered with its whole table, whatever model was asked for.
    found = re.search(r"stubbed: (\{.*?\})", case.shared["note"])
    assert found is not None
    return flush_window(json.loads(found[1]), case.input.get("agentCfgContextTokens"))


def silent_reply(case: Case) -> Any:
    text = case.input.get("text")
    return {
        "isSilent_2026_1_29": is_silent(text, "2026.1.29"),
        "isSilent_2026_3_13": is_silent(text, "2026.3.13"),
        "stripped_2026_3_13": strip_silent(text),
        "isPrefix_2026_3_13": is_silent_start(text),
    }


NEAR = "memory_flush(reserve_tokens_floor=10_000) + auto_compact"

ANSWERS = [
    Answer("shouldRunMemoryFlush", should_run, (should_flush,), under(NEAR)),
    Answer("resolveMemoryFlushSettings", settings, (flush_settings,), under(NEAR)),
    Answer("resolveMemoryFlushContextWindowTokens", window, (flush_window,), under(NEAR)),
    Answer(
        "isSilentReplyText (2026.1.29 vs 2026.3.13), stripSilentToken, isSilentReplyPrefixText "
        "(2026.3.13)",
        silent_reply,
        (is_silent, strip_silent, is_silent_start),
        under(NEAR),
    ),
]

EXCLUDED = [
    Excluded("resolveMemoryFlushSettings", "*", field, why)
    for name in ("prompt", "systemPrompt")
    for field, why in (
        (f"{name}.length", "the hints that are appended to a prompt are in our own words"),
        (name, "2026.1.29: the hint that is appended to a prompt is in our own words"),
    )
]
