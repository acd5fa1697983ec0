"""What a verdict says of few, of none and of all alike: never more than there is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.compare import seen, statements_of, within
from compactlab.reports.page.headlines import picks
from compactlab.reports.render.document import with_names
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from tests.reports.conftest import Make, Store
from tests.reports.spoken import only, verdict

# Of each conversation what it costs, and which share of its needs is forgotten.
Values = Sequence[tuple[float, float | None]]
World = Callable[[Mapping[str, Values]], Results]

KEPT = [(0, 600), (600, 300), (900, 100)]
CUT = [(0, 600), (0, 200), (0, 100)]
ALL = "keep_all()"


@pytest.fixture
def world(make: Make, store: Store) -> World:
    """Strategies of which nothing is known but costs and needs."""

    def made(strategies: Mapping[str, Values]) -> Results:
        runs = []
        for spec, values in strategies.items():
            kept = spec == ALL
            for number, (cost, lost) in enumerate(values):
                need = None if lost is None else 1 - lost
                cut = [] if kept else [1]
                prompts = KEPT if kept else CUT
                run = make(spec, prompts, f"c{number:03}", cut=cut, need=need, labels="declared")
                runs.append(replace(run, metrics={**run.metrics, "cost_usd": cost}))
        return store(*runs)

    return made


def test_without_what_keeps_everything_the_first_that_is_named_is_the_reference(world):
    """It is a reference for the bill alone: without keep_none nothing is said of recall."""
    values = {"cheap()": [(0.9, 0.5)] * 12, "dear()": [(1.1 + n / 99, 0.51) for n in range(12)]}
    advice = Advice(only(world(values)))
    assert advice.advised is None
    assert advice.reference is not None
    assert advice.reference.label == "cheap"
    assert "choose" not in {role for _, role in picks(advice)}


ONE = [(0.8 + 0.01 * (n % 3), 0.01) for n in range(40)]
NEAR = [(cost + (0.04 if n % 2 else -0.02), lost) for n, (cost, lost) in enumerate(ONE)]
NULL = {"keep_none()": [(0.4, 0.9)] * 40}


@pytest.mark.parametrize(
    ("name", "strategies"),
    [
        ("few controls", {"keep_none()": [(0.5, 0.5)] * 5, "random_keep()": [(0.8, 0.3)] * 5}),
        ("controls alone", {"keep_none()": [(0.5, 0.5)] * 12, "random_keep()": [(0.8, 0.3)] * 12}),
        ("as recorded is a reference",
         {"as_recorded()": [(1.0, 0.02)] * 40, "cut()": [(0.5, 0.03)] * 40, **NULL}),
        # What costs as much as keeping everything is no reason to act.
        ("nothing need be done", {ALL: [(1.0, 0.0)] * 12, "cut()": [(1.0, 0.0)] * 12}),
        # Who costs the same everywhere is not called undetermined.
        ("the same everywhere",
         {ALL: [(1.0, 0.0)] * 40, "one()": ONE, "same()": ONE, "near()": NEAR, **NULL}),
        # Where nothing is shown, nothing is said of what is.
        ("nothing is shown",
         {ALL: [(1.0, 0.0)] * 12, "cut()": [(0.5 + 0.01 * (n % 3), 0.5) for n in range(12)]}),
        # Where the reference may cost nothing, what could have been seen is so many dollars.
        ("no ratio", {ALL: [(1.0 if n == 0 else 0.0, 0.0) for n in range(12)],
                      "cut()": [(0.05 + 0.01 * (n % 3), 0.0) for n in range(12)]}),
    ],
)  # fmt: skip
def test_a_verdict_is_what_it_was(world, told, name, strategies):
    results = world(strategies)
    sentences = verdict(only(results))
    if name == "no ratio":
        (match,) = within(results, ["keep_all", "cut"])
        sentences.append(seen([match]))
    told(name, sentences)


@pytest.mark.parametrize("known", [12, 7, 0])
def test_it_is_said_of_how_many_conversations_needs_are_known(world, told, known):
    values = [(0.9 + 0.01 * (n % 3), 0.01 if n < known else None) for n in range(12)]
    kept = [(1.0, 0.0 if n < known else None) for n in range(12)]
    results = world({ALL: kept, "cut()": values})
    (match,) = within(results, ["keep_all", "cut"])
    matching = with_names(" ".join(statements_of(match)))
    assert ("in the 7 of 12 conversations with needs. " in matching) == (known == 7)
    told(f"needs in {known} of 12", verdict(only(results)))


@pytest.mark.parametrize(("strategies", "can"), [(499, True), (500, False)])
def test_where_no_p_can_be_small_enough_that_is_said(strategies, can):
    """However many conversations: p is never below one in ten thousand."""
    figures: dict[str, float | None] = {"cost_usd": 1.0, "calls": 1.0}
    specs = [ALL, *(f"s{n}()" for n in range(strategies))]
    runs = [
        Run(f"c{index}", "made", spec, "model", 0, 0, metrics=figures)
        for spec in specs
        for index in range(15)
    ]
    last = verdict(only(Results(runs, {})))[-1]
    assert ("Too many strategies for significance: 500. The least p is 0.05 " in last) != can
