"""Compaction in OpenClaw 2026.9.6: triggers, reserves, and the resulting session."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import SUMMARY, Message, Part, compacted, plain
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.cut import history_end, tail
from compactlab.strategies.mechanisms.estimate import is_stale
from compactlab.strategies.mechanisms.text import BLANKS, head
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at
from compactlab.strategies.openclaw.boundary import Budget, prepared, unit_scale
from compactlab.strategies.openclaw.caps import reduced
from compactlab.strategies.openclaw.distilled import Distiller, latest_ask
from compactlab.strategies.openclaw.flush import (
    RESERVE_TOKENS_FLOOR,
    believed_prompt,
    flush_threshold,
    note_reads,
    projected_tokens,
    said_now,
    should_flush,
    transcript_bytes,
)
from compactlab.strategies.openclaw.pressure import (
    MARGIN,
    effective_reserve,
    history_pressure,
    prompt_pressure,
    route,
    tokens,
)
from compactlab.strategies.openclaw.quality import MOST_CHARS
from compactlab.strategies.pi.preparation import unframed

_HEADING = re.compile(rf"(#{{2,3}})[{BLANKS}]+(.+?)[{BLANKS}]*")
_RULES_CHARS = 2000


def sections_of(content: str, names: Sequence[str]) -> list[str]:
    """Return named sections of a file: ``extractSections`` (2026.3.13 to 2026.9.6).

    A section has a heading of the second or third level and ends at the next one of its level or
    above; fenced code has no headings.
    """
    found = []
    for name in names:
        lines, level, fenced = list[str](), 0, False
        for line in content.split("\n"):
            fence = line.lstrip(BLANKS).startswith("```")
            fenced ^= fence
            match = None if fence or fenced else _HEADING.fullmatch(line)
            if match and not level and match[2].lower() == name.strip(BLANKS).lower():
                level = len(match[1])
            elif match and level and len(match[1]) <= level:
                break
            if level:
                lines.append(line)
        if lines:
            found.append("\n".join(lines).strip(BLANKS))
    return found


def rules_of(content: str, names: Sequence[str]) -> str:
    """Return the sections for the end of a summary, cut to 2,000 characters; "" if there are none.

    As ``readWorkspaceContextForSummary``.
    """
    text = "\n\n".join(sections_of(content, names))
    if not text:
        return ""
    cut = head(text, _RULES_CHARS)
    short = text if cut == text else f"{cut}\n...[truncated]..."
    return f"\n\n<workspace-critical-rules>\n{short}\n</workspace-critical-rules>"


class _Request(NamedTuple):
    """The request that must fit after a compaction: its fixed tokens, and its budget."""

    fixed: int
    budget: Budget

    @property
    def limit(self) -> float:
        """Its maximum tokens in total."""
        return self.fixed + self.budget.most


@dataclass(frozen=True)
class DistilledSummary(Strategy):
    """Summarise under five headings, check the summary, and limit its length.

    The safeguard of OpenClaw 2026.9.6. It compacts before a turn when the last prompt, its answer
    and the new message reach the window less the reserve, after an answer when the prompt alone
    does, and when a request is refused. With ``mid_turn_precheck`` it also checks between a tool
    result and the next answer. A summary has five headings and is made anew from the previous
    summary and the new messages. Appended are the last three turns, tool failures and files; the
    maximum is 16,000 characters in total. The latest request and the identifiers of the last ten
    messages are inserted if missing. A summary that fails the check is requested once more; if that
    fails, too, the session stays unchanged (``guard_blocked``).

    Exact: trigger, cut, pieces, check, cutting to a length, and the decision within a turn (vectors
    ``openclaw_*_2026.9.6``). Simplified: the text of a summariser without headings is put under the
    first one; requests have no system prompt and no tool definitions; after an overflow, it
    compacts once and then cuts tool results; if a required compaction fails, the turn goes on (the
    original returns an error). ``truncateAfterCompaction`` was retired before 2026.9.6.

    Parameters
    ----------
    reserve_tokens
        Tokens of the window kept free, at most a quarter of it.
    keep_recent_tokens
        Estimated tokens of the tail.
    recent_turns_preserve
        Turns that are quoted, at most 12.
    quality_guard
        Whether a summary is checked.
    max_retries
        Further attempts if the check fails, at most 3.
    forgets_headings
        Share of the summaries that lack a heading, so that the check fails; a scenario, because no
        rate has been published.
    mid_turn_precheck
        Whether there is a check within a turn (``midTurnPrecheck.enabled``).
    max_active_transcript_bytes
        Bytes of the model's context above which it always compacts; 0 for never. If the result
        still has more, it waits for as many new bytes.
    agents_md, post_compaction_sections
        The text of ``AGENTS.md``, and the headings of its sections that are appended to each
        summary.
    model
        The summarising model by its catalogue name; "" for the session's (``compaction.model``).
    with_cache_reads
        A fault of 2026.6: cache reads and writes of all calls of a turn count as context.
    stale_usage
        A fault of 2026.5: a report from before the last compaction counts as context.
    trigger
        Tokens, or a share of the window, at which it compacts; None for the window less the
        reserve.
    """

    does = (Act.SUMMARISE,)

    reserve_tokens: Annotated[int, at_least(0)] = RESERVE_TOKENS_FLOOR
    keep_recent_tokens: Annotated[int, at_least(0)] = 20_000
    recent_turns_preserve: Annotated[int, between(0, 12)] = 3
    quality_guard: bool = True
    max_retries: Annotated[int, between(0, 3)] = 1
    forgets_headings: Annotated[float, between(0, 1)] = 0.0
    mid_turn_precheck: bool = False
    max_active_transcript_bytes: Annotated[int, at_least(0)] = 0
    agents_md: str = ""
    post_compaction_sections: tuple[str, ...] = ()
    model: str = ""
    with_cache_reads: bool = False
    stale_usage: bool = False
    trigger: Trigger = None

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """The rules that its cut breaks, and those that an early compaction breaks."""
        cut = "a cut may fall inside a turn: its beginning is summarised (all)"
        large = "where little can be cut off, a summary may be larger than that (all)"
        early = self.max_active_transcript_bytes or self.with_cache_reads or self.stale_usage
        small = self.keep_recent_tokens < 20_000
        return {"last user message": cut, **({"size": large} if early or small else {})}

    @property
    def phases(self) -> frozenset[Phase]:  # type: ignore[override]
        """After and before a turn, and after a refused request; within a turn if set."""
        within = {Phase.BEFORE_CALL} if self.mid_turn_precheck else set()
        reads = {Phase.AFTER_CALL} if self.with_cache_reads else set()
        return frozenset({Phase.AFTER_TURN, Phase.BEFORE_TURN, Phase.ON_OVERFLOW, *within, *reads})

    def compact(self, view: View, host: Host) -> View:
        phase, messages = host.phase, view.messages
        if phase is Phase.AFTER_CALL:
            note_reads(host)
            return view
        if phase is Phase.BEFORE_CALL:
            return self._within_turn(view, host)
        if phase is Phase.ON_OVERFLOW:
            return self._relieved(self._compacted(view, messages, host, within=True), host)
        end = len(messages)
        if phase is Phase.BEFORE_TURN:
            new = range(history_end(messages), end)
            end = next((n for n in new if messages[n].starts_turn), end)
        before = messages[:end]
        due = self._is_due(view, host)
        if phase is Phase.BEFORE_TURN:
            host.notes["reads"] = 0
        if due:
            return self._compacted(view, before, host)
        if not self._is_large(before, host):
            return view
        after = self._compacted(view, before, host)
        size = after.messages.total(transcript_bytes)
        host.notes["latch"] = size if size >= self.max_active_transcript_bytes else 0
        return after

    def _limit(self, host: Host) -> tuple[int, int]:
        """Return the tokens of the window and of the reserve in it."""
        if self.trigger:
            return int(tokens_at(self.trigger, host, host.window)), 0
        return host.window, effective_reserve(self.reserve_tokens, host.window)

    def _is_due(self, view: View, host: Host) -> bool:
        limit, reserve = self._limit(host)
        threshold = flush_threshold(limit, reserve, 0)
        known = believed_prompt(view, host, reads=self.with_cache_reads, stale=self.stale_usage)
        size = projected_tokens(*known, said_now(view, tokens), threshold)
        host.believe(size, view)
        return should_flush(size, threshold)

    def _is_large(self, before: Messages, host: Host) -> bool:
        """Whether the transcript has the bytes at which it is compacted."""
        most, size = self.max_active_transcript_bytes, before.total(transcript_bytes)
        if not most or size < most:
            host.notes["latch"] = 0
            return False
        latch: int = host.notes.get("latch", 0)
        if latch and size - latch < most:
            host.notes["latch"] = min(latch, size)
            return False
        return True

    def _within_turn(self, view: View, host: Host) -> View:
        """Check after a tool's result whether the next prompt still fits."""
        messages = view.messages
        if not messages or messages[-1].role != "tool":
            return view
        limit, reserve = self._limit(host)
        estimated = self._pressure(view, host)
        host.believe(estimated, view)
        way = route(estimated, limit, reserve, reduced(messages, host.window).chars).way
        if way == "truncate_tool_results_only":
            return view.with_messages(messages.replace(reduced(messages, host.window).changed))
        if way == "fits":
            return view
        after = self._compacted(view, messages, host, within=True)
        if way == "compact_only" or after is view:
            return after
        return after.with_messages(
            after.messages.replace(reduced(after.messages, host.window).changed)
        )

    @staticmethod
    def _pressure(view: View, host: Host) -> int:
        """Estimate the next prompt: the last report plus later messages."""
        if host.reported is None or is_stale(host):
            return prompt_pressure(view.messages, view.system)
        new = view.messages[history_end(view.messages) :]
        known = host.reported.prompt + host.reported.output
        return known + prompt_pressure(new, view.system)

    def _relieved(self, view: View, host: Host) -> View:
        """Cut tool results of a prompt that is still too large."""
        if host.count(view) <= host.window:
            return view
        return view.with_messages(
            view.messages.replace(reduced(view.messages, host.window).changed)
        )

    def _compacted(self, view: View, before: Messages, host: Host, *, within: bool = False) -> View:
        """Return the view with a summary; the same view if there is nothing, or none passes.

        Within a turn, the request goes on afterwards.
        """
        compacted = before[-1:] and before[-1].id == host.notes.get("last")
        if not before or (compacted and not self.stale_usage):
            return view  # nothing has been said since the last compaction
        body, previous = _split(before, host)
        request = None if host.phase is Phase.BEFORE_TURN else self._request(view, before, host)
        known = host.reported  # of the last answer, even from before a compaction that kept it
        answered = known is not None and any(m.role == "assistant" for m in body)
        reported = known.prompt + known.output if known and answered else 0
        estimated = before.total(tokens)
        new = before[history_end(before) :].total(tokens)
        scale = unit_scale(self.keep_recent_tokens, reported, estimated)
        try:
            budget = request and request.budget
            found = prepared(body, self.keep_recent_tokens, scale, budget)
            if found is None and budget is None:
                found = prepared(body, 0)  # as little as possible is kept
        except ValueError:
            return view
        if found is None:
            return view
        kept = body[found.first :]
        room = None
        if request:
            empty = _message(host, [])
            left = request.limit - request.fixed - history_pressure([empty, *kept])
            room = math.floor(left / MARGIN) - 1
        unresolved = (latest_ask(before) or host.notes.get("open", "")) if within else ""
        size = reported + new if reported else estimated
        written = self._writer(view, host).write(found, previous, size, unresolved, room)
        if written is None:
            host.notes["blocked"] = host.notes.get("blocked", 0) + 1
            return view
        message = _message(host, written)
        if request and request.fixed + history_pressure([message, *kept]) > request.limit:
            return view
        host.notes["number"], host.notes["id"] = host.notes.get("number", 0) + 1, message.id
        host.notes["open"], host.notes["last"] = unresolved, before[-1].id
        rest = tail(body.append(*view.messages[len(before) :]), found.first)
        return view.with_messages([message, *rest])

    def _writer(self, view: View, host: Host) -> Distiller:
        return Distiller(
            host,
            view,
            effective_reserve(self.reserve_tokens, host.window),
            self.recent_turns_preserve,
            self.max_retries if self.quality_guard else -1,
            self.forgets_headings,
            rules_of(self.agents_md, self.post_compaction_sections),
            self.model,
            waits=host.phase is not Phase.AFTER_TURN,
        )

    def _request(self, view: View, before: Messages, host: Host) -> _Request:
        """Return the request that must fit after the compaction."""
        fixed = prompt_pressure([], view.system)
        most = host.window - effective_reserve(self.reserve_tokens, host.window) - fixed
        if most <= 0:
            most = history_pressure(before) - 1
        summary = _message(host, [Part("text", "x" * MOST_CHARS, "synthetic", ())])
        return _Request(fixed, Budget(most, history_pressure([summary]), _in_history))


def _in_history(message: Message) -> int:
    return history_pressure([message])


def _message(host: Host, parts: Sequence[Part]) -> Message:
    id = f"distilled-{host.notes.get('number', 0) + 1}"
    merged: list[Part] = []
    for part in parts:  # words around what is told are one part
        around = bool(merged) and not (part.sources or merged[-1].sources)
        merged.append(plain(merged.pop().text + part.text) if around else part)
    return Message(id, "user", tuple(compacted(merged)), host.now, True, origin=SUMMARY)


def _split(messages: Messages, host: Host) -> tuple[Messages, tuple[Part, ...]]:
    """Return the messages behind our own summary, and its parts."""
    if messages and messages[0].origin == SUMMARY and messages[0].id == host.notes.get("id"):
        return messages[1:], unframed(messages[0])
    return messages, ()
