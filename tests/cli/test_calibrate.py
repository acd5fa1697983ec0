"""`compactlab calibrate`: recorded summaries in, a model of what they keep out."""

from __future__ import annotations

import json
import re

import pytest

from compactlab.scenarios.readers.native import write
from compactlab.strategies.summarizers.calibrated import find_calibration
from tests.summarizers.recorded import Recording, session

NAMES = (
    "build_report", "tidal_fork", "amber_gate", "src/long/way/table.py", "RowError", "/srv/a/x.rs",
)  # fmt: skip


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Two repositories with three sessions, a summary each; and something that is none."""
    folder = tmp_path_factory.mktemp("logs")
    for number, repository in enumerate(("one", "one", "two")):
        kept, lost = NAMES[number : number + 3], (*NAMES[:number], *NAMES[number + 3 :])
        ask = "Please leave the old format alone."
        told = session(f"s{number}", kept, lost, folder=repository, ask=ask)
        file = folder / repository / f"s{number}.jsonl"
        file.parent.mkdir(exist_ok=True)
        write(told, file)
    (folder / "notes.md").write_text("# notes")
    return folder


def test_a_model_is_written_and_serves_the_summariser(compactlab, logs, tmp_path):
    file = tmp_path / "own.toml"
    done = compactlab("calibrate", logs, "-o", file, "--date", "2026-11-23")
    assert (done.code, f"wrote {file}" in done.err) == (0, True), done.said
    assert "skipped: 1 file of unknown format" in done.err
    assert str(logs) not in file.read_text()
    model = find_calibration(str(file))
    assert (model.sessions, model.facts) == (3, 18)
    assert model.source.endswith("; 2026-11-23")
    spec = f"calibrated(profile={str(file)!r})"
    told = "coding_agent(turns=2, tokens=2000)"
    which = ("--conversations", told, "--strategies", "full_summary", "--window", 4000)
    which = (*which, "--metrics", "cost_usd", "--out", tmp_path / "out")
    ran = compactlab("run", *which, "--summarizer", spec)
    assert ran.code == 0, ran.said


def test_the_report_tells_what_is_kept_and_how_well_that_is_foretold(compactlab, logs):
    done = compactlab("calibrate", logs)
    assert done.out.splitlines()[0] == (
        "The model was fitted by compactlab calibrate to 3 summaries of claude_code in 3 "
        "sessions, 18 facts."
    )
    assert re.search(r"^ +all +18 +50\.0% +\d+\.\d%$", done.out, re.MULTILINE)
    for group in ("artifact", "tool_detail", "below 4", "5 and more", "use it"):
        assert re.search(rf" {group} ", done.out), group
    assert re.search(r"^short messages of the user, word for word +6 +50\.0%", done.out, re.M)
    assert re.search(r"^mentions +[+-]\d\.\d\d$", done.out, re.MULTILINE)
    assert re.search(r"^sessions +3 +18 +[01]\.\d{3} ", done.out, re.MULTILINE)
    assert re.search(r"^repositories +2 +18 +[01]\.\d{3} ", done.out, re.MULTILINE)
    assert re.search(r"^Leaving out sessions: AUC [01]\.\d{3} ", done.out, re.MULTILINE)


def test_one_session_cannot_be_left_out_of_itself(compactlab, logs):
    done = compactlab("calibrate", logs / "two")
    assert done.code == 0
    assert "Too few to leave out sessions." in done.out
    assert "predicted" not in done.out


def test_json_has_all_of_it(compactlab, logs):
    done = compactlab("calibrate", logs, "--format", "json")
    data = json.loads(done.out)
    assert set(data) == {"calibration", "fates", "versions", "texts", "left_out"}
    assert data["left_out"]["sessions"]["groups"] == 3
    assert data["fates"][0]["clients"]["claude_code"] == {"facts": 18, "kept": 0.5}
    assert data["calibration"]["coefficients"]["all"]


def test_the_same_logs_give_the_same_bytes(compactlab, logs, tmp_path):
    files = [tmp_path / name for name in ("one.toml", "two.toml")]
    reports = {compactlab("calibrate", logs, "-o", file).out for file in files}
    assert len(reports) == 1
    assert files[0].read_bytes() == files[1].read_bytes()


def test_without_a_summary_there_is_nothing_to_fit(compactlab, chat, tmp_path):
    chat(tmp_path / "chat.jsonl", turns=3)
    file = tmp_path / "own.toml"
    done = compactlab("calibrate", tmp_path / "chat.jsonl", "-o", file)
    assert (done.code, file.exists()) == (2, False)
    assert "no log has a summary that can be read, with what it was made of" in done.err


def test_a_summary_of_nothing_that_is_needed_is_nothing_to_fit(compactlab, tmp_path):
    told = Recording()
    told.say("Hello there.")
    told.compact("They said hello.")
    told.say("Go on.")
    told.say("Well, then.", "assistant")
    write(told.told(), tmp_path / "s.jsonl")
    done = compactlab("calibrate", tmp_path / "s.jsonl")
    assert (done.code, "stands for a fact" in done.err) == (2, True)


def test_nothing_to_read(compactlab, tmp_path):
    (tmp_path / "notes.md").write_text("# notes")
    done = compactlab("calibrate", tmp_path)
    said = f"no transcript was found in {tmp_path}, only 1 file of unknown format"
    assert (done.code, said in done.err) == (2, True)
    assert compactlab("calibrate", tmp_path / "none.jsonl").code == 2


def test_a_broken_file_costs_itself(compactlab, logs, bad, tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.jsonl").write_bytes((logs / "one" / "s0.jsonl").read_bytes())
    broken = bad(folder / "bad.jsonl")
    done = compactlab("calibrate", "--strict", folder)
    assert (done.code, f"{broken}:3" in done.err) == (1, True)
    assert compactlab("calibrate", "--strict", folder / "good.jsonl", broken).code == 2
    for more in ((), ("--lenient",)):
        done = compactlab("calibrate", *more, folder)
        assert (done.code, str(broken) in done.err) == (0, False)


def test_an_experiment_file_finds_the_model_beside_it(compactlab, logs, tmp_path):
    file = tmp_path / "own.toml"
    assert compactlab("calibrate", logs, "-o", file).code == 0
    experiment = tmp_path / "experiment.toml"
    for summarizer in (
        "\"calibrated(profile='own.toml')\"",
        '[{ name = "calibrated", profile = "own.toml" }]',
    ):
        experiment.write_text(
            'conversations = ["coding_agent(turns=2, tokens=2000)"]\n'
            f'strategies = ["full_summary"]\nsummarizer = {summarizer}\nwindow = 4000\n'
        )
        done = compactlab("run", experiment, "--dry-run")
        assert done.code == 0, done.said
    experiment.write_text(experiment.read_text().replace("own.toml", "none.toml"))
    refused = compactlab("run", experiment, "--dry-run")
    assert (refused.code, "none.toml" in refused.err) == (2, True), refused.said
