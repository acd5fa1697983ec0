"""Claude Code: near the limit, a summary replaces the whole conversation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from compactlab.sim.core.clients import instruction_files
from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, Source, frame
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.strategies.idle_compaction import IDLE_TOKENS, hour_nearly_over, is_resting
from compactlab.strategies.mechanisms.estimate import capped, defaults, known_tokens
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    fitting,
    live_request,
    summary_message,
)
from compactlab.strategies.mechanisms.stub import older_outputs, with_erased
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# The contents of files that an agent has read and changed, reconstructed from the log. No file is
# opened: contents come from the arguments and results of tools.

# The tools of Claude Code, pi, OpenCode and Gemini CLI, in lower case and without "file".
READS = frozenset({"read", "view", "open"})
WRITES = frozenset({"write", "create"})
EDITS = frozenset({"edit", "multiedit", "replace", "strreplace", "update"})
_PATHS = ("path", "file_path", "filePath", "absolute_path", "filename")
_CONTENTS = ("content", "contents", "text", "file_text")
_OLD = ("old_string", "oldText", "oldString", "old")
_NEW = ("new_string", "newText", "newString", "new")
_PIECE = ("offset", "limit", "start_line", "end_line")

# Claude Code numbers the lines of a file that it reads; an edit's texts have no numbers.
_NUMBERED = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)


@dataclass
class KnownFile:
    """A file, as far as its content is known from the log."""

    path: str  # as the agent wrote it
    # The last content read or written, with later edits applied if their old text occurs in it.
    text: str = ""
    sources: tuple[Source, ...] = ()  # the messages with this content
    # touched, modified: position in the log of its last read or change, and of its last change; -1
    # for never
    touched: int = -1
    modified: int = -1
    whole: bool = False  # whether the text is the whole file


@dataclass
class _Shelf:
    """All files known so far, and the calls without a result."""

    files: dict[str, KnownFile] = field(default_factory=dict)
    calls: dict[str, tuple[Message, Part, dict[str, Any]]] = field(default_factory=dict)

    def call(self, message: Message, part: Part) -> None:
        arguments = _arguments(part)
        if _first(arguments, _PATHS):
            self.calls[part.call_id] = message, part, arguments

    def result(self, place: int, message: Message, index: int) -> None:
        part = message.parts[index]
        if part.is_error or part.call_id not in self.calls:
            return
        caller, call, arguments = self.calls.pop(part.call_id)
        tool = re.sub(r"file|[_\W]", "", call.name.lower())
        path = _first(arguments, _PATHS)
        known = self.files.setdefault(path, KnownFile(path))
        if tool in READS:
            whole = not any(arguments.get(name) for name in _PIECE)
            self._learn(known, _NUMBERED.sub("", part.text), (Source(message.id, index),), whole)
        elif tool in WRITES:
            self._learn(known, _first(arguments, _CONTENTS), (Source(caller.id),), whole=True)
            known.modified = place
        elif tool in EDITS:
            _edit(known, arguments, caller)
            known.modified = place
        else:
            return
        known.touched = place

    @staticmethod
    def _learn(known: KnownFile, text: str, sources: tuple[Source, ...], whole: bool) -> None:
        # An excerpt does not replace the whole file that was read before it.
        if text and (whole or not known.whole):
            known.text, known.sources, known.whole = text, sources, whole


def known_files(log: Iterable[Message]) -> list[KnownFile]:
    """Return the files of a log: the most recently modified first, then those only read.

    A file that was only read in a session was modified before the session.
    """
    shelf = _Shelf()
    for place, message in enumerate(log):
        for index, part in enumerate(message.parts):
            if part.type == "tool_call":
                shelf.call(message, part)
            elif part.type == "tool_result":
                shelf.result(place, message, index)
    known = [each for each in shelf.files.values() if each.touched >= 0]
    return sorted(known, key=lambda each: (each.modified, each.touched), reverse=True)


def attached(
    log: Iterable[Message], count: Callable[[str], int], files: int, file_tokens: int
) -> list[Part]:
    """Return the most recently modified files, as a client attaches them after a compaction.

    Of a file with more than ``file_tokens``, only the path is given.
    """
    parts: list[Part] = []
    for known in [each for each in known_files(log) if each.text][:files]:
        parts += in_full(known) if count(known.text) <= file_tokens else [by_name(known)]
    return parts


def in_full(known: KnownFile) -> tuple[Part, Part]:
    """Attach a file after a line with its path."""
    text = Part("text", known.text, "recovered", known.sources, handle=known.path)
    return frame(f"{known.path} as it is now:\n"), text


def by_name(known: KnownFile) -> Part:
    """Name a file that is too large to be attached."""
    notice = f"{known.path} was in use; read it again if need be."
    return Part("text", notice, "stub", known.sources, handle=known.path)


def _edit(known: KnownFile, arguments: dict[str, Any], caller: Message) -> None:
    changed = False
    for edit in _edits(arguments):
        old, new = _first(edit, _OLD), _first(edit, _NEW)
        if old and old in known.text:
            known.text = known.text.replace(old, new, -1 if edit.get("replace_all") else 1)
            changed = True
    if changed:
        known.sources = (*known.sources, Source(caller.id))


def _edits(arguments: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield arguments
    several = arguments.get("edits")
    if isinstance(several, list):
        yield from (edit for edit in several if isinstance(edit, dict))


def _arguments(part: Part) -> dict[str, Any]:
    try:
        arguments = msgspec.json.decode(part.text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _first(arguments: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first of some arguments that is a text."""
    return next((v for v in map(arguments.get, names) if isinstance(v, str) and v), "")


# After this many failures in a row, it gives up for the rest of the session.
ATTEMPTS = 3


@dataclass(frozen=True)
class FullSummary(Strategy):
    """Summarise everything when the window is nearly full, and attach files again.

    Claude Code's auto-compaction, as its documentation and users describe it (2026; the program is
    closed). The trigger is the window less the longest summary and a buffer. The request extends
    the live prompt. The new prompt is the system prompt, the summary as a user message, and the
    last modified files. Their contents come from the log instead of the disk. Not even the user's
    last message is kept verbatim.

    Instruction files (CLAUDE.md) that the client put first at the start come first again: the
    root's file is read again after a compaction, those of folders are not (the table of
    code.claude.com/docs/en/context-window of 2026-10-19, as dev.to/jgravelle quotes it;
    dev.to/rulestack found the root's file again after 8 of 8 compactions). Earlier versions lost it
    (claude-code issues 19471, 2026-01-20, and 6354). By the same table at most five files are
    attached, the last modified first; of a file above 5,000 tokens, only the path.

    Simplified: rules, memory, plan and skills (5,000 tokens each, 25,000 together) are also read
    again, but are not in logs; most logs have no instruction file, and none has its later changes;
    the client prepares the summary in the background (claude-code issue 71254, 2026-08-17), this
    strategy does not; in a narrowed window the default reserves are at most a quarter of it; a
    prompt that would not be smaller is discarded.

    Parameters
    ----------
    buffer_tokens
        Tokens of the window that stay free beside the summary; without effect if a trigger is set.
    summary_tokens
        Longest summary, and tokens reserved for it if no trigger is set; at most the model's
        longest answer.
    files
        How many files are attached, at most.
    file_tokens
        Tokens of a file above which only its path is given.
    clear_first
        Whether old tool outputs are cleared first; if that is enough, nothing is summarised.
    keep_outputs
        Number of newest tool outputs that clearing keeps.
    trigger
        Tokens, or a share of the window, at which it acts; None for the window less summary and
        buffer.
    reinject
        Whether instruction files come first again.
    idle
        Whether it also compacts in silences, as Claude Code does since 2.1.286 for some accounts:
        from 200,000 tokens on, if cache entries live for an hour, after 54 minutes
        (``idle_compaction`` has the sources).
    """

    does = (Act.SUMMARISE,)

    buffer_tokens: Annotated[int, at_least(0)] = 13_000
    summary_tokens: Annotated[int, at_least(1)] = 20_000
    files: Annotated[int, at_least(0)] = 5
    file_tokens: Annotated[int, at_least(0)] = 5000
    clear_first: bool = False
    keep_outputs: Annotated[int, at_least(0)] = 5
    trigger: Trigger = None
    reinject: bool = True
    idle: bool = False

    breaks = MappingProxyType(
        {"last user message": "everything is summarised, what was just said too; Claude Code 2.1"}
    )

    @property
    def caps(self) -> Mapping[str, int]:  # type: ignore[override]
        """The tokens that it reserves by default, if the trigger depends on them."""
        return {} if self.trigger else defaults(self, "buffer_tokens", "summary_tokens")

    @property
    def by_price(self) -> bool:  # type: ignore[override]
        """Whether it acts by the lifetime of cache entries."""
        return self.idle

    @property
    def phases(self) -> frozenset[Phase]:  # type: ignore[override]
        """Before calls, and in silences if ``idle`` is set."""
        silent = {Phase.ON_IDLE} if self.idle else set()
        return frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW, *silent})

    def silence(self, host: Host) -> float:
        """Seconds until it acts while the user is silent."""
        return hour_nearly_over(host)

    def compact(self, view: View, host: Host) -> View:
        idle, tokens = host.phase is Phase.ON_IDLE, known_tokens(view, host)
        if idle and (tokens < IDLE_TOKENS or not is_resting(view.messages)):
            return view
        if host.phase is Phase.BEFORE_CALL and tokens < self.limit(host):
            return view
        if self.clear_first and not idle:
            old = older_outputs(view.messages, self.keep_outputs)
            cleared = view.with_messages(with_erased(view.messages, old))
            # Placeholders are longer than tiny outputs.
            if (tokens := host.count(cleared)) < host.count(view):
                view = cleared
                if tokens < self.limit(host):
                    return view
        if host.notes.get("failed", 0) >= ATTEMPTS or not view.messages:
            return view
        after = self._summarised(view, host)
        helped = after is not None and host.count(after) < host.count(view)
        host.notes["failed"] = 0 if helped else host.notes.get("failed", 0) + 1
        return after if after is not None and helped else view

    def limit(self, host: Host) -> float:
        """Return the trigger in tokens."""
        output = min(capped(self, "summary_tokens", host), self._output(host))
        reserve = output + capped(self, "buffer_tokens", host)
        return tokens_at(self.trigger, host, host.window - reserve)

    def _output(self, host: Host) -> int:
        return min(self.summary_tokens, host.model.max_output or self.summary_tokens)

    def _summarised(self, view: View, host: Host) -> View | None:
        """Replace the whole conversation; return None without a summary."""
        asked = fitting(view, host, INSTRUCTIONS)
        request = live_request(asked.messages, self._output(host))
        request = replace(request, waits=host.phase is not Phase.ON_IDLE)
        summary = host.summarize(asked, request)
        if not summary:
            return None
        first = summary_message(host, summary)
        front = instruction_files(host.log) if self.reinject else []
        return view.with_messages([*front, first, *self._attachments(first, host)])

    def _attachments(self, first: Message, host: Host) -> list[Message]:
        parts: list[Part] = attached(host.log, host.count, self.files, self.file_tokens)
        if not parts:
            return []
        return [Message(f"{first.id}/files", "user", tuple(parts), host.now, meta=True)]


@dataclass(frozen=True)
class ClaudeCode(Agent):
    """Claude Code: summarise the whole conversation, then read its files again.

    After its documentation and reports of users (see ``full_summary``), 2026; its source is not
    public, so nothing is exact. Left out: clearing of old outputs inside the cached prefix, which
    only the provider can do; attaching memory, plans and skills again; manual ``/compact``.

    Parameters
    ----------
    clear_first
        Whether old outputs are cleared before anything is summarised.
    files
        Files that are read again after a compaction, at most.
    trigger
        Tokens, or a share of the window, at which it compacts; None for its own rule, the window
        less 33,000 (967,000 of 1,000,000). ``autoCompactWindow`` moves it in the client.
    reinject
        Whether CLAUDE.md comes first again after a compaction, if the log has it.
    idle
        Whether it also compacts an idle session before an hour's cache expires (``idleCompaction``
        in its settings; not for all accounts).
    """

    clear_first: bool = True
    files: int = 5
    trigger: Trigger = None
    reinject: bool = True
    idle: bool = False

    def steps(self) -> tuple[Strategy, ...]:
        return (FullSummary(**asdict(self)),)
