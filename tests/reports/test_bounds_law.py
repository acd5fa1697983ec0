"""A bound, or a strategy that another one beats, changes nothing but how sure the rest is.

From the store of one sweep rows are taken away, and bounds are named, not named or lost: no role
names another strategy then, and no difference points the other way. What a lost bound would have
told is not known, and nobody is named in its place.
"""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

import compactlab
from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import BOUNDS, Row
from compactlab.reports.analysis.contrast import Contrast
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from tests.conftest import EVERY
from tests.reports.conftest import ALONE, CUT, KEPT, Prompts, make, store
from tests.reports.spoken import only

SUBSETS = 200 if EVERY in os.environ else 50
STRATEGIES = (
    "keep_all", "keep_none", "as_recorded", "random_keep", "oracle",
    "pair_safe_window", "tool_groups", "token_budget", "observation_masking", "recency_buffer",
    "trim_messages", "claude_code", "codex", "pi", "copilot_cli", "hermes",
)  # fmt: skip
# Each with the window that it is replayed in.
SCENARIOS = {
    "tool_flood(tokens=60000)": 64_000,
    "coding_agent(tokens=60000)": 64_000,
    "revised_decisions(tokens=50000)": 40_000,
}
# So many lines of each, and the window; None for the models' own.
RECORDINGS = {
    "entireio-cli/77-8aa463e2ba-0.jsonl": (300, 100_000),
    "entireio-cli/13-340918e71b-0.jsonl": (400, None),
    "pi-mono/before-compaction.jsonl": (200, 64_000),
}


# What a comparison says, as data.


def roles(advice: Advice) -> dict[str, str | None]:
    """Which strategy each role names."""
    named: dict[str, Row | None] = {
        "reference": advice.reference,
        "advised": advice.advised,
        "cheapest": advice.cheapest,
        "enough": advice.enough,
        "knee": advice.knee,
        "highest recall": advice.best_recall,
        "nothing to do": advice.idle,
        "nearest": None if advice.choices else advice.nearest,
    }
    return {role: row.spec if row else None for role, row in named.items()}


def differences(advice: Advice) -> Iterator[tuple[tuple[str, str], Contrast]]:
    """Of each strategy how it differs from the reference, in cost and in recall."""
    for row in advice.comparison.rows:
        for contrast in (advice.cost(row), advice.recalled(row)):
            if contrast is not None:
                yield (contrast.metric, row.spec), contrast


def sign(contrast: Contrast) -> int:
    estimate = contrast.estimate
    return 0 if estimate is None else (estimate > contrast.same) - (estimate < contrast.same)


def subsets(results: Results, seed: str, number: int = SUBSETS) -> Iterator[Results]:
    """Without some of those that are beaten; bounds as named, as not named, and as lost."""
    whole, draws = only(results), random.Random(seed)
    # The provider's own client is what others are compared with, beaten or not.
    mine = [row for row in whole.strategies if row.name not in whole.clients]
    beaten = [row.spec for row in mine if whole.dominated(row)]
    for _ in range(number):
        gone = {spec for spec in beaten if draws.random() < 0.5}
        bounds = [row.spec for row in (*whole.rows, *whole.bounds) if row.bound or row.as_recorded]
        held = {spec: draws.choice(("named", "beside", "lost")) for spec in bounds}
        gone |= {spec for spec, how in held.items() if how == "lost"}
        runs = [
            replace(run, bound=is_bound(run.strategy) and held.get(run.strategy) == "beside")
            for run in (*results.runs, *results.bounds)
            if run.strategy not in gone
        ]
        yield Results(runs, results.manifest)


def is_bound(spec: str) -> bool:
    return spec.partition("(")[0] in BOUNDS


def broken(whole: Results, part: Results) -> list[str]:
    """What of the whole a part contradicts."""
    all_of_it, some = Advice(only(whole)), Advice(only(part))
    before, after = roles(all_of_it), roles(some)
    wrong = [
        f"{role}: {before[role]}, then {after[role]}"
        for role in before
        if None not in (before[role], after[role]) and before[role] != after[role]
    ]
    known = dict(differences(all_of_it))
    for key, contrast in differences(some):
        other = known.get(key)
        if other is None or other.reference != contrast.reference:
            continue
        same = other.estimate == pytest.approx(contrast.estimate, rel=1e-12)
        if sign(other) != sign(contrast) or not same:
            wrong.append(f"{key}: {other.estimate}, then {contrast.estimate}")
    return wrong


def hold(results: Results, seed: str) -> None:
    named = 0
    for part in subsets(results, seed):
        assert broken(results, part) == []
        named += roles(Advice(only(part)))["cheapest"] is not None
    # Where keep_all is lost it may not be known; the law is about the others.
    assert named > SUBSETS / 3


def swept(conversation: str | Path, window: int | None) -> Results:
    return compactlab.run(
        conversation,
        STRATEGIES,
        summarizer="lexrank",
        window=window,
        tables=["calls", "lags"],
        distance=10_000,
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_of_scenarios(scenario):
    hold(swept(scenario, SCENARIOS[scenario]), scenario)


@pytest.mark.parametrize("name", RECORDINGS)
def test_of_recordings(name, shared, tmp_path):
    lines, window = RECORDINGS[name]
    short = tmp_path / Path(name).name
    with (shared / "recorded" / name).open(encoding="utf-8") as file:
        short.write_text("".join(islice(file, lines)), encoding="utf-8")
    hold(swept(short, window), name)


def drawn(seed: int) -> Results:
    """A store by chance: many conversations, torn calls, windows that are exceeded, summaries."""
    draws = random.Random(f"store {seed}")
    shapes: list[Prompts] = [
        [(0, 1_000), (0, draws.randrange(100, 1_500)), (0, draws.randrange(100, 1_500))]
        for _ in range(8)
    ]
    everything = draws.choice((KEPT, CUT))
    torn = draws.choice((0.0, 0.0, 0.1, 0.3))
    recalls = [draws.uniform(0.3, 1.0) for _ in shapes]
    runs: list[Run] = []
    for number in range(draws.choice((1, 3, 12, 60))):
        name, noise = f"c{number:02}", draws.uniform(-0.05, 0.05)

        def run(spec: str, prompts: Prompts, recall: float, sound: float, **more: float) -> Run:
            met = min(1.0, max(0.0, recall + noise))  # noqa: B023
            made = make(spec, prompts, name, cut=[1], need=met, sound=sound, **more)  # type: ignore[arg-type]  # noqa: B023
            return replace(made, labels="declared")

        whole = make("keep_all()", everything, name, need=1.0, sound=1 - torn)
        runs += [replace(whole, labels="declared"), run("keep_none()", ALONE, 0.05, 1.0)]
        if seed % 2:
            runs.append(run("as_recorded()", CUT, 0.9, 1 - torn))
        for index, (prompts, recall) in enumerate(zip(shapes, recalls, strict=True)):
            sound = 1 - torn * (index % 3 != 0)
            runs.append(
                run(f"s{index}()", prompts, recall, sound, side=1e-4 * (index % 2), junk=0.1)
            )
    return store(*runs)


@pytest.mark.parametrize("seed", range(12))
def test_of_stores_by_chance(seed):
    results = drawn(seed)
    for part in subsets(results, f"{seed}", 20):
        assert broken(results, part) == []


def test_what_is_drawn_has_all_roles():
    named = {role for seed in range(12) for role, spec in roles(Advice(only(drawn(seed)))).items()
             if spec}  # fmt: skip
    assert {"reference", "advised", "cheapest", "enough", "knee", "highest recall"} <= named


def test_of_two_that_recall_enough_the_dearer_one_is_not_named_for_want_of_certainty():
    """The cheaper is shown alone and not among many: then it is not sure, and none is named."""
    lost = [1.0] + [0.0] * 39  # alone p is 0.012
    runs: list[Run] = []
    for number, miss in enumerate(lost):
        name = f"c{number:02}"

        def run(spec: str, prompts: Prompts, need: float, name: str = name) -> Run:
            return make(spec, prompts, name, cut=[1], need=need, labels="declared")

        dear: Prompts = [(0, 1_000), (0, 900), (0, 900)]
        runs += [
            make("keep_all()", KEPT, name, labels="declared"),
            run("keep_none()", ALONE, 0.0),
            run("claude_code()", [(0, 1_000), (0, 1_000), (0, 1_000)], 0.9),
            run("cheap()", [(0, 500), (0, 400), (0, 400)], 1 - miss),
            run("whole()", [(0, 900), (0, 800), (0, 800)], 1.0),
            *(run(f"beaten{index}()", dear, 0.5) for index in range(8)),
        ]
    results = store(*runs)
    many = Advice(only(results))
    few = Advice(only(unbeaten(results)))
    assert (many.advised, few.advised and few.advised.spec) == (None, "cheap()")
    assert [row.spec for row in many.proven][:1] == ["whole()"]
    assert broken(results, unbeaten(results)) == []


def unbeaten(results: Results) -> Results:
    return replace(results, runs=[r for r in results.runs if "beaten" not in r.strategy])
