"""How a made-up coding session goes: what the user wants, and what the agent does about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compactlab.scenarios.coding_repository import NOUNS, File, Repository
from compactlab.scenarios.coding_texts import Writer
from compactlab.scenarios.plot.domain import Domain
from compactlab.scenarios.plot.draft import Draft, ToolCall
from compactlab.scenarios.plot.profile import find_profile
from compactlab.scenarios.plot.thread import Thread
from compactlab.scenarios.plot.world import Open, Used, World
from compactlab.sim.conversation import FactType

# What is done after what, in weights. They are set so that the shares come out near those of the
# eight recorded sessions (see `profiles/coding.toml`); another profile tilts them.
_NEXT = {
    "user": {"read": 4, "grep": 3, "bash": 4},
    "read": {"read": 3, "edit": 4, "grep": 1, "bash": 3},
    "grep": {"read": 5, "bash": 3, "edit": 2},
    "edit": {"bash": 7, "edit": 3, "read": 1},
    "bash": {"bash": 10, "edit": 6, "read": 4, "grep": 1, "write": 1},
    "write": {"bash": 3, "edit": 2},
}
_COMMANDS = {"tests": 10, "run": 6, "status": 2, "diff": 3, "log": 2, "commit": 2}
_RARE = 0.001  # so that there is always something that can be done next
# Only reads come in pairs, a quarter of all calls, and only test runs fail, a fifth of them.
_READS, _TEST_RUNS = 4, 5
# With a smaller share of results among all tokens the agent reads, with a larger one it edits, so
# that short sessions, too, keep to the 40 to 85 % that are asked of a scenario. Set by hand.
_LEAST, _MOST = 0.45, 0.78
# Not measured: how often the user has a new task, goes back to an old one, pastes a log; how
# often the agent works on the file of the task, or on one that it has been at before.
_NEW_TASK, _OLD_TASK, _PASTES = 0.45, 0.20, 0.03
_SAME_FILE, _EARLIER_FILE = 0.55, 0.30


@dataclass(frozen=True)
class Task:
    """What the user wants done: a ticket, and the function that it is about."""

    ticket: str
    file: File
    function: str


class CodingWorld(World):
    """A repository that is read, searched, edited and tested; see :class:`World`."""

    def __init__(self, domain: Domain, draft: Draft, open: Open) -> None:
        super().__init__(domain, draft, open)
        self._repository = Repository(open("repository"))
        self._texts = Writer(self._repository, open("words"))
        self._tasks: list[Task] = []
        self._seen: list[File] = []
        self._edited: list[File] = []
        self._last = "user"
        usual = find_profile("coding").tools
        mine = {tool: share for tool, share in draft.profile.tools.items() if tool in usual}
        # A profile without these tools tells nothing; one with some leaves hardly any to others.
        tilt = {tool: (mine or usual).get(tool, _RARE) / share for tool, share in usual.items()}
        self._next = {
            last: {tool: weight * tilt[tool] for tool, weight in row.items()}
            for last, row in _NEXT.items()
        }

    def request(self, left: float) -> str:
        """Ask for something to be done; see :meth:`World.request`."""
        self._last = "user"
        draw = self.rng.random()
        first = not self._tasks
        if first or draw < _NEW_TASK:
            file = self.rng.choice(self._repository.files)
            ticket = f"{self._repository.prefix}-{self.rng.randint(1000, 9999)}"
            self._tasks.append(Task(ticket, file, self.rng.choice(file.functions)))
        elif draw < _NEW_TASK + _OLD_TASK:
            self._tasks.append(self.rng.choice(self._tasks))
        task = self._tasks[-1]
        if not first and draw >= _NEW_TASK + _OLD_TASK:
            text = self._texts.short(task.file)
        else:
            text = self._texts.task(task.ticket, task.file, task.function)
        if self.rng.random() < _PASTES:
            text += "\n" + self._texts.log(task.file, self.draft.length("write", 2_500))
        return text

    def prose(self, characters: int) -> str:
        """Findings and plans about a file; see :meth:`World.prose`."""
        return self._texts.prose(self._file(), characters)

    def act(self, left: float) -> list[ToolCall]:
        """Read, search, edit, run or write; see :meth:`World.act`."""
        share = self.draft.returned / max(1, self.draft.tokens)
        drawn = self._pick(self._next[self._last])
        self._last = "read" if share < _LEAST else "edit" if share > _MOST else drawn
        twice = self._last == "read" and self.rng.random() < _READS * self.shares["pair"]
        # Kept in the world, these would be a cycle, and the repository would outlive its story.
        act = {
            "read": self._read,
            "grep": self._grep,
            "edit": self._edit,
            "bash": self._bash,
            "write": self._write,
        }[self._last]
        return [act(left / (1 + twice)) for _ in range(1 + twice)]

    def use(self, fact: Thread, left: float) -> Used:
        """Put a fact to use where it belongs; see :meth:`World.use`."""
        value, file = fact.value, self._file()
        match fact.kind:
            case "decision" if self.rng.getrandbits(1):
                return Used(call=self._edit(left, f'    limit = settings["{value}"]'))
            case "procedure":
                self._last = "bash"
                return Used(call=self._tests(file, left, f"{value} ONLY={file.path}"))
            case "constraint" if self._edited:
                self._last = "bash"
                return Used(call=self._commit(value))
            case "artifact" if self.rng.getrandbits(1):
                self._last = "bash"
                text = self._texts.log(file, self.draft.length("bash", left))
                return Used(call=ToolCall("bash", {"command": f"tail -n 80 {value}"}, text))
            case "tool_detail" if self.rng.getrandbits(1):
                self._last = "grep"
                return Used(call=ToolCall("grep", {"pattern": value, "path": "."}, "no matches"))
            case _:
                return self.say(fact)

    def display(self, left: float) -> ToolCall:
        """Run the program; see :meth:`World.display`."""
        self._last = "bash"
        return self._run(self._file(), left)

    def shows(self, call: ToolCall, kind: FactType) -> bool:
        """Whether it is the output of a command; see :meth:`World.shows`."""
        return call.name == "bash" and not call.failed

    def _read(self, left: float) -> ToolCall:
        file = self._file()
        start = file.line_of(self.rng.choice(file.functions))
        start *= self.rng.getrandbits(1)  # or from the beginning
        text = file.numbered(start, self.draft.length("read", left))
        lines = {"offset": start + 1, "limit": text.count("\n") + 1}
        return ToolCall("read", {"path": file.path, **lines}, text)

    def _grep(self, left: float) -> ToolCall:
        function = self.rng.choice(self._file().functions)
        word = function if self.rng.getrandbits(1) else self.rng.choice(NOUNS)
        most, hits = self.draft.length("grep", left), []
        for hit in self._repository.search(word):
            hits.append(hit)
            most -= len(hit)
            if most <= 0:
                break
        arguments = {"pattern": word, "path": "."}
        return ToolCall("grep", arguments, "\n".join(hits) or "no matches")

    def _edit(self, left: float, line: str = "") -> ToolCall:
        self._last = "edit"
        file = self._file()
        start = file.line_of(self.rng.choice(file.functions)) + 1
        old = file.taken(start, self.draft.length("edit", left) // 2)
        new: list[str] = []
        for each in old:
            kept = not each or "def " in each or self.rng.getrandbits(1)
            new += [each] if kept else self._repository.statement()
        if line:
            new.append(line)
        file.lines[start : start + len(old)] = new
        self._edited.append(file)
        arguments = {"path": file.path, "old": "\n".join(old), "new": "\n".join(new)}
        done = f"{file.path}: {len(old)} lines from line {start + 1} on became {len(new)} lines."
        return ToolCall("edit", arguments, done)

    def _write(self, left: float) -> ToolCall:
        stem = f"{self.rng.choice(NOUNS)}_{self.rng.choice(NOUNS)}"
        path = f"tests/unit/test_{stem}_{len(self._repository.files)}.py"
        file = self._repository.add(path, self.draft.length("write", left))
        self._seen.append(file)
        self._edited.append(file)
        arguments = {"path": path, "content": "\n".join(file.lines)}
        return ToolCall("write", arguments, f"{path}: {len(file.lines)} lines written.")

    def _bash(self, left: float) -> ToolCall:
        kind, file, write = self._pick(_COMMANDS), self._file(), self._texts
        if kind == "tests":
            return self._tests(file, left, f"make test ONLY={file.path}")
        if kind == "commit" and self._edited:
            return self._commit()
        if kind == "run":
            return self._run(file, left)
        size = self.draft.length("bash", left)
        if kind == "log":
            command, text = "git log --oneline", write.history(size)
        elif kind == "diff":
            command, text = f"git diff {file.path}", write.diff(file, size)
        else:
            command, text = "git status --short", write.status(self._edited)
        return ToolCall("bash", {"command": command}, text)

    def _run(self, file: File, left: float) -> ToolCall:
        command = f"python -m {self._repository.package} --only {file.path} 2>&1"
        text = self._texts.log(file, self.draft.length("bash", left))
        return ToolCall("bash", {"command": command}, text)

    def _tests(self, file: File, left: float, command: str) -> ToolCall:
        failed = self.rng.randint(1, 3) if self._fails() else 0
        text = self._texts.tests(file, self.draft.length("bash", left), failed)
        return ToolCall("bash", {"command": command}, text, failed > 0)

    def _fails(self) -> bool:
        return self.rng.random() < _TEST_RUNS * self.shares["error"]

    def _commit(self, trailer: str = "") -> ToolCall:
        task = self._tasks[-1]
        title = f"{task.ticket}: mend {task.function}"
        result = f"[main {self.rng.getrandbits(28):07x}] {title}"
        changed = self._texts.status(self._edited)
        self._edited.clear()
        message = f"{title}\n\n{trailer}" if trailer else title
        return ToolCall("bash", {"command": f"git commit -am '{message}'"}, f"{result}\n{changed}")

    def _file(self) -> File:
        """Choose a file: that of the task, one seen before, or any."""
        draw = self.rng.random()
        if draw < _SAME_FILE:
            file = self._tasks[-1].file
        elif self._seen and draw < _SAME_FILE + _EARLIER_FILE:
            file = self.rng.choice(self._seen)
        else:
            file = self.rng.choice(self._repository.files)
        if file not in self._seen:
            self._seen.append(file)
        return file

    def _pick(self, weights: Mapping[str, float]) -> str:
        return self.rng.choices(list(weights), list(weights.values()))[0]
