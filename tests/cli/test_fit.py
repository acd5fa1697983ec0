"""`compactlab fit`: recordings in, a profile out, and how close what is made by it comes."""

import re

import pytest
from inline_snapshot import snapshot

from compactlab.scenarios.catalogue import find_scenario
from compactlab.scenarios.engine.profile import find_profile
from compactlab.scenarios.readers.native import write
from compactlab.sim.core.errors import UsageError
from tests.lines import lines_with

QUICK = ("--made", 2)


@pytest.fixture(scope="session")
def sessions(tmp_path_factory):
    """A folder with two sessions, and something that is none."""
    folder = tmp_path_factory.mktemp("sessions")
    for seed in (1, 2):
        made = find_scenario("coding_agent(turns=12, tokens=20000)").conversation(seed)
        write(made, folder / f"{seed}.jsonl")
    (folder / "notes.md").write_text("# notes")
    return folder


def test_a_profile_is_written_and_serves_a_scenario(compactlab, sessions, tmp_path):
    file = tmp_path / "own.toml"
    done = compactlab("fit", sessions, "-o", file, "--name", "ours", *QUICK)
    assert (done.code, f"wrote {file}" in done.err) == (0, True)
    profile = find_profile(str(file))
    assert profile.name == "ours"
    assert "(2 coding_agent)" in profile.source
    assert str(sessions) not in file.read_text()
    made = find_scenario(f"coding_agent(turns=2, tokens=8000, profile={str(file)!r})")
    assert made.conversation(0).turns == 2


def test_a_profile_that_no_scenario_takes_is_not_written(
    compactlab, sessions, tmp_path, monkeypatch
):
    """The report has conversations made by it, so it is tried before anybody is told of a file."""

    def refuse(*_):
        raise UsageError("this profile has no tools")

    monkeypatch.setattr("compactlab.cli.fit._made", refuse)
    done = compactlab("fit", sessions, "-o", tmp_path / "own.toml", *QUICK)
    assert (done.code, "wrote" in done.err) == (2, False)
    assert list(tmp_path.iterdir()) == []


def test_the_report_holds_both_against_each_other(compactlab, sessions):
    done = compactlab("fit", sessions, *QUICK)
    lines = done.out.splitlines()
    assert lines[0].startswith("Measured by compactlab fit on recorded sessions")
    assert lines_with(lines[1], "2 conversations") == snapshot(
        "Compared with 2 conversations made by it (synthetic)."
    )
    for row in ("user", "result of bash", "wait for tool", "calls per turn", "growth per call"):
        assert any(re.match(rf"{row} +[a-z]+( +[\d,.k-]+){{12}}$", line) for line in lines), row
    assert re.search(r"tokens that tools returned +[4-8]\d\.\d%", done.out)
    assert re.search(r"calls of several tools +[\d.]+% +[\d.]+%", done.out)
    assert re.match(r"Largest KS distance: .+, [01]\.\d\d \(critical value at 5%: ", lines[-1])
    assert done.told(out=False) == snapshot("""\
0
skipped: 1 file of unknown format\
""")


def test_the_same_recordings_give_the_same_bytes(compactlab, sessions, tmp_path):
    files = [tmp_path / name for name in ("one.toml", "two.toml")]
    reports = {compactlab("fit", sessions, "-o", file, *QUICK).out for file in files}
    assert len(reports) == 1
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_date_stands_there_only_if_it_is_given(compactlab, sessions):
    assert compactlab("fit", sessions, *QUICK).out.splitlines()[0].endswith(" tool results.")
    dated = compactlab("fit", sessions, "--date", "2026-11", *QUICK)
    assert dated.out.splitlines()[0].endswith("; 2026-11.")


def test_what_is_missing_is_filled_and_said(compactlab, chat, tmp_path):
    file = tmp_path / "own.toml"
    chat(tmp_path / "chat.jsonl", turns=30)
    done = compactlab("fit", tmp_path / "chat.jsonl", "-o", file, "--fill", "chat", *QUICK)
    assert done.code == 0
    assert find_profile(str(file)).waits == find_profile("chat").waits
    assert lines_with(file.read_text(), '"tool" = { median') == snapshot(
        '"tool" = { median = 1.0, sigma = 0.8 }  # not measured: of chat'
    )
    assert "Only synthetic: " in done.out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--scenario", "coding_agnt"], "did you mean coding_agent"),
        (["--scenario", "coding_agent(turn=3)"], "unknown field 'turn'"),
        (["--fill", "codng"], "unknown profile 'codng'"),
        (["-o", "no/such/folder/own.toml"], "cannot write"),
        (["--made", "0"], "0 is not in the range"),
        (["--made", "1000000000"], "1000000000 is not in the range 1<=x<=1000"),
    ],
)
def test_what_is_asked_wrongly_is_refused(compactlab, sessions, arguments, reason):
    done = compactlab("fit", sessions, *arguments)
    assert (done.code, reason in done.err) == (2, True), done.err


def test_nothing_to_measure(compactlab, tmp_path):
    (tmp_path / "notes.md").write_text("# notes")
    done = compactlab("fit", tmp_path)
    said = f"no transcript was found in {tmp_path}, only 1 file of unknown format"
    assert (done.code, said in done.err) == (2, True)
    assert compactlab("fit", tmp_path / "none.jsonl").code == 2


def test_a_broken_file_costs_itself(compactlab, chat, bad, tmp_path):
    folder = tmp_path / "mixed"
    chat(folder / "good.jsonl", turns=12)
    broken = bad(folder / "bad.jsonl")
    done = compactlab("fit", folder, "--strict", *QUICK)
    assert (done.code, f"{broken}:3" in done.err) == (1, True)
    assert compactlab("fit", folder / "good.jsonl", broken, "--strict", *QUICK).code == 2
    for more in ((), ("--lenient",)):
        done = compactlab("fit", folder, *more, *QUICK)
        assert (done.code, done.err) == (0, "")
