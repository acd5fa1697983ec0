"""What null summarisers say, at which length, and what a run tells of them."""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import pytest

import compactlab
from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import View
from compactlab.sim.facts.wording import Wording
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Matched, Summarizer, SummaryRequest
from compactlab.sim.replay.trace import Trace
from compactlab.sim.store.run import Run
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.claude_code import FullSummary
from compactlab.strategies.summarizers.catalogue import find_summarizer
from compactlab.strategies.summarizers.controls import Junk
from tests.summarizers.story import Story, token

count = Tokenizer().text


@cache
def talk() -> Conversation:
    return CodingAgent(turns=6, tokens=25_000).conversation(seed=3)


SIDES = ("junk", "random", "oracle")


def story() -> Story:
    told = Story()
    for number in range(12):
        told.state(f"key {number}", token(1, str(number)))
    return told


def request(budget: int = 400, previous: tuple[Part, ...] = ()) -> SummaryRequest:
    return SummaryRequest(tuple(story().messages), budget, previous)


def words(parts: tuple[Part, ...]) -> str:
    return "\n".join(part.text for part in parts)


def test_junk_fills_the_length_and_says_nothing():
    said = Junk().summarize(request(), count)
    assert 390 <= sum(count(part.text) for part in said) <= 400
    assert not any(Wording(words(said)).says(fact).key for fact in story().facts)
    # It stands for all that was summarised, as a summary does.
    stood = {source.id for part in said for source in part.sources}
    assert stood == {message.id for message in story().messages}


@pytest.mark.parametrize("writer", ["lexrank", "checklist", "lossy", "empty"])
def test_a_matched_control_is_as_long_as_the_summariser_request_by_request(writer):
    inner = find_summarizer(writer).bound(story().told(), 0)
    matched = Matched(Junk(), inner)
    previous: tuple[Part, ...] = ()
    own: tuple[Part, ...] = ()
    for budget in (30, 200, 90):
        own = inner.summarize(request(budget, own), count)
        previous = matched.summarize(request(budget, previous), count)
        lengths = [sum(count(part.text) for part in parts) for parts in (own, previous)]
        assert lengths[0] - 2 <= lengths[1] <= lengths[0]


def replayed(spec: str, summarizer: Summarizer) -> Trace:
    options = Options("claude-sonnet-4-5", summarizer=summarizer, window=15_000)
    return record(talk(), find_strategy(spec), options)


@pytest.mark.parametrize("spec", ["full_summary", "codex"])
def test_with_a_matched_control_a_strategy_compacts_when_it_would_have(spec):
    inner = find_summarizer("lexrank")
    own, control = replayed(spec, inner), replayed(spec, Matched(Junk(), inner))
    acted = [[index for index, step in enumerate(t.steps) if step.side] for t in (own, control)]
    assert acted[0] == acted[1] != []
    sizes = [[step.usage.prompt for step in trace.steps] for trace in (own, control)]
    assert all(abs(one - other) <= 0.02 * one for one, other in zip(*sizes, strict=True))


def lags(run: Run) -> dict[str, list[tuple[int, int, int]]]:
    rows = run.rows["lags"]
    table: dict[str, list[tuple[int, int, int]]] = {}
    names = ("summaries", "lag", "needs", "met")
    for name, *values in zip(*(rows[each] for each in names), strict=True):
        table.setdefault(str(name), []).append(tuple(map(int, values)))  # type: ignore[arg-type]
    return table


@dataclass(frozen=True)
class Thrifty(FullSummary):
    """Summarises only while the cache is warm, and says that it looks there."""

    by_price = True

    def compact(self, view: View, host: Host) -> View:
        warm = host.reported is not None and host.reported.cache_read > 0
        return FullSummary.compact(self, view, host) if warm else view


def one(strategy: str | Strategy, summarizer: str = "lexrank", *, controls: bool = True) -> Run:
    results = compactlab.run(
        talk(), strategy, ["claude-sonnet-4-5"], window=15_000, summarizer=summarizer,
        controls=controls, isolate=False,
    )  # fmt: skip
    return results.runs[0]


@pytest.mark.parametrize("strategy", ["auto_compact", Thrifty()])
def test_beside_a_summariser_stand_the_same_replays_as_with_a_null_summariser_alone(strategy):
    beside = lags(one(strategy))
    assert list(beside) == ["", *SIDES]
    # Of those that are not matched in length; the oracle says what is needed and stops.
    assert beside["oracle"] == lags(one(strategy, "oracle", controls=False))[""]
    # The same needs at the same lags, whoever writes.
    needs = [[row[:2] for row in rows] for rows in beside.values()]
    assert needs.count(needs[0]) == len(needs)
    met = {name: sum(row[2] for row in rows) for name, rows in beside.items()}
    assert met["junk"] < met["oracle"]


def test_where_nobody_is_asked_to_write_it_does_not_matter_who_would():
    table = lags(one("sliding_window(keep=20)"))
    assert list(table) == ["", *SIDES]
    assert all(rows == table[""] for rows in table.values())


def test_a_control_of_a_strategy_that_writes_nothing_is_replayed_but_once(monkeypatch):
    from compactlab.sim.experiment import shard

    replays: Counter[str] = Counter()
    original = shard.replay

    def counting(script: object, strategy: object, options: object) -> object:
        replays[type(strategy).__name__] += 1
        return original(script, strategy, options)  # type: ignore[arg-type]

    monkeypatch.setattr(shard, "replay", counting)
    one("sliding_window(keep=20)")
    one("auto_compact")
    bounds = {"KeepAll", "KeepNone"}  # those of every run
    assert sorted(n for name, n in replays.items() if name not in bounds) == [1, 1 + len(SIDES)]


def test_without_controls_the_table_has_the_own_recall_alone():
    assert list(lags(one("auto_compact", controls=False))) == [""]
