"""What the help says is whole, and its examples run as they are pasted."""

import os
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from compactlab.cli.group import _NEXT, cli
from tests.cli.conftest import TINY, called
from tests.recordings import claude_code, codex

# With its own settings: a command keeps the option of help that it was first asked for.
GROUP = click.Context(
    cli, info_name="compactlab", terminal_width=80, max_content_width=80, **cli.context_settings
)
COMMANDS = {name: cli.get_command(GROUP, name) for name in cli.list_commands(GROUP)}
# These replay for minutes, or read what only their example's author has.
DRY = ("run", "tune")
# These wait until they are stopped; tests/cli/test_serve.py does so.
WAITING = ("serve",)


def helps(name: str) -> str:
    command = COMMANDS[name]
    assert command is not None
    return command.get_help(click.Context(command, parent=GROUP, info_name=name))


def examples(text: str) -> list[str]:
    """Lines that are a command, and nothing but that."""
    return [
        line.strip() for line in text.splitlines() if re.match(r"\s+compactlab [a-z]+( |$)", line)
    ]


EXAMPLES = [line for name in COMMANDS if name not in WAITING for line in examples(helps(name))]


def test_summaries_of_commands_end_whole():
    text = cli.get_help(GROUP)
    listing = text.split("Commands:")[1].split("Completion")[0]
    lines = [line for line in listing.splitlines() if line.strip()]
    assert len(lines) == len(COMMANDS)
    assert [line for line in lines if not line.endswith(".") or line.endswith("...")] == []


def test_completion_is_documented_and_works():
    text = cli.get_help(GROUP)
    for shell in ("bash", "zsh", "fish"):
        assert f"_COMPACTLAB_COMPLETE={shell}_source compactlab" in text
    done = CliRunner().invoke(
        cli, prog_name="compactlab", env={"_COMPACTLAB_COMPLETE": "zsh_source"}
    )
    assert "compdef" in done.output
    words = {"_COMPACTLAB_COMPLETE": "bash_complete", "COMP_WORDS": "compactlab au"}
    done = CliRunner().invoke(cli, prog_name="compactlab", env={**words, "COMP_CWORD": "1"})
    assert done.output.split() == ["plain,audit"]


def test_alone_it_says_what_to_do_next(compactlab):
    done = compactlab()
    assert (done.code, done.err) == (0, "")
    named = re.findall(r"compactlab [a-z]+", done.out)
    assert named == ["compactlab run", "compactlab run", "compactlab audit"]
    assert max(map(len, _NEXT.splitlines())) <= 80


def test_there_are_examples():
    counts = Counter(line.split()[1] for line in EXAMPLES)
    assert counts["run"] >= 5
    assert min(counts[name] for name in ("compare", "query", "tune", "audit")) >= 1


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples name: stores, and logs in the usual folders and another."""
    root = tmp_path_factory.mktemp("examples")
    named = ["claude_code", "codex", "sliding_window(keep=4)"]
    specs = [word for each in named for word in ("--strategies", each)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("compactlab.reports.page.sections.gallery", lambda *_, **__: [])
        done = called("run", "--conversations", TINY, *specs, "-o", root / "sweep")
    assert done.code == 0, done.said
    for other in ("before", "after", "compactlab-out"):
        shutil.copytree(root / "sweep", root / other)
    claude_code(root / "home" / ".claude" / "projects" / "one" / "talk.jsonl")
    codex(root / "home" / ".codex" / "sessions" / "rollout.jsonl")
    claude_code(root / "logs" / "talk.jsonl")
    return root


@pytest.mark.usefixtures("small_scenarios")
@pytest.mark.parametrize("line", EXAMPLES)
def test_examples_work_when_pasted(line, stores, compactlab, monkeypatch):
    monkeypatch.chdir(stores)
    monkeypatch.setenv("HOME", str(stores / "home"))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    needed = {
        "my_idea.py": ("new", "strategy", "my_idea"),
        "experiment.toml": ("new", "experiment"),
    }
    for file, command in needed.items():
        for made in (file, f"test_{file}"):
            (stores / made).unlink(missing_ok=True)
        if file in line:
            assert compactlab(*command).code == 0
    words = [os.path.expanduser(word) for word in shlex.split(line)[1:]]
    if "--seeds" in words:  # what is only planned need not be much
        words[words.index("--seeds") + 1] = "2"
    dry = ["--dry-run"] if words[0] in DRY and "--dry-run" not in words else []
    done = compactlab(*words, *dry)
    assert done.code == 0, done.said
