"""The command that checks a program says line by line what it found."""

import shlex
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

PROGRAMS = Path(__file__).resolve().parents[1] / "strategies" / "program"


def command(file: str, *words: str) -> str:
    return shlex.join([sys.executable, str(PROGRAMS / file), *words])


def test_a_good_program_is_told_line_by_line(compactlab):
    done = compactlab("check-program", command("obedient.py", "ids"), "--conversations", 4)
    assert done.told() == snapshot("""\
0
hello: obedient 1, protocol 1
asked: before_call; an answer holds for the session
asked about 81 views, changed 0
ok: keeps the protocol and the contract over 4 drawn conversations\
""")


def test_what_it_breaks_is_named(compactlab):
    done = compactlab("check-program", command("obedient.py", "last", "1"), "--conversations", 12)
    assert done.told() == snapshot("""\
1
hello: obedient 1, protocol 1
asked: before_call; an answer holds for the session
asked about 326 views, changed 296
broken: last user message, 16 times, first in conversation 5: the last message of the user, u1,
is gone (before_call)
broken: pairs, 59 times, first in conversation 5: the result of c2/call has lost its call
(before_call)
2 rules broken over 12 drawn conversations\
""")


def test_a_program_that_fails_is_broken_by_what_it_did(compactlab):
    done = compactlab("check-program", command("disobedient.py", "prose"), "--conversations", 2)
    assert done.code == 1
    assert "broken: survives, " in done.out
    assert "wrote 'I will now compact the conversation.'" in done.out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("no-such-program-at-all", "cannot be started: No such file or directory"),
        ("'", "cannot be read: No closing quotation"),
        (command("disobedient.py", "another version"), "speaks version 7 of the protocol"),
    ],
)
def test_what_cannot_be_asked_is_wrong_usage(compactlab, given, told):
    done = compactlab("check-program", given)
    assert done.code == 2
    assert told in done.err
