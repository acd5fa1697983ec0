"""OpenClaw 2026.9.6: the flush on a copy, summaries that are distilled anew and checked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part, Source, Usage
from compactlab.sim.core.view import Phase
from compactlab.sim.replay.host import Compacted
from compactlab.sim.replay.strategy import Pipeline
from compactlab.sim.replay.summarize import SummaryRequest, TurnRequest, Written
from compactlab.sim.replay.trace import Trace
from compactlab.strategies import DistilledSummary, MemoryFlush, Openclaw
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.openclaw.caps import ELIDED, cap
from compactlab.strategies.openclaw.compaction import rules_of, sections_of
from compactlab.strategies.openclaw.distilled import _Files
from compactlab.strategies.openclaw.flush import believed_prompt
from compactlab.strategies.openclaw.guards import WriteGuard
from compactlab.strategies.openclaw.pressure import history_pressure, prompt_pressure, tokens
from compactlab.strategies.openclaw.quality import (
    CUT_OFF,
    HEADINGS,
    MOST_CHARS,
    Facts,
    audit,
    shown_ask,
)
from compactlab.strategies.pi.preparation import file_section, unframed
from tests.lines import refusal
from tests.strategies.conftest import NoteTaker

DISTILLER = "compactlab.strategies.openclaw.distilled.Distiller.write"
SMALL = DistilledSummary(trigger=1000, keep_recent_tokens=300, recent_turns_preserve=1)


@dataclass(frozen=True)
class Echo(NoteTaker):
    """Summarises by saying how many messages it was given, at a length."""

    text: str = "It was said."
    asked: list[SummaryRequest] = field(default_factory=list, compare=False, repr=False)

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        self.asked.append(request)
        return (Part("text", self.text, "summary", (Source(request.messages[-1].id),)),)

    def write(
        self, messages: Sequence[Message], request: TurnRequest, count: Callable[[str], int]
    ) -> Written:
        return Written("NO_REPLY")


@pytest.fixture
def compacted(tell: Any, play: Any) -> Callable[..., Trace]:
    """The replay of a story in messages of 400 characters, in a window of 40,000 tokens."""

    def of(script: str, strategy: Any = SMALL, writer: Any = None, **more: Any) -> Trace:
        told = tell(script, **{"size": 400, **more})
        return play(told, strategy, window=40_000, summarizer=writer or Echo())

    return of


def side(trace: Trace, purpose: str) -> list[int]:
    """The numbers of the calls with so many side calls of a purpose."""
    return [sum(call.purpose == purpose for call in step.side) for step in trace.steps]


def summaries(trace: Trace) -> list[str]:
    """The summaries that were sent, each once."""
    sent = {
        prompt[0].id: "".join(part.text for part in unframed(prompt[0]))
        for prompt in trace.prompts()
        if prompt[0].id.startswith("distilled")
    }
    return list(sent.values())


def test_it_compacts_after_an_answer_whose_prompt_reaches_the_trigger(compacted):
    trace = compacted("ua" * 2 + "ucra" + "ua", sizes={"r7": 3000})
    prompts = [step.usage.prompt for step in trace.steps]
    assert prompts[3] >= 1000 > prompts[2]
    assert [step.compaction for step in trace.steps] == [False, False, False, False, True]
    assert {call.waits for call in trace.steps[3].side} == {False}  # the answer was there before


def test_an_answer_counts_when_somebody_speaks_again(compacted):
    trace = compacted("ua" * 4, sizes={"a4": 7000})
    assert [step.compaction for step in trace.steps][:3] == [False, False, True]
    before, after = trace.steps[1:3]
    assert before.usage.prompt + before.usage.output >= 1000 > before.usage.prompt
    assert not before.side
    assert after.side[0].waits


def test_it_compacts_before_a_turn_that_would_reach_it(compacted):
    trace = compacted("ua" * 4, sizes={"u5": 7000})
    assert [step.compaction for step in trace.steps][:3] == [False, False, True]
    assert trace.steps[2].side[0].waits


def test_a_summary_stands_under_five_headings_with_the_last_turns_behind(compacted):
    (first, *_) = summaries(compacted("ua" * 8))
    places = [first.index(heading) for heading in HEADINGS]
    assert places == sorted(places)
    assert first.index("## Recent turns preserved verbatim") > places[-1]
    assert "It was said." in first


def test_the_summary_before_is_one_of_the_messages_and_not_carried_on(compacted):
    writer = Echo()
    compacted("ua" * 40, replace(SMALL, trigger=2000), writer=writer)
    assert not any(request.previous for request in writer.asked)
    again = [r for r in writer.asked if r.messages[0].id == "previous"]
    assert again
    assert all("previous-compaction-summary" in request.transcript for request in again)


def test_all_that_is_appended_has_sixteen_thousand_characters(compacted):
    trace = compacted("ua" * 8, writer=Echo("word " * 5000))
    assert max(map(len, summaries(trace))) <= MOST_CHARS
    assert all(CUT_OFF.strip() in text for text in summaries(trace))


def test_the_latest_request_and_its_identifiers_are_put_in(compacted):
    assert all('"u' in text for text in summaries(compacted("ua" * 8)))
    plain = DistilledSummary(
        trigger=1000, keep_recent_tokens=300, recent_turns_preserve=1, quality_guard=False
    )
    assert not any("Latest user request" in text for text in summaries(compacted("ua" * 8, plain)))


def test_what_lacks_a_heading_is_asked_for_again_and_then_nothing_is_compacted(compacted):
    requests = []
    for retries in (0, 1, 3):
        rule = replace(SMALL, forgets_headings=1.0, max_retries=retries)
        trace = compacted("ua" * 9, rule)
        assert not any(step.compaction for step in trace.steps)
        requests.append(sum(side(trace, "summary")))
    assert requests == [requests[0], 2 * requests[0], 4 * requests[0]]
    # What is blocked after an answer is tried again before the next turn, and after that.
    assert requests[0] > 4


def test_an_own_heading_of_the_writer_is_believed(compacted):
    said = "\n\n".join(f"{heading}\nnone" for heading in HEADINGS[:4])
    assert not any(step.compaction for step in compacted("ua" * 9, writer=Echo(said)).steps)
    whole = f"{said}\n\n{HEADINGS[4]}\nnone"
    assert any(step.compaction for step in compacted("ua" * 9, writer=Echo(whole)).steps)


def test_the_check_names_what_is_wrong():
    text = "\n".join(HEADINGS[:4])
    found = audit(text, text, [text, text], Facts(("order-123456",), "Rename the parser module"))
    assert found == [
        "missing_section:## Exact identifiers",
        "missing_identifiers:order-123456",
        "latest_user_ask_not_reflected",
    ]


def test_another_model_summarises_and_flushes(compacted):
    agent = Openclaw(compaction_model="claude-haiku-4-5", flush_model="gpt-5", trigger=1000)
    trace = compacted("ua" * 12, agent)
    models = {call.purpose: call.model for step in trace.steps for call in step.side}
    assert models["flush"] == "gpt-5"
    rule = DistilledSummary(
        trigger=1000, keep_recent_tokens=300, recent_turns_preserve=1, model="claude-haiku-4-5"
    )
    trace = compacted("ua" * 12, rule)
    assert {c.model for step in trace.steps for c in step.side} == {"claude-haiku-4-5"}


# Within a turn, and by bytes.


def test_within_a_turn_nothing_happens_unless_it_is_told(compacted):
    story = "ua" * 3 + "u" + "cr" * 12 + "a"
    assert not any(step.compaction for step in compacted(story).steps[:16])
    rule = DistilledSummary(
        trigger=1000, keep_recent_tokens=300, recent_turns_preserve=1, mid_turn_precheck=True
    )
    trace = compacted(story, rule)
    assert any(step.compaction for step in trace.steps)
    assert "goes on afterwards" in "".join(r.instructions for r in asked_of(compacted, story, rule))


def asked_of(compacted: Any, story: str, rule: Any) -> list[SummaryRequest]:
    writer = Echo()
    compacted(story, rule, writer=writer)
    return writer.asked


def test_bytes_compact_too_and_then_wait_for_as_many_again(compacted):
    rule = DistilledSummary(
        max_active_transcript_bytes=1500, keep_recent_tokens=300, recent_turns_preserve=1
    )
    trace = compacted("ua" * 12, rule)
    compactions = [n for n, step in enumerate(trace.steps) if step.compaction]
    assert len(compactions) > 1
    assert min(b - a for a, b in pairwise(compactions)) > 1


def test_cached_reads_of_a_turn_count_as_context_where_they_are_planted(compacted):
    story, sizes = "u" + "cr" * 5 + "a" + "ua" * 3, {"u1": 8000}
    sound = DistilledSummary(trigger=5000, keep_recent_tokens=300, recent_turns_preserve=1)
    faulty = DistilledSummary(
        trigger=5000, keep_recent_tokens=300, recent_turns_preserve=1, with_cache_reads=True
    )
    assert not any(step.compaction for step in compacted(story, sound, sizes=sizes).steps)
    assert any(step.compaction for step in compacted(story, faulty, sizes=sizes).steps)


def test_a_report_of_before_the_compaction_fires_again_where_it_is_planted(compacted):
    sound = DistilledSummary(trigger=1000, keep_recent_tokens=300, recent_turns_preserve=1)
    faulty = DistilledSummary(
        trigger=1000, keep_recent_tokens=300, recent_turns_preserve=1, stale_usage=True
    )
    sizes = {f"a{n}": 900 for n in range(2, 40, 2)} | {f"u{n}": 40 for n in range(1, 40, 2)}
    told = [compacted("ua" * 12, rule, sizes=sizes) for rule in (sound, faulty)]
    made = [max(int(p[0].id.partition("-")[2] or 0) for p in trace.prompts()) for trace in told]
    assert made[1] > made[0]


def test_they_are_settings_of_the_newest_version():
    said = refusal(
        UsageError, lambda: find_strategy("openclaw(version='2026.3.13', stale_usage=True)")
    )
    assert said == snapshot("openclaw: stale_usage is a setting of 2026.9.6, not of 2026.3.13")
    said = refusal(
        UsageError, lambda: find_strategy("memory_flush(version='2026.3.13', failing=0.5)")
    )
    assert said == snapshot("""\
memory_flush: model, failing and with_cache_reads are settings of 2026.9.6, not of
2026.3.13\
""")


# What the program from npm does, found by running it beside this one.


def test_an_empty_answer_is_no_summary(compacted):
    trace = compacted("ua" * 8, writer=Echo(""))
    assert any(side(trace, "summary"))
    assert not any(step.compaction for step in trace.steps)


def test_nothing_is_compacted_twice_before_something_is_said(moment):
    now = moment("uauaua", size=400, reported=Usage(1200))
    now.host.phase = Phase.BEFORE_TURN
    written = [Part("text", "It was said.", "summary", (Source("u1"),))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DISTILLER, lambda *given: written)
        once = SMALL.compact(now.view, now.host)
        assert once is not now.view
        assert SMALL.compact(once, now.host) is once
        more = once.with_messages([*once.messages, *moment("uauauauaua").messages[6:]])
        assert SMALL.compact(more, now.host) is not more


def test_before_a_turn_it_keeps_as_little_as_it_can_rather_than_nothing_at_all(compacted):
    rule = DistilledSummary(trigger=1000, recent_turns_preserve=1, quality_guard=False)
    trace = compacted("ua" * 4, rule, sizes={"a4": 7000})
    assert [step.compaction for step in trace.steps][:3] == [False, False, True]
    assert [message.id for message in list(trace.prompts())[2]] == ["distilled-1", "a4", "u5"]


def test_after_it_the_whole_request_is_believed_and_before_a_turn_the_messages(moment):
    """The next check goes by what the compaction estimated of what it left."""
    now = moment("uaua u", size=40, reported=Usage(600, output=50))
    view = now.view.with_system(Part("text", "", "opaque", (), size=100))
    before = view.messages[:-1]
    whole = prompt_pressure([], view.system) + history_pressure(before)
    for last, known in (("a4", whole), ("u5", before.total(tokens)), ("u3", 600)):
        now.host.state.compactions = [Compacted(2, 1, last)]
        assert believed_prompt(view, now.host)[0] == known


def test_a_result_that_is_cut_ends_no_cycle_of_the_flush(compacted):
    flush = MemoryFlush(soft_threshold_tokens=9_000, trigger=10_000)
    story, sizes = "ua" * 4 + "ucra" + "ua" * 3, {"u1": 24_000, "r11": 90_000}
    for rule in (flush, Pipeline((WriteGuard(), flush))):
        trace = compacted(story, rule, sizes=sizes)
        assert sum(map(bool, side(trace, "flush"))) == 1


def test_the_request_that_goes_on_is_remembered_where_no_message_has_it_any_more(moment):
    now, asked = moment("ucrcr", reported=Usage(90_000)), list[str]()
    now.host.phase = Phase.ON_OVERFLOW

    def write(*given: Any) -> list[Part]:
        asked.append(given[4])
        return [Part("text", "It was said.", "summary", (Source("u1"),))]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DISTILLER, write)
        first = replace(SMALL, keep_recent_tokens=1).compact(now.view, now.host)
        longer = first.with_messages([*first.messages, *moment("ucrcr").messages[1:3]])
        replace(SMALL, keep_recent_tokens=1).compact(longer, now.host)
    assert asked[0].startswith("u1")
    assert asked == [asked[0]] * 2


@pytest.mark.parametrize(("end", "length"), [("x", 800), ("\N{ROCKET}", 799)])
def test_a_long_request_is_cut_in_its_middle_and_by_code_units(end, length):
    """Of an odd rest the end has one more; half a character is left out."""
    ask = "a" * 900 + end * 400 + "b" * 79
    shown = shown_ask(ask, 800, "latest user request")
    assert len(shown.encode("utf-16-le")) // 2 == length
    assert shown.startswith("a" * 379 + "\n[... latest")


def test_files_are_named_by_tools_of_other_agents_and_the_lists_are_short():
    files = _Files()
    named = {"Read": "file_path", "mcp__fs__read": "path", "fs__Edit": "filePath", "Grep": "path"}
    for n, (tool, name) in enumerate(named.items()):
        text = f'{{"{name}": "/src/{n}.py"}}'
        call = Part("tool_call", text, "verbatim", (Source("m"),), name=tool, call_id="c")
        files.note([Message(f"m{n}", "assistant", (call,))])
    assert list(files.only_read) == ["/src/0.py", "/src/1.py"]
    assert list(files.modified) == ["/src/2.py"]
    many = _Files(read={f"/a/{n:03}.py": "m" for n in range(200)})
    text = "".join(part.text for part in file_section(many, 900))
    assert len(text.strip()) <= 900
    assert text.endswith("/a/084.py\n...and 115 more\n</read-files>")
    assert file_section(many)[1].text.count("\n") == 199


def test_a_flush_leaves_nothing_in_the_session(compacted):
    flush = MemoryFlush(soft_threshold_tokens=500, trigger=2500)
    trace = compacted("ua" * 12, flush)
    assert side(trace, "flush").count(0) == 11
    assert not any(step.created for step in trace.steps)
    alone = compacted("ua" * 12, find_strategy("keep_all"))
    assert [s.usage.prompt for s in trace.steps] == [s.usage.prompt for s in alone.steps]
    assert sum(call.heard for step in trace.steps for call in step.side) == 0


def test_it_runs_after_an_answer_and_nobody_waits(compacted):
    trace = compacted("ua" * 12, MemoryFlush(soft_threshold_tokens=500, trigger=2500))
    (call,) = [call for step in trace.steps for call in step.side]
    assert not call.waits


def test_three_failures_and_it_is_given_up_until_the_next_compaction(compacted):
    failing = MemoryFlush(soft_threshold_tokens=500, trigger=2500, failing=1)
    assert sum(side(compacted("ua" * 14, failing), "flush")) == 3


@pytest.mark.parametrize(("window", "due"), [(32_768, 20_576), (200_000, 176_000)])
def test_its_reserve_is_at_most_a_quarter_of_the_window(moment, window, due):
    # 20,576 is the example of OpenClaw's documentation (2026.9.6, housekeeping.md).
    def is_due(used: int) -> bool:
        now = moment("ua", size=4, reported=Usage(uncached=used), window=window)
        return MemoryFlush()._due(now.view, now.host)

    assert [is_due(due - 1), is_due(due)] == [False, True]


def test_a_result_is_capped_by_the_window_and_no_longer_removed(compacted):
    trace = compacted("ucra" * 2, Openclaw(), sizes={"r3": 20_000})
    results = {m.id: m.text for prompt in trace.prompts() for m in prompt if m.role == "tool"}
    assert max(map(len, results.values())) == cap(40_000)
    assert ELIDED not in results.values()


def test_sections_are_told_by_their_headings():
    page = "## A\none\n```\n## B\n```\n### C\nin A\n## B\ntwo\n### D\nin B"
    assert sections_of(page, ["b", "A", "C"]) == [
        "## B\ntwo\n### D\nin B",
        "## A\none\n```\n## B\n```\n### C\nin A",
        "### C\nin A",
    ]
    assert rules_of(page, []) == rules_of(page, ["E"]) == ""


def test_they_stand_under_every_summary(compacted):
    rule = DistilledSummary(
        trigger=1000,
        keep_recent_tokens=300,
        recent_turns_preserve=1,
        agents_md="## Red Lines\nno push",
        post_compaction_sections=("red lines",),
    )
    found = summaries(compacted("ua" * 16, rule))
    assert len(found) > 1
    assert all("no push" in text for text in found)
