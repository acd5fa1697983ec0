"""Strategies that leave messages out: what `test_stories` does not show of them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.strategies import KeepAll, PairSafeWindow, RandomKeep, SlidingWindow, TrimMessages
from compactlab.strategies.catalogue import find_strategy


def test_what_is_fresh_was_just_said(tell, play):
    steps = play(tell("ucra" * 10, size=400, system=2000), KeepAll()).steps
    assert [set(step.causes) for step in steps[1:]] == [{"append"}] * 19


def test_only_the_system_prompt_is_read_once_the_window_is_full(tell, play):
    steps = play(tell("ua" * 10, size=4000, system=2000), SlidingWindow(keep=4)).steps
    assert {step.usage.cache_read for step in steps[3:]} == {2640}
    assert all(step.causes.keys() == {"append", "compaction"} for step in steps[3:])


def test_when_it_does_not_fit_the_oldest_result_is_shortened_first(tell, play):
    story = tell("ucrcra", sizes={"r3": 4000, "r5": 400})
    *_, last = play(story, PairSafeWindow(), window=700).prompts()
    assert [message.id for message in last] == ["u1", "c2", "r3", "c4", "r5"]
    (part,) = last[2].parts
    assert part.kind == "truncated"
    assert "...\n\n... [truncated: 3600 chars removed] ...\n\n..." in part.text
    assert [(s.start, s.end) for s in part.sources] == [(0, 200), (3800, -1)]


def test_it_can_act_before_the_window_of_the_model_is_full(tell, play):
    story = tell("ua" * 12, size=400)
    steps = play(story, PairSafeWindow(trigger=0.5), window=2000).steps
    assert max(step.usage.prompt for step in steps) < 1000


def test_the_summary_of_an_earlier_compaction_goes_with_the_turns(tell, play):
    """A summary is no turn, so nothing holds it when the limit is reached: what it told is lost."""
    story = tell("ua" * 10, size=40, sizes={"a2": 4000, "a4": 4000, "a6": 1200})
    compacting = "auto_compact(reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=400)"

    def told(spec):
        trace = play(story, find_strategy(spec), window=3000)
        return [any(p.kind == "summary" for p in sent[0].parts) for sent in trace.prompts()]

    assert told(compacting) == [False] * 2 + [True] * 8
    assert (
        told(f"{compacting} + turn_slice(history_limit=3)")
        == [False] * 2 + [True] * 4 + [False] * 4
    )


def test_a_trimmed_message_may_stay_in_part(moment):
    now = moment("uu", sizes={"u1": 400})
    lines = "\n".join(f"line {n}" for n in range(40))
    first = now.messages[0]
    long = type(first)(
        "u1", "user", (type(first.parts[0])("text", lines, "verbatim", first.parts[0].sources),)
    )
    view = now.view.with_messages([long, now.messages[1]])
    kept = TrimMessages(max_tokens=40, allow_partial=True).compact(view, now.host).messages
    assert [message.id for message in kept] == ["u1", "u2"]
    (part,) = kept[0].parts
    assert part.kind == "truncated"
    assert lines.endswith(part.text)
    assert lines[part.sources[0].start :] == part.text


@settings(max_examples=40)
@given(data=st.data(), budget=st.integers(1, 2000))
def test_what_is_trimmed_is_the_longest_tail_that_fits(data, budget, straight, play):
    strategy = TrimMessages(max_tokens=budget, token_counter="model")
    trace = play(data.draw(straight), strategy)
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        log = list(step.log)
        assert list(prompt) == log[len(log) - len(prompt) :]
        hidden = int(1.32 * sum(part.size for part in step.system) + 1)
        assert step.usage.prompt - hidden <= budget


# Chance decides what is kept, and keeps to what it has decided.


def test_a_result_shares_the_fate_of_its_call(tell, sent):
    kept = sent(tell("uc2rra" * 30), RandomKeep(share=0.5))[-1].split()
    calls = {int(id[1:]) for id in kept if id[0] == "c"}
    results = {int(id[1:]) for id in kept if id[0] == "r"}
    assert results == {call + n for call in calls for n in (1, 2)}
    assert 5 < len(calls) < 25


def test_about_the_share_is_kept(tell, sent):
    kept = sent(tell("ua" * 300), RandomKeep(share=0.3))[-1].split()
    assert 0.25 < len(kept) / 600 < 0.35


def test_another_seed_is_another_choice(tell, sent):
    story = tell("ua" * 30)
    first, again, other = (sent(story, RandomKeep(), seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_it_tosses_when_a_turn_begins_and_lets_the_turn_grow(tell, play):
    steps = play(tell("ua" * 10 + "ucrcra"), RandomKeep(share=0.5)).steps
    assert [step.compaction for step in steps[-2:]] == [False, False]


def test_a_result_that_comes_a_turn_late_shares_the_fate_of_its_call(tell, play):
    """Its call was tossed for a turn earlier, and there is no second toss for the result."""
    story = tell("uc ura ua ua ua")
    fates = set()
    for seed in range(20):
        (*_, last) = play(story, RandomKeep(share=0.5), seed=seed).prompts()
        kept = {message.id for message in last}
        fates.add(("c2" in kept, "r4" in kept))
    assert fates == {(True, True), (False, False)}
