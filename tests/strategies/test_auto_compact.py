"""When the window fills, what is older than the tail gives way to a summary."""

from dataclasses import dataclass, field, replace

import msgspec
import pytest
from inline_snapshot import snapshot

from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Call, Part
from compactlab.sim.replay.summarize import Summarizer, SummaryRequest
from compactlab.strategies import AutoCompact, Pi
from tests.lines import refusal


@dataclass(frozen=True)
class Wordy(Summarizer):
    """Says so many words, and keeps the requests."""

    words: int = 3
    requests: list[SummaryRequest] = field(default_factory=list, repr=False, compare=False)

    def summarize(self, request, count):
        self.requests.append(request)
        sources = [s for m in request.messages for p in m.parts for s in p.sources]
        return (Part("text", "so " * self.words, "summary", tuple(sources)),) if sources else ()


# In a window of 2000 tokens it acts beyond 1000, and keeps a tail of 400.
SMALL = AutoCompact(1000, 0, 400)
OLD = AutoCompact(1000, 0, 400, "0.49.3")
# Of these two, the same in a window of 10,000, as the newest leaves room for a summary.
BEFORE = AutoCompact(9000, 0, 400)
NEW = replace(BEFORE, version="1.6.0")


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


def test_the_model_is_told_what_it_is(story, play):
    steps = play(story("ua" * 6), SMALL, window=2000).steps
    lead, notes, end = next(step.added[0].parts for step in steps if step.rewrite)
    assert (notes.text, notes.kind) == ("notes on 6 messages", "summary")
    assert lead.text.endswith("<summary>\n")
    assert end.text == "\n</summary>"


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
    said = refusal(ModelError, lambda: play(story("ua" * 6), SMALL, window=2000, summarizer=None))
    assert said == snapshot("""\
auto_compact(reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=400,
version='0.73.1', file_lists=True, rides='fresh', trigger=None, model_overrides=()) asks
for summaries; name a summariser\
""")


# pi 1.6.0


@pytest.fixture
def last(story, sent):
    """The last prompt of a story under two versions, in a window of 10,000."""

    def of(script, **sizes):
        told = story(script, sizes=sizes)
        return [sent(told, strategy, window=10_000)[-1] for strategy in (BEFORE, NEW)]

    return of


def test_it_looks_between_results_and_the_next_answer(last):
    """The results count, which the usage of the last answer does not hold."""
    whole = "u1 c2 r3 c4 r5 c6 r7"
    assert last("ucrcrcra") == [whole, whole]
    assert last("ucrcrcra", r7=2000) == [whole, "summary-1 c6 r7"]


def test_large_results_at_the_end_keep_their_call(last, story, play):
    assert last("uaucra", r5=4000) == ["u1 a2 u3 c4 r5", "summary-1 c4 r5"]
    steps = play(story("uaucra", sizes={"r5": 4000}), NEW, window=10_000).steps
    (step,) = [step for step in steps if step.side]
    assert "Turn Context (split turn)" in "".join(part.text for part in step.added[0].parts)


def test_a_refused_result_keeps_its_call_and_is_refused_again(last, story, play):
    assert last("uaucra", r5=48_000) == ["summary-1", "summary-1 c4 r5"]
    told = story("uaucra", sizes={"r5": 48_000})
    overflows = [play(told, s, window=10_000).steps[-1].overflow for s in (BEFORE, NEW)]
    assert overflows == [False, True]


def test_a_refused_prompt_that_is_larger_than_the_tail_is_summarised(story, sent):
    told = story("uaua", sizes={"u3": 100_000}, system=20_000)
    wide = (replace(strategy, reserve_tokens=0) for strategy in (BEFORE, NEW))
    prompts = [sent(told, strategy, window=40_000)[-1] for strategy in wide]
    assert prompts == ["summary-1 u3", "summary-1"]


def test_the_system_prompt_counts_where_a_prompt_is_refused_before_any_compaction(story, sent):
    told = story("ua", sizes={"u1": 4000}, system=39_500)
    wide = replace(NEW, reserve_tokens=0, keep_recent_tokens=20_000)
    assert sent(told, wide, window=40_000)[-1] == "summary-1"
    assert sent(told, replace(wide, keep_recent_tokens=60_000), window=40_000)[-1] == "u1"


def test_where_there_is_nothing_to_summarise_it_does_not_compact(story, play):
    told = story("uaua", sizes={"u1": 5000})
    for strategy, compacts in ((BEFORE, True), (NEW, False)):
        wide = replace(strategy, keep_recent_tokens=20_000)
        steps = play(told, wide, window=10_000).steps
        assert any(step.side for step in steps) is compacts


def test_a_prompt_that_comes_while_results_wait_is_not_looked_at(last):
    assert last("ucrcrcrua", r7=2000, u8=3000)[-1] == "summary-1 c6 r7 u8"
    assert last("ucrcrcrua", u8=3000)[-1] == "u1 c2 r3 c4 r5 c6 r7 u8"


def test_a_summary_may_be_as_long_as_an_answer_of_the_model(story, play):
    limits = {(BEFORE, 10_000): 7200, (NEW, 10_000): 4851, (NEW, 200_000): 64_000}
    for (strategy, window), limit in limits.items():
        writer = Wordy()
        small = replace(strategy, reserve_tokens=window - 1000)
        play(story("ua" * 9), small, window=window, summarizer=writer)
        first = writer.requests[0]
        assert first.max_tokens == limit
        assert first.marked is (strategy is BEFORE)


def test_a_summary_that_was_cut_off_is_refused_and_paid_for(story, play):
    for strategy, rewrites in ((BEFORE, True), (NEW, False)):
        steps = play(story("ua" * 9), strategy, window=10_000, summarizer=Wordy(8000)).steps
        assert any(step.side for step in steps)
        assert any(step.rewrite for step in steps) is rewrites


def test_what_nobody_has_the_text_of_takes_room_in_a_request_too(story, play):
    """As a message that stands for what was before the log: pi would send its text."""
    told = story("ua" * 9)
    hidden = Part("text", "", "opaque", (), size=5500)
    first = msgspec.structs.replace(told.events[0], parts=(hidden,))
    opaque = replace(told, events=(first, *told.events[1:]))
    limits = []
    for each in (told, opaque):
        writer = Wordy()
        play(each, NEW, window=10_000, summarizer=writer)
        limits.append(writer.requests[0].max_tokens)
    assert limits[0] > 4000
    assert limits[1] == 1


def test_a_window_without_room_for_a_summary_is_never_compacted(story, play):
    """pi leaves 4,096 tokens between a request and its answer."""
    steps = play(story("ua" * 9), replace(NEW, reserve_tokens=3000), window=4000).steps
    assert any(step.side for step in steps)
    assert not any(step.rewrite for step in steps)


def test_a_model_can_have_a_reserve_and_a_tail_of_its_own(story, sent):
    told, plain = story("ua" * 6), AutoCompact(1000, 0, 200)
    own = replace(SMALL, model_overrides=(("claude-sonnet-4-5", 1000, 200),))
    assert sent(told, own, window=2000) == sent(told, plain, window=2000)
    other = replace(SMALL, model_overrides=(("gpt-5", 1000, 200),))
    assert sent(told, other, window=2000) == sent(told, SMALL, window=2000)
    assert refusal(ValueError, lambda: Pi(model_overrides=("gpt-5",))) == snapshot("""\
model_overrides must be of a model's name with two numbers of tokens each, ('name', 16384,
20000), not ('gpt-5',)\
""")


def test_pi_is_the_newest():
    (step,) = Pi().steps()
    assert (step.version, step.reserve) == ("1.6.0", 16_384)
