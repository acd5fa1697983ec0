"""Random conversations for the battery: reproducible, and unusual on purpose.

Texts come from a small pool, so that each is counted once for all conversations. They are sized by
the window, so that strategies have to act.
"""

from __future__ import annotations

import random
from functools import cache

from compactlab.sim.core.conversation import Conversation, Event, Rewind
from compactlab.sim.core.message import Call, Message, Part, Role, verbatim
from compactlab.sim.core.stream import stream

WINDOWS = (8_000, 50_000, 200_000)

# Message sizes as shares of the window, with their weights.
_SIZES = ((0.0, 2), (0.0005, 40), (0.005, 30), (0.03, 18), (0.1, 7), (0.3, 2), (1.2, 1))
_TOPICS = (
    "the valve sticks when it is cold",
    "we never deploy on Monday",
    "tests fail in ledger.py",
)
_TOOLS = (
    ("read", '{"path":"src/ledger.py"}'),
    ("edit", '{"path":"src/ledger.py","old":"a","new":"b"}'),
    ("write", '{"path":"docs/notes.md","content":"x"}'),
    ("bash", '{"command":"make test"}'),
)
_START = 1_760_000_000.0


@cache
def _text(topic: str, chars: int) -> str:
    return (f"{topic} " * (chars // len(topic) + 1))[:chars]


def draw(number: int, seed: int = 0) -> tuple[Conversation, int]:
    """Return a random conversation and its window.

    The first few are simple extremes: no messages, one message larger than the window, a turn
    without end, results without calls, a rewind to the start.
    """
    rng = stream(seed, "contract", number)
    window = WINDOWS[number % len(WINDOWS)] if number >= len(_EXTREMES) else WINDOWS[0]
    generator = _Generator(rng, window)
    if number < len(_EXTREMES):
        for letter in _EXTREMES[number]:
            generator.add(letter)
    else:
        for _ in range(rng.randrange(1, 13)):
            generator.turn()
    opaque = (Part("text", "", "opaque", (), name="system prompt", size=window // 100),)
    system = opaque if rng.random() < 0.7 else ()
    events = tuple(generator.events)
    return Conversation(f"drawn-{number}", "drawn", events, system, seed=seed), window


# u user, U user message larger than the window, a answer, c call, r result, R huge result, o result
# without a call, m message that no person typed, < rewind to the start.
_EXTREMES = (
    "",
    "a",
    "Ua",
    "ua" * 30,
    "u" + "cr" * 40 + "a",
    "u" + "cR" * 6 + "a",
    "uoaoua",
    "uacra<ua",
    "mamama",
    "ucmra" * 6,
    "uccra" * 5,
    "ucr" * 8 + "a",
)


class _Generator:
    """Builds a conversation message by message."""

    def __init__(self, rng: random.Random, window: int) -> None:
        self.rng, self.window = rng, window
        self.events: list[Event] = []
        self.ids = [""]
        self.open: list[tuple[str, str]] = []  # calls without a result: id and tool
        self.now = _START

    def turn(self) -> None:
        """Add a typical turn of an agent, with occasional irregularities."""
        rng = self.rng
        if rng.random() < 0.06:
            self.add("<")
        self.add("u" if rng.random() < 0.95 else "m")
        for _ in range(rng.choice((0, 0, 1, 2, 4, 9))):
            for _ in range(rng.choice((1, 1, 1, 3))):
                self.add("c")
            while self.open and rng.random() < 0.97:
                if rng.random() < 0.04:
                    self.add("m")
                self.add("r")
            if rng.random() < 0.03:
                self.add("o")
        if rng.random() < 0.95:
            self.add("a")

    def add(self, letter: str) -> None:
        if letter == "<":
            self.events.append(Rewind(self.rng.choice(self.ids) if len(self.ids) > 20 else ""))
            self.open.clear()
            return
        if letter in "uU":
            self.open.clear()  # no tool answers after its turn
        id = f"{letter}{len(self.ids)}"
        self.now += self.rng.choice((1.0, 10.0, 60.0, 400.0, 4000.0))
        role: Role = "assistant" if letter in "ac" else "tool" if letter in "rRo" else "user"
        answers = Call() if role == "assistant" else None
        parts = tuple(self._parts(letter, id))
        self.events.append(Message(id, role, parts, self.now, letter == "m", answers))
        self.ids.append(id)

    def _parts(self, letter: str, id: str) -> list[Part]:
        if letter == "c":
            return self._call(id)
        if letter in "rRo":
            call_id, tool = self.open.pop(0) if self.open and letter != "o" else (f"{id}/lost", "")
            failed = self.rng.random() < 0.1
            text = self._words(1.2 if letter == "R" else None)
            result = verbatim(id, "tool_result", text, name=tool, call_id=call_id, is_error=failed)
            return [result, *self._image(id)]
        text = self._words(1.2 if letter == "U" else None)
        thinks = letter == "a" and self.rng.random() < 0.3
        thought = [verbatim(id, "thinking", self._words(0.0005))] if thinks else []
        return [*thought, verbatim(id, "text", text), *(self._image(id) if letter == "u" else ())]

    def _call(self, id: str) -> list[Part]:
        tool, arguments = self.rng.choice(_TOOLS)
        self.open.append((f"{id}/call", tool))
        text = [verbatim(id, "text", self._words(0.0005))] if self.rng.random() < 0.5 else []
        return [*text, verbatim(id, "tool_call", arguments, name=tool, call_id=f"{id}/call")]

    def _image(self, id: str) -> list[Part]:
        return [verbatim(id, "image", "", size=1200)] if self.rng.random() < 0.03 else []

    def _words(self, share: float | None) -> str:
        if share is None:
            shares, weights = zip(*_SIZES, strict=True)
            (share,) = self.rng.choices(shares, weights)
        topic = _TOPICS[0] if share > 0.1 else self.rng.choice(_TOPICS)
        return _text(topic, int(share * self.window * 4))
