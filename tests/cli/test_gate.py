"""`compactlab gate`: verdicts, exit codes and files, on stores as they are on a disk."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from inline_snapshot import snapshot

import compactlab
from compactlab.reports.gate.baseline import GATED
from compactlab.sim.store.results import Results
from tests.cli.conftest import called
from tests.lines import fitting, lines_with

MINE = """
from dataclasses import dataclass

from compactlab import Strategy


@dataclass(frozen=True)
class Mine(Strategy):
    def compact(self, view, host):
        return view.with_messages(view.messages[-KEEP:])
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store of two strategies over two small conversations."""
    folder = tmp_path_factory.mktemp("store")
    sources = ("coding_agent(turns=2, tokens=2000)", "support_chat(turns=2, tokens=2000)")
    compactlab.run(
        sources, ("keep_all", "sliding_window(keep=4)"), out=folder, tables=["facts"], metrics=GATED
    )
    return folder


@pytest.fixture(name="cli")
def _cli(request):
    """The command line."""
    return request.getfixturevalue("compactlab")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    """Whatever machine this runs on, it is none of GitHub's."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture(scope="module")
def kept(store, tmp_path_factory):
    """The baseline of the store."""
    file = tmp_path_factory.mktemp("kept") / "baseline.json"
    assert called("baseline", store, "-o", file).code == 0
    return file


@pytest.fixture
def baseline(kept, tmp_path):
    """A copy of it, which a test may change."""
    return Path(shutil.copy(kept, tmp_path))


@pytest.fixture
def planted(store, tmp_path):
    """The store again, with figures of its second strategy changed."""

    def plant(**figures):
        results = Results.load(store)
        for index, run in enumerate(results.runs):
            if run.strategy.startswith("sliding"):
                new = {name: change(run.metrics[name]) for name, change in figures.items()}
                results.runs[index] = replace(run, metrics={**run.metrics, **new})
        folder = tmp_path / "planted"
        results.save(folder)
        return folder

    return plant


def rules(tmp_path, text):
    file = tmp_path / "gate.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_store_holds_against_its_own_baseline(cli, store, baseline, tmp_path):
    done = cli("gate", store, "--baseline", baseline)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("gate: holds: ")
    file = rules(tmp_path, '[rules]\ncost_usd = ["+0%", "-0%"]\namnesia_need = "+0"\n')
    assert cli("gate", store, "--baseline", baseline, "--rules", file).code == 0


def test_a_planted_regression_is_found_and_what_is_allowed_is_not(cli, planted, baseline, tmp_path):
    file = rules(tmp_path, '[rules]\namnesia_need = "+0.02"\n')
    told = ("--baseline", baseline, "--rules", file)
    assert cli("gate", planted(amnesia_need=lambda was: (was or 0) + 0.019), *told).code == 0
    done = cli("gate", planted(amnesia_need=lambda was: (was or 0) + 0.021), *told)
    assert done.code == 1
    first, figures, *_ = done.out.splitlines()
    assert first.startswith("REGRESSED  amnesia_need ")
    assert lines_with(first, "sliding_window(keep=4) under") == snapshot(
        "REGRESSED  amnesia_need +0.02, sliding_window(keep=4) under claude-sonnet-4-5"
    )
    assert "\N{RIGHTWARDS ARROW}" in figures


@pytest.mark.parametrize("exact", [True, False])
def test_without_a_baseline_nothing_passes(exact, cli, store, tmp_path):
    told = () if exact else ("--rules", rules(tmp_path, '[rules]\ncalls = "> 0"\n'))
    for file in (tmp_path / "nowhere.json", rules(tmp_path / ".", "[rules]\ncalls = '> 0'\n")):
        done = cli("gate", store, "--baseline", file, *told)
        assert done.code == 2
        assert "CANNOT JUDGE" in done.out
        assert "no baseline: " in done.out


def test_a_baseline_of_other_prices_is_not_compared_with(cli, store, baseline):
    told = json.loads(baseline.read_text("utf-8"))
    told["models"]["claude-sonnet-4-5"]["prices.output"] = ["1"]
    baseline.write_text(json.dumps(told))
    done = cli("gate", store, "--baseline", baseline)
    assert done.code == 2
    assert lines_with(done.out, "prices.output") == snapshot(
        "CANNOT JUDGE  other provenance: claude-sonnet-4-5: prices.output: was 1, is 15"
    )


def test_all_files_are_written_whole_and_say_the_same(cli, planted, baseline, tmp_path):
    files = {form: tmp_path / f"gate.{form}" for form in ("junit", "markdown", "json")}
    options = [word for form, file in files.items() for word in (f"--{form}", file)]
    dear = planted(cost_usd=lambda was: was * 2)
    assert cli("gate", dear, "--baseline", baseline, *options).code == 1
    [suite] = ElementTree.parse(files["junit"]).getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    text = files["markdown"].read_text("utf-8")
    assert text.startswith("### Gate: changed: 1 changed (1 worse) of ")
    assert json.loads(files["json"].read_text("utf-8"))["counts"]["changed"] == 1
    assert not [file for file in tmp_path.iterdir() if file.name.endswith(".tmp")]


def test_what_can_be_written_is_if_something_else_cannot(
    cli, planted, baseline, tmp_path, monkeypatch
):
    nowhere, files = tmp_path / "nowhere", {f: tmp_path / f"gate.{f}" for f in ("markdown", "json")}
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(nowhere / "summary.md"))
    told = ("--github", "--junit", nowhere / "gate.xml", "--markdown", files["markdown"])
    dear = planted(cost_usd=lambda was: was * 2)
    for folder, word in ((dear, "changed"), (tmp_path / "none", "cannot judge")):
        for file in files.values():
            file.write_text("of an earlier gate")
        done = cli("gate", folder, "--baseline", baseline, *told, "--json", files["json"])
        assert done.code == 2
        assert "summary.md" in done.err
        assert "cannot write" in done.err
        assert "gate.xml" in done.err
        assert ("no store of results" in done.err) is (folder != dear)
        assert json.loads(files["json"].read_text("utf-8"))["verdict"] == word
        assert word in files["markdown"].read_text("utf-8").lower()


def test_nothing_is_written_over_what_is_read_or_written_besides(
    cli, store, baseline, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    file = rules(tmp_path, '[rules]\ncost_usd = "+2%"\n')
    before = baseline.read_bytes(), file.read_bytes()
    told = ("--baseline", "./baseline.json", "--rules", file)
    for named in ("baseline.json", "gate.toml"):
        for form in ("--junit", "--markdown", "--json"):
            done = cli("gate", store, *told, form, named)
            assert done.code == 2
            assert f"{form} would overwrite the file of --" in done.err
    assert (baseline.read_bytes(), file.read_bytes()) == before
    assert cli("gate", store, *told, "--json", "out", "--junit", "./out").code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_log_that_is_full_is_no_regression_and_none_is_hidden(
    unbuffered, planted, baseline, tmp_path
):
    """What was asked for in files is written all the same, over what an earlier gate has left."""
    file = tmp_path / "gate.json"
    for change, word in ((lambda was: was, "holds"), (lambda was: was * 2, "changed")):
        words = ["gate", planted(cost_usd=change), "--baseline", baseline, "--json", file]
        file.write_text("of an earlier gate")
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "compactlab", *words],
                stdout=full,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
                text=True,
                check=False,
            )
        assert done.returncode == 2
        assert done.stderr == snapshot("compactlab: [Errno 28] No space left on device\n")
        assert json.loads(file.read_text("utf-8"))["verdict"] == word


def test_a_baseline_of_one_metric_can_be_held_without_rules(cli, store, planted, tmp_path):
    file = tmp_path / "cost.json"
    assert cli("baseline", store, "-o", file, "--metrics", "cost_usd").code == 0
    assert cli("gate", store, "--baseline", file).code == 0
    assert cli("gate", planted(cost_usd=lambda was: was * 2), "--baseline", file).code == 1


def test_github_gets_annotations_and_the_step_its_summary(
    cli, planted, baseline, tmp_path, monkeypatch
):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    dear = planted(cost_usd=lambda was: was * 2)
    done = cli("gate", dear, "--baseline", baseline)
    assert done.code == 1
    [command] = [line for line in done.out.splitlines() if line.startswith("::")]
    assert command.startswith("::error title=gate%3A cost_usd changed%3A worse::")
    assert summary.read_text("utf-8").startswith("before\n### Gate: changed")
    silent = cli("gate", dear, "--baseline", baseline, "--no-github")
    assert "::" not in silent.out


def test_secrets_in_names_are_hidden_if_told_and_runs_are_found_all_the_same(cli, store, tmp_path):
    results, mail = Results.load(store), "somebody@example.org"
    runs = [replace(run, conversation=f"{run.conversation} {mail}") for run in results.runs]
    Results(runs, results.manifest, bounds=results.bounds).save(tmp_path / "out")
    kept, told = tmp_path / "baseline.json", tmp_path / "gate.json"
    for first, second in ((True, True), (False, True)):
        hide = ("--redact",) if first else ()
        assert cli("baseline", tmp_path / "out", "-o", kept, *hide).code == 0
        assert (mail in kept.read_text("utf-8")) is not first
        hide = ("--redact",) if second else ()
        file = rules(tmp_path, '[rules]\ncost_usd = ["+0%", "<= 0"]\n')
        more = ("--baseline", kept, "--rules", file, "--json", told, *hide)
        done = cli("gate", tmp_path / "out", *more)
        assert done.code == 1
        assert mail not in done.said + told.read_text("utf-8")
        counts = json.loads(told.read_text("utf-8"))["counts"]
        assert (counts["holds"], counts["regressed"]) == (2, 2)


WRONG = """
[rules]
strategy = "keep_all"
cost_us = "+2%"
overflows = 0
amnesia_need = "2%"
structural_validity = "+1%"
calls = []

[[rule]]
type = "prohibitions"
amnesia_need = "+0.02"

[[rule]]
type = "decision"
amnesia = "+0.02"

[[rule]]
strategy = 3

[extra]
"""


def test_a_rule_outside_of_its_table_is_told_where_it_belongs(cli, store, baseline, tmp_path):
    """README shows the line alone."""
    file = rules(tmp_path, 'cost_usd = "+2%"\nrecall_20k = "-0.02"\n')
    done = cli("gate", store, "--baseline", baseline, "--rules", file)
    assert done.code == 2
    assert done.told(tmp_path, out=False) == snapshot("""\
2
compactlab: gate.toml: settings are wrong:
  line 1: cost_usd: a rule: put it under [rules]
  line 2: recall_20k: a rule: put it under [rules]\
""")


def test_the_command_that_shows_a_lost_fact_runs_as_it_is_printed(cli, tmp_path):
    store = tmp_path / "now"
    session = "coding_agent(turns=2, tokens=2000)"
    compactlab.run(session, "sliding_window(keep=2)", out=store, tables=["facts"], metrics=GATED)
    kept = Results.load(store)
    for run in kept.runs:
        run.metrics = {**run.metrics, "amnesia_need": 0.0}
    kept.save(tmp_path / "before")
    assert cli("baseline", tmp_path / "before", "-o", tmp_path / "kept.json").code == 0
    told = tmp_path / "gate.json"
    done = cli("gate", store, "--baseline", tmp_path / "kept.json", "--json", told)
    assert done.code == 1
    found = json.loads(told.read_text("utf-8"))["findings"]
    [lost] = [finding["lost"] for finding in found if finding["lost"]]
    assert lost["facts"][0]["fact"] in done.out
    assert lost["explain"] in done.out
    shown = cli(*shlex.split(lost["explain"])[1:])
    assert (shown.code, "keep=2" in shown.out) == (0, True)


ABSURD = {"amnesia_need": 5, "cost_usd": "inf", "overflows": 10**30, "calls": 1e308}
ABSURD |= {"tokens_output": 10**400, "structural_validity": -1}


@pytest.mark.parametrize("metric", ABSURD)
def test_a_baseline_whose_figures_cannot_be_lets_nothing_pass(
    metric, cli, store, baseline, tmp_path
):
    data = json.loads(baseline.read_text("utf-8"))
    data["runs"][-1]["figures"][metric] = ABSURD[metric]
    baseline.write_text(json.dumps(data), "utf-8")
    file = rules(tmp_path, '[rules]\ncost_usd = "+2%"\namnesia_need = "+0.02"\noverflows = "+0"\n')
    where = f"runs[{len(data['runs']) - 1}] ("
    for command in (("gate", store, "--rules", file), ("report", store)):
        done = cli(*command, "--baseline", baseline)
        assert (done.code, where in done.said, f"{metric} must be" in done.said) == (2, True, True)


def test_all_that_is_wrong_with_rules_is_told_at_once(cli, store, baseline, tmp_path):
    file = rules(tmp_path, WRONG)
    done = cli("gate", store, "--baseline", baseline, "--rules", file)
    assert done.code == 2
    told = [line.strip().partition(" side_cost_usd")[0] for line in done.err.splitlines()[1:]]
    assert all(line.startswith("line ") for line in told)
    assert fitting(told) == snapshot("""\
line 21: extra: unknown key 'extra'; known: rule, rules
line 3: rules.strategy: [rules] is for all runs; put rules for some of them into a
[[rule]]
line 4: rules.cost_us: unknown metric 'cost_us'; did you mean cost_usd or
line 5: rules.overflows: must be text, such as '+2%' or '== 0', not 0
line 6: rules.amnesia_need: '2%' is not a rule; did you mean '+2%' or '-2%'?
line 7: rules.structural_validity: higher is better, so '+1%' only limits gains; did you
mean '-1%'? To limit both, write ['-1%', '+1%']
line 8: rules.calls: must be text, such as '+2%' or '== 0', not []
line 11: rule[0].type: unknown type of fact 'prohibitions'; did you mean prohibition or
proposal?
line 16: rule[1].amnesia: only amnesia_need is known by type of fact; did you mean
amnesia_decision, without a type?
line 19: rule[2].strategy: must be a pattern or a list of patterns, not 3
line 18: rule[2]: it asks nothing: name a metric, such as cost_usd = '+2%'\
""")


@pytest.mark.parametrize(
    "wrong",
    [
        ("", "there is no rule in it"),
        ("[rules", "gate.toml:1: no rules: "),
        ("rules = 3", "rules: must be a table, not 3"),
        ("[rule]\ncalls = '> 0'", "write [[rule]] in two brackets"),
        ("rule = [3]", "rule[0]: must be a table, not 3"),
    ],
)
def test_what_is_no_file_of_rules_is_told(wrong, cli, store, baseline, tmp_path):
    text, told = wrong
    done = cli("gate", store, "--baseline", baseline, "--rules", rules(tmp_path, text))
    assert done.code == 2
    assert told in done.err


def test_rules_to_begin_with_hold_for_what_has_not_changed(
    cli, store, baseline, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert "wrote gate.toml\n" in cli("new", "gate").out
    told = ("--baseline", baseline, "--rules", "gate.toml")
    assert cli("gate", store, *told).code == 0
    text = (tmp_path / "gate.toml").read_text("utf-8")
    every = text.replace("# [[rule]]", "[[rule]]")
    lines = every[every.index("[[rule]]") :].splitlines()
    known = ("strategy", "scenario", "model", "overflows", "write", "type", "amnesia")
    tail = [line.removeprefix("# ") if line[2:].startswith(known) else line for line in lines]
    file = rules(tmp_path, "\n".join(tail))
    done = cli("gate", store, "--baseline", baseline, "--rules", file)
    assert done.err == ""
    assert "no run fits" in done.out or done.code == 0


def test_a_strategy_with_other_settings_is_held_against_what_it_was(cli, store, baseline, tmp_path):
    results = Results.load(store)
    first, second = "sliding_window(keep=4)", "sliding_window(keep=3)"
    names = {second if spec == first else spec: name.replace("keep=4", "keep=3")
             for spec, name in results.manifest["strategies"].items()}  # fmt: skip
    runs = [replace(r, strategy=second if r.strategy == first else r.strategy)
            for r in results.runs]  # fmt: skip
    folder = tmp_path / "changed"
    manifest = results.manifest | {"strategies": names}
    Results(runs, manifest, bounds=results.bounds).save(folder)
    file = rules(tmp_path, '[rules]\ncost_usd = "+2%"\n')
    for more in ((), ("--rules", file)):
        done = cli("gate", folder, "--baseline", baseline, *more)
        assert done.code == 0, done.said
        assert f"note: {second} is compared with {first} of the baseline\n" in done.out
    told = cli("report", folder, "--baseline", baseline)
    assert f"{second} is compared with {first} of the baseline\n" in told.out


def test_a_change_of_one_s_own_code_is_what_a_gate_is_for(cli, tmp_path):
    file, folder, kept = tmp_path / "mine.py", tmp_path / "out", tmp_path / "baseline.json"
    for keep, code in ((6, 0), (6, 0), (2, 1)):
        file.write_text(MINE.replace("KEEP", str(keep)))
        source = "coding_agent(turns=4, tokens=3000)"
        compactlab.run([source], [f"{file}:Mine"], out=folder, tables=["facts"], metrics=GATED)
        if not kept.exists():
            assert cli("baseline", folder, "-o", kept).code == 0
        done = cli("gate", folder, "--baseline", kept)
        assert done.code == code, done.said
    assert lines_with(done.out, "CHANGED better  cost_usd,") == snapshot(
        "CHANGED better  cost_usd, mine under claude-sonnet-4-5"
    )


@pytest.fixture(scope="module")
def spiral(tmp_path_factory):
    """A store in which one strategy compacts again and again, and another never does."""
    folder = tmp_path_factory.mktemp("spiral")
    compactlab.run(
        ["high_floor(tokens=8000, floor=24000)"],
        ["keep_all", "claude_code"],
        models=["gpt-5"],
        window=32_000,
        out=folder,
        metrics=["thrash", *GATED],
    )
    return folder


def test_compaction_after_compaction_is_no_pass(cli, spiral, tmp_path):
    text = """
[[rule]]
strategy = "claude_code"
compactions_per_100_calls = "<= 10"
compaction_interval_min = ">= 5"
compactions_small_gain = "<= 0.25"
compaction_stall_s = "<= 100000"
"""
    done = cli("gate", spiral, "--rules", rules(tmp_path, text))
    assert done.code == 1
    for broken in (
        "compactions_per_100_calls",
        "compaction_interval_min",
        "compactions_small_gain",
    ):
        assert broken in done.out
    calm = 'compactions_per_100_calls = "<= 10"\ncompaction_stall_max_s = "== 0"\n'
    text = f'[[rule]]\nstrategy = "keep_all"\n{calm}'
    file = tmp_path / "baseline.json"
    assert cli("baseline", spiral, "-o", file).code == 0
    done = cli("gate", spiral, "--baseline", file, "--rules", rules(tmp_path, text))
    assert (done.code, done.err) == (0, "")


def test_a_baseline_holds_how_often_it_compacts(cli, spiral, tmp_path):
    file = tmp_path / "baseline.json"
    assert cli("baseline", spiral, "-o", file, "--metrics", "thrash").code == 0
    text = '[rules]\ncompactions_per_100_calls = "+5%"\ncompaction_interval_min = "-0"\n'
    done = cli("gate", spiral, "--baseline", file, "--rules", rules(tmp_path, text))
    assert (done.code, done.err) == (0, "")
