"""The GitHub Action and the hooks of pre-commit: what they call is there, and no input is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import compactlab
from compactlab.cli.group import cli

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
SCRIPTS = [step for step in ACTION["runs"]["steps"] if "run" in step]
INPUT = re.compile(r"\$\{\{\s*inputs\.([\w-]+)\s*\}\}")


def options_of(command: str) -> set[str]:
    return {name for each in cli.commands[command].params for name in (*each.opts,
            *each.secondary_opts)}  # fmt: skip


def test_no_input_stands_in_the_text_of_a_script() -> None:
    assert len(SCRIPTS) == 3
    for step in SCRIPTS:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        held = {INPUT.fullmatch(value)[1] for value in step["env"].values()}
        assert held <= set(ACTION["inputs"])
        used = set(re.findall(r"\$\{?([A-Z_]+)", step["run"]))
        assert used <= {*step["env"], "GITHUB_OUTPUT", "GITHUB_ACTION_PATH"}
        # Quoted each time, so that no value is taken apart or expanded.
        bare = re.sub(r'"[^"]*"', "", step["run"])
        assert not re.search(r"\$\{?[A-Z]", bare)


def test_every_input_is_used_told_and_has_a_default() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    for name, told in ACTION["inputs"].items():
        assert told["description"]
        assert isinstance(told["default"], str)
        assert f"inputs.{name}" in text


def test_the_commands_of_the_action_take_the_options_that_it_gives() -> None:
    known = {"run": options_of("run"), "gate": options_of("gate")}
    for step in SCRIPTS[1:]:
        [command] = re.findall(r"^compactlab (\w+) ", step["run"], re.MULTILINE)
        given = re.findall(r"(--[a-z]+)(?==|\b)", step["run"])
        assert given
        assert set(given) <= known[command]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_calls_a_command_with_what_it_takes(hook) -> None:
    program, name = hook["entry"].split()
    assert program == "compactlab"
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    context = cli.commands[name].make_context(name, list(hook["args"]))
    assert context.params


@pytest.fixture
def played(tmp_path):
    """Run the scripts of the action as a runner does, with some inputs."""
    # What was put into an input, and run by a shell, would leave a file there.
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "compactlab"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m compactlab "$@"\n')
    program.chmod(0o755)
    python = tmp_path / "bin" / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > pip.txt\n')
    python.chmod(0o755)

    def play(places: range, **inputs: str) -> int:
        given = {name: told["default"] for name, told in ACTION["inputs"].items()} | inputs
        for step in SCRIPTS[places.start : places.stop]:
            env = {name: INPUT.sub(lambda found: given[found[1]], value)
                   for name, value in step["env"].items()}  # fmt: skip
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=tmp_path,
                env={
                    **os.environ,
                    **env,
                    "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
                    "PYTHONPATH": str(ROOT),
                    "GITHUB_ACTION_PATH": str(ROOT),
                    "GITHUB_OUTPUT": str(tmp_path / "output"),
                    "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
                },
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            (tmp_path / "said").write_text(done.stdout + done.stderr)
            if done.returncode:
                return done.returncode
        return 0

    return play


EXPERIMENT = """
conversations = ["coding_agent(turns=2, tokens=2000)"]
strategies = ["keep_all", "sliding_window(keep=4)"]
jobs = 1
"""


@pytest.mark.slow
def test_the_scripts_of_the_action_do_what_it_is_for(played, tmp_path) -> None:
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    inputs = {"experiment": "experiment.toml", "junit": "gate.xml", "json": "gate.json"}
    assert played(range(3), **inputs) == 2
    assert "there is no such file" in (tmp_path / "said").read_text()
    assert (tmp_path / "pip.txt").read_text().splitlines()[-2:] == ["--", str(ROOT)]
    done = subprocess.run(
        [tmp_path / "bin" / "compactlab", "baseline", "compactlab-out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0
    assert played(range(3), **inputs) == 0
    (tmp_path / "gate.toml").write_text('[rules]\ncost_usd = "<= 0"\n')
    assert played(range(2, 3), rules="gate.toml", markdown="gate.md", **inputs) == 1
    assert (tmp_path / "output").read_text() == "code=2\ncode=0\ncode=1\n"
    assert "::error title=gate%3A cost_usd <= 0 regressed::" in (tmp_path / "said").read_text()
    assert "### Gate: regressed" in (tmp_path / "summary.md").read_text("utf-8")
    assert all((tmp_path / f"gate.{form}").is_file() for form in ("xml", "md", "json"))


@pytest.mark.slow
def test_what_an_input_says_is_not_run(played, tmp_path) -> None:
    compactlab.run(["coding_agent(turns=2, tokens=2000)"], ["keep_all"], out=tmp_path / "store")
    hostile = '"; touch pwned; $(touch pwned) `touch pwned`\ntouch pwned #'
    for place, names in enumerate((["package"], ["experiment"], ["store", "baseline", "rules"])):
        for name in names:
            code = played(range(place, place + 1), **{"store": "store", name: hostile})
            assert code == (0 if name == "package" else 2)
            assert not (tmp_path / "pwned").exists(), name
    assert (tmp_path / "pip.txt").read_text().endswith(f"--\n{hostile}\n")
    assert played(range(2, 3), store="--help") == 2
