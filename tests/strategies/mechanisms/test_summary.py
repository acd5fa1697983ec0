"""The old part of a history gives way to a summary."""

import pytest

from compactlab.sim.message import Message, Part, Source
from compactlab.sim.view import Messages
from compactlab.strategies.mechanisms.summary import split_summary, summarise, summary_first

NOTES = Part("text", "so far", "summary", (Source("u0"),))


@pytest.fixture
def asked(moment):
    """The request that is made, and what comes of it if the summariser says so much."""

    def ask(said: tuple[Part, ...], **more):
        now = moment("ua u")
        requests = []

        def answer(view, request):
            requests.append(request)
            return said

        now.host._summarize = answer
        got = summarise(now.view, now.host, now.messages[:2], max_tokens=80, **more)
        return requests[0], got

    return ask


def test_a_summary_stands_in_front_and_no_person_typed_it(moment):
    now = moment("uau")
    now.host.now = 7.0
    view = summary_first(now.view, now.host, (NOTES,), now.messages[2:])
    first, last = view.messages
    assert (first.id, first.role, first.meta, first.time) == ("summary-1", "user", True, 7.0)
    assert last is now.messages[2]


def test_no_summary_is_no_message(moment, ids):
    now = moment("uau")
    assert ids(summary_first(now.view, now.host, (), now.messages[2:]).messages) == "u3"


def test_it_is_found_again(moment, ids):
    now = moment("ua")
    view = summary_first(now.view, now.host, (NOTES,), now.messages)
    previous, rest = split_summary(view.messages)
    assert (previous, ids(rest)) == ((NOTES,), "u1 a2")


def test_where_there_is_none_there_is_none():
    plain = Messages([Message("u1", "user", (NOTES,))])
    assert split_summary(plain) == ((), plain)
    assert split_summary(Messages()) == ((), Messages())


def test_a_fresh_request_brings_what_is_to_be_summarised_with_it(asked):
    request, _ = asked((NOTES,), previous=(NOTES,))
    assert request.transcript.startswith("so far\n\n[User]: u1 says")
    assert (request.max_tokens, request.rides) == (80, "fresh")


def test_a_request_on_the_live_prompt_brings_only_instructions(asked):
    request, _ = asked((NOTES,), previous=(), rides="live")
    assert request.transcript == ""
    assert request.instructions.startswith("Write a checkpoint")


def test_a_summariser_with_nothing_to_say_leaves_the_previous_summary(asked):
    assert asked((), previous=(NOTES,))[1] == (NOTES,)
