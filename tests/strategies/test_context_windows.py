"""A full window is left for an empty one: notes lead on, and what was said can be searched."""

from dataclasses import dataclass

import pytest

from compactlab.scenarios.catalogue import find_scenario
from compactlab.sim.core.message import Source
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Phase
from compactlab.sim.metrics import RunData
from compactlab.sim.models.model import find_model
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.summarize import Written
from compactlab.strategies import ContextWindows
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.strategies.conftest import NoteTaker


@dataclass(frozen=True)
class Scribe(NoteTaker):
    """Notes what was said last."""

    def write(self, messages, request, count):
        last = messages[-1].id
        return Written("new_context", (Remembered("action", f"after {last}", (Source(last),)),))


NOW = ContextWindows(trigger=800, reminder_tokens=0)


@pytest.fixture
def told(tell, play):
    """Replay a story in messages of 110 tokens each; a window is full at 800."""

    def of(script, strategy=NOW, *, writer=Scribe(), window=4000, **more):
        return play(
            tell(script, **{"size": 400, **more}), strategy, window=window, summarizer=writer
        )

    return of


@pytest.fixture
def prompts(told):
    return lambda *story, **more: [
        " ".join(message.id for message in prompt) for prompt in told(*story, **more).prompts()
    ]


def test_a_full_window_is_left_before_the_user_is_answered(prompts):
    assert prompts("ua" * 6)[2:] == [
        "u1 a2 u3 a4 u5",
        "u1 a2 u3 a4 u5 a6 u7",
        "window-1 u9",
        "window-1 u9 a10 u11",
    ]


def test_in_the_middle_of_a_turn_only_the_notes_are_left(prompts):
    assert prompts("u" + "cr" * 5 + "a")[-2:] == ["window-1", "window-1 c10 r11"]


def test_what_the_client_said_at_the_beginning_is_said_again(prompts):
    assert prompts("mm" + "ua" * 5)[-1] == "m1 m2 window-1 u9 a10 u11"


def test_notes_are_written_in_a_turn_that_reads_the_cache_and_is_billed(told):
    large = ContextWindows(trigger=9000, reminder_tokens=0)
    trace = told("ua" * 4, large, size=4000, system=4000, window=20_000)
    side = [call for step in trace.steps for call in step.side]
    assert [call.purpose for call in side] == ["notes", "notes"]
    assert all(call.usage.cache_read > call.usage.prompt / 2 for call in side)


def test_the_new_window_has_the_notes_and_where_they_come_from(told):
    *_, last = told("ua" * 6).prompts()
    (_, note, _) = last[0].parts
    assert (note.text, note.kind, note.sources) == (
        "- action: after a8\n",
        "memory",
        (Source("a8"),),
    )


def test_the_newest_notes_are_shown_as_far_as_there_is_room(told):
    def shown(**more):
        strategy = ContextWindows(trigger=800, reminder_tokens=0, **more)
        *_, last = told("ua" * 20, strategy).prompts()
        return [part.text for part in last[0].parts if part.kind == "memory"]

    assert [text[-3:-1] for text in shown()] == ["a8", "16", "24", "32"]
    assert shown(max_notes_tokens=30) == shown()[-3:]


def test_the_reminder_comes_before_the_window_is_full(prompts):
    assert "window-1 u7" not in prompts("ua" * 5)
    assert "window-1 u7" in prompts("ua" * 5, ContextWindows(trigger=800, reminder_tokens=250))


def test_a_trigger_is_tokens_or_a_share_of_the_window(prompts):
    assert prompts("ua" * 6, ContextWindows(trigger=0.2, reminder_tokens=0)) == prompts("ua" * 6)


def test_openais_models_have_no_more_than_codex_gives_them():
    limits = {
        name: ContextWindows().limit(Host(find_model(name).narrowed(None)))
        for name in ("claude-sonnet-4-5", "gpt-5-5")
    }
    assert limits == {"claude-sonnet-4-5": 180_000, "gpt-5-5": 244_800}


def test_when_a_prompt_is_too_large_there_is_no_room_for_notes(told, prompts):
    story = {"sizes": {"r7": 5000}, "window": 1300}
    last = told("uaua ucra", ContextWindows(), **story).steps[-1]
    assert prompts("uaua ucra", ContextWindows(), **story)[-1] == "window-1"
    assert (last.side, last.overflow) == ((), False)


def test_what_was_left_behind_is_found_by_a_search_that_is_billed():
    script = find_scenario("coding_agent(tokens=30000)").conversation(0)
    writer = find_summarizer("lossy")

    def under(spec, **more):
        options = Options("claude-sonnet-4-5", window=12_000, summarizer=writer, **more)
        return record(script, find_strategy(spec), options)

    open_loop = RunData(under("context_windows"), script)
    assert any(states.retrievable for states in open_loop.states)
    steps = under("context_windows", loop=ClosedLoop()).steps
    recalls = [step for step in steps if step.recovery == "recall"]
    assert recalls
    assert all(step.usage.prompt for step in recalls)
    asks = sum(step.recovery == "ask" for step in steps)
    assert asks < sum(s.recovery == "ask" for s in under("user_words", loop=ClosedLoop()).steps)


def test_what_is_in_the_history_is_put_there_once(told):
    trace = told("ua" * 20)
    notes = [note for step in trace.steps for note in step.outside.notes]
    texts = [note.text for note in notes if note.topic == "history"]
    assert len(texts) == len(set(texts)) > 10


def test_where_nothing_would_be_gained_it_does_not_act(moment):
    """What is too large may be what has just been said, or the notes themselves."""
    now = moment("u", sizes={"u1": 9000}, window=1000)
    now.host.phase = Phase.ON_OVERFLOW
    assert NOW.compact(now.view, now.host) is now.view
