"""Next actions: a model that acts as the log does, one that never does."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.probe.actions import Action, Match, action_of, match
from tests.cli.conftest import Outcome
from tests.reports.probe.conftest import session
from tests.reports.probe.reading import knows_nothing, reading, repeats

ACTION = ("--what", "next-action", "--format", "json")


def data(done: Outcome) -> dict[str, Any]:
    assert done.code == 0, done.said
    found: dict[str, Any] = json.loads(done.out)
    return found


def values(row: dict[str, Any], kind: str) -> list[float]:
    return [row[f"{kind}_{each}"]["value"] for each in ("full", "compacted", "more")]


def test_a_model_that_repeats_the_recorded_call_agrees_fully(probe):
    with reading(repeats(session())) as server:
        asked = probe("--base-url", f"{server.url}/v1", "--ask", "record", *ACTION)
    found = data(asked)
    assert not found["too_weak"]
    for row in found["by_strategy"]:
        assert row["calls"] == 3
        for kind in ("tool", "arguments"):
            assert values(row, kind) == [1, 1, 0]
    again = probe(*ACTION)
    assert (again.out, again.err) == (asked.out, "")


def test_a_model_that_never_acts_agrees_nowhere_and_is_too_weak(probe):
    with reading(knows_nothing) as server:
        done = probe("--base-url", f"{server.url}/v1", "--ask", "record", *ACTION[:2])
    words = " ".join(done.out.split())
    assert "With the full context 0% of its answers are an action" in words
    assert "Reader too weak: it does no better than that" in words
    for row in data(probe(*ACTION))["by_strategy"]:
        assert {row[f"{kind}_full"]["value"] for kind in ("tool", "arguments")} == {0.0}


def test_a_strategy_whose_prompt_leads_elsewhere_agrees_less(probe):
    """One that acts only where it reads how the session began."""
    begins = session().messages[0].parts[0].text[:40]
    acts = repeats(session())

    def answer(body: dict[str, Any]) -> str:
        return acts(body) if begins in body["messages"][0]["content"] else "unknown"

    with reading(answer) as server:
        keeps, cuts = data(probe("--base-url", f"{server.url}/v1", "--ask", "record", *ACTION))[
            "by_strategy"
        ]
    assert values(keeps, "tool") == [1, 1, 0]
    assert values(cuts, "tool") == [1, 0, -1]


def test_a_dry_run_says_how_many_calls_would_be_asked_about_and_for_how_much(probe, tmp_path):
    done = probe(*ACTION[:2], "--dry-run")
    assert done.code == 0
    # With everything, which is also what keep_all leaves, and with what the window leaves.
    assert done.out.startswith("would ask for 6 answers not yet recorded\nfor about 0.")
    assert [*tmp_path.iterdir()] == []


# What an action is.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
ACTIONS = st.builds(Action, st.sampled_from(["read", "write"]), JSON)


@given(action=ACTIONS, before=st.text(st.characters(exclude_characters="{")), after=st.text())
def test_the_first_action_of_an_answer_is_read_whatever_is_around_it(action, before, after):
    text = json.dumps({"tool": action.tool, "arguments": action.arguments})
    assert action_of(f"{before}{text}{after}") == action


@given(text=st.text(alphabet='{}[]":a,\\1 '))
def test_no_answer_breaks_it(text):
    assert action_of(text) is None


@given(chosen=ACTIONS, wanted=st.lists(ACTIONS, min_size=1, max_size=3))
def test_an_action_matches_if_one_of_the_recorded_ones_is_it(chosen, wanted):
    texts = [(each.tool, json.dumps(each.arguments, sort_keys=True)) for each in wanted]
    own = chosen.tool, json.dumps(chosen.arguments, sort_keys=True)
    assert match(chosen, wanted) == Match(own[0] in [tool for tool, _ in texts], own in texts)
    assert match(wanted[-1], wanted) == Match(tool=True, arguments=True)
