"""A session told request by request: six of them, whose figures one can add up on paper."""

import csv
import json
import math
from io import StringIO
from itertools import accumulate

import pytest
from inline_snapshot import snapshot

from compactlab.reports.explain import explanation as explain
from compactlab.reports.explain.explanation import CALL, MOST, Account, RequestRow, requests_as_csv
from compactlab.reports.explain.explanation import data as data_of
from compactlab.reports.render import terminal
from compactlab.reports.render.document import Document
from compactlab.reports.render.write import write_json
from compactlab.sim.core.message import Usage
from compactlab.sim.metrics import METRICS
from compactlab.sim.metrics.run_data import Payback
from compactlab.sim.replay.trace import Header
from tests.lines import lines_with

SONNET = "claude-sonnet-4-5"
HEADER = Header("one", "d" * 16, "auto_compact()", "lexrank(units=1000)", SONNET, 20_000, 0)
FIGURES = {
    **dict.fromkeys(METRICS, 0.0),
    "cost_usd": 0.12,
    "side_cost_usd": 0.02,
    "summary_cost_usd": 0.02,
    "recorded_usd": 0.13,
    "calls": 5.0,
    "compactions": 1.0,
    "break_even_calls": 4.2,
    "paid_back": 1.0,
    "tokens_cache_read": 15_500.0,
    "tokens_cache_write": 24_500.0,
    "tokens_dead_writes": 500.0,
    "prefix_reuse": 15.5 / 36,
    "avoidable_cost_usd": 0.04,
    "ttft_proxy_p50": 0.051,
    "ttft_proxy_p95": 0.62,
    "amnesia_need": 0.042,
    "recall_10k": 0.9,
    "recall_20k": 0.85,
    "recall_40k": None,
    "cache_miss_cold_start": 10_000.0,
    "cache_miss_append": 2_500.0,
    "cache_miss_compaction": 3_000.0,
    "cache_miss_compaction_call": 4_000.0,
    "cache_miss_ttl_expired": 5_000.0,
}


def entry(
    call: int, read: int, *, gap: float | None = 8.0, cost: float = 0.02, **more: int
) -> RequestRow:
    """A call that reads so much, and has so many cache-miss tokens of these causes, all written."""
    usage = Usage(cache_read=read, cache_write_5m=sum(more.values()), output=10)
    who = (call, CALL, f"a{call}", SONNET, 1000.0 + 8 * call, gap)
    return RequestRow(*who, usage, more, cost, 0.0, 0.0, 0)


def changed(entry: RequestRow, **more: object) -> RequestRow:
    values = {name: getattr(entry, name) for name in RequestRow.__slots__}
    return RequestRow(**{**values, **more})


PAID = Payback(call=2, avoidable_cost=0.01, summary=0.02, removed=8_000, calls=3, saved=0.03)
ASK = changed(
    entry(3, 0, gap=None, compaction_call=4_000),
    kind="summary",
    answer="",
    avoidable_cost=0.01,
    dead=500,
)
CUT = changed(entry(3, 1_000, compaction=3_000, append=500), compaction=True, rewrite=True)
SESSION = [
    entry(1, 0, gap=None, cold_start=10_000),
    entry(2, 10_000, append=1_000),
    ASK,
    changed(CUT, payback=PAID),
    entry(4, 4_500, gap=75.0, append=500),
    changed(entry(5, 0, gap=3700.0, ttl_expired=5_000, append=500), overflow=True),
]


def explanation(told: Account, *, everything: bool = False) -> str:
    return terminal.write(explain.explanation(told, everything=everything))


def one_call(told: Account, call: int) -> str:
    return terminal.write(explain.one_call(told, call))


def account_as_json(told: Account, call: int | None = None) -> str:
    return write_json(Document((), data=lambda: data_of(told, call)))


def account(*entries: RequestRow) -> Account:
    """Of requests, in this order; the dollars so far are added up."""
    totals = accumulate(entry.cost for entry in entries)
    summed = (changed(each, total=total) for each, total in zip(entries, totals, strict=True))
    return Account(HEADER, tuple(summed), FIGURES)


@pytest.mark.parametrize("everything", [False, True])
def test_what_is_told_of_a_session(everything, golden):
    told = explanation(account(*SESSION), everything=everything)
    golden(f"explain{'-all' if everything else ''}.txt", f"{told}\n")
    assert all(len(line) <= 120 for line in told.splitlines())


def test_what_is_told_of_one_call(golden):
    golden("explain-call.txt", f"{one_call(account(*SESSION), 3)}\n")


def test_calls_that_only_appended_are_put_together():
    calm = [entry(call, 10_000, append=7) for call in range(2, 42)]
    lines = explanation(account(entry(1, 0, cold_start=10_000), *calm)).splitlines()
    (folded,) = [line for line in lines if line.strip().startswith("...")]
    assert folded.split() == snapshot(["...", "0.78", "0.80", "39", "calls,", "appended", "only"])
    assert "0.78" in folded


def test_of_many_eventful_calls_the_dearest_are_shown():
    cuts = [changed(entry(call, 0, cost=call / 1e3, compaction=9), compaction=True)
            for call in range(1, MOST + 101)]  # fmt: skip
    lines = explanation(account(*cuts)).splitlines()
    assert sum("compacted" in line for line in lines) == MOST + 1
    (folded,) = [line for line in lines if line.strip().startswith("...")]
    assert "99 calls, 99 compactions" in folded
    assert len(explanation(account(*cuts), everything=True).splitlines()) > MOST + 100


@pytest.mark.parametrize(
    ("removed", "saved", "told"),
    [
        (8_000, 0.09, "compacted by 8.00k, break-even after 1.0 calls"),
        (8_000, 0.01, "compacted by 8.00k, no break-even yet: it takes 9.0 calls"),
        (-500, -0.1, "compacted, larger by 500, no break-even: it saves nothing"),
    ],
)
def test_whether_a_compaction_has_paid(removed, saved, told):
    back = Payback(2, 0.01, 0.02, removed, 3, saved)
    text = explanation(account(changed(CUT, payback=back)))
    assert told in " ".join(text.split())


def test_after_the_cost_comes_recall_at_a_long_lag():
    told = ""
    for known in (
        {"recall_20k": 0.85, "recall_10k": 0.9, "recall_40k": 0.7},
        {"recall_5k": 0.95, "recall_2k": 0.99},
        {},
    ):
        recalls = {name: known.get(name) for name in METRICS if name.startswith("recall_")}
        told += explanation(Account(HEADER, (SESSION[0],), {**FIGURES, **recalls}))
    assert lines_with(told, "recall") == snapshot("""\
fact recall at a distance of 20,000 tokens or more: 85.0% (≥10k 90.0%, ≥40k 70.0%); miss
rate, all needs: 4.2%
fact recall at a distance of 5,000 tokens or more: 95.0%; miss rate, all needs: 4.2%
fact recall: no fact is needed at a distance of 1,000 tokens; miss rate, all needs: 4.2%\
""")
    text = explanation(Account(HEADER, (SESSION[0],), {**FIGURES, "amnesia_need": None}))
    assert "recall" not in text


def test_names_from_a_transcript_have_no_power_over_a_terminal():
    header = Header("\x1b[2J", "", "s()", "", SONNET, 0, 0)
    told = explanation(Account(header, (changed(ASK, kind="\x1b[31m"),), FIGURES))
    assert "\x1b" not in told


def test_the_machines_are_told_everything():
    data = json.loads(account_as_json(account(*SESSION)))
    assert (data["conversation"], data["strategy"]) == ("one", "auto_compact()")
    assert data["figures"]["cost_usd"] == 0.12
    cut = data["requests"][3]
    assert (cut["prompt"], cut["causes"]) == (4_500, {"compaction": 3_000, "append": 500})
    assert (cut["removed"], cut["break_even_calls"]) == (8_000, pytest.approx(3.0))
    rows = list(csv.DictReader(StringIO(requests_as_csv(account(*SESSION)))))
    assert [row["kind"] for row in rows] == [CALL, CALL, "summary", CALL, CALL, CALL]
    assert (rows[3]["cache_miss_compaction"], rows[3]["cache_miss_append"]) == ("3000", "500")
    assert rows[1]["cache_miss_compaction"] == ""


def test_the_machines_are_told_of_one_call():
    assert len(json.loads(account_as_json(account(*SESSION), 3))["requests"]) == 2
    assert len(requests_as_csv(account(*SESSION), 3).splitlines()) == 3


def test_what_never_pays_is_null_for_machines():
    back = Payback(2, 0.01, 0.0, 0, 3, 0.0)
    assert math.isinf(back.break_even)
    data = json.loads(account_as_json(account(changed(CUT, payback=back))))
    assert data["requests"][0]["break_even_calls"] is None


def test_a_session_without_calls_is_told_too():
    text = explanation(Account(HEADER, (), {**FIGURES, "calls": 0.0, "cost_usd": 0.0}))
    assert lines_with(text, "0 calls") == snapshot(
        "cost: 0 USD for 0 calls; side calls 0.020 USD, of which summaries 0.020 USD"
    )
