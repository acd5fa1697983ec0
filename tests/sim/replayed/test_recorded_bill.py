"""What a log bills: its answers, its compactions and what stands beside them, each once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.core.conversation import Conversation, SideRequest
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Call, Message, Usage, verbatim
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.models.model import find_model, tokenizer_of
from compactlab.sim.replay.recording import (
    ANSWER,
    COMPACTION,
    BilledRequest,
    billed,
    once,
    output_of,
    priced,
)
from tests.lines import refusal

SONNET = "claude-sonnet-4-5"
USED = Usage(uncached=100, cache_read=50, output=20)


def requests(conversation: Conversation) -> list[BilledRequest]:
    return [*billed(conversation, tokenizer_of)]


def log(*calls: Call, source: str = "log.jsonl", **known: Any) -> Conversation:
    """A log of answers without texts, each a minute after the one before, and of nothing else."""
    events = tuple(
        Message(f"a{n}", "assistant", (verbatim(f"a{n}", "text", ""),), 60.0 * n, call=call)
        for n, call in enumerate(calls, 1)
    )
    return Conversation("s", "native", events, **{"source": source, **known})


def test_answers_compactions_and_side_requests_are_billed(kit):
    summary = Usage(uncached=900, output=30)
    story = kit.Story().user("go").answer("ok", model=SONNET, usage=USED)
    story.compacted("so far", model=SONNET, usage=summary).user("on")
    story.answer("well", model=SONNET, usage=USED)
    asked = SideRequest("advisor", Call("claude-opus-4-5", Usage(uncached=7)), 9.0)
    searched = SideRequest("web_search", Call(SONNET), searches=3)
    found = requests(story.script(seed=-1, side_requests=(asked, searched)))
    assert [each.purpose for each in found] == [ANSWER, COMPACTION, ANSWER, "advisor", "web_search"]
    assert [each.answer for each in found] == ["a1", "", "a2", "", ""]
    assert [each.usage for each in found] == [USED, summary, USED, Usage(uncached=7), Usage()]
    assert [each.searches for each in found] == [0, 0, 0, 0, 3]
    assert [each.call.model for each in found][3:] == ["claude-opus-4-5", SONNET]
    assert len({each.key for each in found}) == 5


def test_what_a_log_does_not_bill_is_no_request(kit):
    """No usage, usage of nought, a broken answer, a compaction of which the log says nothing."""
    story = kit.Story().user("go").answer("ok", model=SONNET).answer("ok", usage=Usage())
    story.aborted("x").compacted("so far").compacted("more", model=SONNET)
    assert requests(story.script(seed=-1)) == []


def test_an_answer_is_of_the_time_at_which_it_was_asked_for(kit):
    """The day of a request is that on which it began."""
    story = kit.Story().user("go").answer("ok", after=3_600.0, model=SONNET, usage=USED)
    story.compacted("so far", model=SONNET, usage=USED)
    answer, compaction = requests(story.script(seed=-1))
    assert answer.time == kit.start
    assert compaction.time == kit.start + 3_600.0


def test_what_a_fork_repeats_has_no_time_of_its_own():
    own, repeated = Call(SONNET, USED, id="msg_own"), Call(SONNET, USED, id="x", inherited=True)
    side = SideRequest("advisor", repeated, 99.0)
    found = requests(log(own, repeated, side_requests=(side,)))
    assert [each.time for each in found] == [60.0, 0.0, 0.0]


# Output that was counted too early.


@pytest.mark.parametrize(
    ("recorded", "billed_as"),
    [
        (3, 100),  # of the stream's beginning: the text counts
        (49, 100),
        (50, 50),  # half of the text: there are answers of which less was said than is shown
        (100, 100),
        (700, 700),  # thinking is billed and not logged
    ],
)
def test_output_of_a_beginning_is_counted_by_the_text(kit, recorded, billed_as):
    text = kit.prose(100, "word")
    story = kit.Story().user("go").answer(text, model="gpt-5", usage=Usage(7, output=recorded))
    (found,) = requests(story.script(seed=-1))
    assert (found.usage.output, found.estimated) == (billed_as, billed_as - recorded)
    assert found.usage.uncached == 7


def test_output_is_counted_by_text_only_where_there_are_few_tokens_for_its_letters():
    """A quarter of its letters: nobody counts so long a text for that."""
    counted: list[str] = []

    def tokenizer(name: str) -> Tokenizer:
        counted.append(name)
        return Tokenizer()

    answer = Message("a", "assistant", (verbatim("a", "text", "x" * 400),))
    assert output_of(answer, Call(SONNET, Usage(output=100)), tokenizer) == 100
    assert counted == []
    assert output_of(answer, Call(SONNET, Usage(output=1)), tokenizer) == Tokenizer().message(
        answer
    )
    assert counted == [SONNET]


def test_compactions_and_side_requests_are_billed_as_recorded(kit):
    """Their texts are not in the log, or not all of them."""
    story = kit.Story().user("go").compacted(kit.prose(500), model=SONNET, usage=Usage(9, output=2))
    side = SideRequest("advisor", Call(SONNET, Usage(output=1)))
    found = requests(story.script(seed=-1, side_requests=(side,)))
    assert [(each.usage.output, each.estimated) for each in found] == [(2, 0), (1, 0)]


def keys(*calls: Call, **known: Any) -> list[Any]:
    return [each.key for each in requests(log(*calls, **known))]


def test_an_id_tells_a_request_whatever_else_differs():
    one = Call(SONNET, USED, id="msg_01AbC", inherited=True)
    other = Call(SONNET, Usage(uncached=100, cache_read=50, output=90), id="msg_01AbC")
    assert keys(one) == keys(other, source="copy.jsonl")
    assert keys(one) != keys(Call(SONNET, USED, id="msg_01AbD"))


@pytest.mark.parametrize(
    "id",
    ["redacted", "[id]", "<removed>", "msg_****", "msg…", "UNKNOWN", "anonymous-1", "aaaa", "0-0"],
)
def test_a_placeholder_is_no_id(id):
    """Logs that were redacted have one for all requests."""
    first, second = keys(Call(SONNET, USED, id=id), Call(SONNET, USED, id=id))
    assert first != second


def test_an_id_of_two_prompts_is_no_id():
    """Lines of one stream have one prompt, and their output grows; other requests are others."""
    grown = Usage(uncached=100, cache_read=50, output=90)
    first, second = keys(Call(SONNET, USED, id="msg_01AbC"), Call(SONNET, grown, id="msg_01AbC"))
    assert first == second
    first, second = keys(Call(SONNET, USED, id="msg_01AbC"), Call(SONNET, Usage(1), id="msg_01AbC"))
    assert first != second


def test_without_an_id_a_request_is_known_by_its_answer_its_time_and_its_usage():
    assert keys(Call(SONNET, USED)) == keys(Call(SONNET, USED), source="copy.jsonl")
    assert keys(Call(SONNET, USED)) != keys(Call(SONNET, Usage(1)))
    assert keys(*[Call(SONNET, USED)] * 2)[0] != keys(*[Call(SONNET, USED)] * 2)[1]


def test_what_has_neither_id_nor_time_has_no_copies():
    """Two sessions may well begin with the same answer to the same prompt."""
    side = SideRequest("advisor", Call(SONNET, USED))
    one, other = (log(side_requests=(side,), source=source) for source in ("one", "other"))
    assert requests(one)[0].key == requests(one)[0].key
    assert requests(one)[0].key != requests(other)[0].key
    dated = replace(one, side_requests=(SideRequest("advisor", side.call, 7.0),))
    assert requests(dated)[0].key == requests(replace(dated, source="other"))[0].key


def test_purposes_keep_requests_with_one_id_apart():
    """A search is billed with the answer that made it, under the answer's id."""
    call = Call(SONNET, USED, id="msg_01AbC")
    sides = (
        SideRequest("advisor", call),
        SideRequest("web_search", Call(id="msg_01AbC"), searches=1),
    )
    assert len({each.key for each in requests(log(call, side_requests=sides))}) == 3


def copy(key: int, output: int, inherited: bool) -> BilledRequest:
    call, usage = Call(inherited=inherited), Usage(output=output)
    return BilledRequest(ANSWER, (key,), "", 0.0, call, usage)


COPIES = st.builds(copy, st.integers(0, 3), st.integers(0, 2), st.booleans())


@given(st.lists(st.lists(COPIES, max_size=5), max_size=4))
def test_each_request_is_there_once(sessions):
    """The naive way: of each key sort all copies by what makes one the better."""
    places = [(i, j) for i, each in enumerate(sessions) for j in range(len(each))]

    def worse(place: tuple[int, int]) -> tuple[bool, int, tuple[int, int]]:
        request = sessions[place[0]][place[1]]
        return request.call.inherited, -request.usage.output, place

    best = {}
    for place in sorted(places, key=worse, reverse=True):
        best[sessions[place[0]][place[1]].key] = place
    expected = [
        [each for j, each in enumerate(session) if best[each.key] == (i, j)]
        for i, session in enumerate(sessions)
    ]
    found = once(sessions, lambda each: each)
    assert found == expected
    assert all(
        any(mine is each for each in whole)
        for kept, whole in zip(found, sessions, strict=True)
        for mine in kept
    )


def kept(sessions: Sequence[Sequence[BilledRequest]]) -> list[list[int]]:
    return [[each.usage.output for each in one] for one in once(sessions, lambda each: each)]


def test_an_original_counts_before_what_a_fork_repeats():
    assert kept([[copy(1, 90, True)], [copy(1, 5, False)]]) == [[], [5]]
    assert kept([[copy(1, 90, True)], [copy(1, 5, True)]]) == [[90], []]


def test_the_first_of_equal_copies_counts():
    first, second = copy(1, 5, False), copy(1, 5, False)
    ((found,), rest) = once([[first], [second]], lambda each: each)
    assert found is first
    assert rest == []


def test_a_request_costs_what_its_classes_cost(kit):
    usage = Usage(uncached=10, cache_read=1_000, cache_write_5m=100, cache_write_1h=50, output=20)
    (request,) = requests(log(Call(SONNET, usage)))
    bill, searches = priced(request, find_model(SONNET))
    written = 100 * 3.75e-6 + 50 * 6e-6
    assert bill == pytest.approx((10 * 3e-6, 1_000 * 0.3e-6, written, 20 * 15e-6))
    assert searches == 0


def test_a_search_costs_its_price_and_no_price_is_no_nought():
    sides = (SideRequest("web_search", Call(SONNET), searches=3),)
    (request,) = requests(log(side_requests=sides))
    bill, searches = priced(request, find_model(SONNET))
    assert (sum(bill), searches) == (0, pytest.approx(0.03))
    assert refusal(ModelError, lambda: priced(request, find_model("deepseek-chat"))) == snapshot(
        "no price of a web search is known of deepseek-chat"
    )
