"""The sentence above a table says what the table says, by one notion of what is usable."""

import json

from inline_snapshot import snapshot

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.columns import marks
from compactlab.reports.analysis.scope import scope
from compactlab.reports.page.brief import note
from compactlab.reports.page.page import render
from compactlab.reports.page.table import never_acted
from tests.reports.spoken import folded, legend, notes, only, tokens_and_money, verdict

ROOMY = [(0, 100), (100, 50), (150, 50)]
FEWER = [(0, 100), (0, 60), (0, 20)]
FULL = [(0, 1_000), (1_000, 500), (1_500, 900)]


def test_a_strategy_that_sends_nothing_is_no_choice(make, store):
    """It is the cheapest of all, and no provider would take one of its prompts."""
    nothing = make("nothing()", [(0, 10), (0, 10), (0, 10)], need=0.0, sound=0.0)
    comparison = only(store(make("keep_all()", ROOMY), nothing, make("slide()", FEWER, cut=[1])))
    assert {row.label: marks(row) for row in comparison.rows}["nothing"] == "□"
    assert folded([verdict(comparison)[0], *notes(comparison)]) == snapshot("""\
slide is the only usable one: 0.0011 USD, 12% less than keep_all; recall 100% (keep_all: 100%).
Not usable (`compactlab explain` shows the calls): nothing (the API would reject 100% of its
calls).\
""")
    alone = only(store(nothing))
    assert (marks(alone.rows[0]), alone.undecided) == ("?", True)
    assert "choose" not in " ".join(verdict(alone)).lower()


def test_who_sends_something_else_has_acted(make, store):
    """From the first call on, so that no prompt was ever rewritten."""
    comparison = only(store(make("keep_all()", ROOMY), make("short()", [(0, 90)] * 3)))
    assert not any("Never compacted" in note for note in notes(comparison))
    assert Advice(comparison).cheapest is comparison.row("short")


def test_what_was_run_is_neither_recommended_nor_denied(make, store):
    comparison = only(
        store(
            make("keep_all()", FULL),
            make("as_recorded()", ROOMY, cut=[1]),
            make("torn()", FEWER, cut=[1], sound=0.9),
            make("late()", [(0, 1_000), (1_000, 500), (1_500, 800)], cut=[1]),
        )
    )
    assert folded([verdict(comparison)[0], legend([comparison])[-1]]) == snapshot("""\
In this one conversation, no strategy kept every prompt valid and within the context window
(as_recorded did). The nearest is late: 0.0098 USD, 671% more than as_recorded; recall 100%
(as_recorded: 100%). It exceeded the context window on 1 of 3 calls.
† as recorded, as far as the log shows; a summary costs what the log bills for it. No candidate.\
""")
    assert {row.label: marks(row) for row in comparison.rows}["as_recorded"] == "†"
    assert comparison.front == ()


def test_keep_all_alone_is_no_failure(make, store):
    first = (verdict(only(store(make("keep_all()", prompts))))[0] for prompts in (ROOMY, FULL))
    assert folded(first) == snapshot("""\
There is no strategy to choose: only controls and as_recorded are compared. In this one
conversation, keep_all stayed within the context window.
There is no strategy to choose: only controls and as_recorded are compared. In this one
conversation, keep_all exceeded the context window on 1 of 3 calls.\
""")


def test_who_never_acted_is_no_finding(make, store):
    idle = only(store(make("keep_all()", ROOMY), make("auto_compact()", ROOMY)))
    assert idle.front == ()
    other = make("dear()", [(0, 100), (0, 150), (0, 200)], cut=[1])
    both = only(store(make("keep_all()", ROOMY), make("auto_compact()", ROOMY), other))
    assert folded([verdict(idle)[0], verdict(both)[0]]) == snapshot("""\
In this one conversation, compaction is not needed: auto_compact never compacted, and every
prompt was valid and within the context window.
In this one conversation, compaction is not needed: keep_all stays within the context window and
costs 0.0013 USD. No strategy that compacts costs less.\
""")


def test_summaries_that_changed_no_prompt_were_paid_for(make, store):
    paid = make("auto_compact()", ROOMY, side=0.5)
    comparison = only(store(make("keep_all()", ROOMY), make("idle()", ROOMY), paid))
    assert folded(never_acted(comparison.rows)) == snapshot("""\
\x02auto_compact\x03 changed no prompt, and still paid 0.50 USD for side calls, such as summaries.
Never compacted: \x02idle\x03. No prompt was changed and no call was added, so the figures are those
of keep_all. Longer conversations or a smaller --window may make them compact.\
""")


def test_a_difference_is_told_in_its_direction(make, store):
    kept, slid = "keep_all()", "sliding_window(keep=20)"
    results = store(
        *(make(kept, [(0, 100)], name) for name in "ab"),
        *(make(slid, [(0, size)], name, cut=[0]) for name, size in (("a", 80), ("b", 400))),
    )
    assert folded(tokens_and_money(only(results))) == snapshot("""\
sliding_window(keep=20) sent 140% more prompt tokens than keep_all and cost 100% more than it
(but less in 1 of 2 conversations). It read 0% of its prompt tokens from the cache, and keep_all
0%.\
""")


def test_the_terminal_says_all_that_the_other_formats_say(small):
    text, sentences = render(small, "table"), only(small)
    for sentence in (*verdict(sentences), *notes(sentences), *legend([sentences])):
        assert sentence in text


def test_replays_of_one_conversation_are_averaged(make, store):
    twice = store(*(make("keep_all()", ROOMY, seed=seed) for seed in (0, 1)))
    once = store(make("keep_all()", ROOMY))
    (row,), (single,) = only(twice).rows, only(once).rows
    assert row.figures == single.figures
    assert folded([scope(only(twice)), legend([only(twice)])[0]]) == snapshot("""\
model as recorded: claude-sonnet-4-5 (3 calls); window narrowed to 2,000 tokens; 1 strategy over
1 conversation in 2 replays
↓ lower is better, ↑ higher is better. Dollars, tokens and counts are means over conversations,
of each the mean of its replays; cache hit rate and exceeds window are shares of all tokens and
calls; the spike is a median; the other shares are means over conversations.\
""")
    assert "replays" not in legend([only(once)])[0]
    for results in (once, twice):
        assert "cold_start: 100 tokens" in render(results, "html")


def test_a_conversation_counts_once_whatever_its_replays(make, store):
    results = store(
        make("keep_all()", [(0, 100)], "one", seed=0),
        make("keep_all()", [(0, 300)], "one", seed=1),
        make("keep_all()", [(0, 1_000)], "two"),
    )
    assert only(results).rows[0].figures["tokens_cache_write"] == 1_200


def test_a_window_that_narrows_nothing_is_the_models_own(make, store):
    run = make("keep_all()", ROOMY)
    run.window = 900_000
    assert folded([scope(only(store(run)))]) == snapshot("""\
model as recorded: claude-sonnet-4-5 (3 calls); window 200,000 tokens (the model's own, below
the limit of 900,000); 1 strategy over 1 conversation\
""")


def test_each_conversation_carries_its_own_marks(make, store):
    results = store(
        *(make("keep_all()", FULL, name) for name in ("one", "two")),
        make("torn()", FEWER, "one", cut=[1], sound=0.9),
        make("torn()", FEWER, "two", cut=[1]),
        breaks={"torn()": {"pairs": "as in 1.2"}},
    )
    page = render(results, "html")
    below = page[page.index("application/json") :]
    for carried in ("□‡", "‡", "○◇"):
        assert f'"{carried}"' in below or json.dumps(carried) in below


def test_failed_summaries_are_said_with_what_they_mean_for_recall(make, store):
    runs = [make("keep_all()", conversation=name) for name in ("one", "two")]
    runs += [make("mine()", FEWER, name, cut=[1], need=0.75) for name in ("one", "two")]
    runs[-1].metrics |= {"summaries": 4, "summaries_failed": 3, "recall_20k": 0.5}
    results = store(*runs)
    assert note(only(results).rows[0], "cheapest") == snapshot("cheapest, 3 of 4 summaries failed")
    assert folded(notes(only(results))) == snapshot(
        """\
Summaries that failed the sanity check: 3 of 4 under mine (recall without these runs: 75.0%).
They are suspect: empty, too long, or with little of their input. Where they stay in the
prompts, recall counts them. `compactlab explain` names the fault of each.\
"""
    )
