"""Whatever a program does wrong is an error that names it, and soon."""

import sys

import pytest

from compactlab.sim.core.errors import ContractError
from compactlab.sim.replay.replay import Options, replay
from compactlab.testing.contract import MODEL

HELLOS = {
    "ends at once": "ended with exit code 4",
    "garbage for a hello": "wrote 'Debugger listening on port 9229', which is not a message",
    "another version": "speaks version 7 of the protocol, and this is 1",
    "an unknown phase": "Invalid enum value 'never'",
    "no name": "missing required field `name`",
    "an unknown rule": "Invalid enum value 'sizes'",
    "an answer for a hello": "wrote 'answer' where its hello was to come",
}
DEEDS = {
    "prose": "wrote 'I will now compact the conversation.', which is not a message",
    "an empty line": "wrote '', which is not a message",
    "binary": "which is not a message of the protocol: 'utf-8' codec can't decode byte 0xff",
    "deep": "which is not a message",
    "hangs": "took longer than 0.5 s",
    "dies": "ended with exit code 3",
    "is killed": "was killed by signal 11",
    "closes its output": "closed its output",
    "floods": "wrote a line of more than 64 MB",
    "asks for ever": "made more than 10,000 requests",
    "unasked": "answered view 1 while it is asked about view 2: it wrote a line unasked",
    "an unknown type": "Invalid value 'compact'",
    "an unknown field": "Object contains unknown field `mesages`",
    "another type": "Expected `int`, got `str`",
    "an unknown message": "named the message 'nobody', which is not there",
    "another view": "answered view 8 while it is asked about view 1",
    "two forms": "answered in two forms",
    "neither id nor role": "answered messages[0] with neither id nor role",
    "an unknown source": "named the source 'm9999', which nobody has said",
    "a summary of nothing": "a summary part needs the messages that it comes from",
    "never said": "declared verbatim what no source says: 'never said'",
    "no such part": "named part 99 of 'u1', which has 1",
    "a cut behind the end": "cut part 0 of 'u1' from 1000000 to -1; it has ",
    "no text": "a new part without a text",
    "an unknown role": "a message of the role 'robot'",
    "an unknown block": "a block of the type 'hologram'",
    "calls that are a number": "a message whose tool_calls are int",
    "a result of no call": "the result of a tool without the id of its call",
    "a turn too late": "an extra turn in after_call, between a call and its result",
    "hello again": "said hello twice",
}


@pytest.mark.parametrize("deed", HELLOS)
def test_a_wrong_hello_is_named(disobedient, deed):
    program = disobedient(deed)
    with pytest.raises(ContractError) as error:
        _ = program.hello
    assert HELLOS[deed] in str(error.value)
    assert str(error.value).startswith(f"the program {program.command!r} ")
    assert str(error.value).endswith("(asked for its hello)")


@pytest.mark.parametrize("deed", DEEDS)
def test_a_wrong_answer_is_named(disobedient, tell, deed):
    if deed == "is killed" and sys.platform == "win32":
        pytest.skip("there are no signals")
    program = disobedient(deed)
    with pytest.raises(ContractError) as error:
        list(replay(tell("uaua"), program, Options(MODEL)))
    assert DEEDS[deed] in str(error.value)
    assert str(error.value).startswith(f"the program {program.command!r} ")
    assert "(asked about view" in str(error.value)
