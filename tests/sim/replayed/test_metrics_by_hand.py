"""Figures of contexts and summaries, by hand: one compaction, and what it leaves."""

from typing import Any

import pytest

from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.trace import SideCall
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer


@pytest.fixture
def cut(kit: Any) -> Any:
    """The figures of a script whose messages are replaced when so many have been said."""

    def measured(story: Any, at: int, change: Any, *names: str) -> Any:
        script = story.script()
        reading = RunData(kit.replayed(script, kit.at(at, change)), script)
        found = [METRICS[name].compute(reading) for name in names]
        return found[0] if len(found) == 1 else found

    return measured


def summary(text: str, *ids: str) -> Message:
    part = Part("text", text, "summary", tuple(map(Source, ids)))
    return Message("sum", "user", (part,), meta=True)


def errands(story: Any, count: int) -> Any:
    for number in range(count):
        story.user(f"{number} src/m{number}.py").answer("well")
    return story.user("and now?").answer("so")


AGES = ("verbatim_11_20", "verbatim_21_50", "verbatim_51_100")


def test_behind_the_tail_is_looked_at_by_age(cut, story):
    """Of 121 messages the last 40 stay, and one of those before: 30 of 30, 20 of 30, 1 of 50."""
    story = errands(story, 60)
    shares = cut(story, 121, lambda m: [m[30], *m[-40:]], *AGES, "verbatim_tail_messages")
    assert shares[0] == 1
    assert shares[1] == pytest.approx(20 / 30, abs=0.1)
    assert 0 < shares[2] < 0.1
    assert shares[3] == 40


def test_an_equal_message_is_as_good_as_the_same(cut, story):
    def again(messages: list[Message]) -> list[Message]:
        copies = [Message(m.id, m.role, m.parts, m.time, m.meta, m.call) for m in messages]
        return copies[5:]

    assert cut(errands(story, 12), 25, again, *AGES[:1], "verbatim_tail_messages") == [1, 20]


def test_a_tail_is_measured_in_tokens_too(cut, kit, story):
    story.user(kit.prose(50, "a")).answer(kit.prose(30, "b")).user(kit.prose(20, "c")).answer("d")
    assert cut(story, 3, lambda m: m[1:], "verbatim_tail_tokens") == 50


def closure(cut: Any, story: Any, change: Any) -> float | None:
    """One compaction, at the eleventh of fifteen messages: the last ten but one speak of AB-1200,
    which the first introduced, and src/b.py, which the second did."""
    story.user("mind AB-1200").answer("and src/b.py")
    for _ in range(5):
        story.user("AB-1200 again").answer("src/b.py too, and lib/c.py")
    return cut(story, 11, change, "reference_closure")  # type: ignore[no-any-return]


def test_who_keeps_only_the_tail_leaves_references_dangling(cut, story):
    assert closure(cut, story, lambda m: m[-2:]) == 0


def test_an_introduction_that_stays_closes_its_reference(cut, story):
    """AB-1200, src/b.py and lib/c.py had all been said; the first message holds one of them."""
    assert closure(cut, story, lambda m: [m[0], *m[-2:]]) == pytest.approx(1 / 3)


def test_a_summary_that_names_it_introduces_it(cut, story):
    told = summary("AB-1200 is in src/b.py and lib/c.py", "u1")
    assert closure(cut, story, lambda m: [told, *m[-2:]]) == 1


def test_a_tail_that_refers_to_nothing_says_nothing(cut, story):
    story.user("hi").answer("ho").user("hm").answer("AB-1200")
    assert cut(story, 3, lambda m: m[-1:], "reference_closure") is None


def test_order_is_that_of_the_log(cut, story):
    names = ("order_fidelity", "continuity_minimum")
    assert cut(errands(story, 3), 7, lambda m: m[:1] + m[3:], *names)[0] == 1


def test_what_is_turned_round_has_the_opposite_order(cut, story):
    tau, least = cut(
        errands(story, 3), 7, lambda m: m[:3:-1], "order_fidelity", "continuity_minimum"
    )
    assert (tau, least) == (-1, 0)


def test_a_summary_has_no_place_of_its_own(cut, story):
    told = summary("so far", "u1", "a1")
    assert cut(errands(story, 3), 7, lambda m: [*m[2:], told], "order_fidelity") == 1


DRIFTS = ("drift_words", "drift_identifiers", "drift_tools")


def test_what_is_replaced_by_other_words_has_moved_all_the_way(cut, story):
    story.user("mind AB-1200").acts("{}").result("src/b.py").answer("ok")
    other = Message("x", "user", (Part("text", "lib/c.go", "synthetic", ()),))
    assert cut(story, 3, lambda m: [other], *DRIFTS) == [1, 1, 1]


def test_a_context_of_which_no_word_is_left_has_moved_all_the_way(cut, story):
    story.user("mind AB-1200").acts("{}").result("src/b.py").answer("ok")
    assert cut(story, 3, lambda m: [], *DRIFTS) == [1, 1, 1]


def test_a_context_that_never_had_a_word_has_not_moved(cut, story):
    story.user("").answer("").user("").answer("ok")
    assert cut(story, 3, lambda m: [], *DRIFTS) == [0, 0, 0]


def test_dropping_words_that_everybody_says_moves_little(cut, kit, story):
    for name in ("alpha", "beta", "gamma", "delta"):
        story.user(f"well {name}").answer("well")
    common = cut(story, 7, lambda m: [*m[:3], *m[4:]], "drift_words")
    rare = cut(story, 7, lambda m: [*m[:4], *m[5:]], "drift_words")
    assert 0 < common < rare < 1


def test_what_a_summary_makes_up_is_new(cut, story):
    """Of AB-1200, AB-1300, main.py, 17 and 18 the second and the last are in no source."""
    story.user("mind AB-1200 in src/main.py, all 17").answer("ok").user("go").answer("ok")
    told = summary("AB-1200, AB-1300, main.py, 17 of 18", "u1", "a1")
    assert cut(story, 3, lambda m: [told, m[-1]], "novelty") == pytest.approx(2 / 5)


def test_what_only_others_said_is_new(cut, story):
    story.user("mind AB-1200").answer("AB-1300").user("go").answer("ok")
    assert cut(story, 3, lambda m: [summary("AB-1300", "u1"), m[-1]], "novelty") == 1


def test_a_quotation_makes_nothing_up():
    from compactlab.scenarios.coding_agent import CodingAgent

    script = CodingAgent(turns=8, tokens=12_000).conversation(seed=1)
    for spec in ("described_results", "fraction_split", "rolling_summary"):
        trace = record(
            script,
            find_strategy(spec),
            Options("claude-sonnet-4-5", summarizer=find_summarizer("lexrank"), window=18_000),
        )
        assert METRICS["novelty"].compute(RunData(trace, script)) == 0, spec


@pytest.mark.parametrize(
    ("faults", "failed"),
    [([], (0, None)), ([()], (0, 0)), ([("empty",), (), ("answers",)], (2, 2 / 3))],
)
def test_summaries_that_are_none_are_counted(faults, failed, kit):
    purposes = [("summary", each) for each in faults] + [("flush", ())]
    side = tuple(
        SideCall(purpose, kit.model, 0.0, kit.usage(), {}, faults=each)
        for purpose, each in purposes
    )
    reading = RunData(kit.trace_of(kit.usage(), side=[side]), None)  # type: ignore[arg-type]
    names = ("summaries_failed", "summaries_failed_share")
    assert tuple(METRICS[name].compute(reading) for name in names) == failed
    assert METRICS["summaries"].compute(reading) == len(faults)


# ------------------------------------------------------------------------------- what is asked for

MISSING = ("request_missing", "pending_missing", "rejected_calls")


def turn(story: Any) -> Any:
    return story.user("go").answer("ok").user("do it").acts().result("r").acts().result("s")


def test_a_request_that_is_gone_is_missing_until_the_next(cut, story):
    story = turn(story).acts().result("t").answer("done").user("well?").answer("yes")
    assert cut(story, 7, lambda m: m[-2:], *MISSING) == [2, 0, 0]


def test_a_request_that_is_summed_up_is_missing_and_one_cut_short_is_not(cut, story):
    story = turn(story).answer("done")
    short = Message("u2", "user", (Part("text", "do", "truncated", (Source("u2"),)),))
    assert cut(story, 7, lambda m: [summary("do it", "u2"), *m[-2:]], *MISSING) == [1, 0, 0]
    assert cut(story, 7, lambda m: [short, *m[-2:]], *MISSING) == [0, 0, 0]


def test_a_result_that_never_arrives_is_missing(cut, story):
    assert cut(turn(story).answer("done"), 7, lambda m: m[:-2], *MISSING) == [0, 1, 0]
    stub = Message("r2", "tool", (Part("tool_result", "...", "stub", (Source("r2"),), "tool"),))
    missing = cut(turn(story.__class__()).answer("done"), 7, lambda m: [*m[:-1], stub], *MISSING)
    assert missing == [0, 1, 1]


def test_a_call_without_a_result_is_waited_for_itself(cut, story):
    story.user("go").acts().client("note").answer("ok")
    assert cut(story, 3, lambda m: [m[0], m[2]], *MISSING) == [0, 1, 0]


def test_a_call_that_a_person_has_broken_off_is_not_waited_for(cut, story):
    story.user("go").acts().user("never mind").answer("ok")
    assert cut(story, 3, lambda m: [m[0], m[2]], *MISSING) == [0, 0, 0]
    assert cut(story, 99, lambda m: m, *MISSING) == [0, 0, 1]


def test_prompts_without_messages_are_rejected(cut, story):
    assert cut(turn(story).answer("done"), 7, lambda m: [], *MISSING) == [1, 1, 1]


def test_without_a_call_no_prompt_is_valid_or_not(cut, story):
    assert cut(story.user("go"), 9, lambda m: m, "structural_validity") is None


def test_summaries_of_the_same_are_stacked(cut, story):
    story = turn(story).answer("done")
    one, two = summary("so far", "u1", "a1"), summary("so far", "u1", "a1", "u2")
    two = Message("sum2", two.role, two.parts, meta=True)
    validity = cut(story, 7, lambda m: [one, two, *m[2:]], "structural_validity")
    assert validity == pytest.approx(1 - 1 / (1 + 3 + 5 + 7))


def test_summaries_of_different_pieces_are_not(cut, story):
    story = turn(story).answer("done")
    other = Message("sum2", "user", summary("then", "u2").parts, meta=True)
    change = [summary("first", "u1", "a1"), other]
    assert cut(story, 7, lambda m: [*change, *m[-2:]], "structural_validity") == 1


def test_results_that_are_described_are_not(cut, story):
    parts = (
        Part("tool_result", "it ran", "summary", (Source("r1"),), "tool", "call-3"),
        verbatim("x", "text", "x"),
    )
    described = Message("r1", "tool", parts)
    change = [summary("it ran", "r1"), described]
    story = turn(story).answer("done")
    assert cut(story, 7, lambda m: [*change, *m], "structural_validity") < 1
