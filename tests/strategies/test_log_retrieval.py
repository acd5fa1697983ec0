"""Old messages leave, and the passages that have to do with the newest come back."""

from dataclasses import replace

import msgspec
import pytest

from compactlab.sim.core.message import verbatim
from compactlab.strategies import LogRetrieval
from compactlab.strategies.log_retrieval import CLOSES, OPENS, newest

SMALL = LogRetrieval(trigger=800, keep_tokens=400)


@pytest.fixture
def story(tell):
    """A story in messages of 110 tokens each; some of them say something else."""

    def of(script, **words):
        said = tell(script, size=400)
        events = [
            msgspec.structs.replace(m, parts=(verbatim(m.id, "text", words[m.id]),))
            if m.id in words
            else m
            for m in said.events
        ]
        return replace(said, events=tuple(events))

    return of


@pytest.fixture
def found(play):
    """Of every prompt the passages that were brought back, as one text each."""

    def of(story, strategy=SMALL, window=4000):
        return [
            [part.text for message in prompt for part in message.parts if part.kind == "recovered"]
            for prompt in play(story, strategy, window=window).prompts()
        ]

    return of


PORT = "the server listens on port 8080"


def test_nothing_happens_while_there_is_room(story, sent):
    prompts = sent(story("ua" * 3), SMALL, window=4000)
    assert prompts[-1] == "u1 a2 u3 a4 u5"


def test_the_newest_messages_stay_as_they_are(story, sent):
    prompts = sent(story("ua" * 6), SMALL, window=4000)
    assert prompts[-2:] == ["u7 a8 u9", "a10 u11"]


def test_what_has_to_do_with_the_users_words_comes_back_in_front_of_them(story, found):
    told = story("ua" * 7, u1=PORT, u13="which port was it?")
    assert found(told)[-1] == [OPENS + PORT + CLOSES]


def test_it_says_where_it_comes_from(story, play):
    told = story("ua" * 7, u1=PORT, u13="which port was it?")
    *_, last = play(told, SMALL, window=4000).prompts()
    part = last[-1].parts[0]
    assert (part.kind, [source.id for source in part.sources]) == ("recovered", ["u1"])


def test_what_is_still_in_the_prompt_is_not_brought_back(story, found):
    told = story("ua" * 7, u11=PORT, u13="which port was it?")
    assert found(told)[-1] == []


def test_what_was_brought_back_stays_and_is_not_brought_back_again(story, found):
    told = story("ua" * 7, u1=PORT, u11="which port?", u13="and the port?")
    assert [len(texts) for texts in found(told)[-2:]] == [1, 1]


def test_passages_stand_in_the_order_in_which_they_were_said(story, found):
    told = story("ua" * 7, u1="port of the old server", a4="port port port", u13="which port?")
    (text,) = found(told)[-1]
    assert text == f"{OPENS}port of the old server\n\nport port port{CLOSES}"


def test_no_more_comes_back_than_the_budget(story, found):
    told = story("ua" * 7, u1=PORT, a2="port " * 40, u13="which port was it?")
    few = replace(SMALL, max_tokens=10)
    assert found(told, few)[-1] == [OPENS + PORT + CLOSES]


def test_until_the_next_cut_nothing_that_was_sent_is_rewritten(story, play):
    steps = play(story("ua" * 14), SMALL, window=4000).steps
    assert any(step.compaction for step in steps)
    assert all(step.compaction or not step.rewrite for step in steps)


def test_within_a_turn_the_users_words_stay_in_front_of_what_was_found(story, play):
    told = story("ua" + "u" + "cr" * 9 + "a", u1=PORT, u3="find the port")
    prompts = play(told, SMALL, window=4000).prompts()
    cut = next(prompt for prompt in prompts if prompt[0].id == "u3")
    assert cut[1].meta
    assert PORT in cut[1].parts[0].text
    assert [message.role for message in cut[2:4]] == ["assistant", "tool"]


def test_within_a_turn_what_the_agent_did_last_is_searched_for_too(tell):
    messages = tell("ucrcr").messages
    assert newest(messages[:1]) == messages[0].text
    assert newest(messages) == f"{messages[0].text}\n{messages[3].text}"


def test_a_prompt_that_is_too_large_is_cut_before_its_time(story, play):
    late = replace(SMALL, trigger=100_000)
    steps = play(story("ua" * 7), late, window=1000).steps
    assert any(step.compaction for step in steps)
    assert not any(step.overflow for step in steps)
