"""Which actions a reader takes, as a document: how often they are the recorded ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from statistics import fmean
from typing import Any

from compactlab.reports.analysis.preservation import Share
from compactlab.reports.probe.actions import GIVEN, Choice, Given, Match, action_of
from compactlab.reports.probe.analysis import mean_of
from compactlab.reports.probe.recall_report import (
    broken_off,
    cut_short,
    ends,
    interval,
    points,
    written,
)
from compactlab.reports.render import csv
from compactlab.reports.render.document import Block, Column, Document, Table, name, rows, sentences
from compactlab.reports.render.text import counted, plain, show

# What is compared, by the name of its columns.
_MEASURES: dict[str, Callable[[Match], bool]] = {
    "tool": attrgetter("tool"),
    "arguments": attrgetter("arguments"),
}
_MEANING = (
    "tool, arguments: share of answers that call the recorded tool, and with the same arguments as "
    "JSON. full: with all that was said, as keep_all leaves it; compacted: with the strategy's "
    "prompt, at the same calls; more: the difference in points."
)


def report(choices: Sequence[Choice], reader: str, left_out: Sequence[str] = ()) -> Document:
    """How often a reader takes the recorded action.

    Parameters
    ----------
    choices
        What was chosen at each call under each strategy.
    reader
        Name of the model.
    left_out
        Ids of conversations of which nothing was asked.
    """
    blocks: list[Block] = [sentences(_verdict(choices, reader, left_out))]
    if choices:
        heads = [Column(each, group=kind) for kind in _MEASURES for each in (*GIVEN, "more")]
        columns = (Column("strategy", words=True), Column("calls"), *heads)
        blocks.append(Table(columns, rows(map(_row, by_strategy(choices).items()))))
        blocks.append(sentences([_MEANING], "quiet"))
    blocks.append(
        sentences(
            [
                *cut_short(choice.cut for choice in choices),
                *broken_off(each for choice in choices for each in choice.broken_off),
            ]
        )
    )
    return Document(tuple(blocks), partial(_data, choices, reader, left_out))


def by_strategy(choices: Iterable[Choice]) -> dict[str, list[Choice]]:
    """The choices under each strategy."""
    groups: defaultdict[str, list[Choice]] = defaultdict(list)
    for choice in choices:
        groups[choice.strategy].append(choice)
    return dict(groups)


def share_of(choices: Iterable[Choice], kind: str, given: Given) -> Share | None:
    """The share of answers that are the recorded action, as the mean over conversations."""
    return mean_of(choices, lambda choice: _share(choice, kind, given))


def more(choices: Iterable[Choice], kind: str) -> Share | None:
    """By how much more of them are it with the strategy's prompt than with the full context."""
    return mean_of(
        choices,
        lambda choice: _share(choice, kind, "compacted") - _share(choice, kind, "full"),
        least=-1.0,
    )


def _share(choice: Choice, kind: str, given: Given) -> float:
    return fmean(map(_MEASURES[kind], choice.matches(given)))


def same_tool(choices: Iterable[Choice]) -> float | None:
    """How often the tool is right that each conversation's calls most often use: a control."""
    calls = {(choice.conversation, choice.call): choice for choice in choices}
    tools: defaultdict[str, list[set[str]]] = defaultdict(list)
    for choice in calls.values():
        tools[choice.conversation].append({action.tool for action in choice.recorded})
    shares = [
        max(Counter(tool for some in every for tool in some).values()) / len(every)
        for every in tools.values()
    ]
    return fmean(shares) if shares else None


def weak(choices: Sequence[Choice]) -> bool:
    """Whether a reader does no better than one that always calls the usual tool."""
    full, constant = share_of(choices, "tool", "full"), same_tool(choices)
    return full is None or constant is None or full.value <= constant


def _verdict(choices: Sequence[Choice], reader: str, left_out: Sequence[str]) -> Iterator[str]:
    if choices:
        talks = len({choice.conversation for choice in choices})
        calls = len({(choice.conversation, choice.call) for choice in choices})
        yield f"{counted(calls, 'call')} of {counted(talks, 'conversation')}, by {name(reader)}."
        full, constant = share_of(choices, "tool", "full"), same_tool(choices)
        named = mean_of(choices, lambda choice: choice.chose("full"))
        yield (
            f"With the full context {show(named.value if named else None, 'share')} of its answers "
            f"are an action, and {show(full.value if full else None, 'share')} call the recorded "
            f"tool; always to call the most frequent tool is right in {show(constant, 'share')}."
        )
        if weak(choices):
            yield (
                "Reader too weak: it does no better than that. Its choices say nothing about "
                "strategies."
            )
    else:
        yield f"Nothing was asked of {name(reader)}."
    if left_out:
        yield (
            f"{counted(len(left_out), 'conversation')} left out: no strategy compacts, or no call "
            "after it uses a tool."
        )


def _row(group: tuple[str, Sequence[Choice]]) -> Sequence[str]:
    strategy, choices = group
    cells = []
    for kind in _MEASURES:
        cells += [written(share_of(choices, kind, given)) for given in GIVEN]
        gap = more(choices, kind)
        cells.append(f"{'+' if gap.value > 0 else ''}{points(gap.value)}{ends(gap)}" if gap else "")
    return name(strategy), f"{len(choices):,}", *cells


def _data(choices: Sequence[Choice], reader: str, left_out: Sequence[str]) -> dict[str, Any]:
    return {
        "reader": reader,
        "too_weak": weak(choices),
        "most_frequent_tool": plain(same_tool(choices)),
        "left_out": list(left_out),
        "by_strategy": [
            {
                "name": strategy,
                "calls": len(some),
                **{
                    kind: {
                        **{given: interval(share_of(some, kind, given)) for given in GIVEN},
                        "more": interval(more(some, kind)),
                    }
                    for kind in _MEASURES
                },
            }
            for strategy, some in by_strategy(choices).items()
        ],
        "choices": [_choice(choice) for choice in choices],
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "conversation": choice.conversation,
        "strategy": choice.strategy,
        "call": choice.call,
        "recorded": [{"tool": a.tool, "arguments": a.arguments} for a in choice.recorded],
        "cut": [given for given in GIVEN if given in choice.cut],
        "answers": {given: list(choice.answers[given]) for given in GIVEN},
        "samples": {given: choice.samples[given] for given in GIVEN},
    }


_FIELDS = (
    "conversation", "strategy", "call", "given", "draw", "cut", "answer", "action", *_MEASURES,
    "sample",
)  # fmt: skip


def choices_as_csv(choices: Iterable[Choice]) -> str:
    """Write a row for each answer."""
    return csv.write([_FIELDS, *(row for choice in choices for row in _answers(choice))])


def _answers(choice: Choice) -> Iterator[tuple[object, ...]]:
    given: Given
    for given in GIVEN:
        cut = int(given in choice.cut)
        pairs = zip(choice.answers[given], choice.matches(given), strict=True)
        for draw, (text, match) in enumerate(pairs):
            about = choice.conversation, choice.strategy, choice.call, given, draw, cut, text
            chosen = int(action_of(text) is not None)
            yield *about, chosen, int(match.tool), int(match.arguments), choice.samples[given]
