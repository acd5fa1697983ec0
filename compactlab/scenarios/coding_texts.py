"""What people, an agent and its tools write about a made-up repository.

All of it is put together from the templates here; nothing was copied from a recording.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from compactlab.scenarios.coding_repository import NOUNS, VERBS, File, Repository
from compactlab.scenarios.plot.writer import until
from compactlab.sim.stream import chooser

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
