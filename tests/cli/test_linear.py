"""Nothing takes more than linear time in a text, whichever command reads it.

It is processor time that is compared, of a text and of one of twice its size, and generously: what
is linear takes twice as long or less, what is quadratic four times. Calls and lines of Python
cannot be counted instead. To join words, less by one each time, until they are short makes twice as
many calls for twice the words, and a pattern that goes back over a text makes one.
"""

import base64
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmarks.cpu import seconds
from tests.cli.conftest import Outcome

RATIO, SLACK = 3, 0.4  # seconds, for what has nothing to do with the text


def repeated(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def numbered(form: str, between: str) -> Callable[[int], str]:
    """A text in which a form stands again and again, with other numbers."""
    return lambda size: between.join(form.format(n=n) for n in range(size // len(form)))


def words(size: int, between: str = " ") -> str:
    draw = random.Random(size)
    letters = (draw.choices("abcdefghijklmnopqrstuvwxyz", k=2 + n % 8) for n in range(size // 6))
    return between.join("".join(word) for word in letters)


def encoded(size: int) -> str:
    blocks = (hashlib.blake2b(n.to_bytes(8)).digest() for n in range(size * 3 // 4 // 64))
    return base64.b64encode(b"".join(blocks)).decode()


SHAPES: dict[str, Callable[[int], str]] = {
    "words": words,
    "lines": lambda size: words(size, "\n"),
    "sizes": repeated("1.5 GB, "),
    "blanks": repeated(" \t\r\n "),
    "brackets": repeated("[{(<"),
    "digits": repeated("1,234,567.89 "),
    "facts": numbered("The key_{n} of host{n} is value-{n}. ", ""),
    "quotes": repeated('"\'`\\"'),
    "combining": repeated("Z\u0351\u036b\u0343\u036a\u0302"),
    "base64": encoded,
    "json": numbered('{{"id":{n},"mail":"u{n}@example.org","tags":["a","b"],"v":{n}.5}}', ","),
    "csv": numbered('{n},name{n},2026-01-02,{n}.99,"a, b"', "\n"),
    "nested": lambda size: "[" * (size // 2) + "]" * (size // 2),
}

WINDOW = ("--window", 8_000)
RUN = ("--strategies", "keep_all", "--strategies", "claude_code", "--jobs", 1, *WINDOW)
PROBE = ("--strategies", "claude_code", "--reader", "gpt-5-mini", "--answers", "answers")
COMMANDS: dict[str, tuple[object, ...]] = {
    "inspect": ("inspect", "log.jsonl"),
    "audit": ("audit", "log.jsonl"),
    "audit --redact": ("audit", "log.jsonl", "--redact"),
    "score": ("score", "log.jsonl", "log.jsonl"),
    "fit": ("fit", "log.jsonl", "--made", 1),
    "explain": ("explain", "log.jsonl", "--strategies", "claude_code", *WINDOW),
    "probe": ("probe", "log.jsonl", *PROBE, "--dry-run", *WINDOW),
    "run": ("run", "--conversations", "log.jsonl", *RUN),
    "tune": ("tune", "log.jsonl", "--points", 3, "--jobs", 1, "--window", 9_000),
}


def log(text: str) -> None:
    """A log of Claude Code in which a text is a prompt, an answer, arguments and a result."""
    records: list[dict[str, object]] = []

    def add(role: str, *content: dict[str, object], **more: object) -> None:
        number = len(records)
        before = f"u{number - 1}" if records else None
        records.append(
            {
                "type": role,
                "uuid": f"u{number}",
                "parentUuid": before,
                "sessionId": "s",
                "timestamp": f"2026-01-01T12:00:{number:02}.000Z",
                "message": {"role": role, "content": content, **more},
            }
        )

    def ask(*content: dict[str, object]) -> None:
        usage = {"input_tokens": 3, "output_tokens": 100, "cache_creation_input_tokens": 9_000}
        add("assistant", *content, id=f"m{len(records)}", model="claude-sonnet-4-5", usage=usage)

    def tool(id: str, **arguments: str) -> dict[str, object]:
        return {"type": "tool_use", "id": id, "name": "Bash", "input": arguments}

    add("user", {"type": "text", "text": text})
    # Whatever an action uses is a fact that it needs: so many of them as to matter.
    ask({"type": "text", "text": f"I see {text}"}, tool("t1", command=text[: len(text) // 50]))
    add("user", {"type": "tool_result", "tool_use_id": "t1", "content": text})
    ask({"type": "text", "text": "On to value-7"}, tool("t2", command="cat host7"))
    add("user", {"type": "tool_result", "tool_use_id": "t2", "content": "value-7"})
    ask({"type": "text", "text": "value-7 it is, and key_7."})
    add("user", {"type": "text", "text": "Now host9."})
    ask({"type": "text", "text": "host9 is done."})
    Path("log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def compare(compactlab: Callable[..., Outcome], command: str, shape: str, size: int) -> None:
    """Fail if twice the text takes much more than twice the time, each the best of three."""
    best = [float("inf"), float("inf")]
    for number in range(3):
        for index, length in enumerate((size, 2 * size)):
            log(SHAPES[shape](length))
            options = {"run": ("-o", f"out{number}{index}"), "tune": ("-o", f"out{number}{index}")}
            before = seconds()
            done = compactlab(*COMMANDS[command], *options.get(command, ()))
            best[index] = min(best[index], seconds() - before)
            assert done.code == 0, done.said[-2000:]
        if best[1] <= RATIO * best[0] + SLACK:
            return
    assert best[1] <= RATIO * best[0] + SLACK


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("command", COMMANDS)
def test_twice_a_text_takes_twice_as_long(compactlab, command, shape):
    compare(compactlab, command, shape, 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("command", COMMANDS)
def test_twice_a_text_of_a_megabyte_takes_twice_as_long(compactlab, command, shape):
    compare(compactlab, command, shape, 1_000_000)
