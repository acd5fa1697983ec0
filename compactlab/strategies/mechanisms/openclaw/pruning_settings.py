"""Settings of OpenClaw's context pruning, and what it accepts for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compactlab.strategies.mechanisms.units import BLANKS

PLACEHOLDER = "[Old tool result content cleared]"

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?")


@dataclass(frozen=True)
class Pruning:
    """When results are made shorter, and how: OpenClaw's ``agents.defaults.contextPruning``.

    Parameters
    ----------
    ttl_ms
        Milliseconds that must have passed since the cache was last touched.
    keep_last_assistants
        Everything from the newest so many answers on stays.
    soft_trim_ratio
        Share of the window from which on long results are trimmed.
    hard_clear_ratio
        Share of the window to which results are cleared, oldest first, if trimming was not enough.
    min_prunable_tool_chars
        Nothing is cleared where less than that could be.
    tools
        ``allow`` and ``deny``: patterns of the tools whose results may be made shorter.
    max_chars, head_chars, tail_chars
        A result longer than the first is trimmed to the other two.
    hard_clear
        Whether anything is cleared at all.
    placeholder
        What stands in the place of a cleared result.
    """

    ttl_ms: float = 300_000
    keep_last_assistants: float = 3
    soft_trim_ratio: float = 0.3
    hard_clear_ratio: float = 0.5
    min_prunable_tool_chars: float = 50_000
    tools: Mapping[str, Any] = field(default_factory=dict)
    max_chars: float = 4000
    head_chars: float = 1500
    tail_chars: float = 1500
    hard_clear: bool = True
    placeholder: str = PLACEHOLDER


def effective_settings(raw: object) -> Pruning | None:
    """Read settings as OpenClaw's ``computeEffectiveSettings`` does (2026.1.29).

    What does not fit is brought into its range or passed over.

    Parameters
    ----------
    raw
        The configuration, under the names of the original.

    Returns
    -------
    Pruning or None
        None unless its mode is ``cache-ttl``.

    Examples
    --------
    >>> effective_settings({"mode": "cache-ttl", "ttl": "1h", "softTrimRatio": 3}).soft_trim_ratio
    1
    """
    if not isinstance(raw, Mapping) or raw.get("mode") != "cache-ttl":
        return None
    found: dict[str, Any] = {}
    if isinstance(raw.get("ttl"), str):
        found["ttl_ms"] = duration_ms(raw["ttl"])
    found["keep_last_assistants"] = _whole(raw.get("keepLastAssistants"))
    found["soft_trim_ratio"] = _ratio(raw.get("softTrimRatio"))
    found["hard_clear_ratio"] = _ratio(raw.get("hardClearRatio"))
    found["min_prunable_tool_chars"] = _whole(raw.get("minPrunableToolChars"))
    found["tools"] = raw.get("tools") or None
    soft, hard = (_section(raw.get(name)) for name in ("softTrim", "hardClear"))
    for name in ("max", "head", "tail"):
        found[f"{name}_chars"] = _whole(soft.get(f"{name}Chars"))
    if isinstance(hard.get("enabled"), bool):
        found["hard_clear"] = hard["enabled"]
    if isinstance(hard.get("placeholder"), str):
        found["placeholder"] = hard["placeholder"].strip(BLANKS) or None
    return Pruning(**{name: value for name, value in found.items() if value is not None})


def duration_ms(text: str) -> int | None:
    """Read a duration, ``90s`` or ``1.5h``; minutes where no unit is given; None if it is none.

    Examples
    --------
    >>> duration_ms("5"), duration_ms("250ms"), duration_ms("-5m")
    (300000, 250, None)
    """
    match = _DURATION.fullmatch(text.strip(BLANKS).lower())
    if match is None:
        return None
    milliseconds = float(match[1]) * _UNITS[match[2] or "m"]
    return math.floor(milliseconds + 0.5) if math.isfinite(milliseconds) else None


def _number(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return value if known and math.isfinite(value) else None  # type: ignore[arg-type, return-value]


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else max(0, math.floor(number))


def _ratio(value: object) -> float | None:
    number = _number(value)
    return None if number is None else min(1, max(0, number))


def _section(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def may_prune(tools: Mapping[str, Any]) -> Callable[[str], bool]:
    """Say of a tool's name whether its results may be made shorter.

    Patterns know the asterisk only, and case does not matter. A tool that is denied is out; where
    any are allowed, so are all others.

    Examples
    --------
    >>> allowed = may_prune({"allow": ["web_*"], "deny": ["WEB_search"]})
    >>> allowed("web_fetch"), allowed("web_search"), allowed("read")
    (True, False, False)
    """
    allow, deny = (_patterns(tools.get(name)) for name in ("allow", "deny"))

    def may(name: str) -> bool:
        plain = _plain(name)
        if any(pattern.fullmatch(plain) for pattern in deny):
            return False
        return not allow or any(pattern.fullmatch(plain) for pattern in allow)

    return may


def _patterns(raw: object) -> list[re.Pattern[str]]:
    plain = map(_plain, raw) if isinstance(raw, list | tuple) else ()
    return [re.compile(".*".join(map(re.escape, name.split("*")))) for name in plain if name]


def _plain(name: object) -> str:
    return str("" if name is None else name).strip(BLANKS).lower()
