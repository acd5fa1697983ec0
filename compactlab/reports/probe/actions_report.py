"""The report on next actions: how often they are the recorded ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
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
    points,
)
from compactlab.reports.render.document import Block, Document, name, sentences
from compactlab.reports.render.fields import Field, csv_of, data_of, hidden, table_of
from compactlab.reports.render.text import counted, show, with_interval

# The measures, by the name of their columns.
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
    """Report how often a reader takes the recorded action.

    Parameters
    ----------
    choices
        The answers at each call under each strategy.
    reader
        Name of the model.
    left_out
        Ids of conversations without questions.
    """
    blocks: list[Block] = [sentences(_verdict(choices, reader, left_out))]
    if choices:
        blocks.append(table_of(_STRATEGY, by_strategy(choices).items()))
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
    """The share of answers that match the recorded action, as the mean over conversations."""
    return mean_of(choices, lambda choice: _share(choice, kind, given))


def more(choices: Iterable[Choice], kind: str) -> Share | None:
    """That share with the strategy's prompt less the share with the full context."""
    return mean_of(
        choices,
        lambda choice: _share(choice, kind, "compacted") - _share(choice, kind, "full"),
        least=-1.0,
    )


def _share(choice: Choice, kind: str, given: Given) -> float:
    return fmean(map(_MEASURES[kind], choice.matches(given)))


def same_tool(choices: Iterable[Choice]) -> float | None:
    """The score of always calling the most frequent tool of the conversation: a control."""
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
    """Whether a reader scores no better than that control."""
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


def _gap(gap: Share | None) -> str:
    return f"{'+' if gap.value > 0 else ''}{points(gap.value)}{ends(gap)}" if gap else ""


def _measured(kind: str) -> Iterator[Field]:
    """The fields of a strategy's shares of recorded actions."""

    def shared(given: Given) -> Callable[[tuple[str, Sequence[Choice]]], Share | None]:
        return lambda group: share_of(group[1], kind, given)

    for given in GIVEN:
        yield Field(f"{kind}_{given}", shared(given), given, write=with_interval, group=kind)
    yield Field(f"{kind}_more", lambda group: more(group[1], kind), "more", write=_gap, group=kind)


_STRATEGY = (
    Field("name", lambda group: group[0], "strategy", words=True),
    Field("calls", lambda group: len(group[1])),
    *(field for kind in _MEASURES for field in _measured(kind)),
)


@dataclass(frozen=True)
class _Answer:
    """An answer in a condition."""

    choice: Choice
    given: Given
    draw: int
    answer: str
    match: Match


_ANSWER = (
    *hidden("conversation", "strategy", "call", of="choice"),
    *hidden("given", "draw"),
    Field("cut", lambda answer: answer.given in answer.choice.cut),
    Field("answer"),
    Field("action", lambda answer: action_of(answer.answer) is not None),
    *hidden(*_MEASURES, of="match"),
    Field("sample", lambda answer: answer.choice.samples[answer.given]),
)
_RECORDED = hidden("conversation", "strategy", "call", "recorded")


def _answers(choices: Iterable[Choice]) -> Iterator[_Answer]:
    for choice in choices:
        for given in GIVEN:
            pairs = zip(choice.answers[given], choice.matches(given), strict=True)
            for draw, (text, match) in enumerate(pairs):
                yield _Answer(choice, given, draw, text, match)


def answers_as_csv(choices: Iterable[Choice]) -> str:
    """Write one row per answer."""
    return csv_of(_ANSWER, _answers(choices))


def _data(choices: Sequence[Choice], reader: str, left_out: Sequence[str]) -> dict[str, Any]:
    return {
        "reader": reader,
        "too_weak": weak(choices),
        "most_frequent_tool": same_tool(choices),
        "left_out": list(left_out),
        "by_strategy": [data_of(_STRATEGY, each) for each in by_strategy(choices).items()],
        "recorded": [data_of(_RECORDED, choice) for choice in choices],
        "answers": [data_of(_ANSWER, each) for each in _answers(choices)],
    }
