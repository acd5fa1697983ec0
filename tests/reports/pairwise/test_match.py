"""Two strategies, or one in two stores, are held against each other on the same conversations."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from inline_snapshot import snapshot
from inline_snapshot.extra import raises

from compactlab.reports.compare import (
    MUST_AGREE,
    Match,
    Pairing,
    between,
    chosen,
    refuse_unlike,
    report,
    within,
)
from compactlab.reports.render import markdown, terminal
from compactlab.reports.render.write import write_json
from compactlab.sim.core.errors import UsageError
from compactlab.sim.store.results import Results
from tests.lines import lines_with, refusal
from tests.reports.conftest import Make, Store
from tests.reports.spoken import folded

KEPT = [(0, 600), (600, 300), (900, 100)]
SHORT = [(0, 600), (0, 200), (0, 100)]


@pytest.fixture
def many(make: Make, store: Store) -> Callable[..., Results]:
    """Twelve conversations under three strategies; bills of one of them can be scaled."""

    def made(size: float = 1.0, need: float = 0.9, **manifest: object) -> Results:
        runs = []
        for index in range(12):
            name, own = f"talk-{index}", 1 + 0.1 * index
            cut = [(round(r * own * size), round(w * own * size)) for r, w in SHORT]
            runs += [
                make("keep_all()", [(round(r * own), round(w * own)) for r, w in KEPT], name),
                make("cut(most=3)", cut, name, cut=[1], need=need),
                make("cut(most=5)", SHORT, name, cut=[1], need=0.9),
            ]
        return store(*runs, **manifest)

    return made


def findings(matches: Sequence[Match]) -> str:
    """The sentences under the last table, without its legend."""
    return folded(terminal.write(report(matches[-1:])).split("\n\n")[2])


def test_a_strategy_against_itself_differs_in_nothing(many):
    matches, _ = between(("a", many()), [("b", many())], ["cut(most=3)"])
    assert [match.subject.label for match in matches] == ["cut(most=3) in b"]
    for contrast in matches[0].contrasts.values():
        assert contrast.estimate == contrast.same
        assert not contrast.determined
        assert (contrast.wins, contrast.losses, contrast.p) == (0, 0, 1.0)
        assert contrast.method in ("", "order", "betting")
        assert contrast.low is None or contrast.low <= contrast.same <= (contrast.high or 0)
    assert findings(matches) == snapshot("""\
cut(most=3) in b costs as much as cut(most=3) in a: the same in every conversation.
cut(most=3) in b recalls 90.0% of the facts needed 20,000 tokens or more after they were last
stated (cut(most=3) in a: 90.0%). Difference in points: +0.0, the same in every conversation.\
""")


def test_what_changed_between_two_stores_is_found(many):
    matches, _ = between(("old", many()), [("new", many(size=1.2, need=0.8))], ())
    # A p of 0.0015 is 2 of 4,096 flips, for each of three matches.
    assert findings(matches[:2]) == snapshot("""\
cut(most=3) in new costs 18% more than cut(most=3) in old (18% to 19% more): significantly more
expensive (p 0.0015).
cut(most=3) in new recalls 80.0% of the facts needed 20,000 tokens or more after they were last
stated (cut(most=3) in old: 90.0%). Difference in points: -10.0, significantly worse (p 0.0015).
Other significant differences (exploratory, Benjamini-Hochberg at 5%): amnesia_need 10.0% to
20.0%, avoidable_cost_usd 0.0011 to 0.0013, cost_write_usd 0.0052 to 0.0063, forward_need 90.0%
to 80.0%, prompt_tokens_peak 1.26k to 1.51k, recall_10k 90.0% to 80.0%, recall_160k 90.0% to
80.0%, recall_1k 90.0% to 80.0% and 10 more.
Smallest detectable difference of each comparison (80% power, before Holm): 0.3% of the cost.\
""")


def test_strategies_of_a_store_are_found_by_name_and_pattern(many):
    results = many()
    assert chosen(results, "cut(most=3)") == ["cut(most=3)"]
    assert chosen(results, "cut") == ["cut(most=3)", "cut(most=5)"]
    assert chosen(results, "*most=5*") == ["cut(most=5)"]
    with pytest.raises(UsageError, match="keep_all"):
        chosen(results, "keep_al")
    with raises(
        "UsageError: one strategy cannot be compared: cut(most=3), cut(most=3) names only one"
    ):
        within(results, ["cut(most=3)", "cut(most=3)"])
    first, second = within(results, ["keep_all", "cut"])
    assert {first.subject.spec, second.subject.spec} == {"cut(most=3)", "cut(most=5)"}
    assert {first.reference.spec, second.reference.spec} == {"keep_all()"}


def test_two_stores_of_one_strategy_each_are_compared(make, store):
    one = store(*(make("keep_all()", KEPT, f"{index}") for index in range(3)))
    other = store(*(make("cut()", SHORT, f"{index}", cut=[1]) for index in range(3)))
    ((match,), _) = between(("a", one), [("b", other)], ())
    assert (match.reference.label, match.subject.label) == ("keep_all in a", "cut in b")


def test_only_common_conversations_count(many):
    fewer = many()
    fewer.runs = [run for run in fewer.runs if run.conversation not in ("talk-0", "talk-1")]
    matches, _ = between(("a", many()), [("b", fewer)], ())
    assert {match.comparison.conversations for match in matches} == {10}
    assert {len(match.comparison.left_out) for match in matches} == {2}


@pytest.mark.parametrize("key", sorted(MUST_AGREE))
def test_unlike_stores_are_refused(many, key):
    one, other = many(**{key: "this"}), many(**{key: "that"})
    with pytest.raises(UsageError, match=f"{MUST_AGREE[key]}: this in a, that in b.*{key}"):
        refuse_unlike(("a", one), ("b", other))
    (said,) = refuse_unlike(("a", one), ("b", other), [key])
    assert said == f"The stores differ in the {MUST_AGREE[key]}: this in a, that in b."


def test_conversations_of_other_content_are_always_refused(many):
    other = many()
    other.runs = [replace(run, digest="e" * 16) for run in other.runs]
    said = refusal(UsageError, lambda: refuse_unlike(("a", many()), ("b", other), list(MUST_AGREE)))
    assert said == snapshot("""\
a and b differ in conversations: 12 conversations (talk-0, talk-1, talk-2 and others) of
the same name with different content\
""")


def test_every_format_says_the_same(many):
    matches = within(many(), ["keep_all", "cut(most=3)"])
    data = json.loads(write_json(report(matches)))
    (match,) = data["matches"]
    (cost,) = [each for each in match["contrasts"] if each["metric"] == "cost_usd"]
    assert cost["estimate"] == matches[0].contrasts["cost_usd"].estimate
    assert cost["determined"] is True
    assert "`cut(most=3)` costs " in markdown.write(report(matches))
    for text in (terminal.write(report(matches)), markdown.write(report(matches))):
        assert "cheaper (p <0.001)" in text


def test_a_strategy_with_other_parameters_is_held_against_its_former_self(many):
    one, other = many(), many()
    other.runs = [
        replace(run, strategy=run.strategy.replace("most=5", "most=6")) for run in other.runs
    ]
    matches, lonely = between(("a", one), [("b", other)], ())
    assert [match.subject.spec for match in matches][-1] == "cut(most=6) in b"
    assert [match.reference.spec for match in matches][-1] == "cut(most=5) in a"
    assert lonely == []


def test_what_has_no_partner_is_named(many):
    one, other = many(), many()
    other.runs = [replace(run, strategy=run.strategy.replace("cut", "trim")) for run in other.runs]
    matches, lonely = between(("a", one), [("b", other)], ())
    assert [match.subject.label for match in matches] == ["keep_all in b"]
    assert lonely == [
        "Only in a: cut(most=3).",
        "Only in a: cut(most=5).",
        "Only in b: trim(most=3).",
        "Only in b: trim(most=5).",
    ]
    with pytest.raises(UsageError, match=r"a has .*cut\(most=3\).*; b has .*trim"):
        between(("a", one), [("b", other)], ["cut", "trim"])


def test_another_window_can_be_compared_if_one_says_so(many):
    one, other = many(), many()
    other.runs = [replace(run, window=4_000) for run in other.runs]
    assert refusal(UsageError, lambda: between(("a", one), [("b", other)], ())) == snapshot("""\
the stores have no strategy in common that succeeded on the same conversation, model,
window and summariser: a has keep_all, cut(most=3) and cut(most=5) with summaries by
lexrank(units=1000); b has keep_all, cut(most=3) and cut(most=5) with summaries by
lexrank(units=1000)\
""")
    matches, _ = between(("a", one), [("b", other)], (), windows=False)
    assert len(matches) == 3


def test_conversations_that_only_one_has_are_counted(many):
    fewer = many()
    fewer.runs = [run for run in fewer.runs if run.conversation not in ("talk-0", "talk-1")]
    matches, _ = between(("a", many()), [("b", fewer)], ())
    for text in (terminal.write(report(matches)), markdown.write(report(matches))):
        assert "Excluded: 2 conversations" in text


def test_of_several_candidates_none_is_taken():
    pairing = Pairing.of(["a()", "cut(1)", "cut(2)"], ["a()", "cut(3)"])
    assert pairing == Pairing((("a()", "a()"),), ("cut(1)", "cut(2)"), ("cut(3)",))
    pairing = Pairing.of(["a()", "cut(1)"], ["a()", "cut(2)", "cut(3)"])
    assert pairing == Pairing((("a()", "a()"),), ("cut(1)",), ("cut(2)", "cut(3)"))
    assert Pairing.of(["a()"], ["b()"]).pairs == (("a()", "b()"),)


def test_no_worse_is_said_beside_not_determined(make, store):
    runs = []
    for index in range(40):
        need = 0.99 + 0.004 * (-1) ** index
        runs += [
            make("keep_all()", KEPT, f"{index}", need=0.99),
            make("cut()", SHORT, f"{index}", cut=[1], need=need),
        ]
    # Ten of the figures differ; calls, overflows and ten others are the same, and no difference.
    assert findings(within(store(*runs), ["keep_all", "cut"])) == snapshot("""\
cut costs 18% less than keep_all: significantly cheaper (p <0.001).
cut recalls 99.0% of the facts needed 20,000 tokens or more after they were last stated
(keep_all: 99.0%). Difference in points: +0.0 (-0.1 to +0.1), not statistically significant (p
1), but non-inferior within 20 points.
Other significant differences (exploratory, Benjamini-Hochberg at 5%): avoidable_cost_usd 0 to
0.00069, compactions 0 to 1, cost_read_usd 0.00045 to 0, cost_write_usd 0.0038 to 0.0034,
prefix_reuse 60.0% to 0%, prompt_tokens_peak 1.00k to 600, rewrites 0 to 1, tokens_cache_read
1.50k to 0 and 2 more.
Smallest detectable difference of each comparison (80% power, before Holm): 0.2 points of
recall.\
""")


def test_a_match_leads_with_recall_at_the_distance_of_the_store(many):
    matches = within(many(), ["keep_all", "cut"])
    assert lines_with(markdown.write(report(matches)), "| recall") == snapshot(
        """\
| strategy | USD per conversation | bill | p | recall ≥20k | points | p | cheaper / same /
more expensive |\
"""
    )
    data = json.loads(write_json(report(matches)))
    assert {match["headline"] for match in data["matches"]} == {"recall_20k"}
    near = many()
    for run in near.runs:
        run.metrics.update(dict.fromkeys(("recall_10k", "recall_20k", "recall_40k")))
    matches = within(near, ["keep_all", "cut"])
    text = markdown.write(report(matches))
    assert lines_with(text, "| recall") == snapshot(
        """\
| strategy | USD per conversation | bill | p | recall ≥20k | points | p | cheaper / same /
more expensive |\
"""
    )
    assert {match.subject.recall for match in matches} == {None}


def test_where_one_store_has_no_recall_all_needs_are_compared(many):
    former = many(need=0.8)
    for run in former.runs:
        run.metrics = {n: v for n, v in run.metrics.items() if not n.startswith("recall")}
    for one, other in ((former, many()), (many(), former)):
        matches, _ = between(("one", one), [("other", other)], ["cut(most=3)"])
        said = terminal.write(report(matches))
        assert "cut(most=3) in other recalls" not in said
        assert "not known of both; miss rate" in said
    assert findings(matches) == snapshot("""\
cut(most=3) in other costs as much as cut(most=3) in one: the same in every conversation.
cut(most=3) in other: recall ≥20k is not known of both; miss rate, all needs: 20.0% (cut(most=3)
in one: 10.0%).
Other significant differences (exploratory, Benjamini-Hochberg at 5%): amnesia_need 10.0% to
20.0% and forward_need 90.0% to 80.0%.\
""")
