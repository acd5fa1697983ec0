"""The GitHub Action and the hooks of pre-commit: what they call is there, and no input is run."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import compactlab
from compactlab.cli.group import cli

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
STEPS = ACTION["runs"]["steps"]
SCRIPTS = [step for step in STEPS if "run" in step]
USES = {step["name"]: step for step in STEPS if "uses" in step}
VALUE = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
INPUT = re.compile(r"\$\{\{ (?:inputs\.([\w-]+)|steps\.keys\.outputs\.constraints) \}\}")


def options_of(command: str) -> set[str]:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    return {name for each in found.params for name in (*each.opts, *each.secondary_opts)}


def test_no_input_stands_in_the_text_of_a_script():
    assert len(SCRIPTS) == 4
    for step in SCRIPTS:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        given = [INPUT.fullmatch(value) for value in step["env"].values()]
        assert {each[1] for each in given if each[1]} <= set(ACTION["inputs"])
        shell = re.sub(r"<<'END'.*?\nEND\n", "", step["run"], flags=re.DOTALL)
        used = set(re.findall(r"\$\{?([A-Z_]+)", shell))
        assert used <= {*step["env"], "GITHUB_OUTPUT", "GITHUB_ACTION_PATH", "GITHUB_STEP_SUMMARY"}
        # Quoted each time, so that no value is taken apart or expanded.
        bare = re.sub(r'"[^"]*"', "", shell)
        assert not re.search(r"\$\{?[A-Z]", bare)


def test_every_input_is_used_told_and_has_a_default():
    text = (ROOT / "action.yml").read_text("utf-8")
    for name, told in ACTION["inputs"].items():
        assert told["description"]
        assert isinstance(told["default"], str)
        assert f"inputs.{name}" in text


def test_the_commands_of_the_action_take_the_options_that_it_gives():
    known = {"run": options_of("run"), "gate": options_of("gate")}
    for step in SCRIPTS[2:]:
        [command] = re.findall(r"^compactlab (\w+) ", step["run"], re.MULTILINE)
        given = re.findall(r"(--[a-z]+(?:-[a-z]+)*)(?==|\b)", step["run"])
        assert given
        assert set(given) <= known[command]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_calls_a_command_with_what_it_takes(hook):
    program, name = hook["entry"].split()
    assert program == "compactlab"
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.make_context(name, list(hook["args"])).params


PYTHON = """#!/bin/sh
case "$*" in
  "-m pip cache dir") echo /pip-cache ;;
  "-m pip"*) printf '%s\\n' "$@" > "{folder}/pip.txt" ;;
  *) exec "{python}" "$@" ;;
esac
"""
COMPACTLAB = """#!/bin/sh
case "$1" in
  --version) echo compactlab, version 0.2.0 ;;
  *) exec "{python}" -P -c "$(cat "{folder}/main.py")" "$@" ;;
esac
"""
# All of the command but the charts of its page, which take longer than all the rest.
MAIN = """
from compactlab.__main__ import main
from compactlab.reports.page import sections

sections.gallery = lambda *_, **__: []
main()
"""


class Runner:
    """Runs the scripts of the action as GitHub does, in an empty folder, with some inputs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.work = folder, folder / "work"
        self.said, self.outcomes = "", dict[str, str]()
        self.outputs: dict[str, dict[str, str]] = {}
        self.work.mkdir()
        (folder / "bin").mkdir()
        (folder / "main.py").write_text(MAIN)
        for name, text in {"python": PYTHON, "compactlab": COMPACTLAB}.items():
            program = folder / "bin" / name
            program.write_text(text.format(folder=folder, python=sys.executable))
            program.chmod(0o755)

    def play(self, *names: str, **inputs: str) -> int:
        """Run the scripts of these names, or all, up to the first that fails."""
        self.inputs = {name: told["default"] for name, told in ACTION["inputs"].items()} | {
            name.replace("_", "-"): value for name, value in inputs.items()
        }
        for step in SCRIPTS:
            if (not names or step["name"] in names) and (code := self._run(step)):
                return code
        return 0

    def _run(self, step: dict[str, Any]) -> int:
        output = self.folder / "output"
        output.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.work,
            env={
                **os.environ,
                **{name: self.value(text) for name, text in step["env"].items()},
                "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.said = done.stdout + done.stderr
        if "id" in step:
            pairs = re.findall(
                r"^(\w+)(?:=(.*)|<<(\w+)\n([\s\S]*?)\n\3)$", output.read_text(), re.M
            )
            self.outputs[step["id"]] = {name: one or many for name, one, _, many in pairs}
        return done.returncode

    def value(self, text: str) -> str:
        """A text of the action with what its expressions say."""
        return VALUE.sub(lambda found: self._said(*found[1].split(".")), text)

    def _said(self, of: str, *names: str) -> str:
        if of == "inputs":
            return self.inputs[names[0]]
        if of == "steps":
            return self.outputs[names[0]][names[2]]
        return f"<{of}.{names[0]}>"

    @property
    def pip(self) -> list[str]:
        """What pip was called with."""
        return (self.folder / "pip.txt").read_text().splitlines()

    @property
    def summary(self) -> str:
        """The job's summary."""
        return (self.folder / "summary.md").read_text("utf-8")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


FIND, INSTALL, RUN, JUDGE = (step["name"] for step in SCRIPTS)
EXPERIMENT = """
conversations = ["coding_agent(turns=2, tokens=2000)"]
strategies = ["keep_all", "sliding_window(keep=4)"]
loop = "open"
metrics = ["money"]
jobs = 1
"""


def test_it_installs_with_the_constraints_that_stand_beside_it(runner):
    assert runner.play(FIND, INSTALL) == 0
    assert runner.pip[-4:] == ["--constraint", str(ROOT / "constraints.txt"), "--", str(ROOT)]


def test_another_package_has_constraints_of_its_own_or_none(runner):
    assert runner.play(FIND, INSTALL, package="compactlab==0.2.0") == 0
    assert "--constraint" not in runner.pip
    assert runner.pip[-2:] == ["--", "compactlab==0.2.0"]
    assert runner.play(FIND, INSTALL, package="compactlab", constraints="mine.txt") == 0
    assert runner.pip[-4:] == ["--constraint", "mine.txt", "--", "compactlab"]


def test_what_is_cached_goes_by_what_it_depends_on(runner):
    """A store is found again where the experiment's file has changed, and in no other place."""
    restore, save = USES["Restore the store"]["with"], USES["Save the store"]["with"]
    assert (restore["key"], restore["path"]) == (save["key"], save["path"])
    experiment = runner.work / "experiment.toml"

    def key(**inputs: str) -> tuple[str, list[str]]:
        given = {"experiment": "experiment.toml", **inputs}
        assert runner.play(FIND, INSTALL, **given) == 0
        return runner.value(restore["key"]), runner.value(restore["restore-keys"]).split()

    experiment.write_text(EXPERIMENT)
    first, (same, near) = key()
    assert first.startswith(same)
    assert same.startswith(near)
    assert "-0.2.0-" in near
    experiment.write_text(EXPERIMENT + "seeds = 2")
    second, (_, again) = key()
    assert not second.startswith(same)
    assert again == near
    for inputs in ({"store": "other"}, {"experiment": "other.toml"}):
        assert key(**inputs)[1][1] != near
    pip = USES["Restore what pip has downloaded"]["with"]
    assert pip == USES["Save what pip has downloaded"]["with"]
    assert runner.value(pip["path"]) == "/pip-cache"
    before = runner.value(pip["key"])
    key(package="compactlab==0.1.0")
    assert runner.value(pip["key"]) != before


def test_the_report_is_uploaded_whatever_the_verdict(runner):
    upload = USES["Upload the report"]
    assert upload["if"].startswith("always() && ")
    assert runner.play(FIND, junit="gate.xml") == 0
    files = [runner.work / "compactlab-out" / "report.html", runner.work / "gate.xml"]
    assert runner.value(upload["with"]["path"]).splitlines() == list(map(str, files))
    # What failed must not stay failed because it was kept.
    assert "compactlab run --retry " in SCRIPTS[2]["run"]
    # Nor does a red gate keep what was run from being kept for the next one.
    names = [step["name"] for step in STEPS]
    assert names.index(RUN) < names.index("Save the store") < names.index(JUDGE)
    assert USES["Save the store"]["if"].startswith("always() && ")


def test_a_gate_is_green_and_red_in_a_clean_folder(runner, request):
    """All scripts in their order, with a baseline that was written elsewhere."""
    cli = request.getfixturevalue("compactlab")
    (runner.work / "experiment.toml").write_text(EXPERIMENT)
    there = runner.folder / "there"
    talk, strategies = (
        ["coding_agent(turns=2, tokens=2000)"],
        ["keep_all", "sliding_window(keep=4)"],
    )
    compactlab.run(talk, strategies, metrics=["money"], out=there)
    assert cli("baseline", there, "-o", runner.work / "baseline.json").code == 0
    inputs = {"experiment": "experiment.toml", "junit": "gate.xml", "json": "gate.json"}
    assert runner.play(**inputs) == 0
    assert runner.outputs["gate"] == {"code": "0"}
    assert "### Gate: holds" in runner.summary
    files = runner.outputs["keys"]["files"].splitlines()
    assert all(Path(file).is_file() for file in files)
    (runner.work / "gate.toml").write_text('[rules]\ncost_usd = "<= 0"\n')
    assert runner.play(JUDGE, rules="gate.toml", markdown="gate.md", **inputs) == 1
    assert runner.outputs["gate"] == {"code": "1"}
    assert "::error title=gate%3A cost_usd <= 0 regressed::" in runner.said
    assert "### Gate: regressed" in runner.summary
    assert all((runner.work / f"gate.{form}").is_file() for form in ("xml", "md", "json"))


def test_an_experiment_that_cannot_be_run_is_said_in_the_summary(runner):
    assert runner.play(experiment="nowhere.toml") == 2
    assert "### Gate: cannot judge: the experiment could not be run (code 2" in runner.summary
    assert "gate" not in runner.outputs


HOSTILE = '"; touch pwned; $(touch pwned) `touch pwned`\ntouch pwned #'


@pytest.mark.parametrize("name", sorted(ACTION["inputs"]))
def test_what_an_input_says_is_not_run_while_installing(name, runner):
    code = runner.play(FIND, INSTALL, **{name: HOSTILE})
    paths = {"constraints", "json", "junit", "markdown", "store"}
    assert code == (1 if name in paths else 0)
    assert not list(runner.work.rglob("pwned"))
    assert {*runner.outputs["keys"]} <= {
        "constraints", "packages", "store", "place", "content", "files", "pip", "month"
    }  # fmt: skip
    if name == "package":
        assert (runner.folder / "pip.txt").read_text().endswith(f"--\n{HOSTILE}\n")


@pytest.mark.slow
def test_what_an_input_says_is_not_run(runner):
    store = runner.work / "store"
    compactlab.run(["coding_agent(turns=2, tokens=2000)"], ["keep_all"], out=store)
    for place, names in ((RUN, ["experiment"]), (JUDGE, ["store", "baseline", "rules"])):
        for name in names:
            assert runner.play(place, **{"store": "store", name: HOSTILE}) == 2
            assert not list(runner.work.rglob("pwned")), name
    assert runner.play(JUDGE, store="--help") == 2
