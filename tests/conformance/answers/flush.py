"""The memory flush: its configuration, when it runs, and silent replies."""

import re
from collections.abc import Mapping
from typing import Any

from compactlab.strategies import MemoryFlush
from compactlab.strategies.mechanisms.text import is_number
from compactlab.strategies.openclaw.flush import (
    PROMPT,
    SILENT,
    SYSTEM_PROMPT,
    Version,
    flush_threshold,
    hinted,
    is_silent,
    is_silent_start,
    should_flush,
    strip_silent,
)
from tests.conformance.answers import Answer, Excluded
from tests.conformance.busy import under
from tests.conformance.numbers import at_least, natural
from tests.conformance.vectors import Case


def version_of(case: Case) -> Version:
    """The older rules hold up to what the vectors show of the newer ones."""
    return "2026.1.29" if case.version == "2026.1.29" else "2026.3.13"


def should_run(case: Case) -> Any:
    given, entry = case.input, case.input.get("entry") or {}
    count, last = entry.get("compactionCount", 0), entry.get("memoryFlushCompactionCount")
    if is_number(last) and last == count:  # there was a flush since the last compaction
        return False
    names = ("contextWindowTokens", "reserveTokensFloor", "softThresholdTokens")
    window, reserve, soft = (at_least(0, given[name]) for name in names)
    tokens = entry.get("totalTokens", 0)
    if version_of(case) != "2026.1.29":
        tokens = 0 if entry.get("totalTokensFresh") is False else tokens
        tokens = given.get("tokenCount", tokens)
    return should_flush(tokens, flush_threshold(window, reserve, soft))


def settings(case: Case) -> Any:
    version, ours = version_of(case), MemoryFlush()
    compaction = _inside(case.input.get("cfg"), "agents", "defaults", "compaction")
    flush = _inside(compaction, "memoryFlush")
    enabled = flush.get("enabled", True)
    if not enabled:
        return None
    prompt = hinted(flush.get("prompt") or "", PROMPT, version)
    system = hinted(flush.get("systemPrompt") or "", SYSTEM_PROMPT, version)
    told = {
        "enabled": enabled,
        "softThresholdTokens": natural(
            flush.get("softThresholdTokens"), ours.soft_threshold_tokens
        ),
        "prompt": _words("prompt", prompt, PROMPT, version),
        "systemPrompt": _words("systemPrompt", system, SYSTEM_PROMPT, version),
        "reserveTokensFloor": natural(
            compaction.get("reserveTokensFloor"), ours.reserve_tokens_floor
        ),
    }
    if version != "2026.1.29":
        size = _bytes(flush.get("forceFlushTranscriptBytes"))
        told["forceFlushTranscriptBytes"] = natural(size, ours.force_flush_transcript_bytes)
    return told


def _bytes(value: Any) -> Any:
    """A size as a number or with a unit, ``2mb``."""
    match = re.fullmatch(r"([0-9.]+)(kb|mb|gb|)", value) if isinstance(value, str) else None
    return float(match[1]) * 1024 ** ("", "kb", "mb", "gb").index(match[2]) if match else value


def _inside(value: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _words(name: str, text: str, default: str, version: Version) -> Any:
    if text == default:
        return {"$default": name}
    if version == "2026.1.29":
        return text
    return {"startsWith": text[:30], "contains_NO_REPLY": SILENT in text, "length": len(text)}


def silent_reply(case: Case) -> Any:
    text = case.input.get("text")
    return {
        "isSilent_2026_1_29": is_silent(text, "2026.1.29"),
        "isSilent_2026_3_13": is_silent(text, "2026.3.13"),
        "stripped_2026_3_13": strip_silent(text),
        "isPrefix_2026_3_13": is_silent_start(text),
    }


NEAR = "memory_flush(reserve_tokens_floor=10_000, version='2026.3.13') + auto_compact"

ANSWERS = [
    Answer("shouldRunMemoryFlush", should_run, (should_flush, flush_threshold), under(NEAR)),
    Answer("resolveMemoryFlushSettings", settings, (hinted,), under(NEAR)),
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
