"""With --redact no command writes what looks like a secret, and every figure is what it was."""

import json
import re
from pathlib import Path

import pytest

import compactlab
from compactlab.privacy.redactor import findings
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import HEAD
from tests.test_hostile_outputs import Said, call

TOKEN = "gh" + "p_" + "a1B2" * 9
PASSWORD = "hunter2xyz"
PEM = "\n".join(["-----BEGIN PRIVATE" + " KEY-----", "MIIEow" * 9, "-----END PRIVATE KEY-----"])
NAMES = ("ann.lee@corp.example", "bob.ray@corp.example_old")
BARE = "s3cretword"
SECRETS = (
    TOKEN,
    PASSWORD,
    BARE,
    "MIIEow",
    "ann.lee",
    "bob.ray",
    "carol@",
    "AK" + "IAIOSFODNN7EXAMPLE",
)


def messages(mail: str) -> list[dict[str, object]]:
    arguments = json.dumps({"mail": mail, "token": SECRETS[-1]})
    asked = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": arguments}}
    talk: list[dict[str, object]] = [
        {"role": "user", "content": f"Write to {mail}; password: '{PASSWORD}', token {TOKEN}"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": f"{'port 8080 ' * 300}db_password={BARE} {TOKEN}\n{PEM}",
        },
        {"role": "assistant", "content": f"Done: {PASSWORD} is set for {mail}."},
    ]
    for turn in range(5):
        filler = f"And number {turn} for {mail}, with {TOKEN} and {PASSWORD}? " * 8
        talk += [
            {"role": "user", "content": filler},
            {"role": "assistant", "content": f"Number {turn} is done for {mail}."},
        ]
    return talk


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sessions of the same people under other names, and a file that cannot be read."""
    folder = tmp_path_factory.mktemp("secret") / "sessions"
    folder.mkdir()
    for name in NAMES:
        lines = map(json.dumps, messages(name))
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    bad = [{"type": "conversation", "version": 1, "id": "x"}]
    bad += [{"type": f"carol@corp.example {TOKEN}"}]
    lines = map(json.dumps, bad)
    (folder / "carol@corp.example.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


STRATEGIES = ("keep_all", "full_summary")
TABLES = ("calls", "messages", "compactions", "facts", "views", "prompts")
MODEL = "claude-sonnet-4-5"
QUOTES = "lexrank"  # which copies secrets, where another might not


@pytest.fixture(scope="module")
def stores(recordings: Path) -> tuple[Path, Path, Said]:
    """The same run, as it is and with secrets hidden."""
    plain, hidden = (recordings.parent / name for name in ("plain", "hidden"))
    compactlab.run(
        recordings,
        STRATEGIES,
        [MODEL],
        window=3000,
        summarizer=QUOTES,
        tables=TABLES,
        loop="closed",
        out=plain,
    )
    words = [w for spec in STRATEGIES for w in ("--strategies", spec)]
    words += [w for name in TABLES for w in ("--tables", name)]
    words += ["--model", MODEL, "--window", "3000", "--summarizer", QUOTES]
    words += ["--jobs", "1", "--redact"]
    return plain, hidden, call("run", "--conversations", recordings, *words, "--out", hidden)


def silent(*texts: str) -> None:
    for text in texts:
        assert not [secret for secret in SECRETS if secret in text]
        assert "@corp" not in text


def test_a_store_holds_no_secret(stores):
    plain, hidden, said = stores
    assert said[0] == 1
    silent(*said[1:], (hidden / "report.html").read_text("utf-8"))
    silent((hidden / "manifest.json").read_text("utf-8"))
    tables = ("runs", "messages", "compactions", "facts", "views", "prompts")
    everything = {
        store: "\n".join(
            call("query", store, f"SELECT * FROM all_{table}", "--format", "json")[1]
            for table in tables
        )
        for store in (plain, hidden)
    }
    assert all(secret in everything[plain] for secret in SECRETS)
    silent(everything[hidden])
    assert not findings(everything[hidden])
    raw = b"".join(file.read_bytes() for file in hidden.rglob("*") if file.is_file())
    assert not [secret for secret in SECRETS if secret.encode() in raw]


def test_every_figure_is_what_it_is_without(stores):
    plain, hidden = (Results.load(store) for store in stores[:2])
    assert [run.metrics for run in plain.runs] == [run.metrics for run in hidden.runs]
    assert [run.digest for run in plain.runs] == [run.digest for run in hidden.runs]
    for one, other in zip(plain.runs, hidden.runs, strict=True):
        assert one.calls == other.calls
        assert {name: len(rows) for name, rows in one.rows.items()} == {
            name: len(rows) for name, rows in other.rows.items()
        }


def test_two_conversations_stay_two(stores):
    names = {run.conversation for run in Results.load(stores[1]).runs if run.status == "ok"}
    assert names == {"[redacted Mail Address 1]", "[redacted Mail Address 2]_old"}


def test_messages_are_still_found_by_their_names(stores):
    asked = "SELECT count(*) AS n FROM (SELECT run, unnest(written) AS message FROM compactions)"
    joined = f"{asked} JOIN messages USING (run, message)"
    counts = [
        [json.loads(call("query", store, sql, "--format", "json")[1]) for sql in (asked, joined)]
        for store in stores[:2]
    ]
    assert counts[0] == counts[1]
    assert counts[0][0] == counts[0][1] != [{"n": 0}]
    said = "SELECT message FROM messages WHERE text LIKE '%8080%'"
    answers = [json.loads(call("query", s, said, "--format", "json")[1]) for s in stores[:2]]
    names = [{row["message"] for row in answer} for answer in answers]
    assert all(names)
    # A digest of all that was said would give away the one thing that is hidden.
    assert names[0].isdisjoint(names[1])


def test_it_does_not_matter_who_runs_it_or_in_how_many_pieces(stores, recordings, tmp_path):
    pieces = tmp_path / "pieces"
    for strategy in reversed(STRATEGIES):
        compactlab.run(
            recordings, strategy, [MODEL], window=3000, summarizer=QUOTES, tables=TABLES,
            loop="closed", redact=True, out=pieces,
        )  # fmt: skip
    asked = "SELECT DISTINCT message, text FROM all_messages ORDER BY ALL"
    answers = [call("query", s, asked, "--format", "json")[1] for s in (stores[1], pieces)]
    assert answers[0] == answers[1] != "[]"


@pytest.mark.parametrize(
    "form", ["table", "md", "csv", "json", pytest.param("html", marks=pytest.mark.slow)]
)
def test_a_report_of_a_store_that_has_secrets_hides_them(stores, form):
    code, told, _ = call("report", stores[0], "--format", form, "--redact")
    assert code == 0
    assert "[redacted Mail Address" in told
    silent(told)


def test_other_commands_hide_them_too(stores, recordings, tmp_path):
    file, page, facts = recordings / f"{NAMES[0]}.jsonl", tmp_path / "a.html", tmp_path / "f.csv"
    model = ("--model", "claude-sonnet-4-5")
    told: list[Said] = []
    for form in ((), ("--call", 3), ("--format", "json"), ("--format", "csv")):
        told.append(
            call("explain", file, "--strategies", "full_summary", *model, *form, "--redact")
        )
    told += [
        call("query", stores[0], "SELECT * FROM messages", "--format", form, "--redact")
        for form in ("table", "csv", "json")
    ]
    forms = ((), ("--format", "json"))
    told += [call("inspect", recordings, *form, "--redact") for form in forms]
    told += [call("fit", file, "--made", 1, "-o", facts, "--redact")]
    told += [call("audit", recordings, "--html", page, "--redact")]
    told += [
        call("score", file, file, "--format", form, "--facts-out", facts, "--redact")
        for form in ("table", "markdown", "json")
    ]
    told += [call("compare", stores[0], "keep_all", "full_summary", "--redact")]
    told += [call("report", tmp_path / "ann.lee@corp.example", "--redact")]
    told += [call("explain", tmp_path / "bob.ray@corp.example", "--strategies", "x", "--redact")]
    for _, out, err in told:
        assert out + err
        silent(out.replace(str(tmp_path), ""), err)
    silent(facts.read_text("utf-8"))


def test_what_was_named_far_above_is_hidden_where_pieces_are_shown(tmp_path):
    talk = [{"role": "user", "content": f"password: '{PASSWORD}'"}]
    for turn in range(20):
        talk += [
            {"role": "assistant", "content": f"Number {turn} is done. " * 20},
            {"role": "user", "content": f"Use {PASSWORD} for number {turn}."},
        ]
    talk += [{"role": "assistant", "content": "All is done."}]
    file = tmp_path / "talk.jsonl"
    file.write_text("\n".join(map(json.dumps, talk)), encoding="utf-8")
    words = ("explain", file, "--strategies", "sliding_window(keep=6)", "--model", MODEL)
    plain, hidden = (call(*words, "--call", 20, *form)[1] for form in ((), ("--redact",)))
    assert PASSWORD in plain
    assert PASSWORD not in hidden
    assert hidden.replace("[redacted Secret Keyword 1]", PASSWORD) == plain


def test_a_gate_may_be_published(stores, tmp_path):
    kept = tmp_path / "baseline.json"
    files = {form: tmp_path / f"gate.{form}" for form in ("junit", "markdown", "json")}
    wanted = [word for form, file in files.items() for word in (f"--{form}", file)]
    assert call("baseline", stores[0], "-o", kept, "--allow-failed", "--redact")[0] == 0
    silent(kept.read_text("utf-8"))
    kept.write_text(re.sub(r"0\.0\d+", "0.001", kept.read_text("utf-8")), encoding="utf-8")
    code, told, complained = call(
        "gate", stores[0], "--baseline", kept, *wanted, "--github", "--redact"
    )
    assert code == 1, complained
    silent(told, complained, *(file.read_text("utf-8") for file in files.values()))


def test_what_is_hidden_is_never_put_beside_what_is_not(stores, recordings, tmp_path):
    code, _, complained = call("merge", *stores[:2], "-o", tmp_path / "both")
    assert code == 2
    assert "redact" in complained
    words = ("run", "--conversations", recordings, "--strategies", "keep_all", "--redact")
    code, _, complained = call(*words, "--model", MODEL, "--jobs", 1, "--out", stores[0])
    assert code == 2
    assert "was not redacted" in complained


def test_a_name_cannot_be_hidden(recordings, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(
        "from dataclasses import dataclass\nimport compactlab\n\n@dataclass(frozen=True)\n"
        "class Mine(compactlab.Strategy):\n    to: str = 'x'\n"
        "    def compact(self, view, host):\n        return view\n",
        encoding="utf-8",
    )
    spec = f"{own}:Mine(to='carol@corp.example')"
    code, _, complained = call("run", "--strategies", spec, "--redact", "--out", tmp_path / "out")
    assert code == 2
    assert "cannot be hidden" in complained
    silent(complained)
    assert not (tmp_path / "out").exists()


def test_an_experiment_file_can_say_so(recordings, tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text(
        f'conversations = ["{recordings}"]\nstrategies = ["keep_all"]\nredact = true\n'
        'loop = "open"\n'
        'models = ["claude-sonnet-4-5"]\nout = "out"\njobs = 1\nmetrics = ["cost_usd"]\n'
    )
    code, told, complained = call("run", file)
    assert code == 1
    silent(told, complained)
    assert Results.load(tmp_path / "out").manifest["redact"] is True


def test_what_is_hidden_is_every_text_that_a_run_has():
    from compactlab.sim.experiment.disclosure import _KEYS, _TEXTS

    assert {name for name, column in HEAD.items() if column.type == "text"} == _KEYS | {*_TEXTS}
