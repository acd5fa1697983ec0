"""The rows of tables against a plain reckoning from steps and prompts."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.scenarios.catalogue import find_scenario
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Message
from compactlab.sim.facts import STATES
from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.store.parquet import Rows
from compactlab.sim.store.tables import TABLES
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.sim.replayed.rewritten import replays

# They write summaries, cut in the middle, leave parts away, put results aside, forget, keep what
# nobody can read.
SPECS = (
    "auto_compact",
    pytest.param("claude_code", marks=pytest.mark.slow),
    pytest.param("described_results", marks=pytest.mark.slow),
    "openclaw",
    "server_compaction(trigger=50000, opaque=True)",
    pytest.param("sliding_window(keep=40)", marks=pytest.mark.slow),
)
WINDOW, LOOP = 40_000, ClosedLoop()


@dataclass(frozen=True)
class Replayed:
    """A reading with its closed loops, and its tables."""

    reading: RunData

    def __getitem__(self, name: str) -> Rows:
        return TABLES[name].rows(self.reading)

    def figure(self, name: str) -> float | None:
        return METRICS[name].compute(self.reading)

    @property
    def loops(self) -> dict[str, RunData]:
        best, worst = self.reading.best, self.reading.worst
        assert best is not None
        assert worst is not None
        return {"open": self.reading, "best": best, "worst": worst}


@pytest.fixture(scope="module")
def script() -> Conversation:
    """A story whose facts are revised."""
    return find_scenario("revised_decisions(tokens=60000)").conversation(seed=0)


@pytest.fixture(scope="module", params=SPECS)
def replayed(request: pytest.FixtureRequest, script: Conversation) -> Replayed:
    """It is replayed, open and closed, under a strategy."""
    given: dict[str, Any] = {"summarizer": find_summarizer("lexrank"), "window": WINDOW}
    strategy = find_strategy(request.param)
    opened, best, worst = (
        RunData(record(script, strategy, Options("claude-sonnet-4-5", loop=loop, **given)), script)
        for loop in (None, LOOP.best, LOOP)
    )
    return Replayed(opened.beside(best=best, worst=worst))


def test_every_table_has_its_columns_of_one_length(replayed):
    for name, table in TABLES.items():
        rows = replayed[name]
        assert set(rows.columns) == set(table.columns)
        assert {len(rows[column]) for column in table.columns} == {len(rows)}
    assert len(replayed["calls"]) == len(replayed.reading.trace.steps)
    assert len(replayed["facts"]) == len(replayed.reading.conversation.facts)
    assert all(len(replayed[name]) for name in TABLES if name not in ("compactions",))


def check_calls(found: Replayed) -> None:
    calls, steps = found["calls"], found.reading.trace.steps
    rows = [{name: calls[name][n] for name in TABLES["calls"].columns} for n in range(len(steps))]
    for number, (row, step) in enumerate(zip(rows, steps, strict=True), 1):
        for name in ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output"):
            assert row[name] == getattr(step.usage, name)
        for name in ("model", "time", "rewrite", "compaction", "overflow"):
            assert row[name] == getattr(step, name)
        assert (row["call"], row["side_calls"]) == (number, len(step.side))
        assert row["side_tokens"] == sum(c.usage.prompt + c.usage.output for c in step.side)
        assert row["cost_usd"] == found.reading.cost(step)
        assert math.isclose(row["side_cost_usd"], sum(map(found.reading.cost, step.side)))
        cache_misses = Counter(step.causes)
        for call in step.side:
            cache_misses.update(call.causes)
        assert {c: row[f"cache_miss_{c}"] for c in CAUSES} == {c: cache_misses[c] for c in CAUSES}
        sent = [step.usage, *(call.usage for call in step.side)]
        assert sum(cache_misses.values()) == sum(usage.prompt - usage.cache_read for usage in sent)


def check_sums(found: Replayed) -> None:
    """What is summed over the calls is what the metrics say of the run."""
    calls = found["calls"]
    assert found.figure("calls") == len(calls)
    for cause in CAUSES:
        assert found.figure(f"cache_miss_{cause}") == sum(calls[f"cache_miss_{cause}"])
    dollars = sum(calls["cost_usd"]) + sum(calls["side_cost_usd"])
    for name, figure in (
        ("cost_usd", dollars),
        ("side_cost_usd", sum(calls["side_cost_usd"])),
        ("avoidable_cost_usd", sum(calls["avoidable_cost_usd"])),
        ("tokens_dead_writes", sum(calls["dead_writes"])),
    ):
        assert math.isclose(found.figure(name) or 0, figure, abs_tol=1e-12), name


def test_calls_are_their_steps(replayed):
    check_calls(replayed)


def test_calls_add_up_to_the_metrics(replayed):
    check_sums(replayed)


def check_facts(found: Replayed) -> None:
    reading, rows = found.reading, found["facts"]
    ledger = reading.ledger
    for number, fact in enumerate(ledger.facts):
        row: Counter[str] = Counter({"first_gone": 0, "first_missed": 0})
        for call, step in enumerate(reading.trace.steps):
            moment, state = ledger.moments[step.answer], reading.states[call].of(number)
            due, needed = moment.due >> number & 1, moment.needed >> number & 1
            row["calls_due"] += due
            row[f"calls_{state}"] += due
            row["needs"] += needed
            row["needs_met"] += needed and state in ("verbatim", "intact", "unknown")
            if due and state not in ("verbatim", "intact", "unknown") and not row["first_gone"]:
                row["first_gone"] = call + 1
            if needed and row["needs"] > row["needs_met"] and not row["first_missed"]:
                row["first_missed"] = call + 1
        names = ["calls_due", *(f"calls_{s}" for s in STATES), "needs", "needs_met"]
        names += ["first_gone", "first_missed"]
        assert {name: rows[name][number] for name in names} == {name: row[name] for name in names}
        assert row["calls_due"] == sum(rows[f"calls_{state}"][number] for state in STATES)
        said = (fact.id, fact.kind, fact.decoy)
        assert tuple(rows[name][number] for name in ("fact", "type", "decoy")) == said
        assert rows["stated_in"][number] == (fact.origin[0].id if fact.origin else "")


def test_facts_are_counted_call_by_call(replayed):
    check_facts(replayed)


def check_compactions(found: Replayed) -> None:
    reading, rows = found.reading, found["compactions"]
    steps, prompts = reading.trace.steps, list(reading.trace.prompts())
    at = [n for n, step in enumerate(steps) if step.compaction and n]
    assert rows["call"] == [n + 1 for n in at]
    names = set(found["messages"]["message"])
    for index, n in enumerate(at):
        row = {name: rows[name][index] for name in TABLES["compactions"].columns}
        assert row["tokens_before"] == steps[n - 1].usage.prompt
        assert row["tokens_after"] == steps[n].usage.prompt
        assert row["cache_miss_tokens"] == steps[n].usage.prompt - steps[n].usage.cache_read
        until = at[index + 1] if index + 1 < len(at) else len(steps)
        assert row["calls_to_next"] == until - n
        before, after = (Counter(map(id, prompts[i])) for i in (n - 1, n))
        moved = (row["messages_removed"] - (before - after).total(),
                 row["messages_added"] - (after - before).total())  # fmt: skip
        # A message that changed its place is among both.
        assert moved[0] == moved[1] >= 0
        assert set(row["written"]) <= names
        spent = row["avoidable_cost_usd"] + row["summary_usd"]
        if spent > 0:
            never = row["saved_usd"] <= 0
            even = math.inf if never else spent * row["calls_to_next"] / row["saved_usd"]
            assert row["break_even_calls"] == even


def test_compactions_are_those_of_the_steps(replayed):
    check_compactions(replayed)
    summarised = replayed.figure("summary_cost_usd")
    assert sum(replayed["compactions"]["summary_usd"]) <= (summarised or 0) + 1e-12


def put_together(found: Replayed) -> dict[str, list[list[tuple[str, str]]]]:
    """The prompts of each loop, from the script and the tables alone: who says what."""
    script = {m.id: told(m) for m in found.reading.conversation.messages}
    made = found["messages"]
    written = zip(made["role"], made["text"], strict=True)
    known = script | dict(zip(made["message"], written, strict=True))
    trace, prompts = found["prompts"], {}
    for n, loop in enumerate(trace["loop"]):
        every = prompts.setdefault(loop, [])
        before = every[-1] if every else []
        every.append(before[: trace["shared"][n]] + [known[name] for name in trace["added"][n]])
    return prompts


def told(message: Message) -> tuple[str, str]:
    text = "\n".join(part.text for part in message.parts)
    return message.role, text.encode("utf-8", "replace").decode()


def check_prompts(found: Replayed, loops: dict[str, RunData]) -> None:
    again, seen = put_together(found), []
    for loop, reading in loops.items():
        if any(reading.trace is other for other in seen):
            assert loop not in again
            continue
        seen.append(reading.trace)
        assert again[loop] == [[told(m) for m in prompt] for prompt in reading.trace.prompts()]


def test_every_prompt_can_be_put_together_again(replayed):
    """From the conversation and the tables: also what summaries say, and what recovery brought."""
    check_prompts(replayed, replayed.loops)
    trace = replayed["prompts"]
    steps = [step for reading in replayed.loops.values() for step in reading.trace.steps]
    assert trace["request"] == [
        n for r in replayed.loops.values() for n in range(1, 1 + len(r.trace.steps))
    ]
    for name in ("answer", "recovery", "shared"):
        assert trace[name] == [getattr(step, name) for step in steps]
    assert trace["unmet"] == [list(step.unmet) for step in steps]
    for name in ("prompt", "cache_read", "output"):
        assert trace[name] == [getattr(step.usage, name) for step in steps]
    recovered = any(step.recovery for step in steps)
    assert recovered or replayed.reading.trace.header.strategy.startswith(("desc", "openclaw"))


def test_each_message_that_was_made_is_told_once(replayed):
    names = replayed["messages"]["message"]
    assert len(set(names)) == len(names)
    assert all(name.startswith("#") for name in names)
    used = {name for added in replayed["prompts"]["added"] for name in added}
    assert {name for name in used if name.startswith("#")} == set(names)
    said = {message.id for message in replayed.reading.conversation.messages}
    assert {name for name in used if not name.startswith("#")} <= said


@pytest.mark.parametrize(("spec", "kind"), [("auto_compact", "summary"), ("openclaw", "stub")])
def test_messages_say_what_they_are(spec, kind):
    script = find_scenario("revised_decisions(tokens=60000)").conversation(seed=0)
    given: dict[str, Any] = {"summarizer": find_summarizer("lexrank"), "window": WINDOW}
    trace = record(script, find_strategy(spec), Options("claude-sonnet-4-5", **given))
    rows = TABLES["messages"].rows(RunData(trace, script))
    assert kind in {each for kinds in rows["kinds"] for each in kinds}


def test_loops_that_are_the_open_one_are_left_out(kit):
    script = kit.Story().user("one").answer("two").user("three").answer("four").script()
    reading = RunData(kit.replayed(script, kit.keep), script)
    rows = TABLES["prompts"].rows(reading.beside(best=reading, worst=reading))
    assert rows["loop"] == TABLES["prompts"].rows(reading)["loop"] == ["open", "open"]
    assert rows["added"] == [["u1"], ["a1", "u2"]]
    assert rows["shared"] == [0, 1]
    assert len(TABLES["messages"].rows(reading)) == 0


@pytest.mark.parametrize("table", sorted(TABLES))
def test_where_there_is_nothing_there_are_no_rows(table, kit):
    script = kit.Story().user("one").script()
    reading = RunData(kit.replayed(script, kit.keep), script)
    rows = TABLES[table].rows(reading)
    assert len(rows) == 0
    assert set(rows.columns) == set(TABLES[table].columns)


@given(st.data())
@settings(max_examples=40)
def test_so_it_is_under_strategies_that_do_anything(data):
    from tests.sim.replayed.conftest import Kit

    script, trace = data.draw(replays(Kit))
    found = Replayed(RunData(trace, script))
    for check in (check_calls, check_sums, check_facts, check_compactions):
        check(found)
    check_prompts(found, {"open": found.reading})
