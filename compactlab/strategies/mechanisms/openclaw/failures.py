"""Tools that reported failure, as OpenClaw's safeguard tells of them under a summary."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from compactlab.sim.message import Message, Part, Source
from compactlab.sim.tokens import utf16_length
from compactlab.strategies.mechanisms.units import BLANKS, head

# OpenClaw 2026.1.29.
MOST = 8
CHARS = 240
_RUN = re.compile(f"[{BLANKS}]+")

Details = Callable[[Message], Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """A result that says that its tool failed.

    Parameters
    ----------
    message
        Id of the message that told of it.
    call_id
        Of which call.
    tool
        The tool's name.
    text
        What it said, in a line.
    meta
        Status and exit code, where they are known.
    """

    message: str
    call_id: str
    tool: str
    text: str
    meta: str = ""


def _nothing(message: Message) -> None:
    return None


def tool_failures(messages: Iterable[Message], details: Details = _nothing) -> list[Failure]:
    """The failures among messages: ``collectToolFailures`` (OpenClaw 2026.1.29 and 2026.3.13).

    Of each call the first; what has no call id is passed over.

    Parameters
    ----------
    messages
        The messages.
    details
        What a tool told its client beside the result. The model never sees it, so recordings and
        scripts do not have it.
    """
    found: dict[str, Failure] = {}
    for message in messages:
        part = next((p for p in message.parts if p.type == "tool_result"), None)
        if part is None or not part.is_error or not part.call_id or part.call_id in found:
            continue
        said = [p.text for p in message.parts if p.type in ("tool_result", "text")]
        meta = _meta(details(message))
        nothing = "failed" if meta else "failed (no output)"
        text = _cut(_RUN.sub(" ", "\n".join(said)).strip() or nothing)
        tool = part.name if part.name.strip(BLANKS) else "tool"
        found[part.call_id] = Failure(message.id, part.call_id, tool, text, meta)
    return list(found.values())


def _cut(text: str) -> str:
    if utf16_length(text) <= CHARS:
        return text
    return f"{head(text, CHARS - 3)}..."


def _meta(details: Any) -> str:
    if not isinstance(details, Mapping):
        return ""
    status, code = details.get("status"), details.get("exitCode")
    told = [f"status={status}"] if isinstance(status, str) and status else []
    if isinstance(code, int | float) and not isinstance(code, bool) and math.isfinite(code):
        told.append(f"exitCode={int(code) if code == int(code) else code}")
    return " ".join(told)


def failure_section(failures: list[Failure]) -> list[Part]:
    """The failures as they stand under a summary; nothing if there are none.

    As ``formatToolFailuresSection``: the first eight, and how many more there were.
    """
    if not failures:
        return []
    parts = [Part("text", "\n\n## Tool Failures", "synthetic", ())]
    for failure in failures[:MOST]:
        meta = f" ({failure.meta})" if failure.meta else ""
        parts += [
            Part("text", f"\n- {failure.tool}{meta}: ", "synthetic", ()),
            Part("text", failure.text, "summary", (Source(failure.message),)),
        ]
    if len(failures) > MOST:
        parts.append(Part("text", f"\n- ...and {len(failures) - MOST} more", "synthetic", ()))
    return parts
