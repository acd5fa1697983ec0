"""The summary of OpenClaw 2026.9.6: made anew each time, checked, and cut to a length."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from compactlab.sim.core.message import Message, Part, plain
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.text import BLANKS
from compactlab.strategies.openclaw.boundary import (
    Prepared,
    chunks,
    groups,
    halves,
    pruned,
    without_oversized,
)
from compactlab.strategies.openclaw.flush import is_silent
from compactlab.strategies.openclaw.kept import TURNS_HEADING, line_of, split_turns
from compactlab.strategies.openclaw.pressure import MARGIN, chars, tokens
from compactlab.strategies.openclaw.quality import (
    HEADINGS,
    MOST_CHARS,
    OPEN_ASK_CHARS,
    Cuts,
    Facts,
    Final,
    Suffix,
    audit,
    capped,
    finalised,
    fitted,
    identifiers,
    shown_ask,
)
from compactlab.strategies.openclaw.safeguard import (
    HISTORY_SHARE,
    OVERHEAD,
    chunk_ratio,
    failure_section,
    tool_failures,
)
from compactlab.strategies.pi.preparation import Files, file_section
from compactlab.strategies.pi.summary import MERGE, NO_HISTORY, PREFIX, lines, serialise, text_of

# Our own wording, about as long as the original's.
INSTRUCTIONS = (
    "Write a short summary that keeps to the facts, under exactly these headings and in this "
    f"order: {', '.join(HEADINGS)}. Under the last one stand ids, addresses, paths, ports, hashes, "
    "dates and times exactly as they were. Leave out no request of the user that is still open, "
    "and put those that were met elsewhere than under the pending ones. Where an earlier summary "
    "is given, distil it anew together with the new messages, and drop what is stale or said "
    "twice.\n\nKeep every name that nobody could guess as it is (ids, hashes, hosts, addresses, "
    "ports, files): shorten none, and rebuild none."
)
_AGAIN = (
    "What was wrong must be put right: every heading stands there, and identifiers are as they "
    "were. The body has at most {} characters. The check of the summary before said: {}."
)
_BEFORE = (
    "An earlier summary, to be distilled anew with these messages: drop what is stale, said twice "
    "or overtaken, rather than keep all of it."
)
_OPEN = "The first of the pending requests is this one, word for word; it goes on afterwards:\n"
SPLIT = "\n\n**Turn Context (split turn):**\n\n"
_EARLIER_TURNS = "[Earlier preserved messages truncated]\n"
_HALF = MOST_CHARS // 2  # for the turns, and for the first part of a split one
_FILES_CHARS = 900  # of a list of files
_NEWEST = 10  # messages whose identifiers must survive
_TEXTS = "1.6.0"  # pi version that writes messages like 2026.9.6: without thinking
_HEADING = re.compile(r"^##(?=[ \t]+\S)", re.MULTILINE)


class _Files(Files):
    """Files that calls name: also by tools of other agents and of MCP servers."""

    arguments = ("path", "file_path", "filePath")

    @staticmethod
    def tool_of(part: Part) -> str:
        return re.sub("^(?:mcp__)?+.*?__", "", part.name.lower())


def said(message: Message) -> str:
    """Return the text of a message, as the check reads it: ``extractMessageText``."""
    texts = (p.text.strip(BLANKS) for p in message.parts if p.type in ("text", "tool_result"))
    return "\n".join(text for text in texts if text)


def latest_ask(messages: Sequence[Message]) -> str:
    """Return the newest text of a user among messages; "" if there is none."""
    asks = (said(m) for m in reversed(messages) if m.role == "user" and not m.origin)
    return next((ask for ask in asks if ask), "")


def is_talk(message: Message) -> bool:
    """Whether a message has content (``hasMeaningfulConversationContent``)."""
    text = said(message)
    return bool(text) and not is_silent(text)


@dataclass(frozen=True)
class Distiller:
    """Makes a summary as OpenClaw's safeguard does in 2026.9.6."""

    host: Host
    view: View
    reserve: int  # tokens of the window; they limit the length of an answer
    turns: int  # turns that are quoted
    retries: int  # further attempts if the check fails; below 0: no check
    forgets: float = 0.0  # share of the answers that lack a heading
    rules: str = ""  # sections of AGENTS.md
    model: str = ""  # the writing model, if it is another one
    waits: bool = True

    # Requests.

    def _ask(
        self, messages: Sequence[Message], previous: Sequence[Part], instructions: str, share: float
    ) -> list[Part] | None:
        """Request a summary; None if it fails: larger than the window, or no answer."""
        before = text_of(previous)
        transcript = f"<conversation>\n{serialise(messages, _TEXTS)}\n</conversation>"
        if before:
            transcript += f"\n\n<previous-summary>\n{before}\n</previous-summary>"
        text, window = transcript + instructions, self.host.window
        if len(text) > window and self.host.count(text) > window:
            return None
        most = math.floor(share * self.reserve)
        request = SummaryRequest(
            tuple(messages),
            min(most, self.host.model.max_output or most),
            tuple(part for part in previous if part.sources),
            instructions,
            transcript,
            waits=self.waits,
            model=self.model,
        )
        written = lines(self.host.summarize(self.view, request))
        return written if text_of(written).strip(BLANKS) else None

    def _in_a_row(
        self, messages: Sequence[Message], most: float, instructions: str, share: float
    ) -> list[Part] | None:
        """Summarise the chunks in order; if a request is refused, omit too large messages."""
        small = without_oversized(messages, self.host.window)
        tries = [(messages, list[str]())]
        if small.messages and len(small.messages) < len(messages):
            tries.append((small.messages, small.notes))
        for some, notes in tries:
            summary: list[Part] | None = []
            for chunk in chunks(some, most):
                if summary is not None:
                    summary = self._ask(chunk, summary, instructions, share)
            if summary is not None:
                summary = summary or [plain(NO_HISTORY)]
                return [*summary, plain("\n\n" + "\n".join(notes))] if notes else summary
        return None

    def _summary(
        self,
        messages: Sequence[Message],
        previous: Sequence[Part],
        most: float,
        instructions: str,
        share: float = 0.8,
    ) -> list[Part] | None:
        """Summarise in stages: an earlier summary is one of the messages."""
        if previous:
            lead = plain(f"<previous-compaction-summary>\n{_BEFORE}\n\n")
            end = plain("\n</previous-compaction-summary>")
            messages = [
                Message("previous", "user", (lead, *previous, end), meta=True),
                *messages,
            ]
        found = halves(messages, most)
        if not found:
            return self._in_a_row(messages, most, instructions, share)
        partial = []
        for number, half in enumerate(found, 1):
            written = self._in_a_row(half, most, instructions, share)
            if written is None:
                return None
            label = plain(f"[Chunk {number} of {len(found)}]\n")
            partial.append(Message(f"part-{number}", "user", (label, *written), meta=True))
        return self._in_a_row(partial, most, f"{instructions}\n\nAdditional focus: {MERGE}", share)

    def _most(self, messages: Sequence[Message]) -> int:
        """Return the tokens of a chunk."""
        window = self.host.window
        return max(1, math.floor(window * chunk_ratio(messages, window, tokens)) - OVERHEAD)

    # The whole.

    def write(
        self,
        prepared: Prepared,
        previous: Sequence[Part],
        before: float,
        unresolved: str = "",
        room: float | None = None,
    ) -> list[Part] | None:
        """Summarise prepared messages; None if the request is refused or the check fails.

        Parameters
        ----------
        prepared
            The history, and the first part of a split turn.
        previous
            The earlier summary.
        before
            Tokens in context.
        unresolved
            The request that goes on afterwards.
        room
            Tokens that the summary may have; None for no such limit.
        """
        history, prefix = prepared.history, list(prepared.prefix)
        window, own = self.host.window, sum(map(tokens, [*history, *prefix]))
        if math.floor(before - own) > math.floor(window * HISTORY_SHARE * MARGIN):
            found = pruned(history, window, HISTORY_SHARE)
            if found.dropped:
                most = self._most(found.dropped)
                dropped = self._summary(found.dropped, previous, most, INSTRUCTIONS)
                if dropped is None:
                    return None
                history, previous = found.kept, dropped
        facts = self._facts(history, prefix, unresolved)
        target, turns = split_turns(history, self.turns)
        section = _turns_section(turns)
        checked = facts if self.retries >= 0 else None
        asked = latest_ask(history)
        whole = checked and not unresolved and asked and asked == facts.ask
        if whole and (target or facts.shown not in text_of(section.parts)):
            target = history
        if not any(map(is_talk, [*prepared.history, *prefix])):
            target, prefix = target[:0], []  # nothing is asked for: a boundary is written
        files = _Files()
        files.note([*prepared.history, *prefix])
        rest = [
            *failure_section(tool_failures([*prepared.history, *prefix])),
            *file_section(files, _FILES_CHARS),
            *([plain(self.rules)] if self.rules else []),
        ]
        return self._attempts(_Job(target, prefix, previous, section, rest, facts, room))

    def _facts(
        self, history: Sequence[Message], prefix: Sequence[Message], unresolved: str
    ) -> Facts:
        newest = "\n".join(filter(None, map(said, [*history, *prefix][-_NEWEST:])))
        kept = latest_ask(prefix)
        open_ask = shown_ask(unresolved, OPEN_ASK_CHARS, "latest user request")
        ask = kept or latest_ask(history)
        return Facts(tuple(identifiers(newest)), ask, bool(kept), open_ask)

    def _attempts(self, job: _Job) -> list[Part] | None:
        """Ask until a summary passes the check."""
        most = self._most([*job.messages, *job.prefix])
        asked = f"{INSTRUCTIONS}\n\n{_OPEN}{job.facts.unresolved}"
        instructions, again = asked if job.facts.unresolved else INSTRUCTIONS, ""
        for _ in range(max(0, self.retries) + 1):
            body = self._body(job, most, instructions + again)
            prefix = self._summary(job.prefix, (), most, PREFIX + again, 0.5) if job.prefix else []
            if body is None or prefix is None:
                return None
            final, parts = job.finished(body, prefix, checks=self.retries >= 0)
            if final is None or not final.feasible:
                return None
            reasons = job.wrong(final, parts, body, prefix) if self.retries >= 0 else []
            if not reasons:
                return parts
            if not (job.messages or job.prefix):
                return None
            again = f"\n\nAdditional focus: {_AGAIN.format(final.room, ', '.join(reasons))}"
        return None

    def _body(self, job: _Job, most: int, instructions: str) -> list[Part] | None:
        if not job.messages:
            return _fallback(job.previous)
        own = self._summary(job.messages, job.previous, most, instructions)
        return own and self._headed(own)

    def _headed(self, written: list[Part]) -> list[Part]:
        """Put a summary under the headings, if its writer does not know them.

        Quoting summarisers know no headings; a model's own are kept. ``forgets`` is the share of
        summaries that lack the last one.
        """
        if any(line.strip(BLANKS) in HEADINGS for line in text_of(written).splitlines()):
            return written
        notes = self.host.notes
        draw = notes["draw"] = notes.get("draw", 0) + 1
        forgets = self.forgets and self.host.rng(f"headings {draw}").random() < self.forgets
        rest = "".join(f"\n\n{heading}\nNone." for heading in HEADINGS[1 : -1 if forgets else None])
        return [plain(f"{HEADINGS[0]}\n"), *written, plain(rest)]


class _Section(NamedTuple):
    """Parts that are appended together, and where each of their segments begins."""

    parts: list[Part]
    starts: tuple[int, ...] = ()


class _Job(NamedTuple):
    """The content to summarise, and the text to append."""

    messages: Sequence[Message]
    prefix: Sequence[Message]
    previous: Sequence[Part]
    section: _Section
    rest: list[Part]
    facts: Facts
    room: float | None

    def finished(
        self, body: list[Part], prefix: list[Part] | None, *, checks: bool
    ) -> tuple[Final | None, list[Part]]:
        """Cut body and suffix to their length, and return the remaining parts."""
        split = _split_section(prefix or [])
        audited = text_of([*body, *split])
        if not checks:
            body, split = [*body, *split], []
        suffix = [*split, *self.section.parts, *self.rest]
        start = utf16_length(text_of(split))
        shift = tuple(start + each for each in self.section.starts)
        length = utf16_length(text_of(self.section.parts))
        ranges = ((start, start + length, shift),) if length else ()
        text, tail = text_of(body), Suffix(text_of(suffix), ranges)
        facts = self.facts if checks else None
        found = fitted(
            self.room,
            lambda whole: chars(whole) / 4,
            lambda most: finalised(text, tail, most, facts, audited),
        )
        if found is None:
            return None, []
        return found, [*_clipped(body, found.body), *_clipped(suffix, found.suffix)]

    def wrong(
        self, final: Final, parts: list[Part], body: list[Part], prefix: list[Part]
    ) -> list[str]:
        """Check a finished summary."""
        split = text_of(prefix) if self.facts.retained and prefix else None
        texts = [text for text in (text_of(body), text_of(prefix)) if text]
        return audit(text_of(parts), final.body.text, texts, self.facts, split)


def _fallback(previous: Sequence[Part]) -> list[Part]:
    """Return the earlier summary under the headings, if there is nothing to summarise."""
    if all(heading in text_of(previous) for heading in HEADINGS):
        return list(previous)
    rest = "".join(f"\n\n{heading}\nNone." for heading in HEADINGS[1:-1])
    before = list(previous) or [plain(NO_HISTORY)]
    return [plain(f"{HEADINGS[0]}\n"), *before, plain(f"{rest}\n\n{HEADINGS[-1]}\nNone captured.")]


def _split_section(written: list[Part]) -> list[Part]:
    """Format the summary of a turn's first part; its headings are one level lower."""
    if not written:
        return []
    nested = [msgspec.structs.replace(p, text=_HEADING.sub("###", p.text)) for p in written]
    return [plain(SPLIT), *_clipped(nested, capped(text_of(nested), _HALF - len(SPLIT) + 2))]


def _turns_section(messages: Sequence[Message]) -> _Section:
    """Format the newest quoted turns that fit 8,000 characters."""
    segments = []
    for group in groups(messages):
        found = [part for message in group for part in line_of(message)]
        if found:
            segments.append(found)
    if not segments:
        return _Section([])
    sizes = [utf16_length(text_of(segment)) for segment in segments]
    front = utf16_length(TURNS_HEADING)
    lead, first = [plain(TURNS_HEADING)], 0
    if front + sum(sizes) > _HALF:
        lead = [plain(f"{TURNS_HEADING}\n{_EARLIER_TURNS.rstrip()}")]
        front = utf16_length(text_of(lead))
        room, first = _HALF - front, len(segments)
        while first and sizes[first - 1] <= room:
            first -= 1
            room -= sizes[first]
    starts, place = [], front
    for size in sizes[first:]:
        starts.append(place + 1)
        place += size
    kept = [part for segment in segments[first:] for part in segment]
    return _Section([*lead, *kept], tuple(starts))


def _clipped(parts: Iterable[Part], cuts: Cuts) -> list[Part]:
    """Return the parts of which a cut text consists."""
    given, left = list(parts), list[Part]()
    for piece in cuts.pieces:
        if isinstance(piece, str):
            left.append(plain(piece))
            continue
        start = 0
        for part in given:
            first, last = max(piece[0] - start, 0), min(piece[1] - start, len(part.text))
            start += len(part.text)
            if first >= last:
                continue
            whole = (first, last) == (0, len(part.text))
            kind = "summary" if part.kind in ("verbatim", "truncated") else part.kind
            text = part.text[first:last]
            left.append(part if whole else msgspec.structs.replace(part, text=text, kind=kind))
    return [part for part in left if part.text]
