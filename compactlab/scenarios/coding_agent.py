"""A synthetic session of a coding agent, with sizes and pauses like those of recorded sessions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, DomainFile, until
from compactlab.scenarios.engine.plan import PlannedFact
from compactlab.scenarios.engine.profile import find_profile
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.world import Draft, Open, ToolCall, Used, World
from compactlab.sim.core.conversation import FactType
from compactlab.sim.core.stream import chooser

# Weights of the next action after each action. They are set so that the shares come close to those
# of the eight recorded sessions (see `profiles/coding.toml`); another profile shifts them.
_NEXT = {
    "user": {"read": 4, "grep": 3, "bash": 4},
    "read": {"read": 3, "edit": 4, "grep": 1, "bash": 3},
    "grep": {"read": 5, "bash": 3, "edit": 2},
    "edit": {"bash": 7, "edit": 3, "read": 1},
    "bash": {"bash": 10, "edit": 6, "read": 4, "grep": 1, "write": 1},
    "write": {"bash": 3, "edit": 2},
}
_COMMANDS = {"tests": 10, "run": 6, "status": 2, "diff": 3, "log": 2, "commit": 2}
_RARE = 0.001  # smallest share of a tool, so that an action is always possible
# Only reads come in pairs (a quarter of all calls), and only test runs fail (a fifth of them).
_READS, _TEST_RUNS = 4, 5
# With a smaller share of results among all tokens the agent reads, with a larger one it edits. So
# short sessions also have the required 40 to 85 %. Set by hand.
_LEAST, _MOST = 0.45, 0.78
# Not measured: how often the user has a new task, returns to an old one, or pastes a log; how often
# the agent works on the file of the task, or on one that it has used before.
_NEW_TASK, _OLD_TASK, _PASTES = 0.45, 0.20, 0.03
_SAME_FILE, _EARLIER_FILE = 0.55, 0.30

# With nouns n and m, a verb v, a trait a, a number k, and a function f of the repository. Templates
# would take four times as long, and statements take half of a session's time.
_STATEMENTS: tuple[Callable[[str, str, str, str, int, str], str], ...] = (
    lambda n, m, v, a, k, f: f"    {n} = {f}({m}, {a}={m}.{a})",
    lambda n, m, v, a, k, f: f"    {n} = self._{m}s.get({m}.{a})",
    lambda n, m, v, a, k, f: (
        f'    if {n}.{a} is None:\n        raise {m.title()}Error(f"{m} {{{m}.name!r}} has no {a}")'
    ),
    lambda n, m, v, a, k, f: f"    if {n}.{a} > {k}:\n        return {f}({n}, {a}={k})",
    lambda n, m, v, a, k, f: f"    for {m} in {n}.{m}s:\n        {f}({m}, {n}={n})",
    lambda n, m, v, a, k, f: f"    with self._lock:\n        self._{n}s[{m}.{a}] = {f}({m})",
    lambda n, m, v, a, k, f: f'    log.debug("{v} %s of %s", {n}.{a}, {m}.name)',
    lambda n, m, v, a, k, f: f"    assert {n}.{a} != {m}.{a}, ({n}, {m})",
    lambda n, m, v, a, k, f: (
        f"    # The {m} may be gone by now: whoever calls this has to {v} the {n} again."
    ),
    lambda n, m, v, a, k, f: f"    {n}s = [{f}({m}) for {m} in {n}s if {m}.{a} >= {k}]",
    lambda n, m, v, a, k, f: f'    settings["{n}.{a}"] = {k}',
    lambda n, m, v, a, k, f: (
        f"    try:\n        {f}({n})\n    except {m.title()}Error as error:\n"
        f"        self.{v}({n}, reason=str(error))"
    ),
    lambda n, m, v, a, k, f: f"    {n}.{a} = max({n}.{a}, {m}.{a} + {k})",
)

Words = Mapping[str, Sequence[str]]


@dataclass(eq=False)
class File:
    """A file: its path, its lines, and where its functions begin."""

    path: str  # relative to the root of the repository
    lines: list[str]
    functions: list[str]  # functions that it defines, in order; at least one
    _heads: dict[str, int] = field(default_factory=dict)  # cache of the lines of functions

    def line_of(self, function: str) -> int:
        """Return the index of the line on which a function begins; 0 if it was removed."""
        if function not in self._heads:
            head = f"def {function}("
            self._heads[function] = next(
                (i for i, text in enumerate(self.lines) if head in text), 0
            )
        return self._heads[function]

    def replace(self, start: int, old: int, new: list[str]) -> None:
        """Replace a number of lines, from an index on, by other lines."""
        self.lines[start : start + old] = new
        if any("def " in text for text in new):
            self._heads.clear()
        for function, index in [*self._heads.items()]:
            if index >= start + old:
                self._heads[function] += len(new) - old
            elif index >= start:
                del self._heads[function]

    def taken(self, start: int, characters: int) -> list[str]:
        """Return lines from a line on, at least one, until they have this many characters."""
        end = start + 1
        while end < len(self.lines) and characters > len(self.lines[end - 1]):
            characters -= len(self.lines[end - 1]) + 1
            end += 1
        return self.lines[start:end]

    def numbered(self, start: int, characters: int) -> str:
        """Return numbered lines from a line on, until they have this many characters."""
        lines = enumerate(self.taken(start, characters), start + 1)
        return "\n".join(f"{number:>6}\t{line}" for number, line in lines)


class Repository:
    """A model of a package whose files grow over time.

    An edited line is read as edited later. A search finds what is in the files. A test of a file
    has that file's name. So identifiers recur, as they do in real sessions.
    """

    def __init__(self, rng: random.Random, words: Words, modules: int = 32) -> None:
        self.rng, self.words = rng, words
        self.package = rng.choice(words["packages"])
        self.prefix = self.package[:3].upper()
        nouns, verbs = words["nouns"], words["verbs"]
        names = (f"{rng.choice(verbs)}_{rng.choice(nouns)}" for _ in range(160))
        self._functions = list(dict.fromkeys(names))
        self._noun, self._verb = chooser(rng, nouns), chooser(rng, verbs)
        self._trait = chooser(rng, words["traits"])
        self._number, self._function = chooser(rng, range(2, 901)), chooser(rng, self._functions)
        self._statement = chooser(rng, _STATEMENTS)
        self.files: list[File] = []
        for noun in rng.sample(nouns, modules):
            self.add(f"src/{self.package}/{rng.choice(words['areas'])}/{noun}.py")

    def add(self, path: str, characters: int = 0) -> File:
        """Write a new file with this many characters; with 0, the length is drawn."""
        characters = characters or int(min(80_000, 18_000 * self.rng.lognormvariate(0, 1.0)))
        nouns, areas = self.rng.sample(self.words["nouns"], 3), self.words["areas"]
        lines = [f'"""The {nouns[0]} and what its {nouns[1]} needs."""', ""]
        lines += [f"from {self.package}.{self.rng.choice(areas)} import {noun}" for noun in nouns]
        file = File(path, lines, [])
        size = sum(map(len, lines))
        most = len(self._functions)
        while (size < characters and len(file.functions) < most) or not file.functions:
            name = self._function()
            if name not in file.functions:
                body = ["", "", *self.function(name)]
                file.functions.append(name)
                lines += body
                size += sum(map(len, body)) + len(body)
        self.files.append(file)
        return file

    def function(self, name: str) -> list[str]:
        one, two = self.rng.sample(self.words["nouns"], 2)
        verb, _, _ = name.partition("_")
        lines = [
            f"def {name}(self, {one}: {one.title()}, {two}: {two.title()} | None) -> None:",
            f'    """{verb.title()} the {one} before its {two} is used."""',
        ]
        for _ in range(self.rng.randint(3, 14)):
            lines += self.statement()
        return lines

    def statement(self) -> list[str]:
        """Write a statement, in the body of a function."""
        m, text, n = self._noun(), self._statement(), self._noun()
        v, a, k, f = self._verb(), self._trait(), self._number(), self._function()
        return text(n, m, v, a, k, f).split("\n")

    def search(self, word: str) -> Iterator[str]:
        """Find a word in all files, as ``path:line:text``."""
        for file in self.files:
            for number, line in enumerate(file.lines, 1):
                if word in line:
                    yield f"{file.path}:{number}:{line}"


class Writer:
    """Writes texts about a repository, from the templates of a domain."""

    def __init__(self, repository: Repository, templates: Words, rng: random.Random) -> None:
        self.repository, self.rng = repository, rng
        self._templates = templates
        words = repository.words
        self._noun, self._verb = chooser(rng, words["nouns"]), chooser(rng, words["verbs"])

    def one(self, what: str, file: File) -> str:
        """Choose a template of a kind and fill it."""
        return self.fill(self.rng.choice(self._templates[what]), file)

    def fill(self, template: str, file: File) -> str:
        """Fill a template with words, and with names of a file."""
        n, m = self._noun(), self._noun()
        f, line = self.rng.choice(file.functions), self.rng.randint(1, len(file.lines))
        return template.format(
            n=n, m=m, N=n.title(), v=self._verb(), f=f, p=file.path, l=line,
            k=self.repository.package, h=f"{self.rng.getrandbits(32):08x}",
        )  # fmt: skip

    def task(self, ticket: str, file: File, function: str) -> str:
        """Write a request to change a function."""
        complaint = self.one("complaints", file)
        wish = self.one("wishes", file)
        return f"{ticket}: `{function}` in {file.path} {complaint}. {wish}"

    def short(self, file: File) -> str:
        """Write a short message between two tasks."""
        return self.one("short", file)

    def prose(self, file: File, characters: int) -> str:
        """Write findings and plans about a file."""
        return " ".join(until(characters, lambda: self._sentence(file)))

    def _sentence(self, file: File) -> str:
        finding = self.one("findings", file)
        plan = self.one("plans", file)
        text = f"{finding}, so {plan}." if self.rng.getrandbits(1) else f"{plan}."
        return text[0].upper() + text[1:]

    def log(self, file: File, characters: int) -> str:
        """Write the log of a running service."""
        clock = self.rng.randrange(86_400)

        def line() -> str:
            nonlocal clock
            clock = (clock + self.rng.randint(0, 3)) % 86_400
            stamp = f"{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}"
            return f"{stamp} {self.one('logs', file)}"

        return "\n".join(until(characters, line))

    def tests(self, file: File, characters: int, failed: int) -> str:
        """Write the output of a test runner; a longer one shows more of each failure."""
        stem = file.path.rsplit("/", 1)[-1].removesuffix(".py")
        names = [f"test_{self.rng.choice(file.functions)}" for _ in range(failed)]
        path = f"tests/test_{stem}.py"
        lines = [f"{path} {'.' * self.rng.randint(4, 40)}{'F' * failed}"]
        for name in names:
            lines += [f"____ {name} ____", *self._failure(file, characters // (failed + 1))]
        lines += until(0 if failed else characters - 80, self._passed)
        lines += [f"FAILED {path}::{name}" for name in names]
        passed, seconds = self.rng.randint(20, 400), self.rng.randint(20, 4000) / 100
        count = f"{failed} failed, {passed} passed" if failed else f"{passed} passed"
        return "\n".join([*lines, f"==== {count} in {seconds}s ===="])

    def _failure(self, file: File, characters: int) -> Iterator[str]:
        at = self.rng.randint(1, len(file.lines))
        shown = file.lines[max(0, at - 1 - characters // 60) : at]
        yield from ("    " + line for line in shown[:-1])
        yield f">   {shown[-1]}"
        yield self.fill("E   {N}Error: {m} {h} is not a {n}", file)
        yield f"{file.path}:{at}: in {self.rng.choice(file.functions)}"

    def _passed(self) -> str:
        dots = "." * self.rng.randint(1, 30)
        return self.fill(f"{{p}} {dots} [{{l}} in {{f}}]", self.rng.choice(self.repository.files))

    def status(self, files: list[File]) -> str:
        """Write the output of ``git status --short``."""
        return "\n".join(sorted({f" M {file.path}" for file in files})) or "nothing to commit"

    def history(self, characters: int) -> str:
        """Write the output of ``git log --oneline``."""

        def line() -> str:
            ticket = f"{self.repository.prefix}-{self.rng.randint(100, 999)}"
            file = self.rng.choice(self.repository.files)
            return f"{self.rng.getrandbits(32):08x} {ticket} {self.fill('{v} {n} in {f}', file)}"

        return "\n".join(until(characters, line))

    def diff(self, file: File, characters: int) -> str:
        """Write the output of ``git diff`` for a file."""
        at = self.rng.randrange(len(file.lines))
        lines = [f"--- a/{file.path}", f"+++ b/{file.path}", f"@@ -{at + 1} +{at + 1} @@"]
        for line in file.lines[at : at + max(1, characters // 50)]:
            mark = self.rng.choice("   +-")
            lines.append(f"{mark}{line}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Task:
    """A task of the user: a ticket, and the function that it is about."""

    ticket: str
    file: File
    function: str


def _shell(command: str, output: str, failed: bool = False) -> ToolCall:
    return ToolCall("bash", {"command": command}, output, failed)


class _Coding(World):
    """A repository that is read, searched, edited and tested; see :class:`World`."""

    def __init__(self, domain: Domain, draft: Draft, open: Open) -> None:
        super().__init__(domain, draft, open)
        self._repository = Repository(open("repository"), domain.words)
        self._texts = Writer(self._repository, domain.texts, open("words"))
        self._tasks: list[Task] = []
        self._seen: list[File] = []
        self._edited: list[File] = []
        self._last = "user"
        usual = find_profile("coding").tools
        mine = {tool: share for tool, share in draft.profile.tools.items() if tool in usual}
        # A profile without these tools has no effect; one with some leaves little to the others.
        tilt = {tool: (mine or usual).get(tool, _RARE) / share for tool, share in usual.items()}
        self._next = {
            last: {tool: weight * tilt[tool] for tool, weight in row.items()}
            for last, row in _NEXT.items()
        }

    def request(self, left: float) -> str:
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
        return self._texts.prose(self._file(), characters)

    def act(self, left: float) -> list[ToolCall]:
        share = self.draft.returned / max(1, self.draft.tokens)
        drawn = self._pick(self._next[self._last])
        self._last = "read" if share < _LEAST else "edit" if share > _MOST else drawn
        twice = self._last == "read" and self.rng.random() < _READS * self.shares["pair"]
        # As attributes of the world, they would form a reference cycle that keeps the repository
        # alive.
        act = {
            "read": self._read,
            "grep": self._grep,
            "edit": self._edit,
            "bash": self._bash,
            "write": self._write,
        }[self._last]
        return [act(left / (1 + twice)) for _ in range(1 + twice)]

    def use(self, fact: PlannedFact, left: float) -> Used:
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
                return Used(call=_shell(f"tail -n 80 {value}", text))
            case "tool_detail" if self.rng.getrandbits(1):
                self._last = "grep"
                return Used(call=ToolCall("grep", {"pattern": value, "path": "."}, "no matches"))
            case _:
                return self.say(fact)

    def display(self, left: float) -> ToolCall:
        self._last = "bash"
        return self._run(self._file(), left)

    def shows(self, call: ToolCall, kind: FactType) -> bool:
        return call.name == "bash" and not call.failed

    def _read(self, left: float) -> ToolCall:
        file = self._file()
        start = file.line_of(self.rng.choice(file.functions))
        start *= self.rng.getrandbits(1)  # or from the first line
        text = file.numbered(start, self.draft.length("read", left))
        lines = {"offset": start + 1, "limit": text.count("\n") + 1}
        return ToolCall("read", {"path": file.path, **lines}, text)

    def _grep(self, left: float) -> ToolCall:
        function = self.rng.choice(self._file().functions)
        word = function if self.rng.getrandbits(1) else self._noun()
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
            retained = not each or "def " in each or self.rng.getrandbits(1)
            new += [each] if retained else self._repository.statement()
        if line:
            new.append(line)
        file.replace(start, len(old), new)
        self._edited.append(file)
        arguments = {"path": file.path, "old": "\n".join(old), "new": "\n".join(new)}
        done = f"{file.path}: {len(old)} lines from line {start + 1} on became {len(new)} lines."
        return ToolCall("edit", arguments, done)

    def _write(self, left: float) -> ToolCall:
        stem = f"{self._noun()}_{self._noun()}"
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
            return _shell("git log --oneline", write.history(size))
        if kind == "diff":
            return _shell(f"git diff {file.path}", write.diff(file, size))
        return _shell("git status --short", write.status(self._edited))

    def _run(self, file: File, left: float) -> ToolCall:
        text = self._texts.log(file, self.draft.length("bash", left))
        return _shell(f"python -m {self._repository.package} --only {file.path} 2>&1", text)

    def _tests(self, file: File, left: float, command: str) -> ToolCall:
        failed = self.rng.randint(1, 3) if self._fails() else 0
        text = self._texts.tests(file, self.draft.length("bash", left), failed)
        return _shell(command, text, failed > 0)

    def _noun(self) -> str:
        return self.rng.choice(self.domain.words["nouns"])

    def _fails(self) -> bool:
        return self.rng.random() < _TEST_RUNS * self.shares["error"]

    def _commit(self, trailer: str = "") -> ToolCall:
        task = self._tasks[-1]
        title = f"{task.ticket}: mend {task.function}"
        result = f"[main {self.rng.getrandbits(28):07x}] {title}"
        changed = self._texts.status(self._edited)
        self._edited.clear()
        message = f"{title}\n\n{trailer}" if trailer else title
        return _shell(f"git commit -am '{message}'", f"{result}\n{changed}")

    def _file(self) -> File:
        """Choose a file: that of the task, one used before, or any."""
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


@dataclass(frozen=True)
class CodingAgent(Story):
    """A coding agent works on a repository for a user: read, search, edit, test, commit.

    Sizes, the variation of turns and the time between messages are measured on eight recorded
    Claude Code and pi sessions, 2026-11 (``profiles/coding.toml``). The repository is a model: an
    edited line reads edited later, and tasks, files and functions recur. System prompt and tools
    are opaque parts of 12,500 tokens.

    Examples
    --------
    >>> script = CodingAgent(turns=2, tokens=8_000).conversation(seed=7)
    >>> script.id, script.turns, len([fact for fact in script.facts if not fact.decoy])
    ('coding_agent-7', 2, 3)
    """

    tokens: int = 120_000
    profile: str = "coding"

    domain = DomainFile("coding_agent")
    world: ClassVar[type[World]] = _Coding
