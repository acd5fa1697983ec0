"""What a verdict says of few, of none and of all alike: never more than there is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.compare.match import within
from compactlab.reports.compare.report import seen, statements_of
from compactlab.reports.page.brief import picks
from compactlab.reports.render.document import with_names
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from tests.reports.spoken import verdict

Make = Callable[..., Run]
Store = Callable[..., Results]
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


def only(results: Results) -> Comparison:
    (comparison,) = comparisons(results)
    return comparison


def test_without_what_keeps_everything_the_first_that_is_named_is_the_reference(
    world: World,
) -> None:
    """It is a reference for the bill alone: without keep_none nothing is said of recall."""
    comparison = only(
        world({"cheap()": [(0.9, 0.5)] * 12, "dear()": [(1.1 + n / 99, 0.51) for n in range(12)]})
    )
    advice = Advice(comparison)
    assert advice.advised is None
    sentences = verdict(comparison)
    assert sentences[1] == (
        "No strategy is recommended: keep_none is not compared, so nothing shows what forgetting "
        "looks like."
    )
    assert advice.reference is not None
    assert advice.reference.label == "cheap"
    assert "choose" not in {role for _, role in picks(advice)}


@pytest.mark.parametrize("number", [5, 12])
def test_controls_alone_are_compared_with_nothing(world: World, number: int) -> None:
    results = world({"keep_none()": [(0.5, 0.5)] * number, "random_keep()": [(0.8, 0.3)] * number})
    assert verdict(only(results))[-1] == (
        f"These figures describe these {number} conversations only; they do not generalise."
    )


def test_as_recorded_is_a_reference_too(world: World) -> None:
    values = {
        "as_recorded()": [(1.0, 0.02)] * 40,
        "cut()": [(0.5, 0.03)] * 40,
        "keep_none()": [(0.4, 0.9)] * 40,
    }
    assert verdict(only(world(values)))[1].startswith("Choose cut: ")


def test_where_nothing_need_be_done_nothing_is_advised(world: World) -> None:
    """What costs as much as keeping everything is no reason to act."""
    comparison = only(world({ALL: [(1.0, 0.0)] * 12, "cut()": [(1.0, 0.0)] * 12}))
    first = verdict(comparison)[0]
    assert (
        "compaction is not needed: keep_all stays within the context window and costs 12.00 USD."
        in first
    )
    assert "No usable strategy that compacts costs less. The cheapest of these is cut" in first
    advice = Advice(comparison)
    assert advice.advised is None
    assert not any("choose" in role for _, role in picks(advice))


def test_who_costs_the_same_everywhere_is_not_called_undetermined(world: World) -> None:
    one = [(0.8 + 0.01 * (n % 3), 0.01) for n in range(40)]
    other = [(cost + (0.04 if n % 2 else -0.02), lost) for n, (cost, lost) in enumerate(one)]
    null = {"keep_none()": [(0.4, 0.9)] * 40}
    sentences = verdict(
        only(world({ALL: [(1.0, 0.0)] * 40, "one()": one, "same()": one, "near()": other, **null}))
    )
    assert "As expensive as one in every conversation: same." in sentences
    (doubt,) = [text for text in sentences if text.startswith("The difference in cost")]
    assert doubt.startswith(
        "The difference in cost to one is not statistically significant for near ("
    )
    assert "same" not in doubt


@pytest.mark.parametrize(
    ("known", "sentences"),
    [
        (12, ""),
        (7, "Of these conversations, 7 have facts that later calls need."),
        (0, "No conversation has facts that later calls need."),
    ],
)
def test_it_is_said_of_how_many_conversations_needs_are_known(
    world: World, known: int, sentences: str
) -> None:
    values = [(0.9 + 0.01 * (n % 3), 0.01 if n < known else None) for n in range(12)]
    kept = [(1.0, 0.0 if n < known else None) for n in range(12)]
    results = world({ALL: kept, "cut()": values})
    last = verdict(only(results))[-1]
    assert sentences in last
    assert ("facts that later calls need" in last) == bool(sentences)
    assert ("recalls are" in last) == (known > 0)
    (match,) = within(results, ["keep_all", "cut"])
    matching = with_names(" ".join(statements_of(match)))
    assert ("in the 7 of 12 conversations with needs. " in matching) == (known == 7)


def test_where_nothing_is_shown_nothing_is_said_of_what_is(world: World) -> None:
    cut = [(0.5 + 0.01 * (n % 3), 0.5) for n in range(12)]
    sentences = verdict(only(world({ALL: [(1.0, 0.0)] * 12, "cut()": cut})))
    assert not any("is shown to recall" in sentence for sentence in sentences[2:])


def test_a_bill_that_is_no_ratio_has_no_percent(world: World) -> None:
    """Where the reference may cost nothing, what could have been seen is so many dollars."""
    kept = [(1.0 if n == 0 else 0.0, 0.0) for n in range(12)]
    cut = [(0.05 + 0.01 * (n % 3), 0.0) for n in range(12)]
    results = world({ALL: kept, "cut()": cut})
    last = verdict(only(results))[-1]
    assert "of all: 0.24 USD a conversation." in last
    (match,) = within(results, ["keep_all", "cut"])
    assert seen([match]) == (
        "Smallest detectable difference of each comparison (80% power, before Holm): 0.24 USD a "
        "conversation."
    )


@pytest.mark.parametrize(("strategies", "can"), [(499, True), (500, False)])
def test_where_no_p_can_be_small_enough_that_is_said(strategies: int, can: bool) -> None:
    """However many conversations: p is never below one in ten thousand."""
    figures: dict[str, float | None] = {"cost_usd": 1.0, "calls": 1.0}
    specs = [ALL, *(f"s{n}()" for n in range(strategies))]
    runs = [
        Run(f"c{place}", "made", spec, "model", 0, 0, metrics=figures)
        for spec in specs
        for place in range(15)
    ]
    last = verdict(only(Results(runs, {})))[-1]
    assert ("Too many strategies for significance: 500. The least p is 0.05 " in last) != can
