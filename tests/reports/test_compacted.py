"""Compactions of recorded sessions: counted, timed and held against what is usual."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.audit.compactions import Logged, Rereads, compactions_of
from compactlab.reports.audit.ledger import AuditedFile, Ledger
from compactlab.reports.audit.report import report
from compactlab.reports.audit.thrash import SMALL, THRASH, Thrash, compacted, thrash_of
from compactlab.reports.render.document import Table
from compactlab.reports.render.fields import data_of
from compactlab.sim.core.conversation import Compaction, Conversation, Event
from compactlab.sim.core.message import Call, Message, Usage, verbatim
from compactlab.sim.metrics import thrash
from compactlab.sim.models.model import find_model
from tests.reports.audited import audited, entry, ledger

MODEL = "gpt-5"


class Log:
    """A session of an agent that reads files, a call a minute."""

    def __init__(self, name: str = "s") -> None:
        self.name, self.events, self.now = name, list[Event](), 1_770_000_000.0

    def calls(self, *prompts: int, file: str = "", model: str = MODEL, effort: str = "") -> Log:
        for prompt in prompts:
            n = len(self.events)
            part = verbatim(f"a{n}", "text", "well")
            if file:
                asks = json.dumps({"path": file})
                part = verbatim(f"a{n}", "tool_call", asks, name="read", call_id=f"c{n}")
            self.now += 60
            call = Call(model, Usage(uncached=prompt, output=5), thinking=effort)
            self.events.append(Message(f"a{n}", "assistant", (part,), self.now, call=call))
        return self

    def compacted(self, after: float = 30.0, trigger: str = "auto", tokens: int = 0) -> Log:
        self.now += after
        self.events.append(Compaction((), "", self.now, trigger, tokens))
        return self

    def says(self, text: str) -> Log:
        n = len(self.events)
        self.events.append(Message(f"u{n}", "user", (verbatim(f"u{n}", "text", text),), self.now))
        return self

    @property
    def conversation(self) -> Conversation:
        return Conversation(self.name, "codex", tuple(self.events))

    def found(self) -> list[Logged]:
        return compactions_of(self.conversation, find_model)

    def entry(self) -> AuditedFile:
        return entry(self.conversation)


def test_what_was_before_and_after_is_that_of_the_calls_beside_it():
    (one,) = Log().calls(100, 900).compacted().calls(300, 400).found()
    assert (one.number, one.before, one.after, one.gain) == (2, 900, 300, pytest.approx(2 / 3))


def test_what_the_log_says_of_the_context_before_counts_more():
    (one,) = Log().calls(900).compacted(tokens=1_000).calls(300).found()
    assert (one.before, one.gain) == (1_000, pytest.approx(0.7))


def test_without_a_call_after_it_no_gain_is_known():
    (one,) = Log().calls(900).compacted().found()
    assert (one.after, one.gain) == (0, None)
    (first,) = Log().compacted().calls(300).found()
    assert (first.before, first.gain) == (0, None)


def test_of_two_at_once_the_first_one_left_nothing_to_call():
    first, second = Log().calls(900).compacted().compacted().calls(300).found()
    assert (first.after, second.after) == (0, 300)
    assert first.number == second.number == 1


def test_the_wait_is_that_for_the_summary_and_no_break_of_the_user():
    log = Log().calls(900).compacted(after=45).calls(300).compacted(after=3_600, trigger="manual")
    assert [each.wait for each in log.found()] == [45.0, None]
    undated = Conversation("s", "codex", (Compaction(),))
    assert [each.wait for each in compactions_of(undated, find_model)] == [None]


def test_what_was_read_again_belongs_to_its_compaction():
    log = Log().calls(100, file="a").compacted().calls(50, file="b").compacted()
    first, second = log.calls(60, file="a").found()
    assert first.rereads.followed == second.rereads.followed == 1


def test_one_that_another_file_has_is_not_counted_again():
    """Of calls that stand elsewhere nothing is left, nor of the compactions in front of them."""
    log = Log().calls(900).compacted().calls(300).compacted().calls(200)
    whole = audited(log.conversation)
    assert [(each.number, each.answer) for each in whole.compactions] == [(1, "a2"), (2, "a4")]
    rest = whole.only({"a4"})
    assert rest is not None
    assert ([each.number for each in rest.compactions], rest.repeated) == ([2], 2)
    assert whole.only({"another"}) is None


def test_from_a_moment_on_what_came_before_is_neither_there_nor_a_copy():
    log = Log().calls(900).compacted().calls(300).compacted().calls(200)
    first, second, _ = (each.time for each in log.conversation.calls)
    late = audited(log.conversation).only({"a4"}, since=second + 1)
    assert late is not None
    assert ([each.number for each in late.compactions], late.repeated) == ([2], 0)
    copied = audited(log.conversation).only({"a4"}, since=first + 1)
    assert copied is not None
    assert copied.repeated == 1


def spiral() -> Log:
    """Four compactions, one call apart, of which the last gained well."""
    log = Log("spiral").calls(1_000, file="a")
    for _ in range(3):
        log.compacted(after=20).calls(950, file="a").calls(1_000)
    return log.compacted(after=80).calls(200)


def test_a_spiral_is_told_by_its_interval_its_gains_and_its_re_reads():
    found = thrash_of([spiral().entry(), Log("calm").calls(*range(100, 192)).entry()])
    assert found.calls == 100
    assert found.often == 4.0
    assert found.interval == 2
    assert found.gains == pytest.approx([0.05, 0.05, 0.05, 0.8])
    assert (found.gain, found.small) == (pytest.approx(0.05), 0.75)
    assert (found.followed, found.share) == (3, 0.75)
    assert found.usual == 0.75  # before the first compaction nothing had been read twice
    assert found.waits == [20.0, 20.0, 20.0, 80.0]


def test_sessions_count_alike_whatever_they_compacted():
    again, never = Logged(1, rereads=Rereads(1, 1)), Logged(2, rereads=Rereads(1, 0))
    found = Thrash(100, ((again, again, again), (never,)))
    assert (found.followed, found.share) == (3, 0.5)
    low, high = found.interval_of_share or (0.0, 0.0)
    assert low < 0.1
    assert high > 0.9


def test_who_never_compacts_has_no_figures():
    found = thrash_of([Log().calls(100, 200).entry()])
    data = data_of(THRASH, found)
    assert (data.pop("compactions"), data.pop("sessions"), data.pop("per_100_calls")) == (0, 0, 0)
    assert data.pop("followed_by_rereads") == 0
    assert (data.pop("flush_turns"), data.pop("flush_calls")) == (0, 0)
    assert (data.pop("at_model_switches"), data.pop("at_effort_switches")) == (0, 0)
    assert set(data.values()) == {None}


@given(st.lists(st.lists(st.integers(1, 40), max_size=5), min_size=1, max_size=4))
def test_the_interval_is_the_smallest_of_all(sessions):
    logs = [tuple(Logged(sum(steps[: n + 1])) for n in range(len(steps))) for steps in sessions]
    apart = [step for steps in sessions for step in steps[1:]]
    found = Thrash(1_000, tuple(log for log in logs if log))
    assert found.interval == (min(apart) if apart else None)


def table(found: Ledger) -> list[list[str]]:
    tables = [block for block in compacted(found) if isinstance(block, Table)]
    return [[str(cell) for cell in row.cells] for each in tables for row in each.rows]


def test_a_client_has_a_row_if_it_compacted():
    assert table(ledger([Log().calls(100, 200).conversation])) == []
    (row,) = table(ledger([spiral().conversation]))
    assert row[1:5] == ["4", "50.00", "2", "5.0%"]
    assert row[-1] == "20"


def test_the_audit_has_it_on_the_terminal_and_as_data():
    document = report(ledger([spiral().conversation]), 0)
    data: Any = document.data() if document.data else {}
    assert data["compactions"]["shortest_interval_calls"] == 2
    assert data["clients"]["codex"]["compactions"] == data["compactions"]


def test_a_gain_is_small_where_it_is_in_replays():
    assert SMALL == thrash.SMALL


def test_turns_of_a_memory_flush_are_counted_with_their_calls():
    log = Log().says("Find the port.").calls(900)
    log.says("[Fri 10:00] Pre-compaction memory flush. Store what must last.").calls(950, 960)
    log.compacted().says("Go on.").calls(300)
    found = data_of(THRASH, thrash_of([log.entry()]))
    assert (found["flush_turns"], found["flush_calls"]) == (1, 2)
    told = "\n".join(map(str, compacted(ledger([log.conversation]))))
    assert "1 memory flushes (2 calls), 1.0 per compaction" in told


OTHER = "gpt-5.6-sol"


@pytest.mark.parametrize(
    ("story", "wanted"),
    [
        (lambda log: log.compacted().says("On.").calls(300, model=OTHER), ["model"]),
        (lambda log: log.compacted().says("On.").calls(300, effort="high"), ["effort"]),
        (lambda log: log.compacted().says("On.").calls(300, effort="low"), [""]),
        (lambda log: log.compacted().says("On.").calls(300), [""]),  # the effort is not known
        (lambda log: log.compacted().calls(300, model=OTHER), [""]),  # within a turn
        (lambda log: log.compacted(trigger="manual").says("On.").calls(300, model=OTHER), [""]),
        (lambda log: log.says("On.").calls(300, model=OTHER).compacted().calls(50), [""]),
    ],
)
def test_a_compaction_as_the_model_or_its_effort_changes_is_named(story, wanted):
    """As in openai/codex issue 33833: at 10 to 24 % of the window."""
    log = story(Log().says("Find the port.").calls(900, 26_910, effort="low"))
    assert [each.switch for each in log.found()] == wanted
    data = data_of(THRASH, thrash_of([log.entry()]))
    counts = (data["at_model_switches"], data["at_effort_switches"])
    assert counts == (wanted.count("model"), wanted.count("effort"))
    told = "\n".join(map(str, compacted(ledger([log.conversation]))))
    said = f"1 of 1 compaction came as a turn began with another {wanted[0]}, of 26,910 to 26,910"
    assert (said in told) == bool(wanted[0])
    assert ("#33833" in told) == bool(wanted[0])


def test_a_log_without_a_flush_says_nothing_of_it():
    log = Log().says("Flush the memory.").calls(900).compacted().calls(300)
    assert data_of(THRASH, thrash_of([log.entry()]))["flush_turns"] == 0
    assert "memory flush" not in "\n".join(map(str, compacted(ledger([log.conversation]))))
