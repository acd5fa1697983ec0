"""Qwen Code: old outputs are cleared after pauses, and a summary replaces the whole history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import Message, Part, Role, frame, plain, remembered
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.strategies.claude_code import by_name, in_full, known_files
from compactlab.strategies.gemini_cli import ACKNOWLEDGED, SYSTEM, FractionSplit
from compactlab.strategies.mechanisms.cut import history_end, unasked
from compactlab.strategies.mechanisms.estimate import is_stale
from compactlab.strategies.mechanisms.handover import live_request, summary_message
from compactlab.strategies.mechanisms.stub import is_stub, results_of, with_stubs
from compactlab.strategies.mechanisms.text import holds
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# All figures and rules are those of `@qwen-code/qwen-code` 0.24.4 (2026;
# `packages/core/src/services` of QwenLM/qwen-code), unless another version is named.

# Old outputs: cleared after a pause, or when their total size is too large.

CLEARED = "[Old tool result content cleared]"
MINUTES, KEEP, TOTAL_CHARS = 60, 5, 500_000


@remembered
def output_chars(message: Message) -> int:
    """Count the characters (UTF-16) of a message's clearable outputs."""
    if message.role != "tool":
        return 0
    results = (result[0] for result in results_of(message) if not is_stub(result))
    return sum(utf16_length(first.text) for first in results if not first.is_error)


def cleared(
    messages: Messages, keep: int, *, until: int = 0, pending: int | None = None
) -> Messages:
    """Clear outputs, oldest first, except the newest; as ``microcompactHistory``.

    Clearing stops when at most ``until`` characters of outputs remain. Messages from the index
    ``pending`` on are about to be sent: they count, but are neither cleared nor among the newest.
    Failed and already cleared outputs are skipped.
    """
    end = len(messages) if pending is None else pending
    full = [
        (index, place)
        for index, message in enumerate(messages[:end])
        if output_chars(message)
        for place, (first, *_) in enumerate(results_of(message))
        if first.kind != "stub" and first.text and not first.is_error
    ]
    left, gone = messages.total(output_chars), set()
    for index, place in full[: max(len(full) - keep, 0)]:
        if left <= until:
            break
        gone.add((index, place))
        left -= utf16_length(results_of(messages[index])[place][0].text)
    changes = {}
    for index in {index for index, _ in gone}:
        changes[index] = with_stubs(
            messages[index],
            lambda place, _, index=index: CLEARED if (index, place) in gone else None,  # type: ignore[misc]
        )
    return messages.replace(changes)


@dataclass(frozen=True)
class MicroCompaction(Strategy):
    """Clear old outputs after a pause of an hour, and above 500,000 characters in total.

    After Qwen Code (0.24.4, ``microcompact.ts``). Before a turn, if the last answer is an hour old,
    all outputs but the newest five are cleared, because the cache is cold. Otherwise, before every
    call, outputs of more than 500,000 characters together are cleared, oldest first, until half of
    that is left.

    Simplified: outputs of all tools are cleared (Qwen Code has a list of tools); images stay; a
    pause begins at the start of the last request.

    Parameters
    ----------
    minutes
        Minutes of a pause after which outputs are cleared; -1 for never.
    keep
        How many of the newest outputs stay.
    total_chars
        Characters of all outputs above which they are cleared without a pause; -1 for none.
    """

    does = (Act.CLEAR,)
    waits = "a pause, or a number of characters of outputs"

    minutes: Annotated[int, at_least(-1)] = MINUTES
    keep: Annotated[int, at_least(1)] = KEEP
    total_chars: Annotated[int, at_least(-1)] = TOTAL_CHARS
    phases = frozenset({Phase.BEFORE_TURN, Phase.BEFORE_CALL})

    breaks = MappingProxyType({"size": "a stub may be longer than a short output; 0.24.4"})

    def compact(self, view: View, host: Host) -> View:
        messages = view.messages
        if host.phase is Phase.BEFORE_TURN:
            if self.minutes < 0 or host.requested is None or host.idle < 60 * self.minutes:
                return view
            return view.with_messages(cleared(messages, self.keep))
        if self.total_chars < 0 or messages.total(output_chars) <= self.total_chars:
            return view
        pending = history_end(messages)
        half = self.total_chars // 2
        return view.with_messages(cleared(messages, self.keep, until=half, pending=pending))


# Summarising the whole history.

_CHARS, _IMAGE = 4, 1600
SHARE, RESERVE, BUFFER, HARD = 0.85, 20_000, 13_000, 3_000
ATTEMPTS = 3
FILES, FILE_TOKENS, FILES_TOKENS = 5, 5_000, 50_000
_DIRECTIVE = 1000  # tokens of the request after the live prompt
_MARGIN = 1024


def auto_threshold(window: int, share: float = SHARE) -> float:
    """Return the trigger in tokens; as ``computeThresholds``.

    It is a share of the window, limited so that a summary and a buffer fit.

    Examples
    --------
    >>> [auto_threshold(window) for window in (32_000, 200_000, 1_000_000)]
    [27200.0, 167000, 850000.0]
    """
    ceiling = window - RESERVE - BUFFER
    return min(share * window, ceiling) if ceiling > 0 else share * window


def hard_threshold(window: int, share: float = SHARE) -> float:
    """Return the tokens above which it compacts despite earlier failures."""
    edge = max(0, window - RESERVE) - HARD
    return min(window, max(edge, auto_threshold(window, share) + HARD))


@remembered
def content_chars(message: Message) -> int:
    """Count the characters of a message; as ``estimateContentChars``."""
    chars = 0
    for part in message.parts:
        if part.type == "image":
            chars += _IMAGE * _CHARS
        elif part.type == "tool_call":
            chars += utf16_length(part.text) + utf16_length(part.name) + 40
        else:
            chars += utf16_length(part.text) + 4 * part.size
            chars += 64 if part.type == "tool_result" else 0
    return chars


def content_tokens(messages: Messages) -> int:
    """Estimate the tokens of messages."""
    return -(-messages.total(content_chars) // _CHARS)


@dataclass(frozen=True)
class HistorySummary(Strategy):
    """Summarise the whole history when the window is nearly full, and embed its files again.

    After Qwen Code (0.24.4, ``chatCompressionService.ts``, ``postCompactAttachments.ts``), which
    replaced Gemini CLI's split by Claude Code's method. The trigger is 85 % of the window, or
    33,000 tokens less than the window if that is lower. It counts the last report, the answer, and
    an estimate of the new messages. The request extends the live prompt, with new results, if its
    answer fits; else it has a prompt of its own. The new prompt has the summary, an
    acknowledgement, the last used files, and the new messages with their call. After three failures
    it pauses until less than 23,000 tokens are left.

    Written after the source, not compared with the program's answers. Simplified: contents of files
    come from the log; images, plan reminders and background tasks are not embedded again, and many
    screenshots do not trigger it; all providers are assumed to share the cache with the request; a
    result that is larger by our count is discarded, too.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it acts; None to use ``threshold``.
    threshold
        Highest share of the window at which it acts, 0 to 1.
    files
        Maximum number of files embedded again.
    """

    does = (Act.SUMMARISE,)

    trigger: Trigger = None
    threshold: Annotated[float, between(0, 1)] = SHARE
    files: Annotated[int, at_least(0)] = FILES
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {"last user message": "in a turn its first words are summarised, too; 0.24.4"}
    )

    def compact(self, view: View, host: Host) -> View:
        end = history_end(view.messages)
        forced = host.phase is Phase.ON_OVERFLOW
        failed: int = host.notes.get("failed", 0)
        if not forced:
            tokens = prompt_tokens(view, host, end)
            host.believe(tokens, view)
            auto = tokens_at(self.trigger, host, auto_threshold(host.window, self.threshold))
            hard = max(auto, hard_threshold(host.window, self.threshold))
            if tokens < auto or failed >= (2 * ATTEMPTS if tokens >= hard else ATTEMPTS):
                return view
        if end < 2:
            return view
        after = self._summarised(view, host, end)
        helped = after is not None and host.count(after) < host.count(view)
        host.notes["failed"] = 0 if helped else failed + 1
        return after if after is not None and helped else view

    def _summarised(self, view: View, host: Host, end: int) -> View | None:
        history, pending = view.messages[:end], view.messages[end:]
        answers = any(message.role == "tool" for message in pending)
        calls = holds(history[-1], "tool_call")
        asked = view.messages if answers else history[: end - 1] if calls else history
        summary = self._summary(view, host, asked)
        if not summary:
            return None
        first = summary_message(host, summary, lead="")
        front = [first, _put(first, "answer", "assistant", [frame(ACKNOWLEDGED)])]
        if files := self._files(history, host):
            front.append(_put(first, "files", "user", files))
        rest = [*history[end - 1 if calls else end :], *pending]
        late = set(map(id, unasked(rest)))
        return view.with_messages([*front, *(m for m in rest if id(m) not in late)])

    def _summary(self, view: View, host: Host, asked: Messages) -> tuple[Part, ...]:
        """Request the summary, over the live prompt if the answer fits."""
        live = View(view.system, asked)
        fits = host.count(live) + _DIRECTIVE + RESERVE <= host.window
        if fits and (summary := host.summarize(live, live_request(asked, RESERVE))):
            return summary
        room = host.window - content_tokens(asked) - _MARGIN
        own = View((plain(SYSTEM),), asked)
        return host.summarize(own, live_request(asked, max(1, min(RESERVE, room))))

    def _files(self, history: Messages, host: Host) -> list[Part]:
        """Return messages with the last used files, with contents if they are short."""
        touched = sorted(known_files(history), key=lambda each: each.touched, reverse=True)
        known = {each.path: each for each in known_files(host.log)}
        named: list[Part] = []
        embedded: list[Part] = []
        room = FILES_TOKENS * _CHARS
        for path in [each.path for each in touched][: self.files]:
            file = known.get(path)
            if file is None or not file.text:
                continue
            if len(file.text) > min(FILE_TOKENS * _CHARS, room):
                named.append(by_name(file))
            else:
                room -= len(file.text)
                embedded += in_full(file)
        return [*named, *embedded]


def _put(first: Message, name: str, role: Role, parts: Sequence[Part]) -> Message:
    """Make a message of the client after a summary."""
    return Message(f"{first.id}/{name}", role, tuple(parts), first.time, meta=True)


def prompt_tokens(view: View, host: Host, end: int) -> int:
    """Return the tokens of the next prompt; as ``estimatePromptTokens``."""
    if host.reported is None or is_stale(host):
        return content_tokens(view.messages)
    last = host.reported.prompt + host.reported.output
    return last + content_tokens(view.messages[end:])


# Earlier versions copied Gemini CLI's rule with other numbers.
_FORMER_SHARE, _FORMER_KEPT = 0.7, 0.3


@dataclass(frozen=True)
class QwenCode(Agent):
    """Qwen Code: near the limit, summarise the whole history and embed its files again.

    After ``@qwen-code/qwen-code`` 0.24.4 (2026). Version 0.0 (``@qwen-code/qwen-code-core`` 0.0.14,
    ``core/client.js``) is Gemini CLI's split with other numbers: at 70 % of the window a summary
    replaces the older 70 %, without verification. Left out: a separate model for summaries,
    recovery of memories, and the simplifications of ``history_summary``.

    Parameters
    ----------
    version
        ``0.24`` or ``0.0``.
    trigger
        Tokens, or a share of the window, at which it compacts; None to use ``threshold``.
    threshold
        ``context.autoCompactThreshold``: the share of the window; version 0.0 has 0.7.
    files
        Files that are embedded again at most (``maxRecentFilesToRetain``).
    minutes, keep, total_chars
        When old outputs are cleared, and how many stay (``clearContextOnIdle``); -1 for never.
    """

    version: Literal["0.24", "0.0"] = "0.24"
    trigger: Trigger = None
    threshold: Annotated[float, between(0, 1)] = SHARE
    files: Annotated[int, at_least(0)] = FILES
    minutes: Annotated[int, at_least(-1)] = MINUTES
    keep: Annotated[int, at_least(1)] = KEEP
    total_chars: Annotated[int, at_least(-1)] = TOTAL_CHARS

    def steps(self) -> tuple[Strategy, ...]:
        """The clearing and the summary; for version 0.0, the split."""
        if self.version == "0.0":
            at = _FORMER_SHARE if self.trigger is None else self.trigger
            return (FractionSplit(at, _FORMER_KEPT, output_budget=_NONE, verify=False),)
        return (
            MicroCompaction(self.minutes, self.keep, self.total_chars),
            HistorySummary(self.trigger, self.threshold, self.files),
        )


_NONE = 10**9  # tokens of outputs: none is cut
