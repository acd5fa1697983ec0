"""One compaction before and after, as it is shown: three facts of which one is lost and needed."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.reports.explain import explanation
from compactlab.reports.explain.compaction import View, in_lines, view_of
from compactlab.reports.explain.explanation import Account, account
from compactlab.reports.page.explorer import Compactions, size_of, views
from compactlab.reports.render import terminal
from compactlab.reports.render.html import set_page
from compactlab.reports.render.text import clean
from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.diff import STILL
from compactlab.sim.metrics import RunData
from compactlab.sim.store.parquet import NO_ROWS, Rows
from compactlab.sim.store.results import Results
from compactlab.sim.store.tables import TABLES, VIEWS
from tests.reports.spoken import folded
from tests.reports.test_hostile import HOSTILE
from tests.sim.replayed.conftest import Kit
from tests.sim.replayed.rewritten import replays

Make = Callable[..., Any]
SUMMARY = "So far: the color thing is color-7x7.\n\nIt was asked for by the user."


def told(reading: RunData) -> View:
    """The view of a reading, as of a store that holds its rows."""
    messages = TABLES["messages"].rows(reading)
    view = view_of(
        VIEWS.rows(reading), dict(zip(messages["message"], messages["text"], strict=True))
    )
    assert view is not None
    return view


def story(needs: tuple[Need, ...] = (Need("size", "a4"),), text: str = "") -> Conversation:
    """Three facts are stated; what the first two turns said is summed up before the third call."""
    script = Kit.Story()
    for name in ("color", "size", "port"):
        script.user(f"The {name} thing is {name}-7x7.{text}").answer("ok")
    script.user("Now build it.").answer("size-7x7, built")
    facts = tuple(
        Fact(name, "decision", f"{name} thing", f"{name}-7x7{text}", (Source(origin, 0),))
        for name, origin in (("color", "u1"), ("size", "u2"), ("port", "u3"))
    )
    return script.script(facts=facts, needs=needs)


def summed_up(script: Conversation, text: str = SUMMARY) -> RunData:
    def tell(view: Any, host: Any) -> Any:
        if sum(message.role == "assistant" for message in host.log) != 2:
            return view
        part = Part("text", text, "summary", tuple(Source(m.id) for m in view.messages[:-1]))
        return view.with_messages([Message("made", "user", (part,), meta=True), view.messages[-1]])

    return RunData(Kit.replayed(script, Kit.act(tell)), script)


def test_the_view_says_what_was_lost_and_who_needed_it():
    assert folded(told(summed_up(story())).words) == snapshot("""\
Before call 3: 5 messages with 32 tokens became 2 with 31.
1 message kept (10 tokens), 4 messages removed (22 tokens) and 1 message written (21 tokens).
1 fact was lost and needed later: size thing: size-7x7 (call 4, distance <1k).\
""")


def test_what_was_lost_and_never_needed_is_not_alarming():
    view = told(summed_up(story(needs=())))
    assert view.losses == snapshot("1 fact was lost; no later call needed it")
    assert view.short == snapshot("before call 3: 32 to 31 tokens, 1 fact lost")


def test_a_summary_that_forgets_nothing_lost_nothing():
    view = told(summed_up(story(), "The color thing is color-7x7. The size thing is size-7x7."))
    assert (view.lost, view.losses) == snapshot((0, "No fact was lost"))


def test_what_left_stands_beside_what_was_written_instead():
    pairs = told(summed_up(story())).pairs
    assert [pair.fate for pair in pairs] == ["gone", "new"]
    assert [piece.title for piece in pairs[0].left] == [
        "user · text · u1", "assistant · text · a1", "user · text · u2", "assistant · text · a2",
    ]  # fmt: skip
    (written,) = pairs[0].right
    assert (written.title, written.deed, written.size) == ("user · text", "written", "21 tokens")
    assert written.text == SUMMARY.replace("\n\n", "\n")
    assert [fact.told for fact in pairs[0].left[2].missed] == snapshot(
        ["call 4 needed it, distance <1k"]
    )


def test_of_many_facts_some_are_named_and_the_others_counted():
    said = [f"fact {n}" for n in range(8)]
    many: dict[str, Any] = {
        "call": [3], "fate": ["gone"], "count": [1], "message": ["m1"], "role": ["tool"],
        "facts_lost": [40], "facts_missed": [9], "facts": [said], "statements": [said],
        "states": [["lost"] * 7 + ["stale"]], "missed_at": [["5"] * 1 + [""] * 7],
    }  # fmt: skip
    view = view_of(VIEWS.filled({**many, "became": [""], "what": ["text"], "text": [""]}), {})
    assert view is not None
    (piece,) = view.pairs[0].left
    assert [fact.statement for fact in piece.missed] == ["fact 0"]
    named = "fact 1, fact 2, fact 3, fact 4, fact 5"
    assert piece.others == f"{named} and 34 more, 8 of them needed later"


def test_the_lag_of_a_need_is_named_where_the_store_has_it():
    rows = rows_of(3, 1, 1, "said")
    view = view_of(rows, {})
    assert view is not None
    assert view.losses == snapshot("1 fact was lost and needed later: key: value (call 3)")
    lags = VIEWS.columns["missed_lag"].array([["20000"], []])
    view = view_of(Rows({**rows.columns, "missed_lag": lags}, 0, 2), {})
    assert view is not None
    assert view.losses == snapshot(
        "1 fact was lost and needed later: key: value (call 3, distance ≥20k)"
    )
    assert view.pairs[0].left[0].missed[0].told == snapshot("call 3 needed it, distance ≥20k")


def test_system_blocks_are_no_messages_but_their_tokens_count():
    rows = rows_of(3, 0, 0, "said")
    role = VIEWS.columns["role"].array(["system", "user"])
    view = view_of(Rows({**rows.columns, "role": role}, 0, 2), {})
    assert view is not None
    assert view.head == snapshot("Before call 3: 0 messages with 1.00k tokens became 1 with 100")


def test_where_messages_are_not_stored_the_view_has_no_texts_of_them():
    view = view_of(VIEWS.rows(summed_up(story())), {})
    assert view is not None
    assert [piece.text for piece in view.pairs[0].right] == [""]


def test_no_rows_are_no_view():
    assert view_of(NO_ROWS, {}) is None


def said(told: Account, call: int) -> str:
    return terminal.write(explanation.one_call(told, call))


def test_the_terminal_says_the_same(golden):
    reading = summed_up(story())
    text = said(account(reading, 3), 3)
    assert all(sentence in text for sentence in told(reading).words)
    golden("explain-compaction.txt", text)
    assert "became" not in said(account(reading, 2), 2)
    assert "became" not in said(account(reading), 3)


@given(st.data())
@settings(max_examples=15)
def test_what_is_shown_adds_up_to_the_rows(data):
    script, trace = data.draw(replays(Kit))
    reading = RunData(trace, script)
    rows = VIEWS.rows(reading)
    if not len(rows):
        return
    view = told(reading)
    left = [piece for pair in view.pairs for piece in pair.left]
    right = [piece for pair in view.pairs for piece in pair.right]
    same = [piece for pair in view.pairs if pair.still for piece in pair.left]
    assert sum(piece.tokens for piece in left) == sum(rows["tokens_before"]) == view.tokens[0]
    assert all(pair.still == (pair.fate in STILL) for pair in view.pairs)
    assert sum(p.tokens for p in right) == sum(
        two
        for fate, two in zip(rows["fate"], rows["tokens_after"], strict=True)
        if fate not in STILL
    )
    assert sum(p.count for p in same) == sum(
        n for fate, n in zip(rows["fate"], rows["count"], strict=True) if fate in STILL
    )
    assert sum(len(piece.facts) + piece.more for piece in left + right) == view.lost
    assert all("\n" not in line and clean(line) == line for line in in_lines(view))


def rows_of(call: int, lost: int, missed: int, text: str) -> Rows:
    """A message that is gone, and one that was written."""
    columns: dict[str, Any] = {
        "call": [call] * 2, "fate": ["gone", "written"], "count": [1, 1],
        "message": ["m1", ""], "became": ["", "#1"], "role": ["user", "user"],
        "what": ["text", "text"], "tokens_before": [1_000, 0], "tokens_after": [0, 100],
        "text": [text, ""], "facts_lost": [lost, 0], "facts_missed": [missed, 0],
        "facts": [["f"], []], "statements": [["key: value"], []], "states": [["lost"], []],
        "missed_at": [[str(call)], []],
    }  # fmt: skip
    return VIEWS.filled(columns)


def held(make: Make, strategy: str, conversation: str, *view: int, text: str = "said") -> Any:
    """A run with a view: the call, and how many facts were lost and missed."""
    run = make(strategy, conversation=conversation)
    if view:
        call, lost, missed = view
        said: dict[str, Any] = {
            "message": ["#1"],
            "role": ["user"],
            "kinds": [["summary"]],
            "text": [text],
        }
        run.rows["views"] = rows_of(call, lost, missed, text)
        run.rows["messages"] = TABLES["messages"].filled(said)
    return run


@pytest.fixture
def four(make: Make, store: Callable[..., Results]) -> Results:
    return store(
        held(make, "cut()", "one", 3, 2, 1), held(make, "cut()", "two", 4, 5, 3),
        held(make, "keep_all()", "one"), held(make, "keep_all()", "two"),
        held(make, "sum()", "one", 2, 0, 0), held(make, "sum()", "two", 5, 9, 2),
    )  # fmt: skip


def order(chosen: Compactions) -> list[tuple[str, int]]:
    return [(each.spec, each.view.call) for each in chosen.shown]


def test_the_first_conversation_comes_first_and_then_the_most_forgetful(four):
    chosen = views(four, four.runs)
    assert order(chosen) == [("cut()", 3), ("sum()", 2), ("cut()", 4), ("sum()", 5)]
    assert (len(chosen.idle), chosen.left_out) == (1, 0)
    assert order(views(four, four.runs, (four.runs[0].scenario, "two", 0)))[:2] == [
        ("cut()", 4), ("sum()", 5),
    ]  # fmt: skip


def test_what_has_no_room_is_counted(four):
    size = size_of(views(four, four.runs).shown[0].view)
    for budget, number in ((0, 1), (size, 1), (2 * size + 10, 2), (100 * size, 4)):
        chosen = views(four, four.runs, budget=budget)
        assert (len(chosen.shown), chosen.left_out) == (number, 4 - number)


def test_without_the_table_there_is_nothing(make, store):
    results = store(make("cut()"), make("sum()"))
    assert views(results, results.runs) == Compactions("one (claude-code)")
    assert views(results, ()) == Compactions()


class Tags(HTMLParser):
    """Which elements there are, and with which attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.names: set[str] = set()
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.names.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def markup(chosen: Compactions) -> str:
    return set_page("compactions.html.j2", {"data": chosen})


@pytest.mark.parametrize("missed", [0, 1])
def test_the_most_needed_facts_are_lost_only_where_one_was(missed, make, store):
    results = store(held(make, "cut()", "one", 3, 2, missed))
    chosen = views(results, results.runs)
    several = replace(chosen, own=(replace(chosen.own[0], compactions=3),))
    words = " ".join(Tags(markup(several)).words)
    assert ("this one lost the most needed facts." in words) == (missed > 0)
    assert ("None of the 3 compactions" in words) == (missed == 0)


def test_its_size_is_about_what_was_reckoned(four):
    chosen = views(four, four.runs)
    reckoned = sum(size_of(each.view) for each in chosen.shown)
    assert 0.6 * reckoned < len(markup(chosen)) < 1.2 * reckoned


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_that_was_said_acts(text, make, store):
    results = store(held(make, f"cut({text})", text, 3, 1, 1, text=text))
    run = results.runs[0]
    run.rows["views"] = Rows(
        {**run.rows["views"].columns, "statements": VIEWS.columns["statements"].array([[text], []]),
         "states": VIEWS.columns["states"].array([[text], []]),
         "role": VIEWS.columns["role"].array([text, text]),
         "what": VIEWS.columns["what"].array([text, text]),
         "message": VIEWS.columns["message"].array([text, ""])}, 0, 2
    )  # fmt: skip
    chosen = views(results, results.runs)
    html = markup(chosen)
    plain = markup(views(*_plain(make, store)))
    assert Tags(html).seen <= Tags(plain).seen
    assert Tags(html).names <= Tags(plain).names
    for line in [*in_lines(chosen.shown[0].view), *html.splitlines()]:
        assert clean(line) == line
    assert not re.search(r"href|src=|\son\w+=", re.sub(r">[^<]*<|\"[^\"]*\"", "", html))


def _plain(make: Make, store: Callable[..., Results]) -> tuple[Results, Any]:
    results = store(held(make, "cut()", "one", 3, 9, 1), held(make, "keep_all()", "one"))
    return results, results.runs


def test_ten_million_characters_are_no_page(make, store):
    results = store(held(make, "cut()", "one", 3, 1, 1, text="<&\n" * 3_000_000))
    chosen = views(results, results.runs)
    assert len(markup(chosen)) < 40_000
    assert sum(map(len, in_lines(chosen.shown[0].view))) < 5_000
