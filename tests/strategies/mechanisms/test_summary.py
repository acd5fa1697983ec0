"""The old part of a history gives way to a summary, and the requests for it."""

from types import SimpleNamespace

import pytest

from compactlab.sim.core.message import Part, Source, plain
from compactlab.sim.replay.host import Services
from compactlab.strategies.pi.preparation import Files, Preparation
from compactlab.strategies.pi.summary import (
    BEGINNING,
    FIRST,
    NO_HISTORY,
    PREFIX,
    SPLIT_TURN,
    UPDATE,
    Scribe,
    pi_summary,
    text_of,
)

NOTES = Part("text", "so far", "summary", (Source("u0"),))


@pytest.fixture
def asking(moment):
    """A scribe, and the requests that it makes; its answers are numbered."""

    def of(script: str = "uaua", rides: str = "fresh", version: str = "0.73.1", **more):
        now = moment(script, **more)
        requests = []

        def answer(host, view, request):
            requests.append(request)
            return (Part("text", f"summary {len(requests)}", "summary", (Source("u1"),)),)

        now.host._services = Services(summarize=answer)
        scribe = Scribe(now.view, now.host, 1000, version, rides)
        return SimpleNamespace(scribe=scribe, requests=requests, messages=list(now.messages))

    return of


def prepared(history=(), prefix=(), previous=(), split=False) -> Preparation:
    return Preparation(0, tuple(history), tuple(prefix), split, 0, tuple(previous), Files())


def test_a_request_of_its_own_brings_what_is_to_be_summarised_with_it(asking):
    now = asking()
    now.scribe.history(now.messages[:2], [NOTES])
    (request,) = now.requests
    assert request.transcript.startswith("<conversation>\n[User]: u1 says")
    assert request.transcript.endswith(
        "\n</conversation>\n\n<previous-summary>\nso far\n</previous-summary>"
    )
    assert (request.max_tokens, request.instructions, request.previous) == (800, UPDATE, (NOTES,))


def test_without_a_summary_before_it_is_another_request(asking):
    now = asking()
    now.scribe.history(now.messages[:2])
    assert now.requests[0].instructions == FIRST
    assert now.requests[0].transcript.endswith("</conversation>")


def test_what_frames_and_labels_is_written_and_is_nothing_to_summarise(asking):
    now = asking()
    now.scribe.history((), [NOTES, plain("\n\n**User:** ")])
    assert "so far\n\n**User:** \n</previous-summary>" in now.requests[0].transcript
    assert now.requests[0].previous == (NOTES,)


def test_a_request_on_the_live_prompt_brings_only_instructions(asking):
    now = asking(rides="live")
    now.scribe.prefix(now.messages[:2])
    (request,) = now.requests
    assert (request.transcript, request.instructions, request.max_tokens) == ("", PREFIX, 500)


@pytest.mark.parametrize(("version", "are"), [("0.49.3", False), ("0.56.3", True)])
def test_results_are_cut_since_0_56_3(asking, version, are):
    now = asking("ucr", version=version, sizes={"r3": 5000})
    now.scribe.history(now.messages)
    assert ("more characters truncated" in now.requests[0].transcript) is are


def test_focus_stands_at_the_end(asking):
    now = asking()
    now.scribe.history((), (), "the tests")
    assert now.requests[0].instructions == f"{FIRST}\n\nAdditional focus: the tests"


def test_lines_of_a_summary_stand_one_under_the_other(asking):
    now = asking()
    now.scribe.host._services = Services(summarize=lambda host, view, request: (NOTES, NOTES))
    assert text_of(now.scribe.history(now.messages)) == "so far\nso far"


def test_a_turn_that_is_cut_in_two_is_two_summaries(asking):
    now = asking()
    parts = pi_summary(now.scribe, prepared(now.messages[:2], now.messages[2:], [NOTES], True))
    assert text_of(parts) == f"summary 1{SPLIT_TURN}summary 2"
    assert [request.max_tokens for request in now.requests] == [800, 500]
    assert now.requests[1].previous == ()


def test_with_no_history_before_that_turn_the_previous_summary_is_thrown_away(asking):
    now = asking()
    parts = pi_summary(now.scribe, prepared((), now.messages, [NOTES], True))
    assert text_of(parts) == f"{NO_HISTORY}{SPLIT_TURN}summary 1"
    assert "so far" not in now.requests[0].transcript
    assert len(now.requests) == 1


def test_since_0_87_0_it_stays(asking):
    now = asking(version="1.6.0")
    parts = pi_summary(now.scribe, prepared((), now.messages, [NOTES], True))
    assert text_of(parts) == f"so far{SPLIT_TURN}summary 1"
    (request,) = now.requests
    assert (request.transcript[:15], request.instructions) == ("# Conversation\n", BEGINNING)


def test_where_there_is_nothing_to_summarise_a_summary_is_asked_for_all_the_same(asking):
    now = asking()
    assert text_of(pi_summary(now.scribe, prepared(previous=[NOTES]))) == "summary 1"
    assert now.requests[0].messages == ()


def test_a_split_of_nothing_is_no_split(asking):
    now = asking()
    assert text_of(pi_summary(now.scribe, prepared(now.messages, split=True))) == "summary 1"
