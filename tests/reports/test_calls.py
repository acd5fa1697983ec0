"""Many runs at once have the figures that each has alone, in memory and read from a store."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.analysis.aggregate import acted, causes_of, read_and_missed, replays
from compactlab.reports.analysis.calls import MISSED, Calls, changed, models
from compactlab.reports.page.explorer import LIFETIMES, _ages, _at_risk, priced
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.models.model import built_in
from compactlab.sim.store.parquet import Rows
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from tests.reports.conftest import rows

MODELS = ("claude-sonnet-4-5", "gpt-5")
FIGURES = (
    *("cost_input_usd", "cost_read_usd", "cost_write_usd", "cost_output_usd"),
    *("tokens_uncached", "tokens_cache_read", "tokens_cache_write", "tokens_output"),
)
tokens = st.integers(0, 3)
a_call = st.fixed_dictionaries({
    "model": st.sampled_from(MODELS), "gap": st.sampled_from([0.0, 20.0, 30.0, 200.0, 400.0, 4e3]),
    "uncached": tokens, "cache_read": tokens, "cache_write_5m": tokens, "cache_write_1h": tokens,
    "cache_miss_ttl_expired": tokens, "cache_miss_append": tokens, "output": tokens,
    "side_calls": st.integers(0, 2), "side_tokens": st.integers(0, 9),
})  # fmt: skip


def run_of(number: int, conversation: int, calls: list[dict[str, Any]], edits: object) -> Run:
    time, lines = 0.0, []
    for call in calls:
        time += call["gap"]
        lines.append(
            {name: value for name, value in call.items() if name != "gap"} | {"time": time}
        )
    sums = dict.fromkeys(FIGURES, 1.0 + number)
    metrics = {**sums, "side_cost_usd": number % 3 / 7, "rewrites": edits}
    held: dict[str, Rows] = {"calls": rows(lines)} if lines else {}
    return Run(
        f"c{conversation}", "x", "s()", "recorded", 0, number, digest=f"d{conversation}",
        metrics=metrics, rows=held, source=f"f{number}", source_key=f"k{number}",
    )  # fmt: skip


some_runs = st.lists(
    st.tuples(st.integers(0, 2), st.lists(a_call, max_size=5), st.sampled_from([None, 0.0, 1.0])),
    min_size=1,
    max_size=6,
).map(lambda drawn: [run_of(number, *each) for number, each in enumerate(drawn)])


def stored(runs: list[Run], folder: Path) -> list[Run]:
    # What is drawn of calls does not add up to the figures, which are another thing here.
    Results([replace(run, metrics={}) for run in runs]).save(folder)
    read = Results.load(folder).runs
    return sorted(read, key=lambda run: run.seed)


@given(some_runs)
def test_sums_of_many_are_those_of_each(runs):
    calls = Calls(runs)
    for names in (MISSED, ("cache_read",)):
        one_by_one = [sum(sum(run.calls[n]) for n in names) if run.rows else 0 for run in runs]
        assert calls.totals(*names).tolist() == one_by_one
    sizes = [size for run in runs if run.rows for size in Calls([run]).sizes.tolist()]
    assert calls.sizes.tolist() == sizes
    assert models(runs) == Counter(name for run in runs if run.rows for name in run.calls["model"])


@given(some_runs, st.data())
def test_runs_that_were_stored_have_the_same_columns(tmp_path_factory, runs, data):
    read = stored(runs, tmp_path_factory.mktemp("store"))
    chosen = data.draw(st.permutations(range(len(runs))).map(lambda order: order[: len(runs) // 2]))
    for name in ("model", "time", "cache_read"):
        ours, theirs = (Calls([them[n] for n in chosen]).array(name) for them in (runs, read))
        assert ours.tolist() == theirs.tolist()


@given(some_runs, some_runs)
def test_prompts_of_other_sizes_are_found(runs, others):
    pairs = list(zip(runs, others, strict=False))
    found = changed([run for run, _ in pairs], [other for _, other in pairs])
    sizes = [[Calls([each]).sizes.tolist() for each in pair] for pair in pairs]
    assert found.tolist() == [ours != theirs for ours, theirs in sizes]
    assert not changed(runs, runs).any()


@given(some_runs, some_runs)
def test_who_edits_or_sends_other_sizes_has_acted(runs, others):
    beside: list[Run | None] = [*others, *[None] * len(runs)][: len(runs)]
    one_by_one = [
        bool(run.metrics["rewrites"]) or (other is not None and bool(changed([run], [other])[0]))
        for run, other in zip(runs, beside, strict=True)
    ]
    assert acted(runs, beside).tolist() == one_by_one


@given(some_runs)
def test_of_replays_the_mean_counts(runs):
    groups = replays(runs)
    read, missed = read_and_missed(groups)
    for index, group in enumerate(groups):
        own = Calls(group)
        assert read[index] == own.totals("cache_read").sum() / len(group)
        assert missed[index] == own.totals(*MISSED).sum() / len(group)
    expired = [round(Calls(g).totals("cache_miss_ttl_expired").sum() / len(g)) for g in groups]
    assert causes_of(runs)["ttl_expired"] == sum(expired)


# The explorer, against one call after the other.


def ages_of(run: Run) -> list[float]:
    last: dict[str, tuple[float, str]] = {}
    ages = []
    for n, model in enumerate(run.calls["model"]):
        time, five, hour = (run.calls[c][n] for c in ("time", "cache_write_5m", "cache_write_1h"))
        before, ttl = last.get(model, (time, ""))
        policy = built_in().find(model).policy
        lifetime = (policy.lifetime(ttl) if policy else 0) or float("inf")
        ages.append((time - before) / lifetime)
        last[model] = time, "1h" if hour else "5m" if five else ttl
    return ages


@given(some_runs)
def test_an_age_is_the_gap_since_the_last_call_to_the_model(runs):
    calls = Calls(runs)
    known = {name: built_in().find(name) for name in MODELS}
    one_by_one = [age for run in runs if run.rows for age in ages_of(run)]
    assert _ages(calls, known).tolist() == one_by_one


def at_risk(run: Run, answers: float) -> list[int]:
    """Call by call: what is in prompts and answers of side calls, less what these missed."""
    each = answers / max(1, sum(run.calls["side_calls"]))
    found = []
    for n, read in enumerate(run.calls["cache_read"]):
        missed = sum(run.calls[f"cache_miss_{cause}"][n] for cause in CAUSES)
        missed -= sum(run.calls[name][n] for name in MISSED)
        side = run.calls["side_tokens"][n] - missed - run.calls["side_calls"][n] * each
        found.append(int(max(read, side)))
    return found


@given(some_runs)
def test_what_is_at_risk_is_the_more_of_what_calls_and_side_calls_read(runs):
    answers = np.arange(len(runs), dtype=float)
    pairs = zip(runs, answers.tolist(), strict=True)
    one_by_one = [tokens for run, own in pairs if run.rows for tokens in at_risk(run, own)]
    assert _at_risk(Calls(runs), answers).tolist() == one_by_one


@given(some_runs)
def test_a_bill_is_the_mean_over_replays_and_the_sum_over_conversations(runs):
    together = priced(runs, built_in())
    assert together is not None
    for part in ("bill", "tokens", "shifts"):
        means = [
            sum(getattr(priced([run], built_in()), part) for run in group) / len(group)
            for group in replays(runs)
        ]
        assert np.allclose(getattr(together, part), sum(means), rtol=1e-12, atol=1e-18)
    assert not together.shifts[LIFETIMES.index(1.0)].any()


def test_a_column_of_no_runs_is_empty():
    assert Calls([]).sizes.tolist() == Calls([]).totals("cache_read").tolist() == []
    assert not models([])
