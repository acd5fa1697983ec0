"""Google's Agent Development Kit: summaries replace ranges of events, which may overlap."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import msgspec

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, PartType, remembered
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.estimate import is_stale
from compactlab.strategies.mechanisms.handover import INSTRUCTIONS, summary_message
from compactlab.strategies.mechanisms.text import arguments_of, transcript
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# The choice of events to summarise, and the prompt afterwards: google-adk 2.13.0,
# `apps/compaction.py` and `flows/llm_flows/context/_compaction.py`.
#
# A compaction is itself a stored event, with a range of time and a summary of the events in it.
# Nothing is deleted; the prompt omits the events in a range.


class Event(NamedTuple):
    """The data of a session's event that the rule uses."""

    time: float
    invocation: str  # its turn; "" for none
    calls: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()
    size: int = 0  # characters of its content as JSON
    chars: int = 0  # characters of its texts, and of the names, arguments and results of tools


class Range(NamedTuple):
    """A compaction: the range of its summary, and the summary's sizes as an event."""

    start: float
    end: float
    size: int = 0
    chars: int = 0


class Chosen(NamedTuple):
    """The events to summarise."""

    events: tuple[Event, ...]
    start: float
    end: float
    previous: int | None = None  # the compaction whose summary is updated


# JSON of a model's content without parts, the smallest summary.
_EMPTY = len('{"parts":[],"role":"model"}')
_CHARS_PER_TOKEN = 4


def surviving(ranges: Sequence[Range]) -> list[int]:
    """Return the indices of ranges that no other contains; of equal ones, the last.

    As ``_get_compaction_ranges``. Ranges that only overlap are both kept.
    """
    kept, reach = [], -math.inf
    for n in sorted(range(len(ranges)), key=lambda n: (ranges[n].start, -ranges[n].end, -n)):
        if ranges[n].end > reach:
            kept.append(n)
            reach = ranges[n].end
    return sorted(kept)


def effective(events: Sequence[Event], ranges: Sequence[Range]) -> list[Event | Range]:
    """Return the prompt's content: summaries at the ends of their ranges, and events outside.

    As ``_process_compaction_events``.
    """
    kept = [ranges[n] for n in surviving(ranges)]
    starts = sorted(each.start for each in kept)  # no range contains another: ends are in order
    ends = sorted(each.end for each in kept)
    shown: list[Event | Range] = [*kept]
    for event in events:
        index = bisect_right(starts, event.time) - 1
        if index < 0 or event.time > ends[index]:
            shown.append(event)
    return sorted(shown, key=moment)


def moment(shown: Event | Range) -> float:
    """Return the position of an event or summary in time."""
    return shown.end if isinstance(shown, Range) else shown.time


def prompt_tokens(
    events: Sequence[Event], ranges: Sequence[Range], reported: int | None
) -> int | None:
    """Return the tokens of the prompt: the last report since a compaction, or an estimate.

    As ``_latest_prompt_token_count``. The estimate excludes the system prompt. The result is None
    if there is nothing to count.
    """
    if reported is not None:
        return reported
    chars = sum(shown.chars for shown in effective(events, ranges))
    return chars // _CHARS_PER_TOKEN if chars > 0 else None


def by_interval(
    events: Sequence[Event], ranges: Sequence[Range], interval: int, overlap: int
) -> Chosen | None:
    """Return the events that a sliding window summarises after a turn; None if it is not due.

    As ``_run_compaction_for_sliding_window``: after ``interval`` new turns since the last
    compaction, these turns and the ``overlap`` turns before them.
    """
    latest: dict[str, float] = {}
    for event in events:
        if event.invocation:
            latest[event.invocation] = max(latest.get(event.invocation, 0.0), event.time)
    turns = list(latest)
    since = ranges[-1].end if ranges else 0.0
    new = [turn for turn in turns if latest[turn] > since]
    if not new or len(new) < interval:
        return None
    first = turns[max(0, turns.index(new[0]) - overlap)]
    begins = next(n for n, event in enumerate(events) if event.invocation == first)
    ends = max(n for n, event in enumerate(events) if event.invocation == new[-1])
    return _worth(events, ranges, self_contained(events[begins : ends + 1], events), None)


def by_tokens(events: Sequence[Event], ranges: Sequence[Range], retention: int) -> Chosen | None:
    """Return the events to summarise when the prompt reaches the threshold; None for nothing.

    As ``_events_to_compact_for_token_threshold``: all events since the last compaction except the
    newest ``retention``. The previous summary is updated and superseded.
    """
    kept = surviving(ranges)
    last = kept[-1] if kept else None
    since = 0.0 if last is None else ranges[last].end
    candidates = [event for event in events if event.time > since]
    if len(candidates) <= retention:
        return None
    split = _split(candidates, retention) if retention else len(candidates)
    return _worth(events, ranges, self_contained(candidates[:split], events), last)


def _split(candidates: Sequence[Event], retention: int) -> int:
    """Return the index from which events are retained, such that no result loses its call."""
    wanted: set[str] = set()
    for n in range(len(candidates) - 1, -1, -1):
        wanted |= candidates[n].results
        wanted -= candidates[n].calls
        if not wanted and n <= len(candidates) - retention:
            return n
    return 0


def self_contained(chosen: Sequence[Event], events: Sequence[Event]) -> Sequence[Event]:
    """Return the longest start without open calls; as ``_longest_self_contained_prefix``.

    A call of an earlier turn that is never answered is ignored; otherwise nothing after it could be
    summarised. The events before its turn are summarised first.
    """
    safe = _closed(chosen, frozenset())
    if safe == len(chosen) or (safe and chosen[safe - 1].invocation != chosen[safe].invocation):
        return chosen[:safe]
    newest = next((e.invocation for e in reversed(events) if e.invocation), "")
    answered = frozenset().union(*(event.results for event in events))
    earlier = (e.calls for e in chosen if not newest or e.invocation != newest)
    dead = frozenset().union(*earlier) - answered
    return chosen[: max(safe, _closed(chosen, dead))] if dead else chosen[:safe]


def _closed(chosen: Sequence[Event], dead: frozenset[str]) -> int:
    """Return the number of events up to the last one after which no call is open."""
    open, safe = set[str](), 0
    for n, event in enumerate(chosen):
        open -= event.results
        open |= event.calls - dead
        if not open:
            safe = n + 1
    return safe


def _worth(
    events: Sequence[Event], ranges: Sequence[Range], chosen: Sequence[Event], last: int | None
) -> Chosen | None:
    """Return the chosen events if removing them saves more than the size of the last summary.

    As ``_is_range_worth_compacting``: the size of the next summary is not known in advance.
    """
    if not chosen:
        return None
    start = chosen[0].time if last is None else ranges[last].start
    times = [start, *(event.time for event in chosen)]
    made = Range(min(times), max(times), _EMPTY)
    before, after = (
        sum(shown.size for shown in effective(events, known)) for known in (ranges, [*ranges, made])
    )
    kept = surviving(ranges)
    if before - after <= (ranges[kept[-1]].size if kept else 0):
        return None
    return Chosen(tuple(chosen), start, chosen[-1].time, last)


# An agent's session as events: each message is an event, each turn of a person an invocation.


def events_of(log: Sequence[Message]) -> list[Event]:
    """Convert a log to events; the time of each is its position, from 1.

    Messages of the client just before a person speaks belong to that person's turn; those before
    the first person speaks belong to none.
    """
    return [
        Event(
            float(index),
            str(turn) if turn else "",
            _ids(message, "tool_call"),
            _ids(message, "tool_result"),
            _size(message),
            _chars(message),
        )
        for index, (message, turn) in enumerate(zip(log, _turns(log), strict=True), 1)
    ]


def _ids(message: Message, type: PartType) -> frozenset[str]:
    """Return the ids of a message's calls or results, without empty ids."""
    return frozenset(p.call_id for p in message.parts if p.type == type and p.call_id)


def _turns(log: Sequence[Message]) -> list[int]:
    """Number the turn of each message, 0 before the first."""
    turns: list[int] = []
    turn = waiting = 0
    for message in log:
        if message.starts_turn:
            turn += 1
            if turn > 1:
                turns[len(turns) - waiting :] = [turn] * waiting
        waiting = waiting + 1 if message.role == "user" and message.meta else 0
        turns.append(turn)
    return turns


def content_of(role: str, parts: Sequence[Part]) -> dict[str, Any]:
    """Convert a message to the original's form: a content of Gemini's API.

    Only the tokens of an image are known: each counts as four characters of data.
    """
    return {"parts": [_shape(p) for p in parts], "role": "model" if role == "assistant" else "user"}


def _shape(part: Part) -> dict[str, Any]:
    text = part.text or "." * (4 * part.size)
    named = {"id": part.call_id} if part.call_id else {}
    match part.type:
        case "tool_call":
            args = arguments_of(part)
            if not isinstance(args, dict):
                args = {"arguments": part.text if args is None else args}
            return {"function_call": {**named, "args": args, "name": part.name}}
        case "tool_result":
            response = {"error" if part.is_error else "result": text}
            return {"function_response": {**named, "name": part.name, "response": response}}
        case "image":
            return {"inline_data": {"data": "." * (4 * part.size), "mime_type": "image/png"}}
        case "thinking":
            return {"text": text, "thought": True}
        case _:
            return {"text": text}


def size_of(content: Mapping[str, Any]) -> int:
    """Count the characters of a content as JSON; as ``_serialized_size``."""
    return len(json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def chars_of(content: Mapping[str, Any]) -> int:
    """Count the characters for an estimate; as ``_count_chars_in_content``.

    Arguments and results are counted as Python writes JSON, with escapes. A content of thoughts
    alone is in no prompt.
    """
    shown = [part for part in content["parts"] if part.get("text", True) and "thought" not in part]
    return sum(map(_chars_of, content["parts"])) if shown else 0


def _chars_of(part: Mapping[str, Any]) -> int:
    for kind, said in (("function_call", "args"), ("function_response", "response")):
        if kind in part:
            told = part[kind][said]
            return len(part[kind]["name"]) + (len(json.dumps(told)) if told else 0)
    return len(part.get("text", ""))


@remembered
def _size(message: Message) -> int:
    return size_of(content_of(message.role, message.parts))


@remembered
def _chars(message: Message) -> int:
    return chars_of(content_of(message.role, message.parts))


_RESULT_CHARS = 2000  # `_MAX_TOOL_CONTENT_CHARS` of `llm_event_summarizer.py`
_MAX_TOKENS = 16_000  # the original sets no limit


@dataclass(frozen=True)
class EventRanges(Strategy):
    """Summarise every few turns, with some overlap, or when the prompt is too large.

    After Google's Agent Development Kit (google-adk 2.13.0, ``EventsCompactionConfig``); the choice
    of the range and the resulting prompt are exact, with messages as events. After every
    ``compaction_interval`` turns, these turns and the ``overlap_size`` turns before them are
    summarised, so events in the overlap are summarised twice. The prompt has the summaries in
    order, and none is summarised again. If the last report has at least ``trigger`` tokens, before
    a call or after a turn, the last summary and all but the newest events become one new summary,
    which comes first.

    The kit has no defaults: 3 and 1 are from its documentation. Without ``trigger`` it ignores
    tokens, so a prompt may exceed the window. Simplified: only the tokens of an image are known;
    the estimate after a compaction includes calls without a result; isolated agents, confirmations
    and long-running tools do not occur; a call whose result follows its summarised range is not put
    back.

    Parameters
    ----------
    compaction_interval
        New turns after which they are summarised; 0 for never.
    overlap_size
        Turns before them that are summarised with them.
    trigger
        Tokens of the prompt, or share of the window, that trigger it (``token_threshold``); None
        for never, as in the original.
    event_retention_size
        Number of newest events that this keeps.
    """

    does = (Act.SUMMARISE,)

    compaction_interval: Annotated[int, at_least(0)] = 3
    overlap_size: Annotated[int, at_least(0)] = 1
    trigger: Trigger = None
    event_retention_size: Annotated[int, at_least(0)] = 10
    phases = frozenset({Phase.BEFORE_CALL, Phase.AFTER_TURN})

    breaks = MappingProxyType(
        {
            "last user message": "events are counted, and a turn may have more; google-adk 2.13.0",
            "size": "a summary may be longer than what it replaces; google-adk 2.13.0",
        }
    )

    def compact(self, view: View, host: Host) -> View:
        if not host.log or not (self._is_long(host) or self._is_late(host)):
            return view
        events, ranges = events_of(host.log), _ranges(view, host)
        chosen = None
        if self._is_full(events, ranges, view, host):
            chosen = by_tokens(events, ranges, self.event_retention_size)
        if chosen is None and self._is_late(host):
            chosen = by_interval(events, ranges, self.compaction_interval, self.overlap_size)
        return view if chosen is None else self._summarised(view, host, chosen)

    def _threshold(self, host: Host) -> float:
        return math.inf if self.trigger is None else tokens_at(self.trigger, host, math.inf)

    def _is_long(self, host: Host) -> bool:
        """Whether the tokens may have reached the threshold; a check in constant time."""
        return self.trigger is not None and (_reported(host) or math.inf) >= self._threshold(host)

    def _is_full(self, events: list[Event], ranges: list[Range], view: View, host: Host) -> bool:
        tokens = self.trigger and prompt_tokens(events, ranges, _reported(host))
        if tokens is None or tokens < self._threshold(host):
            return False
        host.believe(tokens, view)
        return True

    def _is_late(self, host: Host) -> bool:
        """Whether a turn is over and enough turns may have passed since the last compaction."""
        if not self.compaction_interval or host.phase is not Phase.AFTER_TURN:
            return False
        last, turns = host.notes["ranges"][-1]["end"] if host.notes.get("ranges") else "", 0
        for message in reversed(host.log):
            if message.id == last:
                break
            turns += message.starts_turn
        # A turn that was summarised only in part is new, too.
        return turns + bool(last) >= self.compaction_interval

    def _summarised(self, view: View, host: Host, chosen: Chosen) -> View:
        log, notes = host.log, host.notes.setdefault("ranges", [])
        messages = [log[int(event.time) - 1] for event in chosen.events]
        told = {} if chosen.previous is None else notes[chosen.previous]
        previous = tuple(
            part
            for message in view.messages
            if message.id == told.get("summary")
            for part in message.parts
            if part.sources
        )
        before = "\n".join(part.text for part in previous)
        text = f"{before}\n\n{transcript(messages, _RESULT_CHARS)}".strip()
        most = host.model.max_output or _MAX_TOKENS
        summary = host.summarize(
            view, SummaryRequest(tuple(messages), most, previous, INSTRUCTIONS, text)
        )
        if not summary:
            return view
        # The original adds no text to its summary, and keeps it as one text.
        made = summary_message(host, summary, "assistant", lead="")
        content = {"parts": [{"text": "\n".join(p.text for p in summary)}], "role": "model"}
        made = msgspec.structs.replace(made, id=f"range-{len(notes) + 1}")
        notes.append(
            {
                "start": log[int(chosen.start) - 1].id,
                "end": log[int(chosen.end) - 1].id,
                "summary": made.id,
                "size": size_of(content),
                "chars": chars_of(content),
            }
        )
        return view.with_messages(_shown(view, host, made))


def _reported(host: Host) -> int | None:
    """Return the reported tokens of the last prompt; None before the first report."""
    return None if host.reported is None or is_stale(host) else host.reported.prompt


def _ranges(view: View, host: Host) -> list[Range]:
    """Return the compactions so far whose messages are still in the log."""
    place = {message.id: float(n) for n, message in enumerate(host.log, 1)}
    return [
        Range(place[each["start"]], place[each["end"]], each["size"], each["chars"])
        for each in host.notes.get("ranges", ())
    ]


def _shown(view: View, host: Host, made: Message) -> Iterator[Message]:
    """Yield a view's messages without those that compactions replaced, and with a new summary."""
    ranges, notes = _ranges(view, host), host.notes["ranges"]
    place = {message.id: float(n) for n, message in enumerate(host.log, 1)}
    kept = surviving(ranges)
    ends = {notes[n]["summary"]: ranges[n].end for n in kept}
    gone = {each["summary"] for each in notes} - ends.keys()
    covered = [ranges[n] for n in kept]
    waiting: Message | None = made
    for message in view.messages:
        at = ends.get(message.id, place.get(message.id, 0.0))
        if message.id in gone or (
            message.id in place and any(r.start <= at <= r.end for r in covered)
        ):
            continue
        if waiting is not None and at > ends[made.id]:
            yield waiting
            waiting = None
        yield message
    if waiting is not None:
        yield waiting
