"""Small stores made by hand, so that every figure in a report can be reckoned on paper."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum
from typing import Any

import pytest

from compactlab.sim.metrics.memory import LONG
from compactlab.sim.store.parquet import Rows
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from compactlab.sim.store.tables import CALLS, LAG_TABLE

WINDOW = 2_000
_READ, _WRITE, _OUTPUT = 0.3e-6, 3.75e-6, 15e-6

WRITER = "lexrank(units=1000)"

# A prompt as (tokens read, tokens written); whoever reads less than was there has compacted.
Prompts = Sequence[tuple[int, int]]
Make = Callable[..., Run]
Store = Callable[..., Results]
Told = Callable[[str, Sequence[str]], None]

KEPT: Prompts = [(0, 1_000), (1_000, 500), (1_500, 500), (2_000, 500)]
CUT: Prompts = [(0, 1_000), (1_000, 500), (0, 900), (0, 900)]
SUMMED: Prompts = [(0, 1_000), (1_000, 500), (300, 500), (800, 400)]
ALONE: Prompts = [(0, 1_000), (0, 500), (0, 400), (0, 300)]


def rows(calls: Sequence[dict[str, Any]]) -> Rows:
    """Rows of the table of calls; what is not named is zero."""
    names = {name for call in calls for name in call}
    return CALLS.filled({name: [call.get(name, 0) for call in calls] for name in sorted(names)})


NEEDS = 10_000
"""Of each conversation, at a lag of 160,000 tokens: more than any that is asked for."""


def lags(need: float | None, junk: float | None = None, oracle: float = 1.0) -> Rows:
    """Recall at one long lag: the run's own, without content, by chance, and of an oracle."""
    if need is None:
        return LAG_TABLE.filled({})
    junk = need if junk is None else junk
    recalls = {
        "": need,
        "junk": junk,
        "random": (need + junk) / 2,
        "oracle": oracle if junk < need else need,
    }
    return LAG_TABLE.filled({
        "summaries": list(recalls),
        "lag": [LONG[-1]] * len(recalls),
        "needs": [NEEDS] * len(recalls),
        "met": [round(NEEDS * each) for each in recalls.values()],
    })  # fmt: skip


def make(
    strategy: str,
    prompts: Prompts = KEPT,
    conversation: str = "one",
    *,
    model: str = "recorded",
    cut: Sequence[int] = (),
    side: float = 0.0,
    need: float | None = 1.0,
    sound: float = 1.0,
    seed: int = 0,
    junk: float | None = None,
    oracle: float = 1.0,
    labels: str = "",
) -> Run:
    """A run that went well, with figures that follow from its prompts.

    ``need`` is its recall at every lag, and ``junk`` that with summaries without content.
    """
    calls: list[dict[str, Any]] = []
    for number, (read, written) in enumerate(prompts):
        cause = "cold_start" if not number else "compaction" if number in cut else "append"
        cost = read * _READ + written * _WRITE + 10 * _OUTPUT
        hit = number in cut
        over = read + written > WINDOW
        first = side if number == 1 else 0.0
        calls.append({
            "call": number + 1, "model": "claude-sonnet-4-5", "time": 60.0 * number,
            "cache_read": read, "cache_write_5m": written, "output": 10, "cost_usd": cost,
            "side_calls": int(first > 0), "side_tokens": int(first > 0) * 800,
            "side_cost_usd": first, "rewrite": hit, "compaction": hit, "overflow": over,
            "avoidable_cost_usd": written * (_WRITE - _READ) * hit + 700 * _WRITE * (first > 0),
            f"cache_miss_{cause}": written, "cache_miss_compaction_call": 700 * (first > 0),
        })  # fmt: skip
    reads, writes = sum(r for r, _ in prompts), sum(w for _, w in prompts)
    over = sum(r + w > WINDOW for r, w in prompts)
    return Run(
        conversation,
        "claude-code",
        strategy,
        model,
        WINDOW,
        seed,
        digest="d" * 16,
        summarizer=WRITER,
        metrics={
            "cost_usd": fsum(call["cost_usd"] for call in calls) + side,
            "side_cost_usd": side,
            "cost_input_usd": 0.0,
            "cost_read_usd": reads * _READ,
            "cost_write_usd": writes * _WRITE,
            "cost_output_usd": 10 * len(prompts) * _OUTPUT,
            "avoidable_cost_usd": fsum(call["avoidable_cost_usd"] for call in calls),
            "tokens_uncached": 0,
            "tokens_cache_read": reads,
            "tokens_cache_write": writes,
            "tokens_output": 10 * len(prompts),
            "prompt_tokens_peak": max(r + w for r, w in prompts),
            "prefix_reuse": reads / (reads + writes),
            "tokens_rewritten": sum(prompts[n][1] for n in cut),
            "write_spike": float(prompts[cut[0]][1] - 500) if cut else None,
            "write_spike_max": float(prompts[cut[-1]][1] - 500) if cut else None,
            "write_spike_ratio": prompts[cut[0]][1] / 500 if cut else None,
            "write_spike_ratio_max": prompts[cut[-1]][1] / 500 if cut else None,
            "calls": len(prompts),
            "rewrites": len(cut),
            "compactions": len(cut),
            "summaries": int(side > 0),
            "overflows": over,
            "over_window": over / len(prompts),
            "verbatim_recency": 0.5 if cut else None,
            "forward_need": need,
            "amnesia_need": None if need is None else round(1 - need, 9),
            **{f"recall_{lag // 1000}k": need for lag in LONG},
            "structural_validity": sound,
            "rejected_calls": (1 - sound) * len(prompts),
        },
        rows={"calls": rows(calls), "lags": lags(need, junk, oracle)},
        labels=labels,
    )


def fail(strategy: str, conversation: str = "one", error: str = "ValueError: no") -> Run:
    """A run that did not go well."""
    found = Run(conversation, "claude-code", strategy, "recorded", WINDOW, 0, summarizer=WRITER)
    return replace(found, status="failed", error=error)


def store(*runs: Run, **manifest: Any) -> Results:
    """A store with what every manifest holds."""
    specs = dict.fromkeys(run.strategy for run in runs if run.strategy)
    return Results(list(runs), {
        "compactlab": "0.1.0",
        "prices": "genai-prices 0.2.3",
        "tokenizer": "tiktoken 0.14.0",
        "summarizers": {WRITER: {"label": "lexrank", "simulated": "", "code": ""}},
        "strategies": {spec: spec.replace("()", "") for spec in specs},
        "sources": list(dict.fromkeys(run.conversation for run in runs)),
        "seeds": [0],
        "window": WINDOW,
        **manifest,
    })  # fmt: skip


@pytest.fixture(name="make")
def _make() -> Make:
    return make


@pytest.fixture(name="fail")
def _fail() -> Make:
    return fail


@pytest.fixture(name="store")
def _store() -> Callable[..., Results]:
    return store


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No charts on pages: to draw them takes longer than all the rest."""
    monkeypatch.setattr("compactlab.reports.page.sections.gallery", lambda *_, **__: [])


@pytest.fixture
def small() -> Results:
    """Three recordings under seven strategies; one run failed and one file could not be read."""
    runs = []
    for name in ("one", "two", "three"):
        runs += [
            make("keep_all()", KEPT, name),
            make("as_recorded()", SUMMED, name, cut=[2], need=0.95),
            make("keep_none()", ALONE, name, cut=[1, 2, 3], need=0.3),
            make("sliding_window(keep=20)", CUT, name, cut=[2, 3], need=0.6, sound=0.9),
            make(
                "auto_compact(reserve_tokens=1)",
                SUMMED,
                name,
                cut=[2],
                side=0.0005,
                need=0.9,
                junk=0.5,
            ),
            make("recency_buffer()", KEPT, name),
        ]
        runs.append(
            fail("turn_slice(turns=10)", name, "ValueError: no turns (turn_slice.py:33 in compact)")
            if name == "three"
            else make("turn_slice(turns=10)", CUT, name, cut=[2], need=0.8)
        )
    lost = Run("four", "", "", "", 0, 0, status="unreadable", error="four.jsonl:3: not JSON")
    return store(*runs, lost, breaks={"recency_buffer()": {"pairs": "as 1.2 does"}})


@pytest.fixture
def told(golden: Callable[[str, str], None]) -> Told:
    """Compare sentences with stored ones, a file a case."""
    return lambda name, sentences: golden(
        f"verdicts/{name.replace(' ', '-')}.txt", "\n".join(sentences) + "\n"
    )
