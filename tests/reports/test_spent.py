"""What was spent: the whole recorded bill, added up by all that tells requests apart."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta, timezone
from math import fsum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec import structs

from compactlab.reports.bill import (
    SPENT,
    Session,
    Spending,
    Spent,
    Sums,
    day_of,
    each_once,
    estimates,
    not_understood,
    of_models,
    page,
    session_of,
    skipped,
    spending_data,
    spent,
    sums,
)
from compactlab.reports.charts.palette import COLOURS
from compactlab.reports.render import html, terminal
from compactlab.reports.render.document import with_names
from compactlab.reports.render.fields import data_of
from compactlab.sim.core.conversation import Conversation, PassedOver, SideRequest
from compactlab.sim.core.message import Call, Message, Usage, verbatim
from tests.lines import fitting, lines_with
from tests.recordings import CALM, IDLE, START, claude_code
from tests.reports.audited import billed_as, loaded, session, spending
from tests.reports.spoken import folded

SONNET = "claude-sonnet-4-5"
DAY = 86_400.0


def log(*events: Any, id: str = "s", **known: Any) -> Conversation:
    return Conversation(id, "native", events, **{"source": f"{id}.jsonl", **known})


def answer(
    number: int, usage: Usage, text: str = "", model: str = SONNET, time: float = START, **call: Any
) -> Message:
    part = verbatim(f"a{number}", "text", text)
    asked = Call(model, usage, **call)
    return Message(f"a{number}", "assistant", (part,), time, call=asked)


def test_a_bill_as_on_paper(tmp_path):
    """Sonnet 4.5: 3.75, 0.30 and 15 dollars for a million tokens written, read and answered."""
    whole = spent(session(loaded(claude_code(tmp_path / "calm.jsonl", CALM))).calls)
    written, read, output = 30_900, 60_600, 60
    assert (whole.calls, whole.usage.cache_write, whole.usage.cache_read) == (3, written, read)
    assert whole.usage.output == output
    assert whole.bill is not None
    assert whole.bill == pytest.approx((0, read * 0.3e-6, written * 3.75e-6, output * 15e-6))
    assert whole.total == pytest.approx(fsum(whole.bill))


def test_parts_add_up_to_the_whole(tmp_path):
    late = [(90_000, 0, 9_000, True)]
    opus = claude_code(tmp_path / "two.jsonl", CALM, model="claude-opus-4-5")
    found = spending(
        loaded(claude_code(tmp_path / "one.jsonl", IDLE), project="/work/cheap"),
        loaded(opus, project="/work/dear"),
        loaded(claude_code(tmp_path / "late.jsonl", late), project="/work/dear", subagent=True),
    )
    for parts, names in (
        (found.by_model(), ["claude-opus-4-5", "claude-sonnet-4-5"]),
        (found.by_day(), ["2026-03-01", "2026-03-02"]),
        (found.by_project(), ["/work/cheap", "/work/dear"]),
        (found.by_agent(), ["main agents", "sub-agents"]),
        ({each.name: sum for each, sum in found.by_session()}, ["one", "two", "late"]),
    ):
        assert [*parts] == names
        assert added(parts.values()) == figures(found.whole)


def added(parts: Iterable[Spent]) -> Any:
    """What the parts of a bill come to."""
    rows = [figures(each) for each in parts]
    return pytest.approx([fsum(column) for column in zip(*rows, strict=True)])


def figures(each: Spent) -> list[float]:
    """All figures of a sum but what is passed over, which no request has."""
    data = data_of(SPENT, each)
    left_out = ("at_least", "tokens_passed_over")
    return [float(value or 0) for name, value in data.items() if name not in left_out]


MODELS = (SONNET, "claude-opus-4-5", "of-tomorrow")
USAGES = st.builds(Usage, *[st.integers(0, 2_000)] * 5)
REQUESTS = st.builds(
    lambda usage, model, time, inherited, searches, purpose: SideRequest(
        purpose, Call(model, usage, inherited=inherited), time, searches
    ),
    USAGES,
    st.sampled_from(MODELS),
    st.sampled_from([0.0, START, START + DAY]),
    st.booleans(),
    st.integers(0, 2),
    st.sampled_from(["advisor", "web_search", "nested"]),
)


@given(st.lists(st.lists(REQUESTS, max_size=4), min_size=1, max_size=3), st.integers(1, 400))
def test_every_way_to_divide_a_bill_comes_to_the_same(sides, words):
    """Each of some sessions has an answer that was counted too early, and what stands beside it.

    Their requests have ids: without, equal ones of the same moment in two files are one call.
    """
    logs = [
        log(
            answer(1, Usage(uncached=n + 1, output=1), "word " * words),
            id=f"s{n}",
            side_requests=tuple(
                structs.replace(side, call=structs.replace(side.call, id=f"request-{n}-{number}"))
                for number, side in enumerate(each)
            ),
        )
        for n, each in enumerate(sides)
    ]
    found = spending(*logs)
    whole = figures(found.whole)
    for parts in (found.by_purpose(), found.by_model(), found.by_day(), found.by_agent()):
        assert added(parts.values()) == whole
    assert added(sum for _, sum in found.by_session()) == whole
    assert found.whole.calls == len(logs) + sum(map(len, sides))


def test_what_requests_were_for_has_a_line_each_and_answers_come_first():
    sides = (
        SideRequest("advisor", Call("claude-opus-4-5", Usage(uncached=1_000, output=900)), START),
        SideRequest("web_search", Call(SONNET), START, searches=2),
    )
    found = spending(log(answer(1, Usage(uncached=10, output=1)), side_requests=sides))
    assert [*found.by_purpose()] == ["answer", "advisor", "web_search"]
    said = terminal.write(sums(Sums(found, {}, ())))
    (line,) = [line for line in said.splitlines() if line.startswith("web search ")]
    assert line.split()[-1] == "0.020"


def test_of_answers_alone_no_purposes_are_told():
    said = terminal.write(sums(Sums(spending(log(answer(1, Usage(uncached=10)))), {}, ())))
    assert not any(line.startswith("answer ") for line in said.splitlines())


def test_searches_are_billed_by_the_piece():
    """Ten dollars a thousand; a model whose searches have no price makes the bill a lower bound."""
    sides = (
        SideRequest("web_search", Call(SONNET), searches=2),
        SideRequest("web_search", Call("deepseek-chat"), searches=5),
    )
    whole = spending(log(answer(1, Usage(output=100)), side_requests=sides)).whole
    assert (whole.searches, whole.searched) == (7, pytest.approx(0.02))
    assert (whole.unpriced, whole.at_least) == (1, True)
    assert whole.total == pytest.approx(0.02 + 100 * 15e-6)
    assert whole.output == pytest.approx(100 * 15e-6)


def test_of_nothing_nothing_was_spent():
    assert (spent(()).calls, spent(()).total) == (0, 0.0)


def test_the_dearest_project_comes_first(tmp_path):
    cheap = loaded(claude_code(tmp_path / "calm.jsonl", CALM), project="/a")
    dear = loaded(claude_code(tmp_path / "idle.jsonl", IDLE), project="/b")
    assert [*spending(cheap, dear).by_project()] == ["/b", "/a"]


@pytest.mark.parametrize("time", [0.0, 1e20, float("nan"), float("inf")])
def test_a_time_that_is_none_is_no_day(time):
    assert day_of(time) == day_of(time, None) == "undated"


def test_a_day_is_that_of_its_zone():
    """At ten in the morning of London the next day has begun where clocks are 14 hours ahead."""
    found = spending(log(answer(1, Usage(uncached=10)), answer(2, Usage(uncached=20), time=START)))
    assert [*found.by_day()] == ["2026-03-01"]
    ahead = Spending(found.sessions, timezone(timedelta(hours=14)))
    assert [*ahead.by_day()] == ["2026-03-02"]
    assert (found.zone_name, Spending(found.sessions, None).zone_name) == ("UTC", "local")
    assert "day (UTC+14:00)" in terminal.write(sums(Sums(ahead, {}, ())))
    assert spending_data(ahead)["time_zone"] == "UTC+14:00"


def test_a_call_without_a_time_stands_under_no_day(tmp_path):
    file = claude_code(tmp_path / "calm.jsonl", CALM)
    bare = file.read_text("utf-8").replace('"timestamp"', '"moment"')
    file.write_text(bare, encoding="utf-8")
    assert [*spending(loaded(file)).by_day()] == ["undated"]


def test_calls_without_a_price_are_told_apart(tmp_path):
    """What is known of the bill is not hidden by what is not."""
    known = loaded(claude_code(tmp_path / "calm.jsonl", CALM))
    other = loaded(claude_code(tmp_path / "idle.jsonl", IDLE, model="gpt-5.3-codex-spark"))
    both, none = spending(known, other), spending(other).whole
    assert both.whole.total == spending(known).whole.total
    assert (both.whole.calls, both.whole.unpriced) == (9, 6)
    assert (none.total, none.unpriced) == (None, 6)
    said = terminal.write(sums(Sums(both, {}, ())))
    assert lines_with(said, "6 calls") == snapshot("""\
9 calls of 2 sessions: at least $0.13 without 6 calls of unknown prices
No price is known for gpt-5-3-codex-spark (6 calls). Sums of dollars are without them. To
include them, write the prices into a file and name it with --models. An entry there
replaces the built-in model, so copy its other figures (list models --format json).\
""")
    assert "\N{GREATER-THAN OR EQUAL TO}0.13" in said


def test_a_bill_that_lacks_tokens_is_at_least_that():
    """Tokens of records that were not understood belong to no model and to no day."""
    passed = (PassedOver("record 'x'", 2, 0, 70), PassedOver("field 'y'", 1, 9))
    found = spending(
        log(answer(1, Usage(uncached=10)), passed_over=passed), log(answer(2, Usage(9)), id="t")
    )
    whole = found.whole
    assert (whole.missing, whole.at_least) == (70, True)
    assert [sum.at_least for _, sum in found.by_session()] == [True, False]
    assert terminal.write(sums(Sums(found, {}, ()))).splitlines()[0] == snapshot(
        "2 calls of 2 sessions: at least $0.000057"
    )
    assert not spending(log(answer(1, Usage(uncached=10)))).whole.at_least


def test_what_was_estimated_is_told_with_its_share_of_the_bill():
    text = "word " * 1_000
    whole = spending(log(answer(1, Usage(output=3), text))).whole
    assert whole.estimated == whole.usage.output - 3 > 1_000
    assert whole.estimated_output == pytest.approx(whole.estimated * 15e-6)
    (told,) = estimates(whole)
    assert folded(told) == snapshot("""\
The log counted some answers before they had ended. Their texts are counted instead: 1,118
tokens of output, $0.017 of this bill, are estimated.\
""")
    assert [*estimates(spending(log(answer(1, Usage(output=3)))).whole)] == []


def test_what_is_of_a_parent_that_was_not_read_is_told_and_has_no_day():
    own, other = Usage(uncached=10), Usage(uncached=100_000)
    found = spending(log(answer(1, other, inherited=True, id="msg_1"), answer(2, own, id="msg_2")))
    assert [*found.by_day()] == ["2026-03-01", "undated"]
    (told,) = estimates(found.whole)
    assert folded(told) == snapshot("""\
The bill includes 1 request ($0.30) of sessions that were forked and whose own logs were not
read. They count for no day: a copy may have the time of the fork.\
""")


def test_a_call_counts_in_its_original_and_on_its_day():
    """The fork is read first, and its own copy has the larger output."""
    repeated = answer(1, Usage(1, output=9), inherited=True, id="msg_1", time=START + DAY)
    fork = log(repeated, answer(2, Usage(2), time=START + DAY, id="msg_2"), id="fork")
    parent = log(answer(1, Usage(1, output=8), id="msg_1"), id="parent")
    found = spending(fork, parent)
    assert [[call.request.answer for call in each.calls] for each in found.sessions] == [
        ["a2"],
        ["a1"],
    ]
    assert {day: each.calls for day, each in found.by_day().items()} == {
        "2026-03-01": 1,
        "2026-03-02": 1,
    }
    assert (found.whole.inherited, found.whole.usage.output) == (0, 8)


def test_a_session_keeps_what_is_known_of_it_when_its_calls_are_taken_away():
    one = replace(session(log(answer(1, Usage(1)), project="/p")), missing=5)
    first, second = each_once([one, replace(one, name="copy")])
    assert first == one
    assert second == replace(one, name="copy", calls=[])
    assert isinstance(first, Session)


def test_a_model_that_nobody_knows_is_counted_and_has_no_price():
    found = Spending([session_of(log(answer(1, Usage(7), "word " * 99, model="")), billed_as)])
    assert [*found.by_model()] == ["(not named)"]
    assert (found.whole.usage.uncached, found.whole.total, found.unpriced) == (
        7,
        None,
        {"(not named)": 1},
    )
    assert found.whole.usage.output > 90


def test_what_was_not_understood_is_told_the_weightiest_first():
    kinds = [PassedOver(f"field '{n}'", 1, n) for n in range(6)]
    kinds.append(PassedOver("record 'usage'", 3, 0, 1_200))
    (told,) = map(with_names, not_understood(kinds))
    assert folded(told) == snapshot("""\
Not understood and passed over: 3 x record 'usage' (1,200 tokens), 1 x field '5' (5 characters),
1 x field '4' (4 characters), 1 x field '3' (3 characters), 1 x field '2' (2 characters) and 2
other kinds. The bill lacks the 1,200 tokens that it counts.\
""")
    assert not_understood([]) == skipped({}) == []


def test_what_was_skipped_is_told_by_its_reason():
    told = skipped({"no_usage": 2, "counted_elsewhere": 1})
    assert fitting(told) == snapshot("""\
Skipped: 2 sessions without recorded usage and 1 session whose calls are all in other
files.\
""")


def test_models_without_a_price_or_a_policy_are_named():
    sides = (SideRequest("advisor", Call("of-tomorrow", Usage(1))),)
    found = spending(log(answer(1, Usage(1)), side_requests=sides))
    assert found.unpriced == {"of-tomorrow": 1}
    price, policy = map(with_names, of_models(found, {"slow": 2, "": 1}))
    assert folded(price) == snapshot("""\
No price is known for of-tomorrow (1 call). Sums of dollars are without them. To include them,
write the prices into a file and name it with --models. An entry there replaces the built-in
model, so copy its other figures (list models --format json).\
""")
    assert folded(policy) == snapshot("""\
Billed, but not explained, as it is not known how their models cache: slow (2 calls) and (not
named) (1 call). Write these models into a file and name it with --models.\
""")
    assert [*of_models(spending(log(answer(1, Usage(1)))), {})] == []


def test_a_page_of_sums_escapes_what_logs_name():
    found = spending(log(answer(1, Usage(1)), id="<i>s</i>", project="<b>p</b>"))
    poem = PassedOver("record '<u>poem</u>'")
    shown = html.write(page(Sums(found, {}, ("<s>torn</s>",), (poem,))), COLOURS)
    assert not any(f"<{tag}>" in shown for tag in "ibus")
    for name in ("&lt;i&gt;s", "&lt;b&gt;p", "&lt;u&gt;poem", "&lt;s&gt;torn"):
        assert name in shown
