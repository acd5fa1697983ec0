"""Ranges of events: Google's Agent Development Kit."""

from collections.abc import Iterator, Mapping
from typing import Any

from compactlab.strategies.adk import (
    Chosen,
    Event,
    Range,
    by_interval,
    by_tokens,
    effective,
    prompt_tokens,
    self_contained,
    surviving,
)
from tests.conformance.answers import Answer
from tests.conformance.busy import under
from tests.conformance.vectors import Case

FUNCTION = (
    "google.adk.apps.compaction._run_compaction_for_sliding_window + "
    "flows.llm_flows.context._compaction._process_compaction_events"
)
SUMMARY = len("SUMMARY-ONE")
START = 1000.0


def compactions(case: Case) -> Any:
    """Let turns pass, and ask after each what is summarised and what a prompt would show."""
    named: list[tuple[str, Event]] = []
    ranges: list[Range] = []
    trace = []
    counts = case.input.get("prompt_token_counts")
    stored = 0  # events that there were at the last compaction
    for turn in range(case.input["invocations"]):
        tools = turn in case.input["tool_invocations"]
        for name, event in said(turn, START + len(named), tools=tools):
            named.append((name, event))
        events = [event for _, event in named]
        reported = counts[turn] if counts and stored < len(events) else None
        chosen = asked(events, ranges, case.input["params"], reported)
        if chosen is not None:
            ranges.append(Range(chosen.start, chosen.end, 30 + SUMMARY, SUMMARY))
            stored = len(events)
        names = {event: name for name, event in named}
        trace.append(
            {
                "after": f"inv{turn}",
                "compaction_ranges": [[each.start, each.end] for each in ranges],
                "effective_events": [
                    "<summary>" if isinstance(shown, Range) else names[shown]
                    for shown in effective(events, ranges)
                ],
            }
        )
    return {"trace": trace}


def said(turn: int, time: float, *, tools: bool) -> Iterator[tuple[str, Event]]:
    """The events of a turn, of about the sizes that the vectors' notes give."""
    call = frozenset([f"call{turn}"])
    none = frozenset[str]()
    asks = len(f"ask {turn} ") + 40 * len("lorem ")
    kinds = [("u", none, none, asks), ("m", none, none, len(f"reply {turn}"))]
    if tools:
        kinds[1:1] = [("c", call, none, 20), ("r", none, call, 20)]
    for index, (letter, calls, results, chars) in enumerate(kinds):
        moment = time + index
        yield f"{letter}{turn}", Event(moment, f"inv{turn}", calls, results, 35 + chars, chars)


def asked(
    events: list[Event], ranges: list[Range], params: Mapping[str, int], reported: int | None
) -> Chosen | None:
    chosen = None
    if "token_threshold" in params:
        tokens = prompt_tokens(events, ranges, reported)
        if tokens is not None and tokens >= params["token_threshold"]:
            chosen = by_tokens(events, ranges, params["event_retention_size"])
    if chosen is None and "compaction_interval" in params:
        interval, overlap = params["compaction_interval"], params["overlap_size"]
        chosen = by_interval(events, ranges, interval, overlap)
    return chosen


def runs() -> None:
    for spec in ("event_ranges", "event_ranges(trigger=0.5, event_retention_size=2)"):
        under(spec)()


ANSWERS = [
    Answer(
        FUNCTION,
        compactions,
        (by_interval, by_tokens, effective, prompt_tokens, self_contained, surviving),
        runs,
    )
]
