"""How a synthetic coding session goes: its repository, its texts, what is wanted and done."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from compactlab.scenarios.engine.domain import Domain, until
from compactlab.scenarios.engine.plan import Thread
from compactlab.scenarios.engine.profile import find_profile
from compactlab.scenarios.engine.world import Draft, Open, ToolCall, Used, World
from compactlab.sim.core.conversation import FactType
from compactlab.sim.core.stream import chooser

# A made-up repository: files with functions that call each other, to be read, searched, edited.
#
# It is a model and not a text generator: a line that was edited reads edited later, a search
# finds what stands in the files, and a test of a file has that file's name. So identifiers come
# back, as they do in real sessions.


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOUNS = _words(
    "account batch beacon bucket cargo channel claim cursor depot digest entry envelope event "
    "feature gauge grant header index invoice journal ledger lease manifest marker member meter "
    "notice offer order packet parcel payload permit policy profile quota receipt record region "
    "relay report route sample schedule sector segment session shard shipment signal slot snapshot "
    "source stock stream tariff tenant ticket token transfer vendor voucher window"
)
VERBS = _words(
    "accept apply archive assign audit build cancel check claim close collect commit compare "
    "compute confirm convert count decode derive discard dispatch drain encode expand expire fetch "
    "filter flush format freeze group import inspect issue join limit load lock match measure "
    "merge move normalize open parse patch plan prune publish queue read rebuild reconcile refresh "
    "reject release replace reset resolve restore retry revoke rotate sample scan schedule select "
    "settle sign split store strip submit track trim update validate verify withdraw"
)
_PACKAGES = _words("corvid harbor kestrel lantern marlow orchard pelican quarry tollgate windmill")
_AREAS = _words("api billing core ingest jobs routing storage sync")
_TRAITS = _words("amount closed_at currency expires_at kind limit name owner retries size state")

# Of nouns n and m, a verb v, a trait a, a number k, and a function f of the repository. Templates
# would say the same, and take four times as long: half of a session's time goes into statements.
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


@dataclass(eq=False)
class File:
    """A file: its path, its lines, and where its functions begin.

    Parameters
    ----------
    path
        Relative to the root of the repository.
    lines
        Its text.
    functions
        Names of the functions that it defines, in order; at least one.
    """

    path: str
    lines: list[str]
    functions: list[str]

    def line_of(self, function: str) -> int:
        """Index of the line on which a function begins; 0 if it is gone."""
        head = f"def {function}("
        return next((i for i, line in enumerate(self.lines) if head in line), 0)

    def taken(self, start: int, characters: int) -> list[str]:
        """Take lines from a line on, one at least, until there are that many characters."""
        end = start + 1
        while end < len(self.lines) and characters > len(self.lines[end - 1]):
            characters -= len(self.lines[end - 1]) + 1
            end += 1
        return self.lines[start:end]

    def numbered(self, start: int, characters: int) -> str:
        """Read from a line on, with line numbers, until there are that many characters."""
        lines = enumerate(self.taken(start, characters), start + 1)
        return "\n".join(f"{number:>6}\t{line}" for number, line in lines)


class Repository:
    """Files of a package that grew over time.

    Parameters
    ----------
    rng
        What all names and lines are drawn from.
    modules
        How many files there are at first.
    """

    def __init__(self, rng: random.Random, modules: int = 32) -> None:
        self.rng = rng
        self.package = rng.choice(_PACKAGES)
        self.prefix = self.package[:3].upper()
        names = (f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}" for _ in range(160))
        self._functions = list(dict.fromkeys(names))
        self._noun, self._verb, self._trait = (chooser(rng, w) for w in (NOUNS, VERBS, _TRAITS))
        self._number, self._function = chooser(rng, range(2, 901)), chooser(rng, self._functions)
        self._statement = chooser(rng, _STATEMENTS)
        self.files: list[File] = []
        for noun in rng.sample(NOUNS, modules):
            self.add(f"src/{self.package}/{rng.choice(_AREAS)}/{noun}.py")

    def add(self, path: str, characters: int = 0) -> File:
        """Write a new file, of that many characters or, with 0, of a length as files have."""
        characters = characters or int(min(80_000, 18_000 * self.rng.lognormvariate(0, 1.0)))
        nouns = self.rng.sample(NOUNS, 3)
        lines = [f'"""The {nouns[0]} and what its {nouns[1]} needs."""', ""]
        lines += [f"from {self.package}.{self.rng.choice(_AREAS)} import {noun}" for noun in nouns]
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
        """Write a function."""
        one, two = self.rng.sample(NOUNS, 2)
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


# What people, an agent and its tools write about a made-up repository.
#
# All of it is put together from the templates here; nothing was copied from a recording.

_COMPLAINTS = (
    "fails when the {n} is empty",
    "returns the old {n} after somebody has to {v} it",
    "is called twice for every {n}",
    "takes seconds once there are many {n}s",
    "swallows the error of the {n}",
    "loses the last {n} when two jobs run at once",
)
_WISHES = (
    "Find out why and mend it.",
    "Please fix it and add a test.",
    "Can you make it {v} the {n} only once?",
    "I want it to {v} the {n} first.",
    "Have a look, but keep the signature.",
)
_SHORT = (
    "go on",
    "ok, and now the tests",
    "Looks good. Is `{f}` affected as well?",
    "Hm, why does `{f}` in {p} do that? Explain before you change anything.",
    "please look at {p} again, I think the {n} is still wrong there",
    "yes, do that",
)
_FINDINGS = (
    "`{f}` in {p}:{l} only checks the {n}, not the {m}",
    "the {n} is read before somebody has to {v} it ({p}:{l})",
    "the {m} in {p} still goes through `{f}` with the old {n}",
    "the {m} of `{f}` is shared between two callers",
    "nothing in {p} guards the {n} against a second {v}",
    "`{f}` raises from {p}:{l} when the {m} has expired",
)
_PLANS = (
    "I {v} the {n} first and call `{f}` afterwards",
    "the check moves into `{f}`",
    "the same change is due in {p}",
    "I add a guard at line {l} and a test for the {m}",
    "it is enough to {v} the {m} once, at the end",
    "next I look at who else calls `{f}`",
)
_LOGS = (
    "INFO  {k}.{n} {v} {m}={h} took={l}ms",
    "DEBUG {k}.{m} cache miss for {n}:{h}",
    "WARN  {k}.{n} {m} {h} is late by {l} s, will {v} it again",
    "INFO  {k}.{m} {f} done, {l} {n}s left",
    "ERROR {k}.{n} could not {v} {m} {h}: {N}Error: no such {m}",
)


class Writer:
    """Writes texts about a repository.

    Parameters
    ----------
    repository
        What is written about.
    rng
        What words are drawn from.
    """

    def __init__(self, repository: Repository, rng: random.Random) -> None:
        self.repository = repository
        self.rng = rng
        self._noun, self._verb = chooser(rng, NOUNS), chooser(rng, VERBS)

    def fill(self, template: str, file: File) -> str:
        """Fill a template with words, and with names of a file."""
        n, m = self._noun(), self._noun()
        f, line = self.rng.choice(file.functions), self.rng.randint(1, len(file.lines))
        return template.format(
            n=n, m=m, N=n.title(), v=self._verb(), f=f, p=file.path, l=line,
            k=self.repository.package, h=f"{self.rng.getrandbits(32):08x}",
        )  # fmt: skip

    def task(self, ticket: str, file: File, function: str) -> str:
        """Ask for something to be done about a function."""
        complaint = self.fill(self.rng.choice(_COMPLAINTS), file)
        wish = self.fill(self.rng.choice(_WISHES), file)
        return f"{ticket}: `{function}` in {file.path} {complaint}. {wish}"

    def short(self, file: File) -> str:
        """Say something short, as people do between two tasks."""
        return self.fill(self.rng.choice(_SHORT), file)

    def prose(self, file: File, characters: int) -> str:
        """Think aloud about a file: findings and plans."""
        return " ".join(until(characters, lambda: self._sentence(file)))

    def _sentence(self, file: File) -> str:
        finding = self.fill(self.rng.choice(_FINDINGS), file)
        plan = self.fill(self.rng.choice(_PLANS), file)
        text = f"{finding}, so {plan}." if self.rng.getrandbits(1) else f"{plan}."
        return text[0].upper() + text[1:]

    def log(self, file: File, characters: int) -> str:
        """Write what a service writes while it runs."""
        clock = self.rng.randrange(86_400)

        def line() -> str:
            nonlocal clock
            clock = (clock + self.rng.randint(0, 3)) % 86_400
            stamp = f"{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}"
            return f"{stamp} {self.fill(self.rng.choice(_LOGS), file)}"

        return "\n".join(until(characters, line))

    def tests(self, file: File, characters: int, failed: int) -> str:
        """Write what a test runner prints; the longer, the more it shows of each failure."""
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
        """Write what ``git status --short`` prints."""
        return "\n".join(sorted({f" M {file.path}" for file in files})) or "nothing to commit"

    def history(self, characters: int) -> str:
        """Write what ``git log --oneline`` prints."""

        def line() -> str:
            ticket = f"{self.repository.prefix}-{self.rng.randint(100, 999)}"
            file = self.rng.choice(self.repository.files)
            return f"{self.rng.getrandbits(32):08x} {ticket} {self.fill('{v} {n} in {f}', file)}"

        return "\n".join(until(characters, line))

    def diff(self, file: File, characters: int) -> str:
        """Write what ``git diff`` prints of a file."""
        at = self.rng.randrange(len(file.lines))
        lines = [f"--- a/{file.path}", f"+++ b/{file.path}", f"@@ -{at + 1} +{at + 1} @@"]
        for line in file.lines[at : at + max(1, characters // 50)]:
            mark = self.rng.choice("   +-")
            lines.append(f"{mark}{line}")
        return "\n".join(lines)


# How a made-up coding session goes: what the user wants, and what the agent does about it.

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
