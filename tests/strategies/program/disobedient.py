"""A program that breaks the protocol: how is its argument."""

import json
import os
import signal
import sys
import time

DEED = sys.argv[1]
HELLO = {"type": "hello", "protocol": 1, "name": "disobedient", "version": "1"}
HELLOS = {
    "garbage for a hello": "Debugger listening on port 9229",
    "another version": {**HELLO, "protocol": 7},
    "an unknown phase": {**HELLO, "phases": ["never"]},
    "an unknown rule": {**HELLO, "breaks": {"sizes": "it grows"}},
    "no name": {"type": "hello", "protocol": 1},
    "an answer for a hello": {"type": "answer", "id": 1},
    "a turn too late": {**HELLO, "phases": ["after_call"]},
}


def send(line):
    sys.stdout.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    sys.stdout.flush()


def new(**part):
    return [{"role": "user", "parts": [part]}]


def answers(view):
    """What it answers by its deed; an answer by that name lacks what every answer has."""
    first = view["ids"][0] if view["ids"] else ""
    return {
        "prose": "I will now compact the conversation.",
        "an empty line": "",
        "deep": "[" * 100_000,
        "an unknown type": {"type": "compact"},
        "an unknown field": {"mesages": []},
        "another type": {"id": "one"},
        "an unknown message": {"messages": ["nobody"]},
        "another view": {"id": view["id"] + 7},
        "two forms": {"messages": [], "openai": []},
        "neither id nor role": {"messages": [{"parts": [{"text": "x"}]}]},
        "an unknown source": {"messages": new(text="x", sources=["m9999"])},
        "a summary of nothing": {"messages": new(text="x", kind="summary")},
        "never said": {"messages": new(text="never said", kind="verbatim", sources=[first])},
        "no such part": {"messages": [{"id": first, "parts": [99]}]},
        "a cut behind the end": {
            "messages": [{"id": first, "parts": [{"part": 0, "start": 10**6}]}]
        },
        "no text": {"messages": new(type="text")},
        "an unknown role": {"openai": [{"role": "robot", "content": "x"}]},
        "an unknown block": {"anthropic": [{"role": "user", "content": [{"type": "hologram"}]}]},
        "calls that are a number": {"openai": [{"role": "assistant", "tool_calls": 5}]},
        "a result of no call": {"openai": [{"role": "tool", "content": "x"}]},
        "a turn too late": {"type": "turn", "prompt": "Write it down."},
        "hello again": HELLO,
    }[DEED]


def act(view):
    if DEED == "binary":
        os.write(1, b"\xff\xfe\x00\n")
    elif DEED == "hangs":
        time.sleep(1000)
    elif DEED == "dies":
        os._exit(3)
    elif DEED == "is killed":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif DEED == "closes its output":
        os.close(1)
        time.sleep(1000)
    elif DEED == "floods":
        while True:
            os.write(1, b"x" * 65_536)
    elif DEED == "asks for ever":
        while True:
            send({"type": "count", "text": "x"})
    elif DEED == "unasked":
        send({"type": "answer", "id": view["id"]})
        send({"type": "answer", "id": view["id"]})
    else:
        given = answers(view)
        usual = {"type": "answer", "id": view["id"]}
        whole = isinstance(given, str) or given == HELLO or given.get("type") == "turn"
        send(given if whole else {**usual, **given})


for text in sys.stdin:
    line = json.loads(text)
    if line["type"] == "hello":
        if DEED == "ends at once":
            sys.exit(4)
        send(HELLOS.get(DEED, HELLO))
    elif line["type"] == "view":
        act(line)
