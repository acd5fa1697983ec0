"""How commands end, whatever happens: 1 is a verdict, and nothing that goes wrong ends with it."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import compactlab as package
from compactlab.__main__ import FAULT, UNREAD, main
from compactlab.cli.group import cli

FULL = Path("/dev/full")
ROOT = str(Path(package.__file__).parents[1])
full_disk = pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
buffering = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
# Parsing alone; a table; what is wrong, on standard error.
SAYING = [("--help",), ("list", "strategies"), ("list", "nonsense"), ("inspect", "nowhere.jsonl")]


def ended(*words, unbuffered="", code=None, **streams):
    """A command in a process that is told how to buffer, whatever this one was told."""
    program = ["-c", code] if code else ["-m", "compactlab"]
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONPATH": ROOT}
    return subprocess.run(
        [sys.executable, *program, *words], env=environment, text=True, check=False, **kept
    )


@full_disk
@buffering
@pytest.mark.parametrize("words", SAYING, ids=" ".join)
@pytest.mark.parametrize("full", [("stdout",), ("stderr",), ("stdout", "stderr")], ids="+".join)
def test_a_disk_that_is_full_ends_with_2(words, full, unbuffered):
    with FULL.open("w") as nowhere:
        done = ended(*words, unbuffered=unbuffered, **dict.fromkeys(full, nowhere))
    silent = full == ("stderr",) and words in SAYING[:2]  # nothing was to be said there
    wrong = words in SAYING[2:]
    assert done.returncode == (0 if silent else 2)
    if "stderr" not in full:
        assert "Traceback" not in done.stderr
        assert wrong or "No space left on device" in done.stderr


@buffering
@pytest.mark.parametrize("words", SAYING[:2], ids=" ".join)
def test_where_nobody_reads_on_it_ends_as_other_programs_do(words, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    done = ended(*words, unbuffered=unbuffered, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (UNREAD, "")


@pytest.mark.parametrize(
    "error", [KeyError("a fault"), EOFError("a fault"), RecursionError("a fault"),
              click.Abort("a fault"), GeneratorExit("a fault")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_a_fault_of_its_own_is_told_and_no_verdict(error, raising, capsys):
    context = click.Context(cli)
    for name in (*sorted(cli.list_commands(context)), ""):
        raising(cli.get_command(context, name) or cli, "make_context", error)
        assert code_of("compactlab", name) == FAULT
        told = capsys.readouterr().err
        assert told.startswith("Traceback")
        assert "a fault" in told
        assert "Please report it" in told


@pytest.fixture
def raising(monkeypatch):
    """Have something raise an error when it is called."""

    def plant(owner, name, error):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr(owner, name, fail)

    return plant


def code_of(*words):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", list(words))
        with pytest.raises(SystemExit) as end:
            main()
    return end.value.code


@pytest.mark.parametrize(("hide", "seen"), [((), True), (("--redact",), False)])
def test_a_fault_shows_no_secret_that_the_command_hides(hide, seen, raising, capsys, monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    raising(sys.modules["compactlab.cli.gate"], "_judged", KeyError("somebody@example.org"))
    assert code_of("compactlab", "gate", "folder", *hide) == FAULT
    assert ("somebody@example.org" in capsys.readouterr().err) is seen


def test_stopped_before_a_command_has_begun_it_ends_with_130(raising, capsys):
    raising(cli, "make_context", KeyboardInterrupt())
    assert code_of("compactlab", "gate", "folder") == 130
    assert capsys.readouterr().err == "stopped\n"


@pytest.mark.parametrize("module", ["click", "msgspec"])
def test_an_installation_from_which_something_is_missing_is_no_verdict(module):
    missing = f"import sys; sys.modules[{module!r}] = None; from compactlab.__main__ import main; "
    done = ended("gate", "folder", code=f"{missing}main()")
    assert done.returncode == FAULT
    assert f"{module}" in done.stderr
    assert "Please report it" in done.stderr


def test_shells_can_complete_it(monkeypatch, capsys):
    monkeypatch.setenv("_COMPACTLAB_COMPLETE", "zsh_source")
    assert code_of("compactlab") == 0
    assert "compactlab" in capsys.readouterr().out


@pytest.mark.parametrize(
    "told",
    [{}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {"LANG": "C.UTF-8"}],
    ids=["nothing", "ASCII", "UTF-8"],
)
def test_it_needs_no_environment(told, chat, tmp_path):
    """No language, no terminal, no user, no shell, no folder for what is temporary."""
    if "LC_ALL" in told and not f"{ROOT}{sys.prefix}".isascii():
        pytest.skip("in ASCII, Python itself does not start from a folder of such a name")
    folder = tmp_path / "Café au lait \N{SNOWMAN}"
    talk = chat(folder / "gespräch.jsonl")
    words = ("run", "--conversations", talk, "--strategies", "keep_all", "--model", "gpt-5")
    words += ("--loop", "open", "--metrics", "money", "--jobs", "1")
    for each in ((*words, "--out", folder / "out"), ("inspect", talk), ("report", folder / "out")):
        done = subprocess.run(
            [sys.executable, "-m", "compactlab", *each],
            env={"HOME": str(tmp_path), "PATH": os.defpath, "PYTHONPATH": ROOT, **told},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
        assert each[0] != "inspect" or b"gespr" in done.stdout


def test_a_folder_whose_name_is_no_text_is_as_good_as_any(process, chat, tmp_path):
    if sys.platform != "linux":
        pytest.skip("files are called in text here")
    talk = chat(tmp_path / "talk.jsonl")
    out = tmp_path / os.fsdecode(b"caf\xe9")
    words = ("--conversations", talk, "--strategies", "keep_all", "--model", "gpt-5")
    assert process("run", *words, "--out", out).code == 0
    assert process("report", out).code == 0
    assert process("query", out, "SELECT count(*) FROM calls").code == 0
