"""A summary that ends with the newest of what it replaces, word for word."""

from dataclasses import replace

import msgspec
import pytest

from compactlab.strategies import RecencyBuffer
from compactlab.strategies.openclaw.kept import BUFFER_HEADING

# In a window of 2000 tokens it acts beyond 1000 and keeps a tail of 400.
SMALL = RecencyBuffer(
    keep_messages=2, reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=400
)
PLAIN = replace(SMALL, enabled=False)
# Beyond 1300: what comes after a compaction is more than the tail when the next one is due.
LATE = replace(SMALL, reserve_tokens=700)


@pytest.fixture
def summaries(tell, play):
    """The summaries of a story of messages of 100 estimated tokens each: their parts."""

    def of(script: str = "ua" * 6, strategy: RecencyBuffer = SMALL, window: int = 2000, **more):
        steps = play(tell(script, size=400, **more), strategy, window=window).steps
        return [step.added[0].parts[1:-1] for step in steps if step.rewrite]

    return of


def text(parts) -> str:
    return "".join(part.text for part in parts)


def test_the_newest_of_the_old_messages_stand_behind_the_summary_word_for_word(summaries):
    ((notes, heading, user, fifth, blank, assistant, sixth),) = summaries()
    assert notes.text == "notes on 4 messages"
    assert (heading.text, blank.text) == (BUFFER_HEADING, "\n\n")
    assert (user.text, assistant.text) == ("**User:** ", "**Assistant:** ")
    assert (fifth.kind, fifth.sources[0].id, fifth.text[:8]) == ("verbatim", "u5", "u5 says:")
    assert (sixth.kind, sixth.sources[0].id, sixth.text[:8]) == ("verbatim", "a6", "a6 says:")


@pytest.mark.parametrize("strategy", [PLAIN, replace(SMALL, keep_messages=0)])
def test_without_a_buffer_it_is_a_summary_and_nothing_else(summaries, strategy):
    assert text(*summaries(strategy=strategy)) == "notes on 6 messages"


def test_with_everything_in_the_buffer_nobody_is_asked_for_a_summary(summaries, tell, play):
    everything = replace(SMALL, keep_messages=50, keep_tokens=9000)
    (parts,) = summaries(strategy=everything)
    assert text(parts).startswith(f"No prior history.{BUFFER_HEADING}**User:** u1 says:")
    assert not any(s.side for s in play(tell("ua" * 6, size=400), everything, window=2000).steps)


def test_tool_calls_vanish_and_results_stay(summaries):
    """An answer that only calls a tool is an empty line."""
    (parts,) = summaries("ucra" * 3 + "ua", replace(SMALL, keep_messages=4))
    assert "**User:** u5 says" in text(parts)
    assert "\n\n**Assistant:** \n\n**toolResult:** r7 says" in text(parts)


def test_the_next_compaction_summarises_the_words_with_the_rest(summaries):
    """What was verbatim is a note like the others then: the whole text is its previous summary."""
    first, second, *_ = summaries("ua" * 16, replace(LATE, keep_messages=1))
    notes = next(part for part in second if part.kind == "summary")
    assert [part.sources[0].id for part in first if part.kind == "verbatim"] == ["a8"]
    assert [part.sources[0].id for part in second if part.kind == "verbatim"] == ["a16"]
    assert {source.id for source in notes.sources} >= {"u1", "a8", "u15"}


def test_the_old_section_is_paid_for_as_a_part_of_the_previous_summary(tell, play):
    told = tell("ua" * 16, size=400)
    traces = (play(told, replace(LATE, keep_messages=n), window=2000) for n in (1, 0))
    more, less = ([c.usage.prompt for s in t.steps for c in s.side] for t in traces)
    # The first time a message less is written into the request; the next time its words are there.
    assert more[0] < less[0]
    assert more[1] - more[0] > less[1] - less[0]


def test_if_all_that_is_new_goes_into_the_buffer_the_old_section_stays(summaries):
    """Nobody is asked for a summary: the previous one is handed on as it is, and grows."""
    first, second, *_ = summaries("ua" * 16, LATE)
    quoted = [part.sources[0].id for part in second if part.kind == "verbatim"]
    assert quoted == ["u7", "a8", "u13", "a14"]
    assert text(second).startswith(text(first))
    assert text(second).count(BUFFER_HEADING) == 2


def test_the_previous_summary_is_kept_if_only_a_turn_is_cut_in_two(summaries):
    """Unlike pi, which throws it away."""
    script = "ua" * 5 + "ucrcrcrcrcrcra" + "ua"
    _, second = summaries(script, PLAIN)
    assert text(second).startswith("notes on 6 messages\n\n---\n\n**Turn Context (split turn):**")


def test_failures_of_tools_stand_behind_the_buffer(tell, play):
    told = tell("ucra" * 3 + "ua", size=400)
    events = tuple(failed(event) if event.role == "tool" else event for event in told.events)
    step = play(replace(told, events=events), SMALL, window=2000).steps[-1]
    said = text(step.added[0].parts)
    assert said.index(BUFFER_HEADING) < said.index("\n\n## Tool Failures\n- read: r3 says:")


def failed(message):
    (part,) = message.parts
    return msgspec.structs.replace(message, parts=(msgspec.structs.replace(part, is_error=True),))
