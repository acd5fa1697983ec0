"""What `compactlab run` prints: its format, how much, its colours, and a browser for its page."""

import json
import webbrowser
from pathlib import Path

import pytest

TINY = "coding_agent(turns=2, tokens=2000)"
RUN = ("run", "--conversations", TINY, "--strategies", "codex", "--loop", "open", "--no-controls")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_json_is_that_of_the_report_also_of_results_that_are_there(compactlab):
    done = compactlab(*RUN, "--format", "json")
    assert json.loads(done.out)["runs"][0]["label"] == "codex"
    assert "report: compactlab-out/report.html" in done.err
    assert done.out == compactlab("report", "compactlab-out", "--format", "json").out
    assert done.out == compactlab(*RUN, "--format", "json").out


def test_markdown_is_the_brief_one(compactlab):
    done = compactlab(*RUN, "--format", "md")
    assert done.out == compactlab("report", "compactlab-out", "--brief", "--format", "md").out


def test_quiet_leaves_errors_alone_on_standard_error(compactlab):
    told = compactlab(*RUN, "--out", "told")
    done = compactlab(*RUN, "--quiet", "--out", "quiet")
    assert told.err
    assert (done.code, done.err) == (0, "")
    assert done.out == told.out.replace("told", "quiet")
    wrong = compactlab("run", "--strategies", "codx", "-q")
    assert (wrong.code, wrong.err[:35]) == (2, "compactlab: unknown strategy 'codx'")


class Browser:
    """A browser that notes its addresses, or fails."""

    def __init__(self, opened: list[str], answer: object) -> None:
        self.opened, self.answer = opened, answer

    def open(self, address: str) -> object:
        self.opened.append(address)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [True, False, OSError("no display"), webbrowser.Error("none")])
def test_a_page_is_opened_if_there_is_a_browser_and_never_fails(compactlab, monkeypatch, answer):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "get", lambda: Browser(opened, answer))
    for _ in range(2):  # also if nothing is to run
        done = compactlab(*RUN, "--open")
        assert done.code == 0
        assert ("no browser was opened" in done.err) is (answer is not True)
    assert opened == [Path("compactlab-out/report.html").resolve().as_uri()] * 2


def test_a_browser_within_the_terminal_is_not_opened(compactlab, monkeypatch):
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("false"))
    assert "no browser was opened" in compactlab(*RUN, "--open").err


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_in_a_pipe_are_asked_for(compactlab, monkeypatch, variables, coloured):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = compactlab(*RUN)
    assert ("\x1b[" in done.out) is coloured
    # Colours move no letter.
    assert max(map(len, done.out.splitlines())) > 80
