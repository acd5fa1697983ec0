"""Rules that shorten old tool uses: results become one line each, and arguments are cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import Messages
from compactlab.strategies.mechanisms.stub import results_of, stub
from compactlab.strategies.mechanisms.text import arguments_of, changed_to, with_parts

# All figures and rules are those of Hermes (hermes-agent 0.19.0, `agent/context_compressor.py`).
# Lengths are code points.

# Limits of lengths: of a repeated result, a result, arguments, a text in arguments.
REPEATED, RESULT, ARGUMENTS, VALUE = 200, 200, 500, 200
AGAIN = "[Duplicate tool output — same content as a more recent call]"
CUT = "...[truncated]"
NO_IMAGE = "[screenshot removed to save context]"


def pruned(messages: Messages, boundary: int) -> Messages:
    """Shorten tool uses; as ``_prune_old_tool_results``.

    The newest of several equal results is kept, on either side of the boundary. A history without
    changes is returned as the same object.
    """
    newest = {
        result.text: (index, place)
        for index, message in enumerate(messages)
        for place, result in _single(message)
        if len(result.text) >= REPEATED
    }
    calls = {p.call_id: p for m in messages for p in m.parts if p.type == "tool_call"}
    changed = {}
    for index, message in enumerate(messages):
        if message.role == "tool":
            shorter = _shorter(message, index, newest, calls, old=index < boundary)
        else:
            shorter = shrunk(message) if index < boundary else message
        if shorter is not message:
            changed[index] = shorter
    return messages.replace(changed)


def _single(message: Message) -> Iterator[tuple[int, Part]]:
    """Yield results that consist of one text, with their numbers in the message."""
    for index, result in enumerate(results_of(message)):
        if len(result) == 1:
            yield index, result[0]


def _shorter(
    message: Message,
    index: int,
    newest: dict[str, tuple[int, int]],
    calls: dict[str, Part],
    *,
    old: bool,
) -> Message:
    results = results_of(message)
    parts: list[Part] = list(message.parts[: len(message.parts) - sum(map(len, results))])
    for place, result in enumerate(results):
        text = result[0].text
        if len(result) > 1:
            parts += map(_without_image, result) if old else result
        elif newest.get(text, (index, place)) != (index, place):
            parts.append(stub(result, AGAIN))
        elif old and len(text) > RESULT and text != AGAIN:
            parts.append(stub(result, line_of(calls.get(result[0].call_id), text)))
        else:
            parts += result
    return with_parts(message, parts)


def _without_image(part: Part) -> Part:
    if part.type != "image":
        return part
    return msgspec.structs.replace(
        part, type="tool_result", text=NO_IMAGE, kind=changed_to("stub", part), size=0
    )


def shrunk(message: Message) -> Message:
    """Cut long texts in the arguments of a message's calls; they stay valid JSON."""
    return with_parts(message, tuple(_shrunk(part) for part in message.parts))


def _shrunk(part: Part) -> Part:
    if part.type != "tool_call" or len(part.text) <= ARGUMENTS:
        return part
    arguments = arguments_of(part)
    shorter = _cut(arguments)
    if arguments is None or shorter == arguments:
        return part
    text = json.dumps(shorter, ensure_ascii=False)  # with blanks, as Hermes writes it
    return msgspec.structs.replace(part, text=text, kind=changed_to("truncated", part))


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:VALUE] + CUT if len(value) > VALUE else value
    if isinstance(value, dict):
        return {key: _cut(inside) for key, inside in value.items()}
    return [_cut(inside) for inside in value] if isinstance(value, list) else value


# The line that replaces a result: each tool of Hermes has its own form, all others the last one.


class Use(NamedTuple):
    """A tool use: its arguments, and its result."""

    arguments: dict[str, Any]
    text: str

    def get(self, key: str, other: object = "?") -> Any:
        """Return an argument as it is."""
        return self.arguments.get(key, other)

    def said(self, key: str) -> str:
        """Return an argument as text; "" for none."""
        value = self.arguments.get(key)
        return "" if value is None else str(value)

    def found(self, key: str) -> str:
        """Find a number under a key in the result."""
        match = re.search(rf'"{key}"\s*:\s*(-?\d+)', self.text)
        return match[1] if match else "?"

    @property
    def size(self) -> str:
        """The result's characters."""
        return f"{len(self.text):,} chars"

    @property
    def lines(self) -> int:
        """The result's lines."""
        return self.text.count("\n") + 1 if self.text.strip() else 0


def line_of(call: Part | None, text: str) -> str:
    """Describe a call and the size of its result; as ``_summarize_tool_result``."""
    arguments = arguments_of(call) if call else None
    use = Use(arguments if isinstance(arguments, dict) else {}, text)
    name = call.name if call else "unknown"
    return f"[{name}]{_LINES.get(name, _any)(use)}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _any(use: Use) -> str:
    named = list(use.arguments.items())[:2]
    return "".join(f" {k}={str(v)[:40]}" for k, v in named) + f" ({use.size} result)"


def _written_lines(use: Use) -> object:
    return use.said("content").count("\n") + 1 if use.get("content", "") else "?"


def _page(use: Use) -> str:
    url, ref = use.get("url", ""), use.get("ref", "")
    return f"{f' {url}' if url else f' ref={ref}' if ref else ''} ({use.size})"


def _code(use: Use) -> str:
    code = use.said("code")
    return code[:60].replace("\n", " ") + ("..." if len(code) > 60 else "")


def _urls(use: Use) -> str:
    urls = use.get("urls", [])
    first = urls[0] if isinstance(urls, list) and urls else "?"
    if isinstance(first, dict):
        first = first.get("url") or first.get("href") or "?"
    elif not isinstance(first, str):
        first = "?"
    more = f" (+{len(urls) - 1} more)" if isinstance(urls, list) and len(urls) > 1 else ""
    return f"{first}{more}"


def _skill(use: Use) -> str:
    return f" name={use.get('name')} ({use.size})"


_LINES: dict[str, Callable[[Use], str]] = {
    "terminal": lambda u: (
        f" ran `{_short(u.said('command'), 80)}`"
        f" -> exit {u.found('exit_code')}, {u.lines} lines output"
    ),
    "read_file": lambda u: f" read {u.get('path')} from line {u.get('offset', 1)} ({u.size})",
    "write_file": lambda u: f" wrote to {u.get('path')} ({_written_lines(u)} lines)",
    "search_files": lambda u: (
        f" {u.get('target', 'content')} search for '{u.get('pattern')}'"
        f" in {u.get('path', '.')} -> {u.found('total_count')} matches"
    ),
    "patch": lambda u: f" {u.get('mode', 'replace')} in {u.get('path')} ({u.size} result)",
    "browser_navigate": _page,
    "browser_click": _page,
    "browser_snapshot": _page,
    "browser_type": _page,
    "browser_scroll": _page,
    "browser_vision": _page,
    "web_search": lambda u: f" query='{u.get('query')}' ({u.size} result)",
    "web_extract": lambda u: f" {_urls(u)} ({u.size})",
    "delegate_task": lambda u: f" '{_short(u.said('goal'), 60)}' ({u.size} result)",
    "execute_code": lambda u: f" `{_code(u)}` ({u.lines} lines output)",
    "skill_view": _skill,
    "skills_list": _skill,
    "skill_manage": _skill,
    "vision_analyze": lambda u: f" '{u.said('question')[:50]}' ({u.size})",
    "memory": lambda u: f" {u.get('action')} on {u.get('target')}",
    "todo": lambda u: " updated task list",
    "clarify": lambda u: " asked user a question",
    "text_to_speech": lambda u: f" generated audio ({u.size})",
    "cronjob": lambda u: f" {u.get('action')}",
    "process": lambda u: f" {u.get('action')} session={u.get('session_id')}",
}
