"""The checklist: what goes into which field, and what merging keeps that filling anew does not."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.tokens import chars4
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.summarizers.checklist import FIELDS, Checklist
from tests.lines import refusal
from tests.told import said

MERGE, ANEW = Checklist(mode="merge"), Checklist(mode="regenerate")


def touched(id: str, path: str) -> Message:
    call = verbatim(id, "tool_call", json.dumps({"path": path}), name="edit", call_id=f"c{id}")
    return Message(id, "assistant", (call,))


def fill(
    checklist: Checklist, *messages: Message, previous: tuple[Part, ...] = (), budget: int = 2000
) -> tuple[Part, ...]:
    return checklist.summarize(SummaryRequest(messages, budget, previous), chars4)


def texts(parts: tuple[Part, ...]) -> list[str]:
    return [part.text for part in parts]


DAY = (
    said("m1", "Make the importer faster. Never touch the schema."),
    touched("m2", "src/importer.py"),
    said("m3", "Reading all lines\nsrc/importer.py:12 error: no such column\n3 rows", "tool"),
    said("m4", "We decided on batches of 500. Next I write the test.", "assistant"),
    said("m5", "Could you look at the cache as well?"),
    touched("m6", "tests/test_importer.py"),
)


def test_each_thing_goes_into_its_field():
    assert texts(fill(MERGE, *DAY)) == [
        "Goal: Make the importer faster.",
        "Constraint: Never touch the schema.",
        "Decision: We decided on batches of 500.",
        "File: src/importer.py",
        "File: tests/test_importer.py",
        "Open: Could you look at the cache as well?",
        "Next: Next I write the test.",
        "Error: src/importer.py:12 error: no such column",
    ]


def test_a_line_stands_for_the_very_span_that_it_comes_from():
    goal, rule, decision, file, *_ = fill(MERGE, *DAY)
    assert goal.sources == (Source("m1", 0, 0, 25),)
    assert rule.sources == (Source("m1", 0, 26, 49),)
    assert decision.sources == (Source("m4", 0, 0, 29),)
    assert file.sources[0].id == "m2"


def test_what_a_summary_says_is_nobodys_wish_and_a_tool_decides_nothing():
    told = fill(MERGE, said("m1", "We decided to stop. Never again.", "tool"))
    assert told == ()


def test_merging_carries_every_line_on():
    first = fill(MERGE, *DAY)
    assert fill(MERGE, previous=first) == first
    more = fill(MERGE, touched("m7", "src/cache.py"), said("m8", "Go on."), previous=first)
    assert [text for text in texts(more) if text.startswith(("Goal", "File"))] == [
        "Goal: Make the importer faster.",
        "File: src/importer.py",
        "File: tests/test_importer.py",
        "File: src/cache.py",
    ]


def test_filled_anew_what_is_only_told_by_a_summary_is_text():
    """The rule for a goal and those with cues find their lines again; files were never called."""
    first = fill(ANEW, *DAY)
    second = fill(ANEW, touched("m7", "src/cache.py"), previous=first)
    assert first == fill(MERGE, *DAY)
    assert texts(second)[:2] == [
        "Goal: Make the importer faster.",
        "Constraint: Never touch the schema.",
    ]
    assert [text for text in texts(second) if text.startswith("File")] == ["File: src/cache.py"]


def test_a_summary_of_another_make_is_text_for_both():
    other = Part("text", "We agreed on tabs.\nAnd so on.", "summary", (Source("m1"), Source("m2")))
    for checklist in (MERGE, ANEW):
        goal, decision = fill(checklist, previous=(other,))
        assert (goal.text, decision.text) == (
            "Goal: We agreed on tabs.",
            "Decision: We agreed on tabs.",
        )
        assert decision.sources == other.sources


def test_where_there_is_too_much_the_newest_files_stay_and_the_oldest_rules():
    log = [touched(f"m{n}", f"src/file_{n}.py") for n in range(30)]
    log += [said(f"u{n}", f"Never use rule {n}, it is wrong.") for n in range(30)]
    told = texts(fill(MERGE, *log, budget=200))
    files = [text for text in told if text.startswith("File")]
    rules = [text for text in told if text.startswith("Constraint")]
    assert files[-1] == "File: src/file_29.py"
    assert 0 < len(files) < 30
    assert rules[0] == "Constraint: Never use rule 0, it is wrong."
    assert 0 < len(rules) < 30


paths = st.integers(0, 40).map(lambda n: f"src/{'deep/' * (n % 4)}file_{n}.py")
rounds = st.lists(st.lists(paths, max_size=12), min_size=3, max_size=6)


@settings(max_examples=100)
@given(rounds, st.integers(20, 900))
def test_over_rounds_merging_keeps_no_fewer_artifacts(session, budget):
    """The sign that Factory.ai found, over three rounds and more at the same budget."""
    merged: tuple[Part, ...] = ()
    anew: tuple[Part, ...] = ()
    number = 0
    for touches in session:
        log = [touched(f"m{(number := number + 1)}", path) for path in touches]
        merged = fill(MERGE, *log, previous=merged, budget=budget)
        anew = fill(ANEW, *log, previous=anew, budget=budget)
        kept = [{t for t in texts(parts) if t.startswith("File: ")} for parts in (merged, anew)]
        assert kept[1] <= kept[0]


def test_artifacts_are_what_is_lost_where_files_are_no_field():
    """A session of three rounds that states as many rules and decisions as it touches files."""
    for mode in ("merge", "regenerate"):
        previous: tuple[Part, ...] = ()
        for part in range(3):
            log = []
            for n in range(part * 4, part * 4 + 4):
                log += [
                    said(f"r{n}", f"Never run job_{n}a."),
                    touched(f"f{n}", f"src/file_{n}.py"),
                    said(f"d{n}", f"We decided on plan_{n}b.", "assistant"),
                ]
            previous = fill(Checklist(mode=mode, files=False), *log, previous=previous)  # type: ignore[arg-type]
        text = "\n".join(texts(previous))
        recall = {
            kind: sum(name.format(n) in text for n in range(12)) / 12
            for kind, name in {
                "artifact": "src/file_{}.py", "prohibition": "job_{}a", "decision": "plan_{}b",
            }.items()
        }  # fmt: skip
        assert recall["artifact"] < min(recall["prohibition"], recall["decision"])


def test_shares_of_the_budget_are_all_of_it():
    assert sum(field.share for field in FIELDS) == pytest.approx(1)


def test_nonsense_is_refused():
    assert refusal(ValueError, lambda: Checklist(mode="both")) == snapshot(
        "mode must be 'merge' or 'regenerate', not 'both'"
    )
