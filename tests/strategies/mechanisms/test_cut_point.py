"""Where pi cuts a session."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.strategies.mechanisms.estimate import estimate
from compactlab.strategies.pi.preparation import CutPoint, Entry, find_cut_point

SCRIPT = st.text("umaco", max_size=12)
ADDED = {"m": "custom_message"}
OLD, NEW = "0.73.1", "1.6.0"


@pytest.fixture
def session(moment):
    """Entries of 100 estimated tokens each; what no person typed comes from an extension."""

    def of(script: str, size: int = 400, **more) -> list[Entry]:
        told = moment(script, size=size, **more).messages
        return [Entry(m.id, ADDED.get(m.id[0], "message"), m) for m in told]

    return of


def kept(entries: list[Entry], tokens: float) -> str:
    cut = find_cut_point(entries, 0, len(entries), tokens, OLD)
    return " ".join(entry.id for entry in entries[cut.first_kept :])


@pytest.mark.parametrize(
    ("script", "tokens", "left"),
    [
        ("uaua", 150, "u3 a4"),  # the message that crosses the budget stays
        ("uaua", 200, "u3 a4"),  # and one that meets it ends the walk
        ("uaua", 201, "a2 u3 a4"),
        ("uaua", 1, "a4"),
        ("uaua", 0, "a4"),
        ("uaua", -5, "a4"),
        ("uaua", 400, "u1 a2 u3 a4"),
        ("uaua", 9000, "u1 a2 u3 a4"),
        ("uaua", float("nan"), "u1 a2 u3 a4"),
        ("ucra", 200, "a4"),  # a cut on a result moves forward
        ("uc2rra", 200, "a5"),
        ("ucra", 300, "c2 r3 a4"),
        ("oua", 9000, "u2 a3"),  # what cannot be cut at is not kept, even if everything fits
        ("", 100, ""),
    ],
)
def test_about_so_many_tokens_stay(session, script, tokens, left):
    assert kept(session(script), tokens) == left


@pytest.mark.parametrize(("script", "tokens"), [("uacr", 100), ("uac2rr", 200), ("uacr", 0)])
def test_where_the_budget_is_reached_inside_of_results_at_the_end_nothing_is_cut_off(
    session, script, tokens
):
    entries = session(script)
    assert find_cut_point(entries, 0, len(entries), tokens, OLD) == CutPoint(0)


@pytest.mark.parametrize(
    ("script", "tokens", "version", "cut"),
    [
        ("uaua", 150, OLD, CutPoint(2)),  # a user's message begins a turn
        ("uaua", 100, OLD, CutPoint(3, 2, True)),
        ("ucrcra", 150, OLD, CutPoint(5, 0, True)),
        ("aaa", 150, OLD, CutPoint(1)),  # nobody has spoken
        ("umaa", 100, OLD, CutPoint(3, 1, True)),  # what an extension says can begin one
        ("uaama", 100, OLD, CutPoint(3, 3, True)),  # a split of nothing
        ("uacr", 100, NEW, CutPoint(2, 0, True)),  # large results at the end keep their call
        ("uac2rr", 200, NEW, CutPoint(2, 0, True)),
        ("uama", 150, NEW, CutPoint(2)),  # what an extension says begins a turn, and counts
        ("umaa", 100, NEW, CutPoint(3, 1, True)),
        ("uaua", 9000, NEW, CutPoint(0)),
    ],
)
def test_a_cut_inside_of_a_turn_splits_it(session, script, tokens, version, cut):
    entries = session(script)
    assert find_cut_point(entries, 0, len(entries), tokens, version) == cut


def test_what_an_extension_says_weighs_nothing_here(session):
    assert kept(session("uamm" + "ua", sizes={"m3": 9000, "m4": 9000}), 300) == "a2 m3 m4 u5 a6"


@pytest.mark.parametrize(
    ("first", "left"), [("model_change", "changed named u3 a4"), ("compaction", "named u3 a4")]
)
def test_bookkeeping_before_the_cut_is_kept_with_it_but_no_compaction(session, first, left):
    entries = session("uaua")
    entries[2:2] = [Entry("changed", first), Entry("named", "label")]
    assert kept(entries, 200) == left


@settings(max_examples=50)
@given(script=SCRIPT, tokens=st.integers(0, 1500))
def test_a_tail_does_not_go_beyond_the_message_that_crosses(moment, script, tokens):
    entries = [Entry(m.id, "message", m) for m in moment(script, size=400).messages]
    cut, *_ = find_cut_point(entries, 0, len(entries), tokens, OLD)
    tail = [entry.message for entry in entries[cut + 1 :]]
    first = next((n for n, entry in enumerate(entries) if entry.message.role != "tool"), 0)
    assert cut == first or sum(map(estimate, tail)) < max(tokens, 1)
    assert cut == first or entries[cut].message.role != "tool"
