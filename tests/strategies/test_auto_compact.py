"""When the window fills, what is older than the tail gives way to a summary."""

from dataclasses import replace

import msgspec
import pytest

from compactlab.sim.core.errors import ModelError, UsageError
from compactlab.sim.core.message import Call
from compactlab.strategies import AutoCompact
from compactlab.strategies.catalogue import find_strategy

# In a window of 2000 tokens it acts beyond 1000, and keeps a tail of 400.
SMALL = AutoCompact(1000, 0, 400)
OLD = AutoCompact(1000, 0, 400, "0.49.3")


@pytest.fixture
def story(tell):
    """Messages of 100 estimated tokens each; a turn of four has 400."""
    return lambda script, **more: tell(script, **{"size": 400, **more})


@pytest.fixture
def summaries(play):
    """What the summaries of a story say, one after the other."""

    def of(told, strategy=SMALL, window=2000, **more):
        steps = play(told, strategy, window=window, **more).steps
        firsts = [step.added[0] for step in steps if step.rewrite]
        return ["".join(part.text for part in first.parts[1:-1]) for first in firsts]

    return of


def test_below_the_reserve_it_leaves_everything_alone(story, sent):
    assert sent(story("uaua"), SMALL, window=2000) == ["u1", "u1 a2 u3"]


def test_beyond_it_a_summary_stands_in_front_of_the_tail(story, sent):
    prompts = sent(story("ua" * 6), SMALL, window=2000)
    assert prompts[-2:] == ["u1 a2 u3 a4 u5 a6 u7 a8 u9", "summary-1 u7 a8 u9 a10 u11"]


def test_the_model_is_told_what_it_is(story, play):
    steps = play(story("ua" * 6), SMALL, window=2000).steps
    lead, notes, end = next(step.added[0].parts for step in steps if step.rewrite)
    assert (notes.text, notes.kind) == ("notes on 6 messages", "summary")
    assert lead.text.endswith("<summary>\n")
    assert end.text == "\n</summary>"


def test_the_message_that_reaches_the_size_of_the_tail_stays(story, sent):
    tail = AutoCompact(1000, 0, 401)
    assert sent(story("ua" * 6), tail, window=2000)[-1] == "summary-1 a6 u7 a8 u9 a10 u11"


def test_it_is_the_answer_that_counts_and_not_what_the_user_says_next(story, play):
    """pi looks before the prompt, too, but at the usage of the last answer."""
    told = story("ua" * 3 + "ua", sizes={"u7": 4000})
    assert not any(step.rewrite for step in play(told, SMALL, window=2000).steps)


def test_within_a_turn_it_does_not_look(story, sent):
    *_, last = sent(story("ucrcrcrcrcra"), SMALL, window=2000)
    assert last == "u1 c2 r3 c4 r5 c6 r7 c8 r9 c10 r11"


def test_until_the_provider_refuses(story, sent, play):
    """Then the first part of the turn is summarised apart from what was before it: nothing."""
    told = story("ucrcrcrcrcra", sizes={"r9": 4000})
    *_, last = sent(told, SMALL, window=2000)
    step = play(told, SMALL, window=2000).steps[-1]
    assert last == "summary-1 c10 r11"
    assert (step.overflow, [call.purpose for call in step.side]) == (False, ["summary"])
    assert step.added[0].parts[1].text == "No prior history."


def test_a_floor_raises_the_reserve(story, play):
    told = story("ua" * 6)
    least = AutoCompact(100, 1000, 400)
    assert play(told, least, window=2000).steps == play(told, SMALL, window=2000).steps
    assert AutoCompact().reserve_tokens_floor == 20_000


def test_a_turn_that_was_broken_off_at_a_large_result_is_not_cut_at_all(story, sent, play):
    """The trap of pi's: behind the budget there is no place to cut, so everything is kept.

    A summary is asked for all the same, of nothing, and put in front.
    """
    told = story("uaua ucr uc", sizes={"c6": 2400, "r7": 2400})
    step = play(told, SMALL, window=2000).steps[-1]
    assert sent(told, SMALL, window=2000)[-1] == "summary-1 u1 a2 u3 a4 u5 c6 r7 u8"
    assert (len(step.side), step.compaction) == (1, False)


def test_where_the_provider_refuses_such_a_turn_only_the_summary_is_left(story, sent):
    """The refusal stands behind the result as an answer, and there the session can be cut."""
    told = story("uaua ucra", sizes={"r7": 9000})
    assert sent(told, SMALL, window=2000)[-1] == "summary-1"


def test_before_0_63_1_what_a_compaction_had_kept_is_lost_by_the_next(story, sent, summaries):
    told = story("ua" * 9)
    assert sent(told, OLD, window=2000)[-4:] == [
        "summary-1 u7 a8 u9 a10 u11",
        "summary-1 u7 a8 u9 a10 u11 a12 u13",
        "summary-1 u7 a8 u9 a10 u11 a12 u13 a14 u15",
        "summary-2 u13 a14 u15 a16 u17",
    ]
    # u7 to a10 were kept, and neither stand in the summary nor are they kept again.
    assert summaries(told, OLD) == ["notes on 6 messages", "notes on 8 messages"]


def test_now_it_is_summarised(story, sent, summaries):
    told = story("ua" * 9)
    assert sent(told, SMALL, window=2000)[-1] == sent(told, OLD, window=2000)[-1]
    assert summaries(told) == ["notes on 6 messages", "notes on 12 messages"]


def test_the_previous_summary_is_thrown_away_if_only_a_turn_is_cut_in_two(story, summaries):
    first, second = summaries(story("ua" * 5 + "ucrcrcrcrcrcra" + "ua"), OLD)
    assert first == "notes on 6 messages"
    assert second.startswith(
        "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nnotes on"
    )


def test_behind_a_compaction_there_is_nothing_to_compact(story, play):
    """What is kept was answered beyond the reserve, but pi does not compact twice in a row."""
    steps = play(story("ua" * 6), OLD, window=2000).steps
    assert [len(step.side) for step in steps] == [0, 0, 0, 0, 1, 0]


def test_but_a_word_of_an_extension_defeats_that_before_0_56_3(story, play):
    """The usage of an answer that was kept is stale, and triggers once more (issue 26458)."""
    told = story("ua" * 5 + "mua")
    events = [
        e if e.id[0] != "m" else msgspec.structs.replace(e, origin="custom") for e in told.events
    ]
    told = replace(told, events=tuple(events))
    old, new = (play(told, AutoCompact(1000, 0, 400, v), window=2000) for v in ("0.49.3", "0.58.0"))
    assert [len(step.side) for step in old.steps][-2:] == [1, 1]
    assert [message.id for message in list(old.prompts())[-1]] == ["summary-2", "m11", "u12"]
    assert [len(step.side) for step in new.steps][-2:] == [1, 0]


@pytest.fixture
def working(story):
    """Turns in which a file is read, and then another one is changed."""

    def of(turns: int):
        told = story("ucra" * turns, sizes={f"c{n}": 0 for n in range(99)})
        files = iter(range(99))
        return replace(told, events=tuple(acting(e, files) for e in told.events))

    return of


def acting(message, files):
    if message.id[0] != "c":
        return message
    number = next(files)
    (call,) = message.parts
    arguments = f'{{"path":"f{number}.py"}}'
    call = msgspec.structs.replace(call, name="edit" if number % 2 else "read", text=arguments)
    return msgspec.structs.replace(message, parts=(call,))


def test_the_files_that_were_touched_are_listed_and_carried_on(working, summaries):
    first, second = summaries(working(7), AutoCompact(1000, 0, 250))[:2]
    assert first.endswith(
        "\n\n<read-files>\nf0.py\n</read-files>\n\n<modified-files>\nf1.py\n</modified-files>"
    )
    assert "<read-files>\nf0.py\nf2.py\n</read-files>" in second


def test_unless_that_is_not_wanted(working, summaries):
    assert not any(
        "f0.py" in text for text in summaries(working(7), replace(SMALL, file_lists=False))
    )


def test_a_compaction_is_one_rewrite_and_one_side_call(story, play):
    steps = play(story("ua" * 12), SMALL, window=2000).steps
    acted = [step.compaction for step in steps]
    assert 1 < sum(acted) < len(steps) / 2
    assert acted == [step.rewrite for step in steps]
    # The request comes behind an answer, and so one call before the rewrite.
    assert acted[1:] == [bool(step.side) for step in steps[:-1]]
    assert {call.purpose for step in steps for call in step.side} == {"summary"}


def test_a_summary_of_its_own_prompt_reads_nothing_and_one_on_the_live_prompt_does(tell, play):
    told = tell("ua" * 10, size=4000, system=2000)
    traces = (
        play(told, AutoCompact(5000, 0, 2000, rides=rides), window=20_000)
        for rides in ("live", "fresh")
    )
    live, fresh = (next(c for s in trace.steps for c in s.side).usage for trace in traces)
    assert live.cache_read > live.prompt / 2
    assert fresh.cache_read == 0
    assert live.prompt - live.cache_read < fresh.prompt


def test_a_short_history_after_a_rewind_is_left_alone(story, sent):
    """What was reported before the rewind says nothing about the branch that goes on."""
    prompts = sent(story("uaua uaua <6 ua"), SMALL, window=1800)
    assert not any("summary" in prompt for prompt in prompts)
    assert prompts[-1] == "u1 a2 u3 a4 u5 a6 u9"


def test_a_rewind_takes_a_compaction_back(story, sent):
    prompts = sent(story("ua" * 6 + "<2 ua"), SMALL, window=2000)
    assert prompts[-2:] == ["summary-1 u7 a8 u9 a10 u11", "u1 a2 u13"]


def test_an_answer_that_was_broken_off_triggers_nothing(story, play):
    told = story("ua" * 5)
    ended = msgspec.structs.replace(told.events[-1], origin="aborted", call=Call())
    told = replace(told, events=(*told.events[:-1], ended))
    assert not any(step.side for step in play(told, SMALL, window=2000).steps)


def test_a_message_of_the_script_is_no_summary_whatever_its_id(story, play):
    told = story("ua" * 6)
    named = msgspec.structs.replace(told.events[0], id="summary-1")
    trace = play(replace(told, events=(named, *told.events[1:])), SMALL, window=2000)
    (first,) = [step for step in trace.steps if step.rewrite]
    assert first.added[0].parts[1].sources[0].id == "u1"


def test_without_a_summariser_it_says_what_is_missing(story, play):
    with pytest.raises(ModelError, match=r"auto_compact.* asks for summaries; name a summariser"):
        play(story("ua" * 6), SMALL, window=2000, summarizer=None)


@pytest.mark.parametrize(
    "wrong",
    ["rides='sideways'", "version='0.1'", "reserve_tokens=-1", "reserve_tokens_floor=-1"],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        find_strategy(f"auto_compact({wrong})")
