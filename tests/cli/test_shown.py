"""Every command that README and docs show runs, or its page says beforehand why it does not.

A block of commands is one in `bash`, `sh`, `shell` or `console`, or one without a language that has
a command of ours. The blocks of a page run one after the other in one folder, which holds files of
the names that the pages use: logs, stores, an experiment. What replays minutes (`run` of all
strategies or over a scenario, `tune`) is made with `--dry-run`. In front of a block,
`<!-- not run: why -->` leaves out all of it, and `<!-- not run (pip, git): why -->` these programs.
"""

import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from compactlab import api
from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.kit import Colours
from compactlab.reports.charts.stacked import classes
from compactlab.scenarios.catalogue import find_scenario
from compactlab.scenarios.readers.native import write
from compactlab.sim.store.results import Results
from tests.cli.conftest import Outcome, called
from tests.recordings import claude_code, codex

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^(?:[ ]*<!-- not run(?: \((?P<programs>[\w, ]+)\))?: (?P<why>[^\n]+?) -->\n+)?"
    r"(?P<indent>[ ]*)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)
SHELL = {"bash", "sh", "shell", "console"}
OURS = re.compile(r"^ *(?:\$ )?(?:\S*/)?compactlab [a-z-]", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """What a page shows in one frame, and why it is not run, if so."""

    line: int
    language: str
    text: str
    why: str
    programs: frozenset[str]

    @property
    def of_commands(self) -> bool:
        return self.language in SHELL or (
            self.language in ("", "text") and bool(OURS.search(self.text))
        )

    @property
    def left_out(self) -> bool:
        """Whether nothing of it is run."""
        return bool(self.why) and not self.programs

    def commands(self) -> Iterator[list[str]]:
        """Each command as its words, in the order in which a shell would run them."""
        lines = self.text.replace("\\\n", " ").splitlines()
        prompted = [line.strip()[2:] for line in lines if line.strip().startswith("$ ")]
        for line in prompted or lines:
            words = shlex.shlex(line, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            command: list[str] = []
            for word in words:
                if word in ("&&", ";"):
                    yield command
                    command = []
                else:
                    command.append(word)
            if command and command[0] not in self.programs:
                yield command


def blocks(text: str) -> list[Block]:
    return [
        Block(
            text.count("\n", 0, found.start("language")) + 1,
            found["language"],
            found["text"],
            found["why"] or "",
            frozenset(re.split(r",\s*", found["programs"] or "")) - {""},
        )
        for found in BLOCK.finditer(text)
    ]


def shown(kind: str) -> list[Path]:
    """The pages that show commands, or Python, which is to be run."""
    return [
        page
        for page in PAGES
        for each in [blocks(page.read_text("utf-8"))]
        if any((b.of_commands if kind == "shell" else b.language == kind) for b in each)
    ]


STORED = {"loop": "open", "window": 20_000, "controls": False}
SPECS = (
    "keep_all",
    "as_recorded",
    "claude_code",
    "codex",
    "pi",
    "auto_compact(keep_recent_tokens=1000)",
)
EXPERIMENT = """
conversations = ["talks/*.jsonl"]
strategies = ["keep_all", "codex", "pi"]
models = ["gpt-5"]
loop = "open"
window = 20_000
controls = false
out = "{out}"
jobs = 1

[rules]
cost_usd = "+2%"
"""
# A session that fills up most of a window of 200,000 tokens.
GROWING = [(30 * n, 12_000 * n, 12_000, n % 4 == 0) for n in range(14)]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with whatever the pages name, small."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "talks").mkdir()
    for number in (1, 3):
        name = f"talk-{number}"
        talk = find_scenario("coding_agent(turns=2, tokens=4000)").conversation(number)
        write(replace(talk, id=name), folder / "talks" / f"{name}.jsonl")
        claude_code(folder / "logs" / f"session-{number}.jsonl", GROWING)
    projects = folder / "home" / ".claude" / "projects"
    claude_code(projects / "my-project" / "session.jsonl", GROWING)
    codex(folder / "home" / ".codex" / "sessions" / "rollout.jsonl", GROWING)
    for name in ("session", "original", "logs/session"):
        claude_code(folder / f"{name}.jsonl")
    (folder / "compacted.txt").write_text("The user wants the tests to pass.\n", "utf-8")
    for name, talk in (("sweep-a", "talk-1"), ("sweep-b", "talk-3")):
        api.run(f"{folder}/talks/{talk}.jsonl", SPECS, ["gpt-5"], out=folder / name, **STORED)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("compactlab.reports.page.sections.gallery", lambda *_, **__: [])
        merged = called("merge", folder / "sweep-a", folder / "sweep-b", "-o", folder / "sweep")
    assert merged.code == 0, merged.said
    for name in ("before", "after", "compactlab-out", "suite"):
        shutil.copytree(folder / "sweep", folder / name)
    for name, out in (("experiment", "compactlab-out"), ("sweep", "sweep")):
        (folder / f"{name}.toml").write_text(EXPERIMENT.format(out=out))
    (folder / "gate.toml").write_text('[rules]\ncost_usd = "+2%"\n')
    assert called("baseline", folder / "sweep", "-o", folder / "baseline.json").code == 0
    return folder


@pytest.fixture
def reader(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """A copy of it, at home there; pages without charts, and short trials in dry runs."""
    request.getfixturevalue("compactlab")
    request.getfixturevalue("small_scenarios")
    # That each is drawn, and at which resolution, is told in reports/charts.
    monkeypatch.setattr("compactlab.reports.charts.gallery.gallery", first_chart)
    folder = tmp_path / "reader"
    shutil.copytree(prepared, folder)
    (folder / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def first_chart(
    results: Results, comparison: Comparison, colours: Colours, name: str, *_: object, **__: object
) -> list[Chart | None]:
    """The first of the charts that a command draws."""
    return [classes(comparison, f"{name}-classes")]


def targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    return set(re.findall(r"^([a-z-]+)(?: [a-z-]+)*:(?!=)", makefile, re.MULTILINE))


def ran(words: list[str], folder: Path) -> str:
    """Run one command; give what is wrong with it, or nothing."""
    program, *arguments = (
        str(Path(word).expanduser()) if word.startswith("~") else word for word in words
    )
    into = None
    if ">" in arguments:
        at = arguments.index(">")
        into = folder / arguments[at + 1]
        arguments[at : at + 2] = []
    if program == "make":
        unknown = [each for each in arguments if "=" not in each and each not in targets()]
        return f"no target of the Makefile: {unknown}" if unknown else ""
    if Path(program).name != "compactlab":
        return "no command of ours: mark the block with <!-- not run: why -->"
    if arguments[:1] and takes_minutes(arguments):
        arguments.append("--dry-run")
    if arguments[0] in ("run", "tune") and "--jobs" not in arguments:
        arguments += ["--jobs", "1"]  # to start a worker takes longer than these runs
    if "--seeds" in arguments:  # what is only planned need not be much
        arguments[arguments.index("--seeds") + 1] = "2"
    done = made_anew(arguments, folder) if arguments[:1] == ["new"] else called(*arguments)
    if into:
        into.write_text(done.out, encoding="utf-8")
    return "" if done.code == 0 else f"code {done.code}\n{done.said}"


def made_anew(arguments: list[str], folder: Path) -> Outcome:
    """What a command writes that refuses files which exist: those of the folder stay, small."""
    with TemporaryDirectory() as empty:
        with chdir(empty):
            done = called(*arguments)
        for file in Path(empty).iterdir():
            if not (folder / file.name).exists():
                shutil.copy(file, folder)
    return done


def takes_minutes(arguments: list[str]) -> bool:
    """Whether it replays many settings, all strategies, or a scenario of no few tokens."""
    command, *others = arguments
    if command == "tune":
        return True
    if command != "run" or any(each.endswith(".toml") for each in others):
        return False
    return "--strategies" not in others or any("tokens=" in each for each in others)


@pytest.mark.parametrize("page", shown("shell"), ids=lambda page: page.stem)
def test_commands_that_a_page_shows_run(page, reader):
    for block in blocks(page.read_text("utf-8")):
        if not block.of_commands or block.left_out:
            continue
        for words in block.commands():
            wrong = ran(words, reader)
            assert not wrong, f"{page.name}:{block.line}: {shlex.join(words)}: {wrong}"


def test_a_command_is_found_however_it_is_shown():
    page = (
        "Text\n\n```\ncompactlab run a.toml && compactlab gate out --rules 'b c' > d  # why\n```\n"
        "<!-- not run (pip): it needs the network -->\n```bash\npip install x\nmake demo\n```\n"
        "<!-- not run: a day -->\n\n```console\n$ compactlab run big \\\n  --seeds 9\nsaid\n```\n"
        "```text\nreport.html   the page that compactlab run writes\n```\n"
    )
    first, second, third, _ = found = blocks(page)
    assert [each.of_commands for each in found] == [True, True, True, False]
    assert list(first.commands()) == [
        ["compactlab", "run", "a.toml"],
        ["compactlab", "gate", "out", "--rules", "b c", ">", "d"],
    ]
    assert list(second.commands()) == [["make", "demo"]]
    assert (third.left_out, second.left_out) == (True, False)
    assert list(third.commands()) == [["compactlab", "run", "big", "--seeds", "9"]]


def test_what_is_wrong_is_named(reader):
    assert "code 2" in ran(["compactlab", "report", "nowhere"], reader)
    assert "mark the block" in ran(["pip", "install", "compactlab"], reader)
    assert ran(["make", "demo"], reader) == ""
    assert "no target" in ran(["make", "nothing"], reader)
