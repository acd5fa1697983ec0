"""What strategies would cost at other prices and lifetimes, on calls that one can add up."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import compactlab as package
from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.page.explorer import (
    AS_REPLAYED,
    LIFETIMES,
    Explorer,
    _dearer,
    explorer,
    priced,
)
from compactlab.reports.page.page import page
from compactlab.reports.render.document import Custom, Folded
from compactlab.sim.core.message import Usage
from compactlab.sim.models.model import built_in
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.models.rates import PRESETS
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from compactlab.strategies.catalogue import STRATEGIES, find_strategy
from compactlab.strategies.program.exec import Exec
from tests.reports.conftest import KEPT, SUMMED, make, rows, store

# Sonnet 4.5, dollars a token.
READ, WRITE, OUTPUT = 0.3e-6, 3.75e-6, 15e-6


def at(lifetime: float) -> int:
    return LIFETIMES.index(lifetime)


def timed(*calls: tuple[float, int, int, int]) -> Run:
    """Calls at a second, that read, wrote, and of what they wrote had expired so much."""
    run = make("keep_all()", [(read, wrote) for _, read, wrote, _ in calls])
    names = ("time", "cache_read", "cache_write_5m", "cache_miss_ttl_expired")
    lines = [
        {"call": n, "model": "claude-sonnet-4-5", **dict(zip(names, call, strict=True))}
        for n, call in enumerate(calls, 1)
    ]
    run.rows["calls"] = rows(lines)
    return run


def cost(run: Run, lifetime: float, prices: tuple[float, ...] = (1, 1, 1, 1)) -> float:
    each = priced([run], built_in())
    assert each is not None
    return each.cost(at(lifetime), prices)


def test_as_it_was_replayed_it_is_the_bill():
    for run in (make("keep_all()"), make("summing()", SUMMED, cut=[2], side=0.004)):
        assert cost(run, 1.0) == pytest.approx(run.metrics["cost_usd"])


def test_prices_are_linear_in_the_tokens_of_a_class():
    run = make("keep_all()", KEPT)
    tokens = run.metrics["tokens_cache_read"], run.metrics["tokens_cache_write"], 40
    doubled = cost(run, 1.0, (1, 2, 0.5, 0))
    assert doubled == pytest.approx(2 * tokens[0] * READ + 0.5 * tokens[1] * WRITE)


def test_the_bill_of_summaries_follows_their_tokens():
    run = make("summing()", SUMMED, side=0.01)
    run.metrics["tokens_cache_read"] += 10_000
    run.metrics["tokens_output"] += 1_000
    parts = 10_000 * READ, 1_000 * OUTPUT
    more = cost(run, 1.0, (1, 1, 1, 2)) - cost(run, 1.0)
    assert more == pytest.approx(40 * OUTPUT + 0.01 * parts[1] / sum(parts))


def test_what_was_read_after_a_gap_is_missed_where_entries_live_shorter():
    run = timed((0, 0, 1_000, 0), (150, 1_000, 100, 0), (160, 1_100, 100, 0))
    whole = cost(run, 1.0)
    assert cost(run, 0.6) == whole  # three minutes
    assert cost(run, 0.4) - whole == pytest.approx(1_000 * (WRITE - READ))  # two


def test_what_had_expired_is_read_where_entries_live_longer():
    run = timed((0, 0, 1_000, 0), (1_000, 0, 1_100, 1_000), (1_010, 1_100, 100, 0))
    whole = cost(run, 1.0)
    assert cost(run, 3.0) == whole  # a quarter of an hour
    assert whole - cost(run, 4.0) == pytest.approx(1_000 * (WRITE - READ))
    assert cost(run, 4.0) == cost(run, LIFETIMES[-1])


def test_an_entry_that_was_older_than_the_gap_is_not_read_at_the_replayed_lifetime():
    """Its age is not stored: after a rewind, say."""
    run = timed((0, 0, 1_000, 0), (20, 0, 1_100, 1_000))
    assert cost(run, 1.0) == pytest.approx(run.metrics["cost_usd"])
    assert cost(run, 1.5) < cost(run, 1.0) == cost(run, 0.8)


def test_replays_of_one_conversation_are_averaged():
    runs = [make("keep_all()", KEPT, seed=seed) for seed in (0, 1)]
    each = priced(runs, built_in())
    assert each is not None
    assert each.cost() == pytest.approx(runs[0].metrics["cost_usd"])


def shown(results: Results) -> Explorer | None:
    (comparison,) = comparisons(results)
    blocks = list(explorer(comparison, dict.fromkeys(_specs(results), "blue"), built_in(), "part"))
    if not blocks:
        return None
    (folded,) = blocks
    assert isinstance(folded, Folded)
    custom = folded.blocks[-1]
    assert isinstance(custom, Custom)
    assert isinstance(custom.data, Explorer)
    return custom.data


def _specs(results: Results) -> list[str]:
    return [run.strategy for run in results.runs]


def test_the_page_holds_the_classes_that_anything_was_paid_for():
    view = shown(store(make("keep_all()"), make("cutting()", SUMMED, cut=[2])))
    assert view is not None
    data = json.loads(view.text)
    assert [each[0] for each in data["classes"]] == ["cache read", "cache write", "output"]
    assert [each[2] for each in data["classes"]] == pytest.approx([0.3, 3.75, 15.0])
    assert data["seconds"] == [300]
    assert data["lifetimes"][data["replayed"]] == 1
    label, _, choice, bill, shifts, fixed = data["strategies"][0]
    assert (label, choice, fixed) == ("cutting", 1, 0)
    assert sum(bill) == pytest.approx(make("cutting()", SUMMED, cut=[2]).metrics["cost_usd"])
    assert shifts[AS_REPLAYED] == [0, 0, 0]


def test_costs_are_those_of_a_conversation():
    runs = [make("cutting()", SUMMED, name, cut=[2]) for name in ("one", "two")]
    view = shown(store(*runs))
    assert view is not None
    data = json.loads(view.text)
    assert (data["head"], data["each"]) == ("USD per conversation", " a conversation")
    assert sum(data["strategies"][0][3]) == pytest.approx(runs[0].metrics["cost_usd"])


def test_it_is_left_out_where_a_figure_or_a_price_is_unknown():
    without = make("keep_all()")
    del without.metrics["cost_read_usd"]
    assert shown(store(without)) is None
    unknown = make("keep_all()")
    unknown.rows["calls"] = rows([{"call": n, "model": "mine", "time": 900.0 * n} for n in (1, 2)])
    assert shown(store(unknown)) is None


def test_a_strategy_that_asks_for_prices_or_lifetimes_says_so():
    folder = Path(package.__file__).parent / "strategies"
    asking = re.compile(r"\bcache_lifetime\b|\bprices_of\b|\bmechanisms\.price\b")
    parts = (p for p in folder.rglob("*.py") if p.parent.name not in ("mechanisms", "program"))
    found = {file.stem for file in parts if asking.search(file.read_text(encoding="utf-8"))}
    assert found == {name for name in STRATEGIES.built_in if find_strategy(name).by_price}
    assert find_strategy("full_summary + idle_compaction(margin=60)").by_price
    assert find_strategy("claude_code(idle=True)").by_price
    assert Exec.by_price  # it is told the lifetime, and may go by it


def test_what_decides_by_prices_needs_a_replay():
    view = shown(store(make("keep_all()"), make("keep_warm()"), by_price=["keep_warm()"]))
    assert view is not None
    fixed = {each[0]: each[-1] for each in json.loads(view.text)["strategies"]}
    assert fixed == {"keep_all": 0, "keep_warm": 1}


def test_a_page_with_it_is_the_same_twice_and_has_one_script(small):
    text = page(small)
    assert text == page(small)
    assert len(re.findall(r"<script>", text)) == 1
    assert "Cost at other prices" in text


def test_a_real_replay_with_another_lifetime_costs_what_is_said(tmp_path):
    """Of a scenario that had no say in it; examples/validate_explorer.py has more."""
    row = 'claude-sonnet-4-5 = { provider = "anthropic", price = "anthropic/claude-sonnet-4-5", '
    row += "window = 200000, factor = 1.12, framing = 69, thinking = 1.4, "
    row += 'cache = { policy = "anthropic", minimum = 1024, share = SHARE } }'
    told, replayed = [], []
    for share in (1.0, 0.2, 12.0):
        models = tmp_path / f"{share}.toml"
        models.write_text("[models]\n" + row.replace("SHARE", str(share)), encoding="utf-8")
        results = package.run(
            "support_chat(turns=4, tokens=12000)",
            ["keep_all", "sliding_window(keep=12)"],
            models=["claude-sonnet-4-5"],
            models_file=models,
            tables=["calls"],
        )
        replayed.append([run.metrics["cost_usd"] for run in results.runs])
        if share == 1.0:
            base = results.runs
        told.append([cost(run, share) for run in base])
    assert replayed[0] != replayed[1] != replayed[2]
    for said, true in zip(told, replayed, strict=True):
        assert said == pytest.approx(true, rel=0.01)


def test_to_miss_costs_what_the_bill_says_by_rates_and_on_own_servers():
    sheet = prices_of(built_in().find("claude-sonnet-4-5"))
    charges = [sheet.rates(0, size) for size in (1_000, 500_000)] + [PRESETS["8b"]]
    classes = ("uncached", "cache_write_5m", "cache_write_1h")
    cases = [
        (charge, tokens, kind)
        for charge in charges for tokens in (1, 2_000, 300_000) for kind in range(3)
    ]  # fmt: skip
    drawn, tokens, kinds = zip(*cases, strict=True)
    found = _dearer(drawn, np.array(tokens), np.array(kinds))
    for line, (charge, count, kind) in zip(found.tolist(), cases, strict=True):
        missed, read = (
            charge.bill(Usage(**{name: count})) for name in (classes[kind], "cache_read")
        )
        assert line == [ours - theirs for ours, theirs in zip(missed, read, strict=True)]
