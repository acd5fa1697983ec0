"""A baseline is compared by the figures that its runs have used, where both sides name them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.reports.gate.baseline import Baseline, parsed, written
from compactlab.reports.gate.gate import gate
from compactlab.sim.store.results import Results
from tests.lines import fitting

PRICES = {"prices.input": ["3"], "prices.output": ["15"]}


@pytest.fixture
def using(two: Callable[..., Results]) -> Callable[..., Results]:
    """Results of which it is known what they have used; a version is other than all before."""

    def build(counts: str = "1" * 16, **models: Any) -> Results:
        results = two(prices=f"genai-prices of {models} {counts}")
        models = models or {"m": PRICES}
        digests = {run.digest: {"o200k_base": [counts]} for run in results.runs}
        named = {run.condition: {"models": sorted(models)} for run in results.runs}
        results.manifest["used"] = {"models": models, "counts": digests, "conditions": named}
        return results

    return build


def test_the_same_figures_hold(using, judged):
    assert judged(using(m=PRICES), using()).code == 0


def test_each_figure_that_is_another_is_named(using, judged):
    other = {"prices.input": ["3"], "prices.output": ["15", "16"]}
    verdict = judged(using(), using(m=other))
    assert verdict.code == 2
    assert verdict.obstacles == snapshot(("other provenance: m: prices.output: was 15, is 15, 16",))


def test_what_only_one_side_has_used_stands_in_no_way(using, judged):
    """Another model has runs of its own, and a larger prompt than ever before its own price."""
    large = {**PRICES, "prices.input above 200000": ["6"]}
    for one, other in ((PRICES, large), (large, PRICES)):
        assert judged(using(m=one), using(m=other, n=PRICES)).code == 0


def test_prices_by_time_are_not_compared_with_prices_by_token(using, judged):
    token, time = {**PRICES, "charged": ["by token"]}, {"servers.gpus": ["8"]}
    verdict = judged(using(m=token), using(m={**time, "charged": ["by time"]}))
    assert verdict.obstacles == snapshot(
        ("other provenance: m: charged: was by token, is by time",)
    )


def test_conversations_with_other_counts_are_named(using, judged):
    verdict = judged(using(), using("2" * 16))
    assert verdict.code == 2
    told = "other provenance: token counts (o200k_base) of 3 conversations changed: a, b and c"
    assert verdict.obstacles == (told,)


def test_where_something_is_not_known_versions_are_compared(using, judged):
    after = using()
    after.manifest["used"]["counts"].popitem()
    [obstacle] = judged(using(m=PRICES), after).obstacles
    assert fitting(obstacle) == snapshot("""\
other provenance: the price list: was "genai-prices of {'m': {'prices.input':
…ces.output': ['15']}} 1111111111111111", is 'genai-prices of {} 1111111111111111'\
""")


def test_a_baseline_from_which_counts_were_taken_holds_less_and_is_no_pass(using):
    before = Baseline.of(using(m=PRICES))
    less = parsed(written(replace(before, counts={})).encode())
    assert not less.by_figures
    assert gate(using(), less).code == 2
    assert parsed(written(before).encode()) == before
