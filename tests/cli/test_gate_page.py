"""The page on gates and the files to begin with: they hold at once, as they are written."""

import re
import tomllib

import pytest

from compactlab.cli.gate_rules import SELECTORS, read_rules
from compactlab.reports.gate.rules import Rule


@pytest.fixture(name="cli")
def _cli(request, monkeypatch):
    """The command line, on a machine that is none of GitHub's."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return request.getfixturevalue("compactlab")


@pytest.fixture
def page(root):
    """The page on gates, and the files that it shows: an experiment, rules, more rules."""
    text = (root / "docs" / "gate.md").read_text("utf-8")
    return text, *re.findall(r"```toml\n(.*?)```", text, re.DOTALL)


def test_the_rules_that_the_page_shows_can_be_read(page, tmp_path):
    text, _, shown, _ = page
    (tmp_path / "gate.toml").write_text(shown, "utf-8")
    assert len(read_rules(tmp_path / "gate.toml")) == 8
    grammar = text.partition("## Rules")[2].partition("## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", grammar, re.MULTILINE)
    texts = [each for row in rows for each in re.findall(r"`([^`]+)`", row)]
    taken = [each for each in texts if each not in SELECTORS]
    assert len(taken) == 10
    assert [Rule.parse("calls", each).text for each in taken] == taken
    assert set(texts) - set(taken) == set(SELECTORS)


def test_the_page_asks_of_everything_what_the_rules_to_begin_with_ask(
    page, cli, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert cli("new", "gate", "begin.toml").code == 0
    begin = tomllib.loads((tmp_path / "begin.toml").read_text("utf-8"))
    assert begin["rules"] == tomllib.loads(page[2])["rules"]


@pytest.mark.slow
def test_the_example_of_the_page_holds_at_once_as_it_is_written(page, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, experiment, shown, _ = page
    (tmp_path / "experiment.toml").write_text(experiment, "utf-8")
    (tmp_path / "gate.toml").write_text(shown, "utf-8")
    blocks = re.findall(r"```text\n(compactlab .*?)```", text, re.DOTALL)
    commands = [line.split() for block in blocks for line in block.splitlines()]
    asked = [words[1:] for words in commands if words[0] == "compactlab"]
    assert [words[0] for words in asked] == ["run", "baseline", "run", "gate", "gate"]
    for words in asked:
        done = cli(*words)
        assert done.code == 0, done.said
    assert cli("new", "gate", "begin.toml").code == 0
    assert cli("gate", "compactlab-out", "--rules", "begin.toml").code == 0


@pytest.mark.slow
def test_the_files_to_begin_with_hold_at_once(cli, tmp_path, monkeypatch):
    """Also with what is a comment in them."""
    monkeypatch.chdir(tmp_path)
    for words in (("new", "experiment"), ("new", "gate"), ("run", "experiment.toml")):
        assert cli(*words).code == 0
    assert cli("baseline", "compactlab-out").code == 0
    told = ("gate", "compactlab-out", "--rules", "gate.toml")
    assert cli(*told).code == 0
    lines = (tmp_path / "gate.toml").read_text("utf-8").splitlines()
    start = lines.index("[rules]")
    live = [re.sub(r"^# (?=\[|\w+ = )", "", line) for line in lines[start:]]
    assert live.count("[[rule]]") == 2
    (tmp_path / "gate.toml").write_text("\n".join(live), "utf-8")
    done = cli(*told)
    assert done.code == 0, done.said
