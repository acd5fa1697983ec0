"""A summary that ends with the newest of what it replaces, word for word."""

import pytest

from compactlab.strategies import RecencyBuffer
from compactlab.strategies.recency_buffer import HEADING, buffered

# In a window of 2000 tokens it acts beyond 1000 and keeps a tail of 400.
SMALL = RecencyBuffer(2, 2000, reserve_tokens=1000, keep_recent_tokens=400)


@pytest.fixture
def summary(tell, play):
    """The parts of the first summary over a story of messages of 100 estimated tokens each."""

    def of(script: str = "ua" * 6, strategy: RecencyBuffer = SMALL, window: int = 2000, **more):
        steps = play(tell(script, size=400, **more), strategy, window=window).steps
        return next(step for step in steps if step.rewrite).added[0].parts

    return of


def test_the_newest_of_the_old_messages_stand_behind_the_summary_word_for_word(summary):
    notes, heading, user, sixth, assistant, seventh = summary()
    assert notes.text == "notes on 5 messages"
    assert (heading.text, user.text, assistant.text) == (HEADING, "**Assistant:**", "**User:**")
    assert (sixth.kind, sixth.sources[0].id, sixth.text[:8]) == ("verbatim", "a6", "a6 says:")
    assert (seventh.kind, seventh.sources[0].id, seventh.text[:8]) == ("verbatim", "u7", "u7 says:")


def test_the_buffer_is_of_what_is_older_than_the_tail(tell, sent):
    assert sent(tell("ua" * 6, size=400), SMALL, window=2000)[-1] == "summary-1 a8 u9 a10 u11"


def test_with_an_empty_buffer_it_is_a_summary_and_nothing_else(summary):
    nothing = RecencyBuffer(0, 2000, reserve_tokens=1000, keep_recent_tokens=400)
    assert [part.text for part in summary(strategy=nothing)] == ["notes on 7 messages"]


def test_with_everything_in_the_buffer_there_is_nothing_to_summarise(summary):
    everything = RecencyBuffer(50, 9000, reserve_tokens=1000, keep_recent_tokens=400)
    assert [part.kind for part in summary(strategy=everything)] == [
        "synthetic", *["synthetic", "verbatim"] * 7
    ]  # fmt: skip


def test_tool_calls_vanish_and_results_stay(summary):
    parts = summary("u crcrcrcrcra")
    said = [part.sources[0].id for part in parts if part.kind == "verbatim"]
    assert said == ["r7"]


def test_the_next_compaction_summarises_the_words_with_the_rest(tell, play):
    steps = play(tell("ua" * 9, size=400), SMALL, window=2000).steps
    *_, (notes, *_) = [step.added[0].parts for step in steps if step.compaction]
    assert {source.id for source in notes.sources} >= {"u1", "a6", "u7", "a8"}


@pytest.mark.parametrize(
    ("keep_messages", "keep_tokens", "count"),
    [(10, 2000, 5), (3, 2000, 3), (0, 2000, 0), (10, 200, 2), (10, 199, 1), (10, 0, 1), (1, 0, 1)],
)
def test_whichever_limit_is_hit_first_and_the_newest_message_always(
    moment, keep_messages, keep_tokens, count
):
    assert buffered(moment("uauau", size=400).messages, keep_messages, keep_tokens) == count
