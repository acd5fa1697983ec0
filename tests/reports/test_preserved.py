"""What summaries preserve stands in tables, page and JSON, with its interval."""

import json
from collections.abc import Callable
from typing import Any

from compactlab.reports.page.page import render
from compactlab.sim.store.results import Results
from compactlab.sim.store.tables import LAG_TABLE
from tests.reports.conftest import KEPT, SUMMED, make

TITLE = "What summaries preserve, of facts last stated 20,000 tokens ago or earlier"


def results(store: Callable[..., Results], count: int, *, controls: bool = True) -> Results:
    """Recall of 80 and 60 %, 40 % and a little more without content, 100 % by an oracle."""
    runs = []
    for number in range(count):
        name = f"c{number:02}"
        need = 0.7 + 0.1 * (-1) ** number
        runs.append(make("keep_all()", KEPT, name))
        made = make("sum()", SUMMED, name, cut=[2], side=0.01, need=need, junk=0.4)
        if not controls:
            rows = made.rows["lags"]
            alone = {name: rows[name][:1] for name in LAG_TABLE.columns}
            made.rows["lags"] = LAG_TABLE.filled(alone)
        runs.append(made)
    return store(*runs)


def told(found: str) -> dict[str, Any]:
    (memory,) = json.loads(found)["memory"]
    return memory


def test_a_table_has_recall_exposure_and_preservation(store):
    text = render(results(store, 30), "table")
    assert TITLE in text
    (line,) = (each for each in text.splitlines() if each.startswith("sum ") and "[" in each)
    shown = [each.split(" [")[0] for each in line.replace("]", "").split("  ") if each.strip()]
    assert [each.strip() for each in shown[1:6]] == ["70.0%", "60.0%", "50.0%", "50.0%", "25.0%"]
    assert "100%" in line


def test_the_page_and_markdown_have_it_too(store):
    for form in ("html", "md"):
        assert TITLE in render(results(store, 12), form)


def test_json_has_the_ends_of_intervals(store):
    memory = told(render(results(store, 30), "json"))
    assert (memory["lag"], memory["summarizer"]) == (20_000, "lexrank(units=1000)")
    by_spec = {each["strategy"]: each for each in memory["strategies"]}
    assert by_spec["keep_all()"]["effect_preserved"] is None
    own = by_spec["sum()"]
    assert own["conversations"] == 30
    assert own["effect_preserved"]["value"] == 0.5
    assert own["effect_preserved"]["low"] < 0.5 < own["effect_preserved"]["high"]
    lost, kept = own["loss_given_exposure"], own["effect_preserved"]
    assert lost == {key: round(1 - kept[other], 9) for key, other in
                    (("value", "value"), ("low", "high"), ("high", "low"))}  # fmt: skip


def test_without_null_summarisers_nothing_is_said(store):
    found = results(store, 12, controls=False)
    assert TITLE not in render(found, "table")
    strategies = told(render(found, "json"))["strategies"]
    (own,) = (each for each in strategies if each["strategy"] == "sum()")
    assert own["exposure"] is None
    assert own["recall"]["value"] == 0.7
