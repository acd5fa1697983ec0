"""Before a compaction, once a cycle, the agent writes down what must outlive it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from compactlab.sim.core.message import Source, Usage
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Phase
from compactlab.sim.metrics import RunData, figures
from compactlab.sim.replay.strategy import Pipeline, Strategy
from compactlab.sim.replay.summarize import Written
from compactlab.strategies import MemoryFlush
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.openclaw.flush import REMINDER
from compactlab.testing.contract import check_strategy
from tests.strategies.conftest import NoteTaker

OLD = "2026.1.29"
# The flush that is a turn of the session, as it was before 2026.9.6.
Turns = partial(MemoryFlush, version="2026.3.13")
# In a window of 4,000 tokens it is due at 2,000.
SMALL = Turns(soft_threshold_tokens=1000, reserve_tokens_floor=1000)
BORN = "born-1-prompt born-1-write born-1-written born-1-reply"


@dataclass(frozen=True)
class Scribe(NoteTaker):
    """Puts down what was said last, and then speaks."""

    reply: str = "NO_REPLY"

    def write(self, messages, request, count):
        note = Remembered("action", messages[-1].id, (Source(messages[-1].id),))
        return Written(self.reply, (note,))


@dataclass(frozen=True)
class Cuts(Strategy):
    """Keeps the newest message alone, where one of those named is the newest."""

    at: str
    phases = frozenset({Phase.AFTER_TURN, Phase.BEFORE_CALL})

    def compact(self, view, host):
        return (
            view.with_messages(view.messages[-1:]) if host.log[-1].id in self.at.split() else view
        )


@pytest.fixture
def flushed(tell, play):
    """The replay of a story in messages of 400 characters, some 130 tokens each."""

    def of(script, strategy=SMALL, *, writer=Scribe(), window=4000, **more):
        return play(
            tell(script, **{"size": 400, **more}), strategy, window=window, summarizer=writer
        )

    return of


def when(trace) -> list[int]:
    """The numbers of the calls before which there was a flush."""
    return [
        n for n, step in enumerate(trace.steps, 1) if any(c.purpose == "flush" for c in step.side)
    ]


def prompts(trace) -> list[str]:
    return [" ".join(message.id for message in prompt) for prompt in trace.prompts()]


def test_near_the_end_of_the_window_it_comes_before_the_users_turn(flushed):
    trace = flushed("ua" * 3, sizes={"a4": 7000})
    assert when(trace) == [3]
    assert prompts(trace)[-1] == f"u1 a2 u3 a4 {BORN} u5"


def test_it_is_due_at_the_threshold_and_not_before(flushed):
    story = "ua" * 12
    sizes = [step.usage.prompt for step in flushed(story, SMALL).steps]
    exact = Turns(soft_threshold_tokens=0, reserve_tokens_floor=4000 - sizes[5], version=OLD)
    over = Turns(soft_threshold_tokens=0, reserve_tokens_floor=3999 - sizes[5], version=OLD)
    assert when(flushed(story, exact)) == [7]
    assert when(flushed(story, over)) == [8]


def test_it_waits_for_the_user_however_long_a_turn_is(flushed):
    trace = flushed("ua" + "u" + "cr" * 14 + "a" + "ua")
    assert when(trace) == [len(trace.steps)]


def test_before_the_first_call_nothing_is_known(flushed):
    assert when(flushed("ua", sizes={"u1": 12_000})) == []


def test_the_later_version_counts_the_last_answer_and_what_the_user_says_now(flushed):
    """The provider had not seen them yet when it counted."""
    for sizes in ({"a4": 7000}, {"u5": 7000}):
        new, old = (
            when(flushed("ua" * 4, Turns(1000, 1000, version=version), sizes=sizes))
            for version in ("2026.3.13", OLD)
        )
        assert (new, old) == ([3], [4])


def test_there_is_none_at_a_heartbeat(flushed):
    """OpenClaw wakes the agent with words of its own, which stand first; here those of u5."""
    story, sizes = "ua" * 4, {"a4": 7000}
    for beat, calls in (("u5 says", [4]), ("says", [3]), ("", [3])):
        assert when(flushed(story, Turns(1000, 1000, heartbeat=beat), sizes=sizes)) == calls
    for beat, calls in (("u5 says", [4]), ("", [3])):
        assert when(flushed(story, MemoryFlush(1000, 1000, heartbeat=beat), sizes=sizes)) == calls


def test_a_transcript_of_that_size_needs_no_tokens(flushed):
    forced = Turns(force_flush_transcript_bytes=2000)
    assert when(flushed("ua" * 6, forced, window=200_000)) == [3]
    never = Turns(force_flush_transcript_bytes=0)
    assert when(flushed("ua" * 6, never, window=200_000)) == []
    older = Turns(force_flush_transcript_bytes=2000, version=OLD)
    assert when(flushed("ua" * 6, older, window=200_000)) == []


def test_there_is_one_until_the_next_compaction(flushed):
    assert when(flushed("ua" * 12)) == [10]
    cut = Pipeline((SMALL, Cuts("u23")))
    assert when(flushed("ua" * 20, cut, sizes={"a28": 7000})) == [10, 15]


def test_forced_ones_too_are_one_in_a_cycle(flushed):
    forced = Pipeline((Turns(force_flush_transcript_bytes=2000), Cuts("a8")))
    assert when(flushed("ua" * 7, forced, window=200_000)) == [3, 5]


def test_after_a_compaction_at_a_turns_end_the_count_is_stale_and_it_runs_at_once(flushed):
    """What the provider reported last is the prompt from before the compaction."""
    trace = flushed("ua" * 10, Pipeline((SMALL, Cuts("a18"))))
    assert when(trace) == [10]
    assert prompts(trace)[9] == f"a18 {BORN} u19"


def test_a_compaction_that_ends_it_takes_the_flush_of_the_next_cycle(flushed):
    """The count of compactions is written down after it, as the original does."""
    both = Pipeline((SMALL, Cuts("u19 u27")))
    trace = flushed("ua" * 20, both, sizes={"a24": 7000, "a32": 7000})
    assert [step.cycle for step in trace.steps][8:15] == [0, 1, 1, 1, 1, 2, 2]
    assert when(trace) == [10, 17]


def test_the_users_next_words_are_not_in_it(flushed):
    trace = flushed("ua" * 3, sizes={"a4": 7000, "u5": 20_000})
    last = trace.steps[2]
    assert last.side[-1].usage.prompt < last.usage.prompt - 4000


def test_its_words_are_in_the_system_prompt_of_its_own_calls_alone(flushed):
    trace = flushed("ua" * 3, system=1500)
    flushing = trace.steps[1]
    one, two = flushing.side
    assert one.usage.cache_read == 0
    assert one.causes["system_changed"] > 2000
    assert two.usage.cache_read == one.usage.prompt
    assert [len(step.system) for step in trace.steps] == [1, 1, 1]
    assert flushing.usage.cache_read == trace.steps[0].usage.prompt


def test_what_it_wrote_is_in_memory(flushed):
    seen = []

    @dataclass(frozen=True)
    class Looks(Strategy):
        def compact(self, view, host):
            seen.append([(note.topic, note.text, note.time) for note in host.memory])
            return view

    trace = flushed("ua" * 4, Pipeline((SMALL, Looks())), sizes={"a4": 7000})
    note = ("action", "a4", trace.steps[2].time)
    assert seen == [[], [], [note], [note]]


def test_with_nothing_to_write_it_is_one_silent_call(flushed):
    trace = flushed("ua" * 3, writer=NoteTaker(), sizes={"a4": 7000})
    assert prompts(trace)[-1] == "u1 a2 u3 a4 born-1-prompt born-1-reply u5"
    assert len(trace.steps[2].side) == 1


def test_going_back_before_it_takes_it_back(flushed):
    trace = flushed("uauaua<4ua", sizes={"a4": 7000})
    assert when(trace) == [3, 4]
    assert prompts(trace)[-1] == f"u1 a2 u3 a4 {BORN.replace('born-1', 'born-2')} u7"


def test_a_larger_reserve_of_the_compactor_makes_it_miss(flushed, tell, play):
    """Issue 25880 of OpenClaw: the flush knows its own floor alone."""
    spec = "memory_flush(soft_threshold_tokens=100, reserve_tokens_floor=100) + auto_compact(%s)"
    compacts = "reserve_tokens=2000, reserve_tokens_floor=0, keep_recent_tokens=400"
    trace = flushed("ua" * 20, find_strategy(spec % compacts))
    assert trace.steps[-1].cycle > 0
    assert when(trace) == []
    assert figures(RunData(trace, tell("ua" * 20, size=400)))["flushed_compactions"] == 0


@pytest.mark.parametrize("profile", ["hook", "internal"])
def test_the_other_profiles_run_no_turn(flushed, profile):
    trace = flushed("ua" * 6, Turns(1000, 1000, profile=profile), sizes={"a4": 7000})
    assert when(trace) == []
    assert prompts(trace)[-1] == "u1 a2 u3 a4 u5 a6 u7 a8 u9 a10 u11"


def test_the_hook_adds_a_reminder_to_the_request_for_a_summary(flushed):
    compacts = find_strategy("auto_compact(reserve_tokens=1000, keep_recent_tokens=400)")
    asked = []

    @dataclass(frozen=True)
    class Hears(NoteTaker):
        def summarize(self, request, count):
            asked.append(request.instructions)
            return super().summarize(request, count)

    for profile in ("internal", "hook"):
        both = Pipeline((Turns(profile=profile), compacts))
        flushed("ua" * 14, both, writer=Hears())
    bare, reminded = asked[: len(asked) // 2], asked[len(asked) // 2 :]
    assert reminded == [f"{request}\n\n{REMINDER}" for request in bare]
    assert bare


def test_only_of_a_flush_that_one_can_see_it_is_asked_whether_it_came():
    assert Turns().flushes
    assert Turns(profile="hook").flushes
    assert not Turns(profile="internal").flushes
    assert find_strategy("memory_flush + auto_compact").flushes
    assert not find_strategy("auto_compact").flushes


@pytest.mark.parametrize(("version", "words"), [(OLD, 0), ("2026.3.13", 4)])
def test_what_a_user_hears_depends_on_the_version(flushed, version, words):
    flush = Turns(1000, 1000, version=version)
    trace = flushed("ua" * 6, flush, writer=Scribe("I saved it. NO_REPLY"), sizes={"a4": 7000})
    heard = sum(call.heard for step in trace.steps for call in step.side)
    assert (heard > 0) == (words > 0)


def test_its_prompts_may_be_ones_own(flushed):
    own = Turns(1000, 1000, prompt="Save.", system_prompt="Now.", version=OLD)
    trace = flushed("ua" * 4, own, sizes={"a4": 7000})
    told = next(m for m in trace.steps[-1].log if m.id == "born-1-prompt")
    assert told.text.startswith("Save.\n\n")


@pytest.mark.parametrize(
    "flush",
    [
        "memory_flush(reserve_tokens_floor=2000, soft_threshold_tokens=500)",
        f"memory_flush(reserve_tokens_floor=2000, soft_threshold_tokens=500, version='{OLD}')",
        "memory_flush(force_flush_transcript_bytes=5000)",
        "memory_flush(profile='hook')",
        "memory_flush(profile='internal')",
    ],
)
def test_it_keeps_the_contract(flush):
    compacts = "auto_compact(reserve_tokens=1500, reserve_tokens_floor=0, keep_recent_tokens=600)"
    found = check_strategy(find_strategy(f"{flush} + {compacts}"), 40)
    assert not [each for each in found if "memory_flush" in each.strategy]


def test_the_flush_runs_so_many_tokens_before_the_trigger(moment):
    def due(used: int, **fields: Any) -> bool:
        now = moment("uau", size=4, reported=Usage(uncached=used))
        return MemoryFlush(**fields)._due(now.view, now.host)

    assert [due(used) for used in (175_000, 176_000)] == [False, True]
    assert [due(used, trigger=0.5) for used in (95_000, 96_000)] == [False, True]
    assert [due(used, trigger=50_000) for used in (45_000, 46_000)] == [False, True]
    assert not due(3000, trigger=4000, version="2026.3.13")  # nothing is before that
    assert [due(used, trigger=4000) for used in (1900, 2000)] == [False, True]  # but half of it
