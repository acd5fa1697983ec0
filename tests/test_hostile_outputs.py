"""The hostile corpus goes through every command, and is looked for in all that they write."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from compactlab.__main__ import main
from tests import hostile
from tests.reports.test_browser import CHROMIUM, QUIETLY

Said = tuple[int, str, str]
Call = Callable[..., Said]

STRATEGY = '''
from dataclasses import dataclass
import compactlab
TEXT = {text!r}

@dataclass(frozen=True)
class Evil(compactlab.Strategy):
    """Fails, and says so."""

    words: str = TEXT

    def compact(self, view, host):
        raise ValueError(self.words)
'''
MODEL = """
[models.{name}]
provider = "anthropic"
window = 4000
max_output = 1000
encoding = "o200k_base"
cache = "none"
source = {source}
prices = {{ input = 2.0, output = 10.0, asof = 2026-01-01, source = {source} }}
"""


def call(*arguments: object, color: bool = False) -> Said:
    """Call the command line in this process; bytes that are no UTF-8 would be an error."""
    before = sys.argv
    with CliRunner().isolation(color=color) as (out, err, _):
        sys.argv = ["compactlab", *map(str, arguments)]
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        finally:
            sys.argv = before
        sys.stdout.flush()
        sys.stderr.flush()
        said, complained = out.getvalue().decode(), err.getvalue().decode()
    if "--github" not in arguments:  # which has commands of our own
        hostile.no_command(said)
    hostile.no_command(complained)
    return code, said, complained


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "sessions"
    hostile.files(folder)
    return folder


@pytest.fixture(scope="module")
def beside(recordings: Path) -> Path:
    """A strategy and a model that are called so, too."""
    folder = recordings.parent
    text = hostile.whole(hostile.EVERYTHING)
    (folder / "evil.py").write_text(STRATEGY.format(text=text), encoding="utf-8")
    quoted = json.dumps("<script>alert(1)</script>::error::\x1b[31m\u202e`x`|y")
    (folder / "own.toml").write_text(MODEL.format(name=quoted, source=quoted), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def ran(recordings: Path, beside: Path) -> tuple[Said, Path]:
    """One small run over all of it."""
    out = beside / "out"
    strategies = ("keep_all", "full_summary", f"{beside / 'evil.py'}:Evil")
    chosen = [word for spec in strategies for word in ("--strategies", spec)]
    tables = [
        w for n in ("calls", "messages", "facts", "views", "prompts") for w in ("--tables", n)
    ]
    said = call(
        *("run", "--conversations", recordings, *chosen, "--model", "claude-sonnet-4-5"),
        *("--models", beside / "own.toml", "--loop", "open", "--window", 1500, "--jobs", 1),
        *(*tables, "--out", out),
    )
    assert said[0] == 1, said
    return said, out


def test_a_run_says_it_quietly_and_writes_an_inert_page(ran):
    (_, told, complained), out = ran
    hostile.quiet(told)
    hostile.quiet(complained)
    text = hostile.inert((out / "report.html").read_text("utf-8"))
    assert hostile.HOSTILE["script"] in text
    hostile.strict((out / "manifest.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("form", "check"),
    [
        ("table", hostile.quiet),
        ("md", hostile.in_code),
        ("csv", hostile.no_formula),
        ("json", hostile.strict),
    ],
)
def test_every_format_of_a_report_is_harmless(ran, form, check):
    code, told, complained = call("report", ran[1], "--format", form)
    assert (code, complained) == (0, "")
    assert "1)" in told or "script" in told
    check(told)


@pytest.mark.parametrize("table", ["runs", "facts", "messages", "prompts", "views"])
@pytest.mark.parametrize(
    ("form", "check"),
    [("table", hostile.quiet), ("csv", hostile.no_formula), ("json", hostile.strict)],
)
def test_every_table_can_be_asked(ran, table, form, check):
    code, told, complained = call("query", ran[1], f"SELECT * FROM {table}", "--format", form)
    assert (code, complained) == (0, "")
    assert len(told) > 1000
    check(told)


def test_what_a_query_calls_its_columns_is_harmless(ran):
    asked = "SELECT '=1+1' AS \"::error::x\", '::error::' AS \"=1+1\", '\x1b[2J' AS \"\x1b[2J\""
    hostile.quiet(call("query", ran[1], asked)[1])
    hostile.no_formula(call("query", ran[1], asked, "--format", "csv")[1])
    code, _, complained = call("query", ran[1], "SELECT \x1b[2J '::error::x")
    assert code == 2
    hostile.quiet(complained)


@pytest.mark.parametrize("name", ["commands", "controls", "formula", "mathematics", "terminal"])
def test_an_account_of_a_session_is_harmless(recordings, name):
    text = hostile.whole(hostile.HOSTILE[name])
    asked = ("explain", recordings / "all.jsonl", "--strategies", "sliding_window(keep=4)")
    asked = (*asked, "--conversation", text, "--model", "claude-sonnet-4-5")
    code, told, complained = call(*asked, "--all")
    assert (code, complained) == (0, "")
    hostile.quiet(told)
    hostile.quiet(call(*asked, "--call", 2)[1])
    hostile.no_formula(call(*asked, "--format", "csv")[1])
    hostile.strict(call(*asked, "--format", "json")[1])


def test_an_audit_is_harmless(recordings, tmp_path):
    page = tmp_path / "audit.html"
    for more, expected in (((), 0), (("--strict",), 1), (("--sums",), 0)):
        html = () if more else ("--html", page)
        code, told, complained = call("audit", recordings, *html, *more)
        assert code == expected, complained
        hostile.quiet(told)
        hostile.quiet(complained)
        hostile.strict(call("audit", recordings, "--format", "json", *more)[1])
    text = hostile.inert(page.read_text("utf-8"))
    assert "Not understood and passed over" in text
    assert hostile.HOSTILE["script"] in text


def test_what_transcripts_are_is_said_quietly(recordings):
    code, told, complained = call("inspect", recordings)
    assert code == 1, complained
    hostile.quiet(told)
    hostile.quiet(complained)
    hostile.strict(call("inspect", recordings, "--format", "json")[1])


def test_a_score_is_harmless(recordings, tmp_path):
    compacted = tmp_path / "compacted.txt"
    text = hostile.whole(hostile.EVERYTHING).replace("\0", "")
    compacted.write_text(f"Summary:\n{text}", encoding="utf-8")
    asked = ("score", recordings / "all.jsonl", compacted)
    for name in ("links", "commands"):
        words = (*asked, "--conversation", hostile.whole(hostile.HOSTILE[name]))
        csv = tmp_path / "facts.csv"
        code, told, complained = call(*words, "--facts-out", csv)
        assert (code, complained) == (0, "")
        hostile.quiet(told)
        hostile.no_formula(csv.read_text("utf-8"))
        hostile.in_code(call(*words, "--format", "md")[1])
        hostile.strict(call(*words, "--format", "json")[1])


def test_a_profile_of_it_can_be_read(recordings, tmp_path):
    import tomllib

    profile = tmp_path / "profile.toml"
    _, told, complained = call("fit", recordings, "-o", profile, "--made", 1)
    hostile.quiet(told)
    hostile.quiet(complained)
    tomllib.loads(profile.read_text("utf-8"))


def test_a_comparison_is_harmless(ran):
    asked = ("compare", ran[1], "keep_all", "full_summary")
    for form, check in (
        ("table", hostile.quiet),
        ("md", hostile.in_code),
        ("json", hostile.strict),
    ):
        code, told, complained = call(*asked, "--format", form)
        assert (code, complained) == (0, "")
        check(told)


def test_a_gate_is_harmless(ran, tmp_path):
    kept = tmp_path / "baseline.json"
    assert call("baseline", ran[1], "-o", kept, "--allow-failed")[0] == 0
    before = kept.read_text("utf-8")
    hostile.strict(before)
    kept.write_text(re.sub(r"0\.0\d+", "0.001", before), encoding="utf-8")
    junit, summary, data = (tmp_path / name for name in ("gate.xml", "gate.md", "gate.json"))
    files = ("--junit", junit, "--markdown", summary, "--json", data)
    code, told, complained = call("gate", ran[1], "--baseline", kept, *files, "--github")
    assert code == 1, complained
    commands = [line for line in told.splitlines() if line.lstrip().startswith("::")]
    assert commands
    assert all(re.match(r"::error title=[^:,]+::[^\r\n]+\Z", line) for line in commands)
    hostile.quiet("\n".join(line for line in told.splitlines() if line not in commands))
    hostile.in_code(summary.read_text("utf-8"))
    hostile.inert_drawing(junit.read_text("utf-8"))
    hostile.strict(data.read_text("utf-8"))


@pytest.mark.slow
def test_charts_are_inert(ran, tmp_path):
    code, told, complained = call("report", ran[1], "--charts", tmp_path)
    assert (code, complained) == (0, "")
    hostile.quiet(told)
    drawings = sorted(tmp_path.rglob("*.svg"))
    assert drawings
    for drawing in drawings:
        hostile.inert_drawing(drawing.read_text("utf-8"))


def test_twenty_lines_are_harmless(ran):
    hostile.quiet(call("report", ran[1], "--brief")[1])
    hostile.in_code(call("report", ran[1], "--brief", "--format", "md")[1])


def test_a_dry_run_names_sources_quietly(recordings, beside):
    code, told, complained = call(
        *("run", "--conversations", recordings, "--strategies", "keep_all", "--dry-run"),
        *("--model", "claude-sonnet-4-5", "--out", beside / "dry", "--metrics", "cost_usd"),
    )
    assert code in (0, 1), complained
    hostile.quiet(told)
    hostile.quiet(complained)


@pytest.mark.parametrize(
    "asked", [("report", "{out}"), ("report", "{out}", "--brief"), ("audit", "{in}")]
)
def test_in_colour_nothing_else_gets_through(ran, recordings, asked, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    paths = {"{out}": ran[1], "{in}": recordings}
    told = call(*(paths.get(word, word) for word in asked), color=True)[1]
    plain = re.sub(r"\x1b\[[\d;]*m", "", told)
    assert plain != told
    assert "\N{REPLACEMENT CHARACTER}[1m" not in told
    hostile.quiet(plain)


def test_models_of_ones_own_are_listed_quietly(beside):
    for words in (("list", "models"), ("list", "models", "-p")):
        code, told, complained = call(*words, "--models", beside / "own.toml")
        assert code == 0, complained
        assert "alert(1)" in told
        hostile.quiet(told)


@pytest.mark.parametrize("name", sorted(hostile.HOSTILE)[::2])
def test_errors_are_quiet(name, tmp_path):
    text = hostile.whole(hostile.HOSTILE[name])
    experiment = tmp_path / "experiment.toml"
    written = json.dumps(text).replace("\x7f", "\\u007f")
    experiment.write_text(
        f"strategies = [{written}]\nmodels = [{written}]\n{written} = 1\n", "utf-8"
    )
    for words in (
        ("run", "--strategies", text),
        ("run", "--model", text),
        ("run", "--conversations", text),
        ("run", experiment),
        ("explain", text, "--strategies", "keep_all"),
        ("report", text.replace("\0", "")),
        ("inspect", text.replace("\0", "")),
    ):
        code, told, complained = call(*words)
        assert code == 2, (words, told, complained)
        hostile.quiet(told)
        hostile.quiet(complained)


@pytest.mark.parametrize("size", [100_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_a_line_without_an_end_makes_no_output_without_an_end(size, tmp_path):
    from compactlab.scenarios.readers import native

    file = tmp_path / "talk.jsonl"
    for unit in ("x", "ann@example.org "):
        native.write(hostile.conversation("long", 1, (unit * size)[:size]), file)
        words = (
            "run",
            "--conversations",
            file,
            "--strategies",
            "keep_all",
            "--jobs",
            1,
            "--redact",
        )
        words = (*words, "--metrics", "cost_usd", "--model", "claude-sonnet-4-5", "--loop", "open")
        code, told, complained = call(*words, "--out", tmp_path / unit.strip())
        assert code == 0, complained
        assert len(told) < 20_000
        assert (tmp_path / unit.strip() / "report.html").stat().st_size < 1_000_000
        asked = ("explain", file, "--strategies", "full_summary", "--model", "claude-sonnet-4-5")
        assert len(call(*asked)[1]) < 20_000
        assert len(call("inspect", file)[1]) < 20_000


@pytest.mark.slow
def test_a_browser_runs_and_fetches_nothing_of_it(ran, recordings, tmp_path):
    if not shutil.which(CHROMIUM):
        pytest.skip("there is no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    audited = tmp_path / "audit.html"
    call("audit", recordings, "--html", audited)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIETLY))
        for page in (ran[1] / "report.html", audited):
            tab, told, asked = browser.new_page(), [], []
            tab.on("dialog", lambda dialog, told=told: told.append(dialog.message))
            tab.on("console", lambda said, told=told: told.append(said.text))
            tab.on("pageerror", lambda error, told=told: told.append(str(error)))
            tab.on("request", lambda request, asked=asked: asked.append(request.url))
            tab.goto(page.as_uri())
            tab.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
            # Whatever can be chosen is chosen once: what the script draws is foreign text, too.
            for select in tab.query_selector_all("select"):
                for option in select.query_selector_all("option")[:30]:
                    select.select_option(value=option.get_attribute("value"))
            heads = [head for head in tab.query_selector_all("th button") if head.is_visible()]
            for button in heads[:6]:
                button.click()
            assert told == []
            assert asked == [page.as_uri()]
            made = "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes])"
            names = tab.evaluate(f"{made}.map(a => a.name).filter(n => n.startsWith('on'))")
            assert names == []
        browser.close()
