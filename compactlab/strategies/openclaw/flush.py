"""OpenClaw's memory flush: the agent writes its memory before a compaction."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import SUMMARY, Message, Weight
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Compacted, Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.sim.replay.summarize import TurnRequest
from compactlab.strategies.mechanisms.cut import current_turn, history_end
from compactlab.strategies.mechanisms.estimate import estimate, is_stale
from compactlab.strategies.mechanisms.text import BLANKS, spoken
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at
from compactlab.strategies.openclaw.pressure import (
    effective_reserve,
    history_pressure,
    prompt_pressure,
    tokens,
)

# Silent replies: answers of an agent that OpenClaw does not show to the user. Early versions
# suppress a whole message that begins or ends with the token. Later ones suppress only a message
# that equals the token, and remove the token from the end of others; 2026.9.6 ignores case and
# surrounding punctuation.

SILENT = "NO_REPLY"

Version = Literal["2026.1.29", "2026.3.13", "2026.9.6"]
NEWEST: Version = "2026.9.6"

_ENDS = re.compile(rf"^[{BLANKS}]*{SILENT}(?=\Z|\W)|\b{SILENT}\b\W*\Z", re.ASCII)
_WHOLE = re.compile(rf"[{BLANKS}]*{SILENT}[{BLANKS}]*")
_ANY_CASE = re.compile(rf"{SILENT}(?:[{BLANKS}]+{SILENT})*", re.IGNORECASE)
_TRAILING = re.compile(rf"(?:^|[{BLANKS}]+|\*+){SILENT}[{BLANKS}]*\Z")


def is_silent(text: str | None, version: Version = NEWEST) -> bool:
    """Whether a text is suppressed completely; as ``isSilentReplyText``.

    2026.1.29 checks both ends of the text, 2026.3.13 the whole text, 2026.9.6 without regard to
    case and to punctuation around it.
    """
    if version == NEWEST:
        said = (text or "").strip(BLANKS)
        return any(_ANY_CASE.fullmatch(each) for each in (said, _bare(said).strip(BLANKS)))
    match = _ENDS.search if version == "2026.1.29" else _WHOLE.fullmatch
    return match(text or "") is not None


def _bare(text: str) -> str:
    """Return a text without punctuation at its ends."""
    marks = [unicodedata.category(sign).startswith("P") for sign in text]
    if all(marks):
        return ""
    return text[marks.index(False) : len(text) - marks[::-1].index(False)]


def strip_silent(text: str) -> str:
    """Remove the token from the end of a text, and outer blanks; as ``stripSilentToken``."""
    return _TRAILING.sub("", text, count=1).strip(BLANKS)


def is_silent_start(text: str | None) -> bool:
    """Whether a streamed text may become the token; as ``isSilentReplyPrefixText``.

    Only capitals match, so that a sentence that begins with "No" is not withheld; without the
    underscore, only ``NO`` matches.
    """
    begun = (text or "").lstrip(BLANKS)
    return SILENT.startswith(begun) and ("_" in begun or begun == "NO")


def heard(text: str, version: Version) -> str:
    """Return the visible part of an answer: nothing, the text, or the text without the token.

    An answer interrupted within the token is not shown by later versions either, because streaming
    withholds it. In 2026.9.6 nothing of a flush is delivered.
    """
    if version == NEWEST:
        return ""
    if is_silent(text, version):
        return ""
    if version == "2026.1.29":
        return text
    return "" if is_silent_start(text) else strip_silent(text)


# The trigger of a flush.

SOFT_THRESHOLD_TOKENS = 4_000
RESERVE_TOKENS_FLOOR = 20_000
FORCE_FLUSH_TRANSCRIPT_BYTES = 2 * 1024 * 1024
MAX_FAILURES = 3  # flushes of a cycle that may fail (2026.9.6)
HEARTBEAT = "Read HEARTBEAT.md"  # the beginning of OpenClaw's default heartbeat prompt

# Within this distance of the threshold, 2026.3.13 reads the last answer's size from the transcript.
_OUTPUT_BUFFER_TOKENS = 8_192

# Our own wording; only its length matters, as no model reads it. The originals have about as many
# characters.
PROMPT = (
    "The context will soon be compacted. Write down now what must outlive that: decisions and "
    "their reasons, what you learnt about the user, where the work stands and what blocks it, and "
    "what is still to be done. Put it into the file of today under memory/, at its end, without "
    "touching what is there, and leave all other files alone. Write nothing that the repository "
    f"or an earlier note says anyway. Where nothing is worth keeping, answer {SILENT}. You may say "
    f"something to the user as well, but as a rule {SILENT} is the answer."
)
SYSTEM_PROMPT = (
    "This turn is for your memory alone: the session is near the size at which it is compacted, "
    "and what is not written down may be lost. Nobody has asked for anything, and the user does "
    "not see this turn. Keep to the folder memory/ and append to the file of today; treat every "
    "other file as read-only, those with your instructions above all. Be brief: a line for each "
    f"thing. When you are done, or if there is nothing to store, the whole answer is {SILENT}, "
    "which is never shown to anybody."
)
# The first words of the first hint are OpenClaw's (2026.3.13, test vectors memoryFlushSettings).
_SAFETY_HINTS = (
    "Store durable memories in the file of today under memory/, and nowhere else.",
    "Append to a file that is there; leave what stands in it as it is.",
    "Files with instructions and references are read-only in this turn.",
)
_SILENCE_HINT = f"Begin with {SILENT} where the user need not hear anything."


def hinted(given: str, default: str, version: Version) -> str:
    """Complete a prompt; as ``resolveMemoryFlushSettings``.

    A hint about silent replies is appended if it is missing, and since 2026.3.13 also one about the
    safety of files.
    """
    text = given.strip(BLANKS) or default
    if text is not default and version != "2026.1.29":
        text = "\n\n".join([text, *(hint for hint in _SAFETY_HINTS if hint not in text)])
    return text if SILENT in text else f"{text}\n\n{_SILENCE_HINT}"


def flush_threshold(window: int, reserve: int, soft: int) -> int:
    """Return the tokens from which a flush is due; 0 for never."""
    return max(0, window - reserve - soft)


class Plan(NamedTuple):
    """The reserved tokens of the window, and the margin before them at which a flush is due."""

    reserve: int
    soft: int


def planned(window: int, reserve: int, soft: int) -> Plan:
    """Return the plan for a window: ``buildMemoryFlushPlan`` (2026.9.6).

    The reserve is at most a quarter of the window; the margin is at most half of the rest.
    """
    reserve = effective_reserve(reserve, window)
    return Plan(reserve, min(soft, (window - reserve) // 2))


def should_flush(tokens: float, threshold: float) -> bool:
    """Whether a flush is due; as ``shouldRunMemoryFlush``, inclusively."""
    return 0 < threshold <= tokens


def projected_tokens(prompt: float, output: float, new: float, threshold: float) -> float:
    """Estimate the tokens of the next prompt, as 2026.3.13 does.

    The last answer only counts near the threshold, because otherwise the transcript is not read.
    """
    near = prompt + new >= threshold - _OUTPUT_BUFFER_TOKENS
    return prompt + new + (output if near else 0)


def believed_prompt(
    view: View, host: Host, *, reads: bool = False, stale: bool = False
) -> tuple[float, float]:
    """Return the tokens of the last prompt and its answer, as 2026.9.6 knows them.

    The answer counts only if somebody has spoken since. After a compaction its own estimate counts:
    of the messages if it was before a turn, else of the whole request. Two faults of earlier
    versions can be added: ``stale`` counts the last report anyway, ``reads`` counts the cached
    tokens of all calls of the turn as context (see :func:`note_reads`).
    """
    last = host.reported
    if last is None or (is_stale(host) and not stale):
        before = view.messages[: history_end(view.messages)] if last else view.messages[:0]
        made = host.compactions[-1].last if last else ""
        if any(message.id == made and message.role != "user" for message in reversed(host.log)):
            return prompt_pressure([], view.system) + history_pressure(before), 0
        return before.total(tokens), 0
    known = last.uncached + host.notes.get("reads", 0) if reads else last.prompt
    return known, (last.output if said_now(view) else 0)


def note_reads(host: Host) -> None:
    """Note the cached tokens of a call, for :func:`believed_prompt`."""
    if host.reported is not None:
        cached = host.reported.cache_read + host.reported.cache_write
        host.notes["reads"] = host.notes.get("reads", 0) + cached


def transcript_bytes(message: Message) -> int:
    """Return the bytes that a message adds to the transcript: its text in UTF-8, without JSON."""
    return sum(len(part.text.encode("utf-8", "surrogatepass")) for part in message.parts)


def booked_under(count: int, last: str, compactions: Sequence[Compacted]) -> int:
    """Return the number of compactions under which a flush is recorded.

    If a compaction ends the flush's own turn, OpenClaw records the number after it. The cycle that
    begins then counts as flushed, and has no flush of its own.
    """
    return count + sum(compacted.last == last for compacted in compactions[count:])


# Text that a plug-in of OpenCode can add to a summary request; our own wording.
REMINDER = "A memory is kept outside of this conversation: what is put into it can be asked for."


@dataclass(frozen=True)
class MemoryFlush(Strategy):
    """Once before each compaction, let the agent write its memory in an extra turn.

    It does not compact, so combine it: ``memory_flush() + auto_compact()``. The protocol is that of
    the Signet specification, section 6.4, with three profiles:

    ``full``
        OpenClaw's. If the last prompt is close to the compaction trigger, then before the user's
        turn the agent is told to store lasting information, with an addition to the system prompt.
        It writes, and answers with a token for silence. This is a normal turn: each call is billed,
        the changed system prompt is not cached, and its messages stay in the history.
    ``hook``
        OpenCode's plug-ins add a reminder to the summary request. There is no extra turn, so
        nothing is written.
    ``internal``
        Claude Code's: not observable from outside, so it does nothing here.

    In 2026.9.6 the turn runs on a private copy of the conversation, of which only the notes are
    kept. It runs after an answer (so nobody waits), or before a turn that will be compacted. The
    copy has other tools, so none of it is read from the cache.

    Exact: when it runs, and what the user sees of it. The notes are simulated: the run's summariser
    writes them from the agent's context. Simplified: the turn has the session's view, without
    changes for one request; the transcript's size is that of its texts, without JSON; a heartbeat
    is recognised only by its words; the prompts have our wording and the originals' length; a copy
    has no separate cache key; a failed flush is billed like one that writes nothing. OpenClaw has
    no flush in a read-only sandbox or with a command-line back end, so omit this strategy there.

    Parameters
    ----------
    soft_threshold_tokens
        Tokens before the trigger of the compaction at which it runs.
    reserve_tokens_floor
        Tokens of the window kept free. The compactor's own reserve is ignored: if that is larger,
        the flush comes too late, as in the original. Without effect if a trigger is set.
    force_flush_transcript_bytes
        Size of the transcript above which it always runs; 0 for never. Since 2026.3.13; since
        2026.9.6 only the model's context counts.
    prompt, system_prompt
        The message to the agent, and the addition to the system prompt; our own wording by default.
    max_notes_tokens
        Maximum length of the notes; the original leaves that to the model.
    profile
        ``full``, ``hook`` or ``internal``.
    version
        OpenClaw's version. 2026.1.29 counts only the last prompt, and suppresses every answer that
        begins or ends with the token for silence. 2026.3.13 adds the last answer and the new
        message, and suppresses only the token. 2026.9.6 uses a private copy (see above).
    model
        The model of the turn (``memoryFlush.model``) by its catalogue name; "" for the session's.
        Since 2026.9.6.
    failing
        Share of failing flushes, for 2026.9.6, which tries three times per compaction. A scenario,
        because no rate has been published.
    with_cache_reads
        A fault of 2026.6: cache reads and writes of all calls of a turn count as context.
    heartbeat
        The beginning of a message with which OpenClaw wakes the agent; such a turn has no flush. ""
        if unknown. Transcripts do not mark these messages, and their wording can be configured.
    trigger
        The compaction's trigger, tokens or a share of the window; None for the window less the
        floor of the reserve.
    """

    does = (Act.NOTE,)

    soft_threshold_tokens: Annotated[int, at_least(0)] = SOFT_THRESHOLD_TOKENS
    reserve_tokens_floor: Annotated[int, at_least(0)] = RESERVE_TOKENS_FLOOR
    force_flush_transcript_bytes: Annotated[int, at_least(0)] = FORCE_FLUSH_TRANSCRIPT_BYTES
    prompt: str = ""
    system_prompt: str = ""
    max_notes_tokens: Annotated[int, at_least(0)] = 1_000
    profile: Literal["full", "hook", "internal"] = "full"
    version: Version = NEWEST
    model: str = ""
    failing: Annotated[float, between(0, 1)] = 0.0
    with_cache_reads: bool = False
    heartbeat: str = HEARTBEAT
    trigger: Trigger = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.version != NEWEST and (self.model or self.failing or self.with_cache_reads):
            wrong = "model, failing and with_cache_reads are settings"
            raise ValueError(f"{wrong} of {NEWEST}, not of {self.version}")

    @property
    def phases(self) -> frozenset[Phase]:  # type: ignore[override]
        """Before a turn; since 2026.9.6 also after one."""
        after = {Phase.AFTER_TURN} if self.version == NEWEST else set()
        reads = {Phase.AFTER_CALL} if self.with_cache_reads else set()
        return frozenset({Phase.BEFORE_TURN, *after, *reads})

    @property
    def flushes(self) -> bool:
        """Whether it runs before each compaction; the internal profile is not observable."""
        return self.profile != "internal"

    def compact(self, view: View, host: Host) -> View:
        if host.phase is Phase.AFTER_CALL:
            note_reads(host)
            return view
        if self.profile == "hook" and REMINDER not in host.reminders:
            host.reminders.append(REMINDER)
        due = self.profile == "full" and self._due(view, host)
        if host.phase is Phase.BEFORE_TURN and self.with_cache_reads:
            host.notes["reads"] = 0
        if not due:
            return view
        failed = self.failing > 0 and self._fails(host)
        request = TurnRequest(
            hinted(self.prompt, PROMPT, self.version),
            hinted(self.system_prompt, SYSTEM_PROMPT, self.version),
            "flush",
            0 if failed else self.max_notes_tokens,
            SILENT,
            partial(heard, version=self.version),
            detached=self.version == NEWEST,
            waits=host.phase is not Phase.AFTER_TURN,
            model=self.model,
        )
        flushed = host.run_turn(view, request)
        notes, tries = host.notes, host.notes.get("failures", 0)
        if failed and tries + 1 < MAX_FAILURES:
            notes["failures"] = tries + 1
            return flushed
        notes["count"], notes["last"] = len(host.compactions), host.log[-1].id
        notes["cycle"] = _cycle(view, host)
        notes.pop("failures", None)
        return flushed

    def _fails(self, host: Host) -> bool:
        draw = host.notes["draw"] = host.notes.get("draw", 0) + 1
        return host.rng(f"flush {draw}").random() < self.failing

    def _due(self, view: View, host: Host) -> bool:
        last = host.reported
        if last is None or self._has_flushed(view, host) or self._is_heartbeat(view):
            return False
        limit, reserve, soft = host.window, self.reserve_tokens_floor, self.soft_threshold_tokens
        if self.trigger:
            limit, reserve = int(tokens_at(self.trigger, host, limit)), 0
        if self.version == "2026.1.29":
            return should_flush(last.prompt, flush_threshold(limit, reserve, soft))
        known, transcript = (float(last.prompt), float(last.output)), host.log
        if self.version == NEWEST:
            reserve, soft = planned(limit, reserve, soft)
            # Before a turn it only runs if the session is going to be compacted.
            soft = 0 if host.phase is Phase.BEFORE_TURN else soft
            known = believed_prompt(view, host, reads=self.with_cache_reads)
            transcript = view.messages
        threshold = flush_threshold(limit, reserve, soft)
        new = said_now(view, tokens if self.version == NEWEST else estimate)
        size = projected_tokens(*known, new, threshold)
        most = self.force_flush_transcript_bytes
        return should_flush(size, threshold) or 0 < most <= transcript.total(transcript_bytes)

    def _is_heartbeat(self, view: View) -> bool:
        """Whether the turn was begun by OpenClaw itself: as ``isHeartbeat``."""
        begun = view.messages[current_turn(view.messages) :][:1]
        beat = self.heartbeat
        return bool(beat) and any(text.startswith(beat) for text in map(_typed, begun))

    def _has_flushed(self, view: View, host: Host) -> bool:
        """Whether there was a flush since the last compaction."""
        notes, compactions = host.notes, host.compactions
        if self.version == NEWEST:
            return bool(notes.get("cycle") == _cycle(view, host))
        return "count" in notes and (
            booked_under(notes["count"], notes["last"], compactions) == len(compactions)
        )


def _cycle(view: View, host: Host) -> list[object]:
    """Return what a compaction changes, and the cutting of a result does not."""
    summaries = [message.id for message in view.messages if message.origin == SUMMARY]
    return [summaries[-1:], sum(each.removed for each in host.compactions)]


def _typed(message: Message) -> str:
    return " ".join(part.text for _, part in spoken(message)).lstrip(BLANKS)


def said_now(view: View, weigh: Weight = estimate) -> int:
    """Estimate the user's new messages: all that a person typed since the last answer."""
    new = view.messages[history_end(view.messages) :]
    return sum(weigh(message) for message in new if message.starts_turn)
