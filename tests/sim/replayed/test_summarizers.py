"""Several summarisers in one experiment: each meets every strategy, as if it were alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab import api
from compactlab.reports.page.page import command
from compactlab.request.names import plan
from compactlab.sim.core.errors import UsageError
from compactlab.sim.store.merge import merge
from compactlab.sim.store.results import Results
from compactlab.sim.store.store import Store
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from compactlab.strategies.summarizers.extractive import Lead
from tests.lines import refusal

SESSION = "coding_agent(turns=3, tokens=6000)"
STRATEGIES = ("keep_all", "full_summary")
FULL = find_strategy("full_summary").spec
LEAD, TAIL = (find_summarizer(name).spec for name in ("lead(tokens=300)", "tail(tokens=300)"))


def run(*writers: Any, out: Path | None = None, **more: Any) -> Results:
    return api.run(
        SESSION, STRATEGIES, ["claude-sonnet-4-5"], summarizer=writers, window=16_000,
        tables=["calls"], out=out, **more,
    )  # fmt: skip


def figures(results: Results) -> dict[tuple[str, str], Any]:
    return {(r.summarizer, r.strategy): (r.metrics, r.calls["cost_usd"]) for r in results.runs}


def table(folder: Path) -> list[Any]:
    sql = "SELECT * EXCLUDE (shard, row) FROM runs ORDER BY run"
    return Results.load(folder).query(sql).astype(str).to_numpy().tolist()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several") / "both"
    run(LEAD, TAIL, out=folder)
    return folder


def test_each_finds_what_it_would_find_alone(both):
    results = Results.load(both)
    assert [(r.summarizer, r.strategy) for r in results.runs] == [
        (writer, spec) for writer in (LEAD, TAIL) for spec in ("keep_all()", FULL)
    ]
    assert figures(results) == figures(run(LEAD)) | figures(run(TAIL))
    found = figures(results)
    assert found[LEAD, "keep_all()"] == found[TAIL, "keep_all()"]
    assert found[LEAD, FULL] != found[TAIL, FULL]


def test_another_one_costs_no_more_than_itself(both, tmp_path):
    run(LEAD, out=tmp_path / "grown")
    told: list[int] = []
    run(LEAD, TAIL, out=tmp_path / "grown", progress=lambda done: told.append(done.cells))
    assert sum(told) == len(STRATEGIES)
    assert table(tmp_path / "grown") == table(both)


def test_stores_of_one_each_make_a_store_of_both(both, tmp_path):
    for writer in (TAIL, LEAD):
        run(writer, out=tmp_path / writer[:4])
    merge([Store(tmp_path / "lead"), Store(tmp_path / "tail")], Store(tmp_path / "all"))
    merged, whole = Results.load(tmp_path / "all").manifest, Results.load(both).manifest
    # Conditions are a set: those of bounds stand behind the strategies of each store.
    assert sorted(merged.pop("conditions")) == sorted(whole.pop("conditions"))
    assert merged == whole
    assert table(tmp_path / "all") == table(both)


def test_a_summariser_of_other_code_does_not_go_with_it(both, tmp_path):
    run(LEAD, out=tmp_path / "other")
    file = tmp_path / "other" / "manifest.json"
    told = json.loads(file.read_text("utf-8"))
    told["summarizers"][LEAD]["code"] = "0" * 16
    file.write_text(json.dumps({**told, "digest": ""}))
    said = refusal(
        UsageError,
        lambda: merge([Store(both), Store(tmp_path / "other")], Store(tmp_path / "all")),
    )
    assert said == snapshot("""\
these stores do not go together:
  summariser lead(tokens=300) has other code in other\
""")


def test_the_manifest_keeps_their_order_and_the_report_says_how_to_do_it_again(both):
    results = Results.load(both)
    assert list(results.manifest["summarizers"]) == [LEAD, TAIL]
    backwards = plan(SESSION, STRATEGIES, summarizer=[TAIL, "lossy"]).manifest()["summarizers"]
    assert list(backwards) == [TAIL, find_summarizer("lossy").spec]
    assert [told["label"] for told in backwards.values()] == ["tail(tokens=300)", "lossy"]
    assert [bool(told["simulated"]) for told in backwards.values()] == [False, True]
    again = command(results)
    assert again.index(f"--summarizer '{LEAD}'") < again.index(f"--summarizer '{TAIL}'")


class Odd(Lead):
    """Of the same spec as another class."""

    @property
    def spec(self) -> str:
        return Lead().spec


@pytest.mark.parametrize(
    ("given", "said"),
    [((), "at least one"), (("lead", Odd()), "two different summarisers are called lead")],
    ids=["none", "two of one name"],
)
def test_what_makes_no_sense_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        plan(SESSION, STRATEGIES, summarizer=given)
