"""The command line as a whole: help, version, exit codes, and never a traceback."""

import subprocess
import sys

import pytest

import compactlab as package
from tests.cli.conftest import TINY

HEAVY = ["pandas", "matplotlib", "duckdb", "joblib", "numpy", "genai_prices", "rich"]
HEAVY += ["compactlab.scenarios.readers.transcript", "compactlab.sim.facts"]

BAD = {
    "binary.jsonl": bytes(range(256)) * 4,
    "empty.jsonl": b"",
    "blank.jsonl": b"\n\n \n",
    "utf16.jsonl": '{"role": "user"}'.encode("utf-16"),
    "number.json": b"3",
    "null.json": b"null",
    "deep.json": b"[" * 100_000,
    "half.json": b'{"messages": [',
    "strange.jsonl": b'{"role": "user", "content": {"a": [null]}}\n',
    "header.jsonl": b'{"type": "conversation"}\n',
    "version.jsonl": b'{"type": "conversation", "version": 9, "id": "x"}\n',
}


@pytest.mark.parametrize("command", ["inspect", "run"])
@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_transcript_ends_with_2_and_its_name(compactlab, tmp_path, command, name):
    file = tmp_path / name
    file.write_bytes(BAD[name])
    out = ("--out", tmp_path / "out", "--jobs", 1) if command == "run" else ()
    done = compactlab(command, *(["--conversations"] if out else []), file, *out)
    assert done.code == 2
    assert str(file) in done.err
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--window", "0"),
        ("run", "--window", "many"),
        ("run", "--seeds", "0"),
        ("run", "--jobs", "0"),
        ("run", "--colour"),
        ("run", "--conversations", "a/" + "long" * 80),
        ("run", "--conversations", f"coding_agent(turns={'0' * 300}1)", "--strategies", "x"),
        ("inspect",),
        ("inspect", "long" * 80),
        ("report",),
        ("dance",),
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_what_makes_no_sense_ends_with_2(compactlab, arguments):
    done = compactlab(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err


def test_an_unreadable_folder_among_the_arguments_is_no_traceback(compactlab, tmp_path):
    (tmp_path / "folder").mkdir()
    assert compactlab("inspect", tmp_path / "folder").code in (0, 2)


def test_the_version_is_that_of_the_package(compactlab):
    assert compactlab("--version").out == f"compactlab {package.__version__}\n"


def test_the_help_names_commands_and_exit_codes(compactlab):
    done = compactlab("--help")
    assert done.code == 0
    assert all(name in done.out for name in ("run", "report", "inspect", "list", "Exit codes"))
    assert compactlab("-h") == done


@pytest.mark.parametrize("command", ["run", "report", "inspect", "list"])
def test_every_command_has_help(compactlab, command):
    assert compactlab(command, "--help").code == 0


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments):
    code = (
        "import sys\n"
        "from compactlab.cli.group import cli\n"
        f"try: cli({arguments!r}, prog_name='compactlab')\n"
        "except SystemExit: pass\n"
        f"print('loaded:', sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_it_runs_as_a_module(compactlab, process, tmp_path, chat, bad):
    talk = chat(tmp_path / "talk.jsonl")
    assert compactlab("inspect", talk).code == 0
    assert process("inspect", "--strict", bad(tmp_path / "bad.jsonl")).code == 2
    assert compactlab("run", "--conversations", talk, "--strategies", "nobody").code == 2


def test_a_dry_run_in_a_folder_leaves_no_trace_there(process, tmp_path):
    what = ("--conversations", TINY, "--strategies", "keep_all")
    assert process("run", "--dry-run", *what, cwd=tmp_path).code == 0
    assert not list(tmp_path.iterdir())


def test_a_model_without_a_price_ends_with_1(compactlab, tmp_path):
    arguments = ("--conversations", "coding_agent(turns=1, tokens=500)", "--strategies", "keep_all")
    more = ("--model", "gpt-5.3-codex-spark", "--jobs", 1, "--out", tmp_path / "out")
    done = compactlab("run", *arguments, *more)
    assert done.code == 1
    assert "give its prices by hand" in done.said
