"""`compactlab new experiment`: what it writes runs as it is, and explains every key."""

import re
from pathlib import Path

from inline_snapshot import snapshot

from compactlab.reports.analysis.comparison import comparisons
from compactlab.request.file import ExperimentSettings
from compactlab.sim.store.results import Results


def test_it_runs_as_it_is(compactlab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert compactlab("new", "experiment").told(tmp_path) == snapshot("""\
0
wrote experiment.toml
preview: compactlab run experiment.toml --dry-run
run it: compactlab run experiment.toml\
""")
    dry = compactlab("run", "experiment.toml", "--dry-run")
    assert dry.code == 0, dry.err
    assert "2 conversations\n" in dry.out
    assert "2 strategies\n" in dry.out
    tiny = ("--conversations", "coding_agent(turns=2, tokens=2000)", "--jobs", 1)
    assert compactlab("run", "experiment.toml", *tiny).code == 0
    # The commands at its head, and the rules in it.
    assert compactlab("baseline", "compactlab-out", "-o", "baseline.json").code == 0
    gated = compactlab("gate", "compactlab-out", "--rules", "experiment.toml")
    assert gated.code == 0, gated.said
    text = Path("experiment.toml").read_text("utf-8")
    assert re.findall(r"compactlab (\w+)", text)[:3] == ["run", "baseline", "gate"]


def test_readmes_rules_stand_in_it(compactlab, tmp_path, root):
    file = tmp_path / "mine.toml"
    compactlab("new", "experiment", file)
    readme = (root / "README.md").read_text("utf-8")
    (rules,) = re.findall(r"```toml\n(\[rules\]\n.*?)```", readme, re.DOTALL)
    assert file.read_text("utf-8").endswith(rules)


def test_its_agents_are_usable_and_remember_some_of_what_is_asked(compactlab, tmp_path):
    file = tmp_path / "mine.toml"
    compactlab("new", "experiment", file)
    assert compactlab("run", file, "--jobs", 1).code == 0
    (compared,) = comparisons(Results.load(tmp_path / "compactlab-out"))
    assert [row.name for row in compared.rows if row.usable] == ["claude_code", "codex"]
    assert all(row.figures["recall_20k"] for row in compared.rows)


def test_it_has_every_key_with_a_word_before_it(compactlab, tmp_path):
    file = tmp_path / "below" / "mine.toml"
    assert compactlab("new", "experiment", file).code == 0
    text = file.read_text("utf-8")
    assert "compactlab run mine.toml" in text
    text = text.partition("[rules]")[0]
    keys = re.findall(r"^#[^\n]+\n(?:# )?(\w+) = ", text, re.MULTILINE)
    assert keys == [key for key in dict.fromkeys(keys) if key in ExperimentSettings.model_fields]
    assert set(keys) == set(ExperimentSettings.model_fields)


def test_every_key_is_taken_as_it_stands_without_its_comment(compactlab, tmp_path):
    file = tmp_path / "mine.toml"
    compactlab("new", "experiment", file)
    text = re.sub(r"^# (\w+ = )", r"\1", file.read_text("utf-8"), flags=re.MULTILINE)
    models, churn = ("models_file", "churn")  # files that are not there
    kept = [line for line in text.splitlines() if not line.startswith((models, churn))]
    file.write_text("\n".join(kept), encoding="utf-8")
    assert ExperimentSettings.load(file, {}).model_fields_set == set(
        ExperimentSettings.model_fields
    ) - {models, churn}


def test_nothing_is_overwritten(compactlab, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("precious")
    assert compactlab("new", "experiment", file).told(tmp_path) == snapshot("""\
2
compactlab: mine.toml exists already; nothing was written\
""")
    assert file.read_text("utf-8") == "precious"


def test_where_nothing_can_be_written_ends_with_2(compactlab, tmp_path):
    (tmp_path / "file").write_text("")
    done = compactlab("new", "experiment", tmp_path / "file" / "mine.toml")
    assert done.code == 2
    assert "cannot write" in done.err
