"""How far the explorer's lifetime is off: its approximation beside real replays.

The page of a run computes in the browser what strategies would cost if cache entries lived longer
or shorter (``compactlab/reports/page/explorer.py``), from stored calls and without a replay. Here
the same conversations are replayed with such lifetimes (`share` of the cache policy), and the two
are compared, a run of a conversation under a strategy each, and a strategy over all of them.

Nothing is fitted. The code was tried on one recording of entireio-cli (``recorded``) under three
strategies. It is judged on the recordings of the folder, which had no say in it, and on three
scenarios, under other strategies as well.

Bars, fixed before any figure of these conversations was looked at:

1. Of a strategy over all conversations, the largest error is 5 % of the bill, at any lifetime.
2. Of a single run, the median error is 0.5 % and nine of ten are within 5 %.
3. At the replayed lifetime the error is 0 (rounding).
4. The error is less than half of that of not changing the bill at all, summed over runs.
5. Prices: with the price of each class halved or doubled, a replay at these prices gives the same
   bill within 0.5 % for each strategy (side calls are divided by their tokens).

The first run had ``idle_compaction`` as well, which decides by the cache's lifetime and by prices:
it was up to 50 % off in lifetimes and 33 % in prices, on scenarios. Nothing computed can know what
it would have decided, so the explorer shows no figure for it, and it is no longer judged here.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import TypeVar

from verdict import Verdict

from compactlab.reports.page.explorer import LIFETIMES, priced
from compactlab.request.names import plan
from compactlab.scenarios.readers.transcript import NoCallsError
from compactlab.sim.core.errors import CompactlabError
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.models.pricing import TokenPrices
from compactlab.sim.models.rates import Rates, Tiers
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

SHARES = (0.2, 0.4, 2.0, 12.0)
STRATEGIES = ("keep_all", "as_recorded", "claude_code", "codex", "sliding_window(keep=40)",
              "observation_masking", "pi")  # fmt: skip
SCENARIOS = ("coding_agent(tokens=120000)", "personal_assistant(tokens=80000)",
             "support_chat(tokens=60000)")  # fmt: skip
WINDOW, NARROW = 200_000, 60_000  # in the narrow one scenarios are compacted
MOST = 14  # recordings, in the order of their names
PRICES = {"input": 2.0, "cache_read": 0.5, "cache_write": 2.0, "output": 0.5}

Key = TypeVar("Key")
Bills = dict[tuple[str, str], float]
"""Dollars by conversation and strategy."""


@dataclass(frozen=True)
class Case:
    """Conversations, and the window in which they are replayed."""

    title: str
    given: Sequence[str]
    window: int = WINDOW


def replayed(case: Case, catalogue: Catalogue) -> Results:
    """Replay conversations under all strategies, with models of a catalogue."""
    planned = plan(case.given, STRATEGIES, window=case.window, tables=("calls",), controls=False)
    return replace(planned, setting=replace(planned.setting, catalogue=catalogue)).run()


def with_lifetimes(share: float) -> Catalogue:
    """All models, with entries that live such a share of their time."""
    return Catalogue(
        {
            name: replace(model, policy=model.policy.shortened(share)) if model.policy else model
            for name, model in built_in().models.items()
        }
    )


def with_prices(factors: Mapping[str, float]) -> Catalogue:
    """All models that are paid by the token, at so many times today's prices."""
    models = dict(built_in().models)
    for name, model in models.items():
        if model.price and not model.storage:
            sheet = TokenPrices(model)
            steps = [(size, _times(sheet.rates(0, size + 1), factors)) for size in sheet.sizes(0)]
            tiers = Tiers(tuple(sorted(steps, key=lambda step: -step[0])))
            models[name] = replace(model, price="", prices=tiers)
    return Catalogue(models)


def _times(rates: Rates, factors: Mapping[str, float]) -> Rates:
    return Rates(
        rates.uncached * factors.get("input", 1.0),
        rates.cache_read * factors.get("cache_read", 1.0),
        rates.cache_write_5m * factors.get("cache_write", 1.0),
        rates.cache_write_1h * factors.get("cache_write", 1.0),
        rates.output * factors.get("output", 1.0),
    )


def runs_of(results: Results) -> dict[tuple[str, str], Run]:
    """The runs that went well, by conversation and strategy."""
    return {(run.conversation, run.strategy): run for run in results.runs if run.status == "ok"}


def bills(results: Results) -> Bills:
    """Dollars of each run."""
    return {key: run.metrics["cost_usd"] or 0.0 for key, run in runs_of(results).items()}


def computed(results: Results, lifetime: int, prices: Sequence[float] = (1, 1, 1, 1)) -> Bills:
    """What the explorer says of each run."""
    found = {}
    for key, run in runs_of(results).items():
        each = priced([run], results.catalogue)
        if each is not None:
            found[key] = each.cost(lifetime, prices)
    return found


def by_strategy(each: Bills) -> dict[str, float]:
    """The bills of each strategy together."""
    sums: dict[str, float] = defaultdict(float)
    for (_, strategy), cost in each.items():
        sums[strategy] += cost
    return sums


def errors(said: Mapping[Key, float], true: Mapping[Key, float]) -> list[float]:
    """Errors as shares of the true bill."""
    return [abs(said[key] / true[key] - 1) for key in said if true.get(key)]


def lifetimes(case: Case, verdict: Verdict) -> None:
    """Compare lifetimes over some conversations."""
    title = case.title
    base = replayed(case, built_in())
    same = computed(base, LIFETIMES.index(1.0))
    unchanged = bills(base)
    verdict.bar(f"{title}: as replayed, {max(errors(same, unchanged)):.1e}",
                max(errors(same, unchanged)) < 1e-9)  # fmt: skip
    single: list[float] = []
    left: list[float] = []
    for share in SHARES:
        true = bills(replayed(case, with_lifetimes(share)))
        said = computed(base, LIFETIMES.index(share))
        own, none = errors(said, true), errors(unchanged, true)
        of_all = {
            strategy: said_sum / by_strategy(true)[strategy] - 1
            for strategy, said_sum in by_strategy(said).items()
        }
        worst = max(of_all, key=lambda strategy: abs(of_all[strategy]))
        verdict.bar(
            f"{title}, lifetime x {share:g}: worst strategy {worst} {of_all[worst]:+.2%}",
            abs(of_all[worst]) <= 0.05,
        )
        verdict.aside(
            f"{len(own)} runs: median {median(own):.2%}, largest {max(own):.1%}; "
            f"without any change median {median(none):.2%}, largest {max(none):.1%}"
        )
        for strategy, error in of_all.items():
            verdict.aside(f"    {strategy.partition('(')[0]:22} {error:+.2%}")
        single += own
        left += none
    tenths = quantiles(single, n=10)
    verdict.bar(f"{title}: median {median(single):.2%}, nine of ten {tenths[-1]:.2%}",
                median(single) <= 0.005 and tenths[-1] <= 0.05)  # fmt: skip
    verdict.bar(f"{title}: error over that of no change {sum(single) / sum(left):.2f}",
                sum(single) < 0.5 * sum(left))  # fmt: skip


def prices(case: Case, verdict: Verdict) -> None:
    """Compare prices over some conversations."""
    base = replayed(case, with_prices({}))
    worst: dict[str, float] = {}
    for number, (name, factor) in enumerate(PRICES.items()):
        true = by_strategy(bills(replayed(case, with_prices({name: factor}))))
        factors = [factor if number == place else 1.0 for place in range(4)]
        said = by_strategy(computed(base, LIFETIMES.index(1.0), factors))
        worst[name] = max(errors(said, true))
    text = ", ".join(f"{name} {error:.2%}" for name, error in worst.items())
    verdict.bar(f"{case.title}, prices: {text}", max(worst.values()) <= 0.005)


def usable(folder: Path, most: int) -> list[str]:
    """The first recordings of a folder that have recorded usage, and can be replayed."""
    found: list[str] = []
    for path in sorted(folder.rglob("*.jsonl")):
        if len(found) == most:
            break
        try:
            plan([path]).sources[0].load()
        except (CompactlabError, NoCallsError):
            continue
        found.append(str(path))
    return found


def main(arguments: Sequence[str]) -> int:
    """Replay, compute and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", help="recordings; without, scenarios alone")
    parser.add_argument("--most", type=int, default=MOST, help="so many recordings")
    asked = parser.parse_args(arguments)
    verdict = Verdict()
    verdict.basis("nothing", "recordings of the folder and scenarios")
    cases = [Case("scenarios", SCENARIOS), Case("scenarios, compacted", SCENARIOS, NARROW)]
    if asked.folder:
        cases.append(Case("recordings", usable(Path(asked.folder), asked.most)))
    for case in cases:
        lifetimes(case, verdict)
        prices(case, verdict)
    return verdict.code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
