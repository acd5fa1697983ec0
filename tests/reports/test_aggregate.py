"""Figures of one run and of several."""

from dataclasses import replace

from compactlab.reports.analysis.aggregate import figures_of


def test_a_run_alone_has_the_figures_of_two_replays_that_are_alike(make):
    run = make("keep_all()", cut=[2], need=0.7, side=0.1)
    assert figures_of([run]) == figures_of([run, replace(run, seed=1)])
    assert figures_of([run])["cost_usd"] == run.metrics["cost_usd"]
