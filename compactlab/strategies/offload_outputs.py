"""Put oversized results of tools into files: OpenClaw's outputRef."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from compactlab.sim.errors import InputError
from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part, Source
from compactlab.sim.strategy import Strategy
from compactlab.sim.tokens import utf16_length
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.openclaw.payload import (
    FOLDER,
    NOTICE_CHARS,
    Limits,
    Payload,
    chars_to_deliver,
    delivered,
    digest,
    put_away,
    read_reference,
    resolve,
)
from compactlab.strategies.mechanisms.units import head, whole


@dataclass(frozen=True)
class OffloadOutputs(Strategy):
    """Replace a tool's result that is too large by its beginning and a pointer to a file.

    After OpenClaw's pull request 17345 (guard of the session's tool results, late version). It
    acts before a result is sent for the first time, so it breaks no cache. Exact: thresholds, file
    name and content, hash, preview and notice, retrieval. Transcripts do not hold what a tool told
    its client (``details``), so of a recording only texts are put away. Files go to ``host.files``;
    no replay opens a file that a transcript names.

    Parameters
    ----------
    max_text_chars
        A longer text is put away.
    preview_chars
        What stays of it.
    hard_max_chars
        A text is cut to so many characters before anything else, as the original's guard does: the
        rest reaches no file. 0 for no cap.
    pointer_for_text
        Whether a result of which only the text was too large can be fetched again. In the original
        it cannot: it stores a reference only beside details.
    verify
        Whether a payload that does not have its hash is an error. The original delivers it all the
        same, and reports.
    """

    max_text_chars: int = 120_000
    preview_chars: int = 8_000
    hard_max_chars: int = 400_000
    pointer_for_text: bool = True
    verify: bool = True

    def __post_init__(self) -> None:
        if self.preview_chars < 1 or self.max_text_chars < self.preview_chars + NOTICE_CHARS:
            raise ValueError(
                f"preview_chars must be at least 1, and {NOTICE_CHARS} less than max_text_chars "
                f"(the pointer takes room, too), not {self.preview_chars} of {self.max_text_chars}"
            )
        if self.hard_max_chars < 0:
            raise ValueError(f"hard_max_chars must not be negative, not {self.hard_max_chars}")

    def compact(self, view: View, host: Host) -> View:
        """Put away what has come since the last time."""
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
            limits=Limits(text=self.max_text_chars, preview=self.preview_chars),
        )
        if payload is None:
            if text == "\n".join(part.text for part in texts):
                return message
            return self._replaced(message, first, text, utf16_length(text), "")
        host.files[payload.path] = payload.content
        start, _, notice = (payload.text or "").partition("\n\n[openclaw]")
        handle = _handle(payload) if self.pointer_for_text else ""
        kept = self._replaced(message, first, start, payload.preview, handle)
        told = Part("text", f"\n\n[openclaw]{notice}", "synthetic", ())
        return msgspec.structs.replace(kept, parts=(kept.parts[0], told, *kept.parts[1:]))

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
        """Deliver what was put away, or its beginning.

        Parameters
        ----------
        handle
            That of the part in its place.
        host
            Has the files.
        chars
            How many characters at most; 20,000 if not said, never under 256 or over 120,000.

        Raises
        ------
        InputError
            If the handle leads out of the folder of payloads, if there is no such file, or if it
            has another hash (unless ``verify=False``).
        """
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
