"""What has changed against a baseline is told before anything else."""

from dataclasses import replace

from inline_snapshot import snapshot

from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.changes import changes, report
from compactlab.reports.render.write import WRITERS
from compactlab.sim.store.results import Results
from tests.reports.conftest import Make, Store
from tests.reports.spoken import folded

KEPT = [(0, 600), (600, 300), (900, 100)]
SHORT = [(0, 600), (0, 200), (0, 100)]


def results(make: Make, store: Store, size: int = 100, need: float = 0.9) -> Results:
    runs = [
        run
        for name in ("one", "two")
        for run in (
            make("keep_all()", KEPT, name),
            make("cut()", [*SHORT[:2], (0, size)], name, cut=[1], need=need),
        )
    ]
    return store(*runs)


def test_nothing_has_changed_against_itself(make, store):
    same = results(make, store)
    assert changes(Baseline.of(same), Baseline.of(same)) == []
    told = WRITERS["table"](report(same, Baseline.of(same)))
    assert told == snapshot("Against the baseline, no figure of 2 strategies changed.")


def test_a_change_is_told_with_before_and_after(make, store):
    before = Baseline.of(results(make, store))
    after = results(make, store, size=300, need=0.8)
    (change,) = changes(Baseline.of(after), before)
    assert change.subject.label == "cut"
    assert change.figures["amnesia_need"] == (0.1, 0.2)
    told = WRITERS["table"](report(after, before))
    assert told.splitlines()[0] == snapshot("Against the baseline, 1 of 2 strategies changed.")
    heads, _, row = told.splitlines()[1:]
    assert heads.split("  ")[0] == "strategy"
    assert row.startswith("cut ")
    assert " 90.0% → 80.0% " in row
    # 200 more tokens written in each of two, of 900, beside 30 answered.
    assert "(+19.6%)" in told
    shown = WRITERS["md"](report(after, before))
    assert "| `cut` | " in shown
    assert "tokens_cache_write" in shown


def test_only_what_both_have_is_held_against_each_other(make, store):
    before = results(make, store)
    before.runs = [run for run in before.runs if run.strategy != "cut()"]
    fewer = results(make, store)
    fewer.runs = fewer.runs[:2]
    told = WRITERS["table"](report(fewer, Baseline.of(before)))
    assert folded(told) == snapshot(
        "Against the baseline, no figure of 1 strategy changed. Not in the baseline: 1 strategy."
    )


def test_figures_of_another_provenance_are_not_compared(make, store):
    before = Baseline.of(results(make, store))
    other = results(make, store)
    other.manifest["prices"] = "others 2"
    assert "another provenance" in WRITERS["md"](report(other, before)).splitlines()[0]
    changed = results(make, store)
    changed.runs = [replace(run, digest="e" * 16) for run in changed.runs]
    assert "2 conversations changed" in WRITERS["table"](report(changed, before))


def test_what_failed_on_either_side_is_not_held_against_the_other(make, store, fail):
    whole, broken = results(make, store), results(make, store)
    broken.runs[1] = replace(fail("cut()", "one"), digest=broken.runs[1].digest)
    assert changes(Baseline.of(broken), Baseline.of(whole)) == []
    assert changes(Baseline.of(whole), Baseline.of(broken)) == []


def test_without_common_runs_nothing_is_told_to_have_changed(make, store):
    before = Baseline.of(results(make, store))
    other = results(make, store)
    other.runs = [replace(run, conversation=f"{run.conversation}-b") for run in other.runs]
    assert changes(Baseline.of(other), before) == []
