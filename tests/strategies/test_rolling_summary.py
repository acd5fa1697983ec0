"""A summary in front of the newest messages, which takes in what leaves them: LangChain's."""

import pytest

from compactlab.sim.core.message import Usage
from compactlab.sim.replay.host import Services
from compactlab.strategies import RollingSummary
from compactlab.strategies.summarizers.catalogue import find_summarizer

# Acts at 10 messages, and keeps 4.
SMALL = RollingSummary(trigger=("messages", 10), keep=("messages", 4), summary_input=0)


def test_tokens_are_those_of_langchain(moment, ids):
    """19 characters and those of the role, 3.3 to a token of Claude, and 3 for each message."""
    now = moment("ua" * 6, size=19)
    now.host._services = Services(summarize=lambda host, view, request: ())
    for keep, kept in ((55, "u9 a10 u11 a12"), (56, "a8 u9 a10 u11 a12")):
        after = RollingSummary(("tokens", 1), ("tokens", keep)).compact(now.view, now.host)
        assert ids(after.messages[1:]) == kept


def test_several_sizes_may_have_to_be_reached_together(moment):
    now = moment("ua" * 5, reported=Usage(uncached=900, output=100))
    now.host._services = Services(summarize=lambda host, view, request: ())

    def acts(*trigger):
        strategy = RollingSummary(trigger, keep=("messages", 2))
        return strategy.compact(now.view, now.host) is not now.view

    assert not acts(("messages", 11))
    assert acts(("messages", 11), ("tokens", 1000))
    assert not acts((("messages", 11), ("tokens", 1000)))
    assert acts((("messages", 10), ("tokens", 1000)))
    assert not acts(("fraction", 0.0051))
    assert acts(("fraction", 0.005))


def test_the_next_summary_takes_the_last_one_in(tell, play):
    steps = play(tell("ua" * 12), SMALL).steps
    told = [step.added[0].parts[1].text for step in steps if step.compaction]
    assert told[:2] == ["notes on 7 messages", "notes on 13 messages"]


def test_the_summariser_is_given_the_newest_from_a_users_message_on(moment):
    now = moment("ua" * 6, size=400)
    given = []
    now.host._services = Services(summarize=lambda host, view, request: given.append(request) or ())
    RollingSummary(("messages", 5), ("messages", 2), summary_input=450).compact(now.view, now.host)
    (request,) = given
    assert [message.id for message in request.messages] == ["u9", "a10"]
    assert "a8" not in request.transcript


def test_in_a_long_turn_nothing_is_summarised_at_all(tell, play):
    """There is no message of a user among the newest 4,000 tokens, so the model is not asked."""
    trace = play(tell("u" + "cr" * 20 + "a", size=2000), RollingSummary(("messages", 40)))
    (step,) = [step for step in trace.steps if step.compaction]
    assert not step.side
    assert {part.kind for part in step.added[0].parts} == {"synthetic"}


def test_a_request_can_ride_on_the_live_prompt(tell, play):
    story = tell("ua" * 10, size=4000, system=2000)
    usages = [
        next(
            call
            for step in play(
                story,
                RollingSummary(("messages", 9), summary_input=0, keep=("messages", 2), rides=rides),
            ).steps
            for call in step.side
        ).usage
        for rides in ("live", "fresh")
    ]
    assert usages[0].cache_read > usages[0].prompt / 2
    assert usages[1].cache_read == 0


@pytest.mark.parametrize("summarizer", ["empty", "inflating", "failed"])
def test_it_believes_any_summary(summarizer, tell, sent):
    prompts = sent(tell("ua" * 8), SMALL, summarizer=find_summarizer(summarizer))
    assert prompts[5:] == [
        "summary-1 a8 u9 a10 u11",
        "summary-1 a8 u9 a10 u11 a12 u13",
        "summary-1 a8 u9 a10 u11 a12 u13 a14 u15",
    ]
