"""Long histories are summarised in stages."""

from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Part, Source, plain
from compactlab.sim.replay.host import Services
from compactlab.strategies.openclaw.safeguard import (
    Stages,
    chunk_ratio,
    chunks_of,
    is_oversized,
    pruned,
    split_by_share,
)
from compactlab.strategies.pi.summary import FIRST, MERGE, UPDATE, Scribe, text_of

NOTES = Part("text", "so far", "summary", (Source("u0"),))


def ids(chunks) -> str:
    return " | ".join(" ".join(message.id for message in chunk) for chunk in chunks)


@pytest.fixture
def stages(moment):
    """Stages whose summaries are numbered, and what they ask for."""
    now = moment("ua" * 4, size=400)
    requests = []

    def answer(host, view, request):
        requests.append(request)
        return (Part("text", f"summary {len(requests)}", "summary", (Source("u1"),)),)

    now.host._services = Services(summarize=answer)
    scribe = Scribe(now.view, now.host, 1000, "0.49.3")
    return SimpleNamespace(scribe=scribe, requests=requests, messages=list(now.messages))


@pytest.mark.parametrize(
    ("script", "sizes", "most", "chunks"),
    [
        ("uaua", {}, 200, "u1 a2 | u3 a4"),
        ("uaua", {}, 250, "u1 a2 | u3 a4"),
        ("uaua", {}, 99, "u1 | a2 | u3 | a4"),
        ("uaua", {"a2": 4000}, 250, "u1 | a2 | u3 a4"),
        ("", {}, 250, ""),
    ],
)
def test_a_piece_has_no_more_than_so_many_tokens(moment, script, sizes, most, chunks):
    assert ids(chunks_of(moment(script, size=400, sizes=sizes).messages, most)) == chunks


@pytest.mark.parametrize(
    ("script", "sizes", "chunks"),
    [
        ("uaua", {}, "u1 a2 | u3 a4"),
        ("uau", {}, "u1 | a2 u3"),
        ("uaua", {"u1": 8000}, "u1 | a2 u3 a4"),
        ("uaua", {"a4": 8000}, "u1 a2 u3 | a4"),
        ("u", {}, "u1"),
        ("", {}, ""),
    ],
)
def test_halves_weigh_about_the_same(moment, script, sizes, chunks):
    assert ids(split_by_share(moment(script, size=400, sizes=sizes).messages)) == chunks


@pytest.mark.parametrize(
    ("size", "ratio"), [(400, 0.4), (33_200, 0.4), (40_000, 0.16), (400_000, 0.15)]
)
def test_large_messages_make_small_requests(moment, size, ratio):
    assert chunk_ratio(moment("ua", size=size).messages, 100_000) == pytest.approx(ratio)
    assert chunk_ratio((), 100_000) == 0.4


def test_what_fits_one_request_is_one_request(stages):
    summary = Stages(stages.scribe, 800).summary(stages.messages, [NOTES])
    assert text_of(summary) == "summary 1"
    assert stages.requests[0].previous == (NOTES,)


def test_what_does_not_is_two_halves_and_a_third_request_that_makes_them_one(stages):
    summary = Stages(stages.scribe, 799).summary(stages.messages, [NOTES])
    assert text_of(summary) == "summary 3"
    first, second, third = stages.requests
    assert (first.instructions, second.instructions) == (FIRST, FIRST)
    assert third.instructions == f"{UPDATE}\n\nAdditional focus: {MERGE}"
    assert [text_of(message.parts) for message in third.messages] == ["summary 1", "summary 2"]
    assert (first.previous, second.previous, third.previous) == ((), (), (NOTES,))


def test_pieces_follow_one_another_each_with_the_summary_so_far(stages):
    Stages(stages.scribe, 100).summary(stages.messages[:3], [NOTES])
    assert [text_of(request.previous) for request in stages.requests] == [
        "so far", "summary 1", "summary 2"
    ]  # fmt: skip


def test_of_nothing_the_summary_is_the_previous_one(stages):
    assert Stages(stages.scribe, 100).summary((), [NOTES]) == [NOTES]
    assert Stages(stages.scribe, 100).summary(()) == [plain("No prior history.")]
    assert not stages.requests


@pytest.fixture
def narrow(stages):
    """The same in a window of 1,000 tokens, of which the second message alone has more."""
    now, host = stages.scribe.view.messages, stages.scribe.host
    host.model = host.model.narrowed(1000)
    large = Part("text", "all is lost " * 2000, "verbatim", (Source("a2"),))
    stages.messages = [now[0], msgspec.structs.replace(now[1], parts=(large,)), now[2]]
    return stages


def test_what_is_too_large_for_a_request_is_left_out_and_named(narrow):
    summary = Stages(narrow.scribe, 400).summary(narrow.messages, [NOTES])
    note = "[Large assistant (~6K tokens) omitted from summary]"
    assert text_of(summary) == f"summary 2\n\n{note}"
    (_, first) = narrow.requests  # the piece before the one that was refused was paid for
    assert [message.id for message in first.messages] == ["u1", "u3"]


def test_if_that_does_not_help_a_line_says_that_there_is_no_summary(narrow):
    (part,) = Stages(narrow.scribe, 400).summary(narrow.messages[1:2], [NOTES])
    assert part.text.startswith("No summary could be written of these 1 messages, 1 of them")
    assert not narrow.requests


@pytest.mark.parametrize(("size", "large"), [(1664, False), (1672, True)])
def test_large_is_what_may_exceed_half_of_the_window(moment, size, large):
    assert is_oversized(moment("u", size=size).messages[0], 1000) is large


@pytest.mark.parametrize(("parts", "chunks"), [(0, 1), (1, 1), (2, 2), (99, 4)])
def test_parts_are_whole_and_no_more_than_messages(moment, parts, chunks):
    assert len(split_by_share(moment("uaua", size=400).messages, parts)) == chunks


def test_a_margin_makes_pieces_smaller(moment):
    told = moment("uaua", size=400).messages
    assert ids(chunks_of(told, 200, 1.2)) == "u1 | a2 | u3 | a4"
    assert ids(chunks_of(told, 240, 1.2)) == "u1 a2 | u3 a4"


def test_the_oldest_half_is_dropped_until_the_rest_has_its_share(moment):
    told = moment("ua" * 4, size=400).messages
    kept, dropped, *_ = pruned(told, 1000, 0.5)
    assert (ids([dropped]), ids([kept])) == ("u1 a2 u3 a4", "u5 a6 u7 a8")
    assert pruned(told, 1000, 0.8) == (told, [], 0, 0)


def test_a_single_message_stays_however_large(moment):
    told = moment("u", size=4000).messages
    assert pruned(told, 100, 0.5) == (told, [], 0, 0)


@given(sizes=st.lists(st.integers(0, 900), max_size=9), most=st.integers(1, 300))
def test_pieces_and_halves_are_everything_in_its_order(moment, sizes, most):
    named = {f"u{n}": size for n, size in enumerate(sizes, 1)}
    told = list(moment("u" * len(sizes), sizes=named).messages)
    assert [m for chunk in chunks_of(told, most) for m in chunk] == told
    assert [m for chunk in split_by_share(told) for m in chunk] == told
