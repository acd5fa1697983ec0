"""Whatever the machine, the folder and the environment are like: a result, or exit code 2."""

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from compactlab.cli.group import cli
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.store import parquet
from tests.cli.conftest import TINY

ROOT = str(Path(__file__).resolve().parents[2])
RUN = ("run", "--conversations", TINY, "--strategies", "keep_all", "--jobs", "1")
DRAWN = ("report", "--only", "context-by-call")


def started(
    *words: object, limit: int = 0, before: tuple[str, ...] = (), **told: str
) -> tuple[int, str]:
    """A command in a process of its own, with so many bytes of addresses."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run(
        [*before, sys.executable, "-m", "compactlab", *map(str, words)],
        env={**os.environ, "PYTHONPATH": ROOT, **told},
        preexec_fn=limited if limit else None,
        capture_output=True,
        check=False,
    )
    said = done.stderr.decode()
    assert "Traceback" not in said, said
    return done.returncode, said


# What dependencies read, and what it may be.
VARIABLES = {
    "a backend of a notebook": {"MPLBACKEND": "module://somewhere.else"},
    "no backend": {"MPLBACKEND": "nonsense"},
    "settings that are none": {"MATPLOTLIBRC": "{bytes}"},
    "a folder of settings that is a file": {"MPLCONFIGDIR": "{bytes}"},
    "no place for caches": {"XDG_CACHE_HOME": "/dev/null", "XDG_CONFIG_HOME": "/dev/null"},
    "no home": {"HOME": "/dev/null"},
    "no folder for what is temporary": {"TMPDIR": "/nowhere"},
    "threads without a number": {"OMP_NUM_THREADS": "x", "OPENBLAS_NUM_THREADS": "-1"},
    "no width": {"COLUMNS": "x", "LINES": "-1", "TERM": "nonsense", "FORCE_COLOR": "1"},
    "workers": {"JOBLIB_TEMP_FOLDER": "/nowhere", "LOKY_MAX_CPU_COUNT": "1"},
    "a tokenizer's cache": {"TIKTOKEN_CACHE_DIR": "/dev/null", "DATA_GYM_CACHE_DIR": "/dev/null"},
}


@pytest.mark.parametrize("name", VARIABLES)
def test_charts_are_drawn_whatever_the_environment_says(name, store, tmp_path):
    file = tmp_path / "bytes"
    file.write_bytes(b"\xff")
    told = {key: value.format(bytes=file) for key, value in VARIABLES[name].items()}
    code, said = started(*DRAWN, store, "--charts", "charts", **told)
    assert code == 0, said
    assert [*Path("charts").glob("*.svg")]


@pytest.mark.parametrize(
    "content", [b"\xff", b"backend: nonsense\n", b"svg.hashsalt: 1\nfigure.dpi: 9"]
)
def test_what_a_checkout_wants_drawn_is_not_asked(content, store):
    assert started(*DRAWN, store, "--charts", "charts")[0] == 0
    Path("matplotlibrc").write_bytes(content)
    assert started(*DRAWN, store, "--charts", "again")[0] == 0
    names = sorted(file.name for file in Path("charts").iterdir())
    assert names == sorted(file.name for file in Path("again").iterdir())
    assert all(
        Path("charts", name).read_bytes() == Path("again", name).read_bytes()
        for name in names
        if name.endswith(".svg")
    )


@pytest.mark.parametrize("megabytes", [200, 300, 500, 700])
def test_too_little_memory_is_said(megabytes):
    if sys.platform != "linux":
        pytest.skip("no such limit here")
    code, said = started(*RUN, limit=megabytes * 2**20)
    assert code == 2, said


@pytest.mark.parametrize("fault", [MemoryError(), RuntimeError("can't start new thread")])
def test_any_command_says_that_memory_lacks(fault, monkeypatch, compactlab):
    def fail(*_: object, **__: object) -> None:
        raise fault

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", leave)
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(command, "make_context", fail)
            assert compactlab(name).code == 2


def full(prefix: str) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@contextmanager
def vanished(prefix: str) -> Iterator[str]:
    yield "/nowhere/at/all"


@pytest.mark.parametrize("made", [full, vanished])
def test_a_full_folder_for_what_is_temporary_is_named(made, monkeypatch, compactlab):
    monkeypatch.setattr(parquet, "TemporaryDirectory", made)
    done = compactlab(*RUN)
    assert done.code == 2
    assert os.environ["TMPDIR"] in done.err


@pytest.mark.slow
@pytest.mark.parametrize("size", ["4k", "20k"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_temporary_file_system_may_be_full(size, jobs, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = f'mount -t tmpfs -o size={size} tmpfs {small} && exec "$@"'
    before = ("unshare", "-rm", "sh", "-c", mount, "sh")
    if not shutil.which("unshare") or subprocess.run([*before, "true"], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    story = "coding_agent(turns=4, tokens=20000)"
    words = ("run", "--conversations", story, "--strategies", "claude_code", "--window", 12_000)
    code, said = started(*words, "--jobs", jobs, before=before, TMPDIR=str(small))
    assert (code, str(small) in said) == (2, True), said


@pytest.mark.parametrize("seconds", ["inf", "nan", "-inf", "1e300", "0", "-1"])
def test_nothing_is_waited_for_without_end(seconds, compactlab, tmp_path):
    assert compactlab(*RUN, "--timeout", seconds).code == 2
    assert compactlab("check-program", "true", "--timeout", seconds).code == 2
    assert compactlab("tune", TINY, "--timeout", seconds).code == 2
    spec = f"exec('true', timeout={seconds})"
    assert compactlab("run", "--conversations", TINY, "--strategies", spec).code == 2
    file = tmp_path / "experiment.toml"
    file.write_text(f"strategies = ['keep_all']\ntimeout = {seconds}\n")
    assert compactlab("run", file).code == 2


COMMANDS = {
    "inspect": ("inspect", "{log}"),
    "audit": ("audit", "{log}"),
    "explain": ("explain", "{log}", "--strategies", "keep_all"),
    "score": ("score", "{log}", "{log}"),
    "fit": ("fit", "{log}"),
    "tune": ("tune", "{log}"),
    "run": ("run", "--conversations", "{log}", "--strategies", "keep_all"),
    "probe": ("probe", "{log}", "--strategies", "keep_all", "--reader", "m", "--answers", "a"),
}


@pytest.mark.parametrize("fault", [KeyError("tokens"), TypeError("no text"), AssertionError()])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_fault_of_a_reader_names_file_line_and_reader(
    command, fault, chat, monkeypatch, compactlab
):
    log = chat(Path("log.jsonl"))
    reader = transcripts.format_of(log)
    assert reader is not None

    def read(lines: transcripts.jsonl.Lines) -> None:
        for number, _ in lines:
            if number == 3:
                raise fault

    broken = {**transcripts.formats(), reader.name: transcripts.replace(reader, read=read)}
    monkeypatch.setattr(transcripts, "formats", lambda: broken)
    done = compactlab(*(word.format(log=log) for word in COMMANDS[command]))
    assert done.code in (1, 2), done.said
    assert f"{log}:3: " in done.said
    assert reader.name in done.said
    assert type(fault).__name__ in done.said
