"""What others are compared with could be had, and the verdict ends in a choice."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.page.brief import brief
from compactlab.reports.page.headlines import ROWS, picks, shown
from compactlab.sim.models.model import built_in
from compactlab.sim.store.results import Results
from compactlab.strategies.catalogue import STRATEGIES
from tests.reports.conftest import Make, Store
from tests.reports.spoken import only, verdict

ROOMY = [(0, 100), (100, 50), (150, 50)]
FULL = [(0, 1_000), (1_000, 500), (1_500, 900)]
CUT = [(0, 600), (0, 200), (0, 100)]
LESS = [(0, 300), (0, 100), (0, 50)]


def reference(results: Results) -> str | None:
    row = only(results).reference
    return None if row is None else row.label


def test_what_was_recorded_comes_first(make, store):
    runs = [make("keep_all()", ROOMY), make("as_recorded()", CUT, cut=[1]), make("a()", LESS)]
    assert reference(store(*runs)) == "as_recorded"


def test_to_do_nothing_is_the_reference_where_it_fits(make, store):
    cut = make("claude_code()", CUT, cut=[1])
    assert reference(store(make("keep_all()", ROOMY), cut)) == "keep_all"
    assert reference(store(make("keep_all()", FULL), cut)) == "claude_code"


def test_else_it_is_the_client_of_the_models_provider(make, store):
    """Not the cheapest, and not the first that is named."""
    cuts = [make(spec, LESS, cut=[1]) for spec in ("a()", "codex()")]
    results = store(make("keep_all()", FULL), *cuts, make("claude_code()", CUT, cut=[1]))
    assert reference(results) == "claude_code"
    for run in results.runs:
        run.model = "gpt-5"
        run.rows = {}
    assert reference(results) == "codex"


def test_else_it_is_the_first_usable_one_that_is_named(make, store):
    torn = make("torn()", LESS, cut=[1], sound=0.5)
    others = [make("second()", CUT, cut=[1]), make("cheaper()", LESS, cut=[1])]
    assert reference(store(make("keep_all()", FULL), torn, *others)) == "second"
    assert reference(store(make("keep_all()", FULL), torn)) is None


def test_a_recorded_bill_in_a_narrower_window_could_not_be_had(make, store):
    played, cut = make("as_recorded()", FULL, cut=[1]), make("a()", CUT, cut=[1])
    assert reference(store(make("keep_all()", [(0, 3_000)]), played, cut)) == "a"


def test_clients_are_described_with_their_models():
    clients = {model.provider: model.client for model in built_in().models.values()}
    assert clients["anthropic"] == "claude_code"
    assert clients["openai"] == "codex"
    assert clients["google"] == "gemini_cli"
    assert {client for client in clients.values() if client} <= set(STRATEGIES.built_in)


@pytest.fixture
def one(make: Make, store: Store) -> Callable[..., Results]:
    """A conversation that exceeds the window, as in the demo."""

    def made(*specs: str, recalls: float = 0.85, **manifest: object) -> Results:
        runs = [
            make("keep_all()", FULL, labels="declared"),
            make("keep_none()", LESS, cut=[1], need=0.05),
            make("claude_code()", [(0, 900), (0, 600), (0, 300)], cut=[1], need=0.9),
            make("cheap()", LESS, cut=[1], need=0.1),
            make("middle()", CUT, cut=[1], need=recalls),
            *(make(spec, CUT, cut=[1], need=0.2 + 0.001 * n) for n, spec in enumerate(specs)),
        ]
        results = store(*runs)
        return replace(results, manifest={**results.manifest, **manifest})

    return made


def test_one_conversation_ends_in_a_choice(one, told):
    told("one ends in a choice", verdict(only(one())))


def test_what_recalls_enough_may_cost_more_or_not_be_there(one, make, told):
    dear = one(recalls=0.3)
    dear.runs = [run for run in dear.runs if run.strategy != "claude_code()"]
    dear.runs.insert(1, make("claude_code()", LESS, cut=[1], need=0.2))
    told("none recalls enough", verdict(only(dear)))
    dear.runs.append(make("careful()", CUT, cut=[1], need=0.95))
    told("what recalls enough costs more", verdict(only(dear)))


def test_few_rows_are_all_shown(one):
    few = only(one(*(f"s{n}()" for n in range(7))))
    assert [row for row, _ in shown(Advice(few))] == list(few.strategies)
    assert {row.label for row in few.beside} == {"keep_all", "keep_none"}
    many = Advice(only(one(*(f"s{n}()" for n in range(50)))))
    assert len(shown(many)) <= ROWS


def test_ones_own_strategies_never_vanish(one, make, told):
    own = ["s30()", "s40()", "torn()", "idle()"]
    results = one(*(f"s{n}()" for n in range(50)), own_strategies=own)
    results.manifest["strategies"] |= {"torn()": "torn", "idle()": "idle"}
    results.runs += [make("torn()", LESS, cut=[1], sound=0.5), make("idle()", FULL)]
    roles = {row.label: role for row, role in picks(Advice(only(results)))}
    assert {label for label, role in roles.items() if "yours" in role} == {
        "s30", "s40", "torn", "idle",
    }  # fmt: skip
    told("first screen with own strategies", [brief(results)])


def test_over_ones_own_logs_the_row_of_the_client_that_wrote_them_is_first(make, store):
    runs = [
        make("keep_all()", FULL),
        make("as_recorded()", FULL, cut=[1]),
        make("codex()", LESS),
        make("claude_code()", CUT, cut=[1]),
        make("pi()", CUT, cut=[1]),
    ]
    written = [replace(run, scenario="claude-stream-json") for run in runs]
    comparison = only(store(*written))
    rows = [row.label for row, _ in shown(Advice(comparison))]
    assert rows == ["claude_code, pi", "codex", "as_recorded"]
