"""What an agent reads again after a compaction stands beside what it reads again anyway."""

from __future__ import annotations

import json

import pytest
from inline_snapshot import snapshot

from compactlab.reports.audit.causes import read_again
from compactlab.reports.audit.compactions import WITHIN, Rereads, compactions_of
from compactlab.sim.core.clients import looked_at
from compactlab.sim.core.conversation import Compaction, Conversation, Event
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Call, Message, Usage, verbatim
from compactlab.sim.models.model import Model, find_model
from tests.reports.spoken import folded

MODEL = "gpt-5"  # o200k as it is; plain input costs 1.25 dollars a million tokens
TEXT = "word " * 400  # 2,000 characters, so 500 tokens


class Log:
    """A session of an agent that reads files."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def read(self, *files: str, model: str = MODEL) -> Log:
        for file in files:
            n = len(self.events)
            asks = json.dumps({"path": file})
            call = verbatim(f"a{n}", "tool_call", asks, name="read", call_id=f"c{n}")
            answer = verbatim(f"r{n}", "tool_result", TEXT, call_id=f"c{n}")
            asked = Call(model, Usage(uncached=10))
            called = Message(f"a{n}", "assistant", (call,), 60.0 * n, call=asked)
            self.events += [called, Message(f"r{n}", "tool", (answer,), 60.0 * n)]
        return self

    def compacted(self) -> Log:
        self.events.append(Compaction(time=60.0 * len(self.events)))
        return self

    def found(self) -> Rereads:
        log = Conversation("s", "native", tuple(self.events))
        return sum((each.rereads for each in compactions_of(log, find)), Rereads())


def find(name: str) -> Model:
    return find_model(name)


def test_what_was_read_before_and_is_read_after_counts():
    found = Log().read("a", "b", "c").compacted().read("b", "d", "a", "a").found()
    assert (found.compactions, found.followed, found.reads, found.before) == (1, 1, 3, 0)
    assert found.tokens == 3 * 500
    assert found.cost == pytest.approx(1_500 * 1.25e-6)


def test_what_is_read_again_anyway_is_counted_beside_it():
    found = Log().read("a", "b", "a", "b").compacted().read("b").found()
    assert (found.reads, found.before) == (1, 2)


def test_much_later_it_is_another_matter():
    others = [f"f{n}" for n in range(WITHIN)]
    late = Log().read("a").compacted().read(*others, "a").found()
    assert (late.reads, late.followed) == (0, 0)
    just = Log().read("a").compacted().read(*others[1:], "a").found()
    assert (just.reads, just.followed) == (1, 1)


def test_each_compaction_has_its_own_reads():
    log = Log().read("a").compacted().read("a").compacted().read("a", "b")
    assert log.found() == Rereads(2, 2, 3, 1_500, pytest.approx(1_500 * 1.25e-6), 1)


def test_without_a_price_there_are_no_dollars():
    found = Log().read("a").compacted().read("a", model="nobody-knows").found()
    assert (found.reads, found.cost) == (1, None)
    with pytest.raises(ModelError):
        find("nobody-knows")


@pytest.mark.parametrize(
    ("name", "given", "file"),
    [
        ("Read", {"file_path": "/a.py", "limit": 3}, "/a.py"),
        ("read_file", {"absolute_path": "/a.py"}, "/a.py"),
        ("view", {"path": "/a.py"}, "/a.py"),
        ("Edit", {"file_path": "/a.py"}, ""),
        ("Read", {"file_path": 3}, ""),
        ("Read", [], ""),
        ("Bash", {"command": "cat src/a.py | head -3"}, "src/a.py"),
        ("exec_command", {"cmd": "cd x; sed -n '10,20p' 'a.py'"}, "a.py"),
        ("exec_command", {"cmd": "sed -n 10,20p"}, ""),
        ("Bash", {"command": "make test"}, ""),
        ("Bash", {"command": ""}, ""),
    ],
)
def test_what_a_call_looks_at(name, given, file):
    assert looked_at(verbatim("a", "tool_call", json.dumps(given), name=name)) == file


def test_a_text_that_is_no_json_looks_at_nothing():
    assert looked_at(verbatim("a", "tool_call", "{", name="Read")) == ""


def test_it_is_said_beside_what_is_usual():
    assert [*read_again(Rereads())] == []
    (text,) = read_again(Rereads(2, 1, 3, 1_500, 0.25, 4))
    assert folded(text) == snapshot("""\
Within 20 calls after 2 compactions there were 3 reads of files that had been read before: 1.50k
tokens ($0.25 to send once). In as many calls before the compactions there were 4. Such a read
followed 1 of the compactions.\
""")
