"""When it is time: every strategy that waits for the window is told so by the same field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Usage
from compactlab.sim.core.view import Phase, View
from compactlab.sim.models.model import find_model
from compactlab.sim.replay.host import Host, Services
from compactlab.sim.replay.strategy import Agent, Strategy
from compactlab.strategies import (
    AgenticCompaction,
    AutoCompact,
    BackgroundCompaction,
    ClaudeCode,
    ClearToolResults,
    CliffCompaction,
    Codex,
    ContextWindows,
    DescribedResults,
    EndpointCompaction,
    FractionSplit,
    FullSummary,
    HalfTruncation,
    HistorySummary,
    InspectCompaction,
    MiddleSummary,
    Opencode,
    PairSafeWindow,
    PreserveTurns,
    PruneThenSummarize,
    RecencyBuffer,
    RollingSummary,
    ScoredPruning,
    ServerCompaction,
    SummaryBehind,
    ToolGroups,
    UserWords,
)
from compactlab.strategies.agent_framework import serialised
from compactlab.strategies.catalogue import STRATEGIES, find_strategy
from compactlab.strategies.cliff_compaction import chars
from compactlab.strategies.cline import MOST_FACTOR, sizes_of
from compactlab.strategies.codex import counted_tokens, limit_of
from compactlab.strategies.gemini_cli import _prompt_tokens
from compactlab.strategies.hermes import request_tokens
from compactlab.strategies.inspect_ai import input_tokens
from compactlab.strategies.langchain import _scaled, weight_of
from compactlab.strategies.mechanisms.cut import history_end, unanswered
from compactlab.strategies.mechanisms.estimate import known_tokens, last_usage, reported_tokens
from compactlab.strategies.mechanisms.trigger import is_size, tokens_at
from compactlab.strategies.qwen_code import prompt_tokens

BUILT_IN = {name: STRATEGIES.find(name) for name in STRATEGIES.built_in}


def test_whatever_does_not_wait_for_the_window_says_what_it_waits_for() -> None:
    sized = {
        name: "trigger" in {each.name for each in fields(cls)}  # type: ignore[arg-type]
        for name, cls in BUILT_IN.items()
    }
    assert sized == {name: not cls.waits for name, cls in BUILT_IN.items()}


AGENTS = [name for name, cls in BUILT_IN.items() if issubclass(cls, Agent)]


@pytest.mark.parametrize("trigger", [120_000, 0.6])
@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_passes_it_on(name: str, trigger: float) -> None:
    parts = find_strategy(f"{name}(trigger={trigger})").parts
    told = [part.trigger for part in parts if hasattr(part, "trigger")]
    assert told
    assert set(told) == {trigger}


@pytest.mark.parametrize("version", ["2026.1.29", "2026.2.17", "2026.3.13", "2026.9.6"])
def test_of_openclaw_the_flush_follows_the_compaction(version: str) -> None:
    parts = find_strategy(f"openclaw(trigger=90000, version='{version}')").parts
    flush, compaction = (part for part in parts if hasattr(part, "trigger"))
    assert flush == replace(flush, trigger=90_000)
    assert compaction == replace(compaction, trigger=90_000)


def test_as_it_stands_nobody_is_told_anything() -> None:
    assert find_strategy("claude_code").label == "claude_code"
    assert find_strategy("claude_code(trigger=120000)").label == "claude_code(trigger=120000)"
    assert (
        ClaudeCode().spec
        == "claude_code(clear_first=True, files=5, trigger=None, reinject=True, idle=False)"
    )


SIZED = [name for name, cls in BUILT_IN.items() if not cls.waits]


@pytest.mark.parametrize("wrong", ["'x'", "0.0", "-1", "1.5", "True", "1e400", "(5, 6)", "''"])
@pytest.mark.parametrize("name", SIZED)
def test_what_is_no_size_is_refused(name: str, wrong: str) -> None:
    if (name, wrong) == ("clear_tool_results", "0.0"):
        return  # it clears always
    with pytest.raises(UsageError, match=f"{name}: trigger must be a"):
        find_strategy(f"{name}(trigger={wrong})")


def test_a_size_is_whole_tokens_or_a_share() -> None:
    assert all(map(is_size, (2, 2.0, 10**9, 1, 1.0, 0.01)))
    assert not any(map(is_size, (0, -1, 1.01, 2.5, nan, True)))


@given(window=st.integers(1, 10**6), share=st.floats(0.001, 1))
def test_a_share_is_of_the_window(window: int, share: float) -> None:
    host = Host(find_model("claude-opus-5").narrowed(window))
    assert tokens_at(share, host, 7) == window * share
    assert tokens_at(None, host, 7) == 7
    assert tokens_at(10**9, host, 7) == 10**9  # more than the window is never


# Laws. Each strategy counts in its own way, and whether it must reach the trigger or exceed it is
# its own, too: both are as in the system that it follows.

Count = Callable[[View, Host], float]


def of_codex(view: View, host: Host) -> float:
    return counted_tokens(View(view.system, view.messages[: unanswered(view.messages)]), host)


def of_langchain(view: View, host: Host) -> float:
    reported = reported_tokens(host) or 0
    return max(_scaled(view.messages, weight_of(host), reported), reported)


def reported(view: View, host: Host) -> float:
    return reported_tokens(host) or 0


def used(view: View, host: Host) -> float:
    return last_usage(host) or 0


def counted(view: View, host: Host) -> float:
    return host.count(view)


def of_cliff(view: View, host: Host) -> float:
    system = sum(len(part.text) + 4 * part.size for part in view.system)
    return (system + view.messages.total(chars)) / 4


def of_hermes(view: View, host: Host) -> float:
    """Either is enough: the last report, or the estimate of the request."""
    return max(host.reported.prompt if host.reported else 0, request_tokens(view))


def of_cline(view: View, host: Host) -> float:
    """The estimate, and the last report up to four times as much; as floats differ, rounded."""
    request = sizes_of(view, host, None).request
    last = host.reported.prompt if host.reported else 0
    return round(max(request, min(MOST_FACTOR * request, last)), 6)


def of_qwen(view: View, host: Host) -> float:
    return prompt_tokens(view, host, history_end(view.messages))


REACHED: dict[type[Strategy], tuple[Callable[..., Strategy], Count]] = {
    FullSummary: (FullSummary, known_tokens),
    UserWords: (UserWords, known_tokens),
    EndpointCompaction: (EndpointCompaction, of_codex),
    PruneThenSummarize: (partial(PruneThenSummarize, prune=False), reported),
    FractionSplit: (FractionSplit, _prompt_tokens),
    RollingSummary: (partial(RollingSummary, keep=("messages", 2)), of_langchain),
    DescribedResults: (partial(DescribedResults, protect_last_n=1), counted),
    PairSafeWindow: (partial(PairSafeWindow, window_size=10**6), counted),
    MiddleSummary: (partial(MiddleSummary, protect_first_n=0), of_hermes),
    AgenticCompaction: (partial(AgenticCompaction, preserve_recent_tokens=100), of_cline),
    HistorySummary: (HistorySummary, of_qwen),
    HalfTruncation: (HalfTruncation, reported),
    ContextWindows: (partial(ContextWindows, reminder_tokens=0), of_codex),
    BackgroundCompaction: (
        partial(BackgroundCompaction, ready_after=0, blocking=10**7),
        known_tokens,
    ),
    ScoredPruning: (partial(ScoredPruning, recent=0, min_gain=0.0), known_tokens),
    SummaryBehind: (partial(SummaryBehind, front_tokens=0, tail_tokens=100), known_tokens),
}
EXCEEDED: dict[type[Strategy], tuple[Callable[..., Strategy], Count]] = {
    AutoCompact: (partial(AutoCompact, keep_recent_tokens=100), used),
    RecencyBuffer: (partial(RecencyBuffer, keep_recent_tokens=100), used),
    PreserveTurns: (partial(PreserveTurns, keep_recent_tokens=100), used),
    ToolGroups: (ToolGroups, lambda view, host: view.messages.total(serialised)),
    ClearToolResults: (partial(ClearToolResults, keep=1), counted),
    CliffCompaction: (CliffCompaction, of_cliff),
    InspectCompaction: (partial(InspectCompaction, kind="trim"), input_tokens),
    ServerCompaction: (ServerCompaction, counted),
}


@dataclass(frozen=True)
class Watched(Strategy):
    """Asks a strategy, and writes down how much it counted and whether it did anything."""

    asked: Strategy
    count: Count
    seen: list[tuple[float, bool]] = field(default_factory=list, repr=False, compare=False)

    @property
    def phases(self) -> frozenset[Phase]:  # type: ignore[override]
        return self.asked.phases

    def compact(self, view: View, host: Host) -> View:
        tokens = self.count(view, host)
        after = self.asked.compact(view, host)
        if host.phase is not Phase.ON_OVERFLOW:
            self.seen.append((tokens, after is not view))
        return after


def law(cls: type[Strategy]) -> tuple[Callable[..., Strategy], Count]:
    return {**REACHED, **EXCEEDED}[cls]


def test_what_has_no_law_here_has_stories_of_its_trigger_in_its_own_file(root: Path) -> None:
    """So has what acts for other reasons, too, or not before a call."""
    known = {name for name in SIZED if BUILT_IN[name] not in {*REACHED, *EXCEEDED}}
    own = {name: root / f"tests/strategies/test_{name}.py" for name in known.difference(AGENTS)}
    told = {name for name, file in own.items() if "trigger" in file.read_text("utf-8")}
    assert told == own.keys()


@settings(max_examples=25)
@given(data=st.data(), trigger=st.sampled_from([200, 900, 4000, 30_000, 0.02, 0.3]))
@pytest.mark.parametrize("cls", [*REACHED, *EXCEEDED])
def test_nothing_is_done_below_the_trigger(
    cls: type[Strategy], data: Any, trigger: float, conversations: Any, play: Any
) -> None:
    if cls is ServerCompaction and trigger > 1:
        trigger = 50_000  # the API takes no smaller one
    made, count = law(cls)
    watched = Watched(made(trigger=trigger), count)
    play(data.draw(conversations), watched, window=40_000)
    due = trigger if trigger > 1 else trigger * 40_000
    for tokens, acted in watched.seen:
        assert not acted or tokens >= due
        assert cls in REACHED or not acted or tokens > due


@settings(max_examples=25)
@given(data=st.data())
@pytest.mark.parametrize("cls", [*REACHED, *EXCEEDED])
def test_beyond_the_window_it_is_never_time(
    cls: type[Strategy], data: Any, conversations: Any, play: Any
) -> None:
    """Codex alone never takes more than 90 % of the window for a limit, nor do we of it."""
    made, count = law(cls)
    watched = Watched(made(trigger=10**7), count)
    play(data.draw(conversations), watched, window=30_000)
    for tokens, acted in watched.seen:
        assert not acted or (cls in (UserWords, EndpointCompaction) and tokens >= 27_000)


@pytest.mark.parametrize("cls", [*REACHED, *EXCEEDED])
def test_a_share_and_its_tokens_are_the_same(cls: type[Strategy], tell: Any, play: Any) -> None:
    told = tell("u" + "cr" * 12 + "aua" * 4, size=4000)
    made, _ = law(cls)
    prompts = [
        [[m.id for m in prompt] for prompt in play(told, made(trigger=t), window=40_000).prompts()]
        for t in (0.25, 10_000)
        if cls is not ServerCompaction or t <= 1
    ]
    assert prompts.count(prompts[0]) == len(prompts)


# Stories.


def acts(strategy: Strategy, moment: Any, used: int, **more: Any) -> bool:
    """Whether a strategy asks for a summary when so many tokens are in context."""
    now = moment("uau", reported=Usage(uncached=used), **more)
    asked: list[SimpleNamespace] = []

    def summarize(host: Host, view: View, request: Any) -> tuple[()]:
        asked.append(SimpleNamespace())
        return ()

    now.host._services = Services(summarize=summarize)
    strategy.compact(now.view, now.host)
    return bool(asked)


def test_claude_code_can_be_told_to_compact_at_half_of_the_window(moment: Any) -> None:
    (summary,) = ClaudeCode(trigger=0.5, clear_first=False).parts
    assert not acts(summary, moment, 99_900)
    assert acts(summary, moment, 100_000)


def test_codex_takes_no_more_than_nine_tenths_of_the_window(moment: Any) -> None:
    host = moment("u").host
    limits = [limit_of(t, host) for t in (None, 100_000, 0.5, 0.95, 190_000)]
    assert limits == [180_000, 100_000, 100_000, 180_000, 180_000]
    assert Codex(trigger=0.5).parts[0].trigger == 0.5  # type: ignore[attr-defined]


def test_tool_groups_are_told_beyond_it_and_left_out_no_sooner(tell: Any, play: Any) -> None:
    told = tell("u" + "cr" * 14 + "a", size=2000)
    early, late = (
        [step.compaction for step in play(told, ToolGroups(trigger=t), window=40_000).steps]
        for t in (5000, 9000)
    )
    assert early.index(True) < late.index(True)
    with pytest.raises(UsageError, match="trigger must be None with strategy='truncation'"):
        find_strategy("tool_groups(strategy='truncation', trigger=0.5)")


def test_tool_uses_are_whole() -> None:
    with pytest.raises(UsageError, match=r"trigger must be a whole number of tool uses, not 0\.5"):
        find_strategy("clear_tool_results(trigger=0.5, trigger_type='tool_uses')")
    assert find_strategy("clear_tool_results(trigger=1, trigger_type='tool_uses')")


# Caps of defaults.


def test_a_narrowed_window_caps_what_nobody_has_set(moment: Any) -> None:
    narrowed = moment("u", window=40_000).host
    assert FullSummary().limit(narrowed) == 20_000
    assert FullSummary(buffer_tokens=12_000).limit(narrowed) == 18_000
    assert FullSummary(buffer_tokens=12_000, summary_tokens=25_000).limit(narrowed) == 3000
    assert FullSummary(trigger=35_000).limit(narrowed) == 35_000


def test_a_window_that_is_a_models_own_caps_nothing() -> None:
    small = replace(find_model("claude-sonnet-4-5"), window=40_000)
    assert FullSummary().limit(Host(small)) == 7000
    assert FullSummary().limit(Host(small.narrowed(10**6))) == 7000
    assert FullSummary().limit(Host(small.narrowed(20_000))) == 10_000


def test_what_is_capped_is_told_by_name() -> None:
    assert ClaudeCode().caps == {"buffer_tokens": 13_000, "summary_tokens": 20_000}
    assert FullSummary(buffer_tokens=880_000).caps == {"summary_tokens": 20_000}
    assert not ClaudeCode(trigger=0.5).caps
    assert UserWords().caps == {"user_tokens": 20_000}
    assert not UserWords(user_tokens=9).caps
    assert Opencode().caps == {"room for an answer": 32_000}
    assert find_strategy("keep_all + claude_code").caps == ClaudeCode().caps
