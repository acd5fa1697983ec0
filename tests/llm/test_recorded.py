"""Recordings: whole after several processes have written, and never trusted when they are read."""

import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.llm import recorded
from compactlab.llm.recorded import Answer, Recording
from compactlab.sim.core.errors import InputError, UsageError
from tests.lines import refusal


def answer(number: int, text: str = "Yes.", usd: float | None = 0.25) -> Answer:
    return Answer(f"{number:032x}", "m", 0, text, "stop", 10, 2, usd)


WRITER = """
import sys
from pathlib import Path
from compactlab.llm.recorded import Answer, Recording

first, file = int(sys.argv[1]), Path(sys.argv[2])
for number in range(first, first + 120):
    said = f"{first} says " + "so " * 3000
    Recording(file).add(Answer(f"{number:032x}", "m", 0, said, "stop", 1, 1, 0.25))
"""


def test_two_processes_write_at_once_and_the_recording_is_whole(tmp_path):
    file = tmp_path / "answers" / "m.jsonl"
    command = [sys.executable, "-c", WRITER]
    both = [subprocess.Popen([*command, first, file]) for first in ("0", "60")]
    assert [each.wait() for each in both] == [0, 0]
    recording = Recording(file)
    assert (len(recording), recording.spent) == (240, 60.0)
    said = [recording.get(f"{number:032x}") for number in range(180)]
    assert all(each is not None and len(each.text) > 9000 for each in said)


def test_of_two_answers_the_first_counts_and_both_were_paid(tmp_path):
    recording = Recording(tmp_path / "m.jsonl")
    assert recording.add(answer(1, "First.")).text == "First."
    assert recording.add(answer(1, "Second.")).text == "First."
    assert (recording.spent, len(recording)) == (0.5, 2)


def test_what_another_process_adds_is_found(tmp_path):
    recording = Recording(tmp_path / "m.jsonl")
    recording.add(answer(1))
    line = msgspec.json.encode(answer(2)) + b"\n"
    with recording.file.open("ab") as file:
        file.write(line)
    assert recording.get(f"{2:032x}") == answer(2)
    recording.file.write_bytes(line)
    assert recording.get(f"{1:032x}") is None


GOOD = msgspec.json.encode(answer(1)).decode()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "is not a recorded answer"),
        (GOOD.replace('"m"', "7"), "Expected `str`, got `int` - at `$.model`"),
        (GOOD.replace("0.25", "-1"), "`float` >= 0"),
        (GOOD.replace("0.25", "1e999"), "is not a recorded answer"),
        (GOOD.replace(":10,", ":-10,"), "`int` >= 0"),
        (GOOD.replace(":10,", f":1{'0' * 400},"), "$.prompt"),
        (GOOD.replace("0.25", "2.5e23"), "$.usd"),
        (GOOD.replace("}", ',"more":1}'), "unknown field `more`"),
        (GOOD.replace("0001", "00zz"), "$.key"),
        ("[" * 100_000, "is not a recorded answer"),
        ("", "is not a recorded answer"),
    ],
)
def test_a_bad_line_is_named(line, fault, tmp_path):
    file = tmp_path / "m.jsonl"
    file.write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(InputError) as caught:
        Recording(file).get("")
    assert str(caught.value).startswith(f"{file}:2: ")
    assert fault in str(caught.value)


@pytest.mark.parametrize("wrong", [{"prompt": -5}, {"output": 10**18}, {"usd": 2.5e23}])
def test_what_could_not_be_read_again_is_not_added(wrong, tmp_path):
    recording = Recording(tmp_path / "m.jsonl")
    recording.add(answer(1))
    with pytest.raises(InputError):
        recording.add(msgspec.structs.replace(answer(2), **wrong))
    assert (len(recording), recording.spent) == (1, 0.25)


@given(st.binary(max_size=60), st.integers(0, len(GOOD)))
def test_whatever_stands_in_it_is_read_or_named(tmp_path_factory, noise, place):
    file = tmp_path_factory.mktemp("noise") / "m.jsonl"
    file.write_bytes(GOOD[:place].encode() + noise + GOOD[place:].encode() + b"\n")
    try:
        read = len(Recording(file))
    except InputError as error:
        read = error.line if error.path == str(file) else 0
    assert read >= 1


def test_a_line_that_breaks_off_is_named(tmp_path):
    file = tmp_path / "m.jsonl"
    file.write_text(GOOD)
    assert refusal(InputError, lambda: len(Recording(file))) == snapshot(
        "m.jsonl:1: the line breaks off: take it out"
    )


def test_a_line_without_end_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "LONGEST", 1000)
    file = tmp_path / "m.jsonl"
    file.write_text(f"{GOOD}\n" + "x" * 5000)
    assert refusal(InputError, lambda: len(Recording(file))) == snapshot(
        "m.jsonl:2: is longer than 1,000 bytes"
    )
    said = refusal(InputError, lambda: Recording(tmp_path / "n.jsonl").add(answer(1, "x" * 1000)))
    assert said == snapshot(
        "n.jsonl: an answer is not recorded: it has 1,145 bytes, and no answer has more than 1,000"
    )


def test_no_other_file_is_read_or_written_through_a_link(tmp_path):
    other, file = tmp_path / "other", tmp_path / "m.jsonl"
    other.write_text(f"{GOOD}\n")
    file.symlink_to(other)
    assert refusal(InputError, lambda: len(Recording(file))) == snapshot(
        "m.jsonl: cannot be read: it is a link"
    )
    assert refusal(UsageError, lambda: Recording(file).add(answer(2))) == snapshot(
        "cannot write 'm.jsonl': it is a link"
    )
    assert other.read_text() == f"{GOOD}\n"
