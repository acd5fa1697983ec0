"""The next action of a reader, given the prompt of a strategy."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from statistics import fmean
from typing import Any, ClassVar, Literal, get_args

from compactlab.reports.analysis.preservation import Share
from compactlab.reports.probe.conditions import paths, replayed
from compactlab.reports.probe.reader import Context, PromptDraws, Reader, broke_off
from compactlab.reports.probe.recall_report import (
    broken_off,
    cut_short,
    ends,
    mean_of,
    points,
)
from compactlab.reports.render.document import Block, Document, name, sentences
from compactlab.reports.render.fields import Field, csv_of, data_of, hidden, table_of
from compactlab.reports.render.text import counted, show, with_interval
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.stream import stream
from compactlab.sim.replay.replay import Options
from compactlab.sim.replay.strategy import Strategy

Given = Literal["full", "compacted"]
GIVEN: tuple[Given, ...] = get_args(Given)

ANSWER = 1024  # maximum tokens of an answer; a truncated answer is no action
USUAL = 120  # tokens of a typical answer: a guess, for estimates of prices
_TASK = """\
You are the assistant of the conversation above. Choose the next action: one call of a tool. The \
tools, with the names of their arguments:
{tools}

Answer with JSON alone: {{"tool": "...", "arguments": {{...}}}}"""


@dataclass(frozen=True)
class Action:
    """A call of a tool."""

    tool: str
    arguments: Any  # a JSON value; a text if the log has no JSON


@dataclass(frozen=True)
class Match:
    """How far an action equals the recorded one."""

    tool: bool  # whether the tool is the same
    arguments: bool  # whether the arguments are also equal, as JSON values


def action_of(text: str) -> Action | None:
    """The action that an answer names: its first JSON object of that form; None if there is none.

    Examples
    --------
    >>> action_of('Sure: {"tool": "read", "arguments": {"path": "a.py"}}')
    Action(tool='read', arguments={'path': 'a.py'})
    >>> action_of("I would read a.py.") is None
    True
    """
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and isinstance(value.get("tool"), str):
            return Action(value["tool"], value.get("arguments", {}))
        start = text.find("{", start + 1)
    return None


def recorded(part: Part) -> Action:
    """The action of a recorded call."""
    try:
        return Action(part.name, json.loads(part.text))
    except (ValueError, RecursionError):
        return Action(part.name, part.text)


def match(chosen: Action | None, wanted: Sequence[Action]) -> Match:
    """Compare an action with the recorded ones; any of them may match.

    Examples
    --------
    >>> wanted = [Action("read", {"path": "src/a.py", "limit": 9})]
    >>> match(Action("read", {"limit": 9.0, "path": "src/a.py"}), wanted)
    Match(tool=True, arguments=True)
    >>> match(None, wanted)
    Match(tool=False, arguments=False)
    """
    same = [each.arguments for each in wanted if chosen and each.tool == chosen.tool]
    given = _plain(chosen.arguments) if chosen else ""
    return Match(bool(same), any(_plain(each) == given for each in same))


def _plain(value: Any) -> str:
    """A JSON value in canonical form: sorted keys, integral floats as integers."""
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


@dataclass(frozen=True)
class Choice:
    """The reader's answers at a call under a strategy, by draw."""

    conversation: str
    strategy: str
    call: str
    recorded: tuple[Action, ...]
    answers: Mapping[Given, tuple[str, ...]]
    cut: frozenset[Given] = frozenset()  # where the oldest texts were left out
    broken_off: tuple[bool, ...] = ()  # whether each answer is truncated
    samples: Mapping[Given, str] = field(default_factory=dict)  # ids for an evaluator

    def matches(self, given: Given) -> list[Match]:
        """The match of each answer with the recorded action."""
        return [match(action_of(text), self.recorded) for text in self.answers[given]]

    def chose(self, given: Given) -> float:
        """The share of answers that are an action."""
        answers = self.answers[given]
        return sum(action_of(text) is not None for text in answers) / len(answers)


@dataclass(frozen=True)
class Probe:
    """The requests to the reader at a call under a strategy."""

    conversation: str
    strategy: str
    call: Message
    asked: Mapping[Given, PromptDraws]

    @property
    def target(self) -> tuple[str, ...]:
        """The right answers, for an evaluator."""
        actions = map(recorded, _acts(self.call))
        return tuple(json.dumps({"tool": a.tool, "arguments": a.arguments}) for a in actions)

    @property
    def about(self) -> dict[str, Any]:
        """Metadata, for an evaluator."""
        return {"call": self.call.id}


@dataclass(frozen=True)
class NextAction:
    """The probe of next actions, at calls whose action the log has."""

    reader: Reader  # the model under test
    count: int = 20  # maximum number of calls per conversation
    seed: int = 0  # root of the random choice of calls

    usual: ClassVar[int] = USUAL
    judge: ClassVar[Reader | None] = None  # the log replaces a judge

    def plan(
        self, conversation: Conversation, strategies: Sequence[Strategy], options: Options
    ) -> tuple[list[Probe], list[str]]:
        """The probes of a conversation, and the output of plug-in code."""
        first = [replayed(conversation, strategy, options) for strategy in strategies]
        after = frozenset().union(*(each.compacted for each in first))
        calls = self._drawn(conversation, after)
        task = _TASK.format_map({"tools": _tools(conversation)})
        system = conversation.system
        full = {
            call: self.reader.asked(Context.of(system, path), task, ANSWER)
            for call, path in paths(conversation, calls).items()
        }
        probes = []
        for strategy in strategies if calls else ():
            seen = replayed(conversation, strategy, options, calls)
            for id, call in calls.items():
                prompt = seen.prompts[id]
                given = Context.of(prompt.system, prompt.messages)
                asked: dict[Given, PromptDraws] = {
                    "full": full[id],
                    "compacted": self.reader.asked(given, task, ANSWER),
                }
                probes.append(Probe(conversation.id, strategy.label, call, asked))
        return probes, [each.printed for each in first]

    def _drawn(self, conversation: Conversation, after: frozenset[str]) -> dict[str, Message]:
        """A random sample of the acting calls after a compaction; each draw is independent."""
        acting = [m for m in conversation.calls if m.id in after and any(_acts(m))]
        digest = conversation.digest
        acting.sort(key=lambda m: stream(self.seed, "probe", digest, m.id).random())
        return {message.id: message for message in acting[: self.count]}

    def judgements(self, probes: Sequence[Probe]) -> list[PromptDraws]:
        """No judgements are needed."""
        return []

    def outcomes(self, probes: Sequence[Probe]) -> list[Choice]:
        """The outcomes, from the recorded answers."""
        return list(map(self._choice, probes))

    def _choice(self, probe: Probe) -> Choice:
        answers = {given: self.reader.answers(asked) for given, asked in probe.asked.items()}
        return Choice(
            probe.conversation,
            probe.strategy,
            probe.call.id,
            tuple(map(recorded, _acts(probe.call))),
            {given: tuple(each.text for each in every) for given, every in answers.items()},
            frozenset(given for given, asked in probe.asked.items() if asked.cut),
            tuple(broke_off(each) for every in answers.values() for each in every),
            {given: asked.sample for given, asked in probe.asked.items()},
        )


def _acts(message: Message) -> list[Part]:
    return [part for part in message.parts if part.type == "tool_call"]


def _tools(conversation: Conversation) -> str:
    """The tools that the log calls, each with the names of its arguments."""
    tools: dict[str, dict[str, None]] = {}
    for message in conversation.messages:
        for part in _acts(message):
            arguments = recorded(part).arguments
            known = tools.setdefault(part.name, {})
            known.update(dict.fromkeys(arguments if isinstance(arguments, Mapping) else ()))
    return "\n".join(f"- {tool}({', '.join(tools[tool])})" for tool in sorted(tools))


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
    """Report how often a reader takes the recorded action."""
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
