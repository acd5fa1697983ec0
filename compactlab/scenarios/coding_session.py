"""How a made-up coding session goes: what the user wants, and what the agent does about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compactlab.scenarios.coding_draft import Draft, Said, ToolCall
from compactlab.scenarios.coding_repository import NOUNS, File, Repository
from compactlab.scenarios.coding_rules import FROZEN, SETTING, SNAPSHOT, TRAILER, rules
from compactlab.scenarios.coding_texts import Writer
from compactlab.sim.stream import stream

# What is done after what, in weights. They are set so that the shares come out near those of the
# eight recorded sessions: bash 41 %, edit 23 %, read 22 %, grep 7 %, write 2 %, others 5 %.
_NEXT = {
    "user": {"read": 4, "grep": 3, "bash": 4},
    "read": {"read": 3, "edit": 4, "grep": 1, "bash": 3},
    "grep": {"read": 5, "bash": 3, "edit": 2},
    "edit": {"bash": 6, "edit": 3, "read": 2},
    "bash": {"bash": 11, "edit": 5, "read": 5, "grep": 2, "write": 1},
    "write": {"bash": 3, "edit": 2},
}
_COMMANDS = {"tests": 10, "run": 6, "status": 2, "diff": 3, "log": 2, "commit": 2}
# Same source: 49 % of calls come with text (the last of a turn always does), 42 % with thinking,
# 2 % call two tools; 5 % of results are errors.
_TEXT, _THINKING, _TWICE, _FAILS = 0.43, 0.42, 0.08, 0.25
# Not measured: how often the user has a new task, goes back to an old one, pastes a log; how
# often the agent works on the file of the task, or on one that it has been at before; how often
# an edit has to do with a decision or with the file that is not to be touched.
_NEW_TASK, _OLD_TASK, _PASTES = 0.45, 0.20, 0.03
_SAME_FILE, _EARLIER_FILE = 0.55, 0.30
_USES_SETTING, _MINDS_FROZEN = 0.20, 0.10


@dataclass(frozen=True)
class Task:
    """What the user wants done: a ticket, and the function that it is about."""

    ticket: str
    file: File
    function: str


class Session:
    """A session that grows turn by turn.

    Parameters
    ----------
    seed
        The seed of its conversation.
    name
        The scenario's name, for the streams of random numbers.

    Attributes
    ----------
    draft
        The conversation so far.
    """

    def __init__(self, seed: int, name: str) -> None:
        self.draft = Draft(seed, name)
        self._rng = stream(seed, name, "story")
        self._repository = Repository(stream(seed, name, "repository"))
        self._writer = Writer(self._repository, stream(seed, name, "texts"))
        self._turns = 0
        self._tasks: list[Task] = []
        self._seen: list[File] = []
        self._edited: list[File] = []

    def turn(self, until: float) -> None:
        """Let the user ask and the agent work, until the session has about that many tokens."""
        self._ask()
        tools = {
            "read": self._read,
            "grep": self._grep,
            "edit": self._edit,
            "bash": self._bash,
            "write": self._write,
        }
        last = "user"
        while (left := until - self.draft.tokens) > 0:
            last = self._pick(_NEXT[last])
            tools[last](max(50.0, left))
        self.draft.answer(self._prose("text"))

    def _ask(self) -> None:
        draw = self._rng.random()
        if not self._tasks or draw < _NEW_TASK:
            file = self._rng.choice(self._repository.files)
            ticket = f"{self._repository.prefix}-{self._rng.randint(1000, 9999)}"
            self._tasks.append(Task(ticket, file, self._rng.choice(file.functions)))
        elif draw < _NEW_TASK + _OLD_TASK:
            self._tasks.append(self._rng.choice(self._tasks))
        task = self._tasks[-1]
        if self._turns and draw >= _NEW_TASK + _OLD_TASK:
            text = self._writer.short(task.file)
        else:
            text = self._writer.task(task.ticket, task.file, task.function)
        if self._rng.random() < _PASTES:
            text += "\n" + self._writer.log(task.file, self.draft.length("write", 2_500))
        self.draft.ask(text, rules(self._rng, self._turns, self._repository))
        self._turns += 1

    def _read(self, left: float) -> None:
        calls: list[ToolCall] = []
        for _ in range(1 + (self._rng.random() < _TWICE)):
            file = self._file()
            start = file.line_of(self._rng.choice(file.functions))
            start *= self._rng.getrandbits(1)  # or from the beginning
            text = file.numbered(start, self.draft.length("read", left))
            lines = {"offset": start + 1, "limit": text.count("\n") + 1}
            calls.append(ToolCall("read", {"path": file.path, **lines}, text))
        self._call(*calls)

    def _grep(self, left: float) -> None:
        function = self._rng.choice(self._file().functions)
        word = function if self._rng.getrandbits(1) else self._rng.choice(NOUNS)
        most, hits = self.draft.length("grep", left), []
        for hit in self._repository.search(word):
            hits.append(hit)
            most -= len(hit)
            if most <= 0:
                break
        arguments = {"pattern": word, "path": "."}
        self._call(ToolCall("grep", arguments, "\n".join(hits) or "no matches"))

    def _edit(self, left: float) -> None:
        file, draft = self._file(), self.draft
        start = file.line_of(self._rng.choice(file.functions)) + 1
        old = file.taken(start, draft.length("edit", left) // 2)
        new: list[str] = []
        for line in old:
            kept = not line or "def " in line or self._rng.getrandbits(1)
            new += [line] if kept else self._repository.statement()
        said, used = "", {}
        settings = [fact for key, fact in draft.rules.items() if key.startswith(SETTING)]
        if settings and self._rng.random() < _USES_SETTING:
            fact = self._rng.choice(settings)
            new.append(f'    limit = settings["{fact.value}"]')
            used[fact.id] = "written in an edit"
        if self._rng.random() < _MINDS_FROZEN:
            fact = draft.rules[FROZEN]
            said = f"{fact.value} has the same flaw; I leave it alone."
            used[fact.id] = "left alone"
        file.lines[start : start + len(old)] = new
        self._edited.append(file)
        arguments = {"path": file.path, "old": "\n".join(old), "new": "\n".join(new)}
        done = f"{file.path}: {len(old)} lines from line {start + 1} on became {len(new)} lines."
        self._call(ToolCall("edit", arguments, done), said=said, used=used)

    def _write(self, left: float) -> None:
        stem = f"{self._rng.choice(NOUNS)}_{self._rng.choice(NOUNS)}"
        path = f"tests/unit/test_{stem}_{len(self._repository.files)}.py"
        file = self._repository.add(path, self.draft.length("write", left))
        self._seen.append(file)
        self._edited.append(file)
        arguments = {"path": path, "content": "\n".join(file.lines)}
        self._call(ToolCall("write", arguments, f"{path}: {len(file.lines)} lines written."))

    def _bash(self, left: float) -> None:
        kind, file, write = self._pick(_COMMANDS), self._file(), self._writer
        size, failed = self.draft.length("bash", left), 0
        used: dict[str, str] = {}
        if kind == "tests":
            failed = self._rng.randint(1, 3) if self._rng.random() < _FAILS else 0
            fact = self.draft.rules[SNAPSHOT]
            used[fact.id] = "argument of a test run"
            command = f"make test SNAPSHOT={fact.value} ONLY={file.path}"
            text = write.tests(file, size, failed)
        elif kind == "commit" and self._edited:
            command, text = self._commit(used)
        elif kind == "run":
            command = f"python -m {self._repository.package} --only {file.path} 2>&1"
            text = write.log(file, size)
        elif kind == "log":
            command, text = "git log --oneline", write.history(size)
        elif kind == "diff":
            command, text = f"git diff {file.path}", write.diff(file, size)
        else:
            command, text = "git status --short", write.status(self._edited)
        self._call(ToolCall("bash", {"command": command}, text, failed > 0), used=used)

    def _commit(self, used: dict[str, str]) -> tuple[str, str]:
        task = self._tasks[-1]
        title = f"{task.ticket}: mend {task.function}"
        trailer = ""
        if fact := self.draft.rules.get(TRAILER):
            trailer = f"\n\n{fact.value}"
            used[fact.id] = "last line of a commit message"
        result = f"[main {self._rng.getrandbits(28):07x}] {title}"
        changed = self._writer.status(self._edited)
        self._edited.clear()
        return f"git commit -am '{title}{trailer}'", f"{result}\n{changed}"

    def _call(
        self, *calls: ToolCall, said: str = "", used: Mapping[str, str] | None = None
    ) -> None:
        parts: list[Said] = []
        if self._rng.random() < _THINKING:
            parts.append(("thinking", self._prose("thinking")))
        if said or self._rng.random() < _TEXT:
            parts.append(("text", said or self._prose("text")))
        self.draft.call(parts, list(calls), used or {})

    def _prose(self, what: str) -> str:
        return self._writer.prose(self._file(), self.draft.length(what, 1_500))

    def _file(self) -> File:
        """Choose a file: that of the task, one seen before, or any."""
        draw = self._rng.random()
        if draw < _SAME_FILE:
            file = self._tasks[-1].file
        elif self._seen and draw < _SAME_FILE + _EARLIER_FILE:
            file = self._rng.choice(self._seen)
        else:
            file = self._rng.choice(self._repository.files)
        if file not in self._seen:
            self._seen.append(file)
        return file

    def _pick(self, weights: Mapping[str, int]) -> str:
        return self._rng.choices(list(weights), list(weights.values()))[0]
