"""Oversized tool results are moved to files: OpenClaw's outputRef (pull request 17345)."""

from __future__ import annotations

import hashlib
import json
import math
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

import msgspec

from compactlab.sim.core.errors import InputError
from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, Source, plain
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.text import head, is_finite, whole

FOLDER = "tool-output"
# Largest sizes that stay (UTF-16 code units): of the text for the model, and of the client's data.
MAX_TEXT_CHARS, MAX_DETAILS_CHARS = 120_000, 24_000
PREVIEW_CHARS = 8_000  # length of the preview, with its ellipsis
NOTICE_CHARS = 400  # room for the path, the hash and the text around them
KIND = "tool_result_payload"  # the original's name of such a reference
# Fields of moved details that stay if their values are short and plain.
_KEPT = (
    "status",
    "exitCode",
    "error",
    "path",
    "sessionId",
    "runId",
    "success",
    "killed",
    "timedOut",
)
_KEPT_CHARS = 500
_DEFAULT_CHARS, _MIN_CHARS, _MAX_CHARS = 20_000, 256, 120_000


class Payload(NamedTuple):
    """A result moved to a file."""

    path: str  # of the file, in the session's folder
    content: str  # the file's text
    bytes: int  # its size
    sha256: str
    # Replacement of the result's text: a preview and the file's path; None if the text was not
    # moved.
    text: str | None
    # Replacement of the result's details; None if they were not moved.
    details: dict[str, Any] | None
    preview: int  # number of the text's characters in the preview


def digest(content: str) -> str:
    """Return the hash that checks a payload: SHA-256 of its UTF-8, in hexadecimal digits."""
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()


def put_away(
    blocks: Sequence[str],
    details: Any,
    tool: str | None,
    call_id: str | None,
    *,
    now: float,
    max_text: int = MAX_TEXT_CHARS,
    preview: int = PREVIEW_CHARS,
) -> Payload | None:
    """Move a large tool result to a file.

    ``details`` are the data that the tool gave its client, not the model: any JSON. ``now`` is in
    seconds since 1970. A text of more than ``max_text`` characters is moved, and ``preview``
    characters of it stay. The result is None if nothing is too large.
    """
    text = "\n".join(blocks)
    large_text = utf16_length(text) > max_text
    large_details = (
        isinstance(details, Mapping | list) and utf16_length(_json(details)) > MAX_DETAILS_CHARS
    )
    if not large_text and not large_details:
        return None
    millis = math.floor(now * 1000 + 0.5)
    path = f"{FOLDER}/{millis}-{_slug(tool) or 'tool'}-{_slug(call_id) or 'call'}.json"
    content = _content(
        {
            "toolCallId": call_id,
            "toolName": tool,
            "savedAt": _iso(millis),
            "details": details if large_details else None,
            "text": text if large_text else None,
        }
    )
    size, sha256 = len(content.encode("utf-8", "replace")), digest(content)
    start, preview = _beginning(text, preview)
    # The original's literal, from its outputs: agents search for the path in it.
    notice = (
        f"{start}\n\n[openclaw] Full tool output saved to {path} (sha256: {sha256[:12]}..., "
        f"bytes: {size})."
    )
    contains = {"details": True, "text": large_text}
    where = {"kind": KIND, "path": path, "bytes": size, "sha256": sha256, "contains": contains}
    return Payload(
        path,
        content,
        size,
        sha256,
        notice if large_text else None,
        _slim(details) | {"outputRef": where} if large_details else None,
        preview if large_text else 0,
    )


def _beginning(text: str, most: int) -> tuple[str, int]:
    """Return the preview of a text, and its number of original characters."""
    length = utf16_length(text)
    if length <= most:
        return text, length
    return f"{head(text, most - 1)}\N{HORIZONTAL ELLIPSIS}", most - 1


def _slim(details: Any) -> dict[str, Any]:
    known = details if isinstance(details, Mapping) else {}
    return {name: known[name] for name in _KEPT if name in known and _short(known[name])}


def _short(value: Any) -> bool:
    if isinstance(value, str):
        return utf16_length(value) <= _KEPT_CHARS
    return value is None or isinstance(value, bool | int | float)


def read_reference(details: Any) -> dict[str, Any] | None:
    """Read a reference from a result's details; invalid fields are left out."""
    stored = details.get("outputRef") if isinstance(details, Mapping) else None
    if not isinstance(stored, Mapping) or stored.get("kind") != KIND:
        return None
    path = stored.get("path")
    if not isinstance(path, str) or not path.strip():
        return None
    reference: dict[str, Any] = {"kind": KIND, "path": path}
    size, sha256, contains = stored.get("bytes"), stored.get("sha256"), stored.get("contains")
    if is_finite(size):
        reference["bytes"] = size
    if isinstance(sha256, str):
        reference["sha256"] = sha256
    if isinstance(contains, Mapping):
        flags = {n: contains[n] for n in ("details", "text") if isinstance(contains.get(n), bool)}
        reference |= {"contains": flags} if flags else {}
    return reference


def resolve(folder: str, path: str) -> str | None:
    """Resolve a reference's path, if it is inside the folder of payloads; else None.

    As in the original, only names are checked. :class:`.Folder`, which opens all files, refuses
    symbolic links that lead out.
    """
    root = posixpath.normpath(posixpath.join(folder, FOLDER))
    place = posixpath.normpath(posixpath.join(folder, path))
    return place if place == root or place.startswith(f"{root}/") else None


def chars_to_deliver(asked: Any = None) -> int:
    """Return how many characters of a payload are returned: the requested number, within limits."""
    wanted: int = math.floor(asked) if is_finite(asked) else _DEFAULT_CHARS
    return min(max(wanted, _MIN_CHARS), _MAX_CHARS)


def delivered(content: str, chars: int) -> str:
    """Return the beginning of a payload, marked if it is cut; surrogate pairs are not split."""
    if utf16_length(content) <= chars:
        return content
    start = head(content, chars)
    if "\ud800" <= start[-1:] <= "\udbff":
        start = start[:-1]
    more = "\N{HORIZONTAL ELLIPSIS}(truncated)\N{HORIZONTAL ELLIPSIS}"
    return f"{start}\n{more}"


def _content(fields: dict[str, Any]) -> str:
    known = {"version": 1} | {name: value for name, value in fields.items() if value is not None}
    return json.dumps(known, indent=2, ensure_ascii=False) + "\n"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _iso(millis: int) -> str:
    moment = datetime.fromtimestamp(millis / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{millis % 1000:03d}Z"


def _slug(name: str | None) -> str:
    plain = re.sub(r"[^a-z0-9._-]+", "-", (name or "").lower())
    return re.sub(r"-+", "-", plain).removeprefix("-").removesuffix("-")


@dataclass(frozen=True)
class OffloadOutputs(Strategy):
    """Replace a large tool result by its beginning and a pointer to a file.

    After OpenClaw's pull request 17345 (guard of the session's tool results, late version). It acts
    before a result is first sent, so the cache stays valid. Exact: thresholds, file name and
    content, hash, preview and notice, retrieval. Transcripts lack the data for the client
    (``details``), so only texts of recordings are moved. Files go to ``host.files``; a replay never
    opens a file that a transcript names.

    Parameters
    ----------
    max_text_chars
        A longer text is moved to a file.
    preview_chars
        Length of its preview.
    hard_max_chars
        A text is first cut to this length, as by the original's guard; the rest is lost. 0 for no
        cap.
    pointer_for_text
        Whether a result can be fetched again if only its text was too large. The original cannot,
        because it stores references only with details.
    verify
        Whether a wrong hash of a payload is an error. The original reports it and delivers the
        payload.
    """

    does = (Act.OFFLOAD,)
    waits = "a single large output"

    max_text_chars: int = MAX_TEXT_CHARS
    preview_chars: int = PREVIEW_CHARS
    hard_max_chars: Annotated[int, at_least(0)] = 400_000
    pointer_for_text: bool = True
    verify: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.preview_chars < 1 or self.max_text_chars < self.preview_chars + NOTICE_CHARS:
            raise ValueError(
                f"preview_chars must be at least 1, and {NOTICE_CHARS} less than max_text_chars "
                f"(the pointer takes room, too), not {self.preview_chars} of {self.max_text_chars}"
            )

    def compact(self, view: View, host: Host) -> View:
        seen = host.notes.get("seen", "")
        if view.messages:
            host.notes["seen"] = view.messages[-1].id
        new: dict[str, Message] = {}
        for message in _since(view, seen):
            if message.role == "tool" and len(message.text) > min(
                self.max_text_chars // 2, self.hard_max_chars or self.max_text_chars
            ):
                offloaded = self._offload(message, host)
                if offloaded is not message:
                    new[message.id] = offloaded
        if not new:
            return view
        return view.with_messages(new.get(message.id, message) for message in view.messages)

    def _offload(self, message: Message, host: Host) -> Message:
        texts = [part for part in message.parts if part.type != "image" and part.text]
        if not texts:
            return message
        first = texts[0]
        text = self._capped("\n".join(part.text for part in texts))
        payload = put_away(
            [text],
            None,
            first.name or None,
            first.call_id or None,
            now=message.time,
            max_text=self.max_text_chars,
            preview=self.preview_chars,
        )
        if payload is None:
            if text == "\n".join(part.text for part in texts):
                return message
            return self._replaced(message, first, text, utf16_length(text), "")
        host.files[payload.path] = payload.content
        start, _, notice = (payload.text or "").partition("\n\n[openclaw]")
        handle = _handle(payload) if self.pointer_for_text else ""
        shorter = self._replaced(message, first, start, payload.preview, handle)
        pointer = plain(f"\n\n[openclaw]{notice}")
        return msgspec.structs.replace(
            shorter, parts=(shorter.parts[0], pointer, *shorter.parts[1:])
        )

    def _capped(self, text: str) -> str:
        if not self.hard_max_chars or utf16_length(text) <= self.hard_max_chars:
            return text
        start = head(text, self.hard_max_chars)
        line = start.rfind("\n")
        return start[:line] if line > 0.8 * len(start) else start

    @staticmethod
    def _replaced(message: Message, first: Part, text: str, chars: int, handle: str) -> Message:
        source = Source(message.id, message.parts.index(first), 0, chars)
        cut = msgspec.structs.replace(
            first, text=whole(text), kind="truncated", sources=(source,), handle=handle
        )
        images = [part for part in message.parts if part.type == "image"]
        return msgspec.structs.replace(message, parts=(cut, *images))

    def fetch(self, handle: str, host: Host, *, chars: int | None = None) -> str:
        path, _, sha256 = handle.partition("#sha256=")
        reference = read_reference(
            {"outputRef": {"kind": "tool_result_payload", "path": path, "sha256": sha256}}
        )
        place = resolve("", reference["path"]) if reference else None
        if place is None or place == FOLDER:
            raise InputError(f"{path!r} is not in the folder of payloads")
        content = host.files.get(place)
        if content is None:
            raise InputError(f"{path!r}: there is no such payload")
        if self.verify and digest(content) != sha256:
            raise InputError(f"{path!r} is not what was put away: its hash is another one")
        return delivered(content, chars_to_deliver(chars))


def _handle(payload: Payload) -> str:
    return f"{payload.path}#sha256={payload.sha256}"


def _since(view: View, seen: str) -> Iterator[Message]:
    for message in reversed(view.messages):
        if message.id == seen:
            return
        yield message
