"""`compactlab audit`: why recorded sessions cost what they did."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from compactlab.reports.render.text import NONE
from compactlab.sim.replay.client import read_churn
from tests.recordings import CALM, claude_code, codex, pi, written

# 126,700 tokens written at 3.75 dollars a million, 123,000 read at 0.30.
BILL = 0.475125 + 0.0369


@pytest.fixture
def logs(tmp_path) -> Path:
    """A folder with a session of each client."""
    claude_code(tmp_path / "logs" / "project" / "idle.jsonl")
    pi(tmp_path / "logs" / "pi.jsonl", CALM)
    codex(tmp_path / "logs" / "rollout.jsonl")
    return tmp_path / "logs"


def test_the_first_line_says_why_it_cost_this(compactlab, tmp_path):
    done = compactlab("audit", claude_code(tmp_path / "idle.jsonl"))
    assert (done.code, done.err) == (0, "")
    first, second, *_ = done.out.splitlines()
    assert first == (
        "$0.51 of input in 6 calls: unexplained rebuilds 31 %, rebuilds after cache expiry 30 %, "
        "cold starts 29 %, cache reads 7 % and new text 2 %."
    )
    assert second.startswith("Avoidable cache cost: $0.29, ")


def test_questions_are_kept_apart(compactlab, logs):
    out = compactlab("audit", logs).out
    asked = [line for line in out.splitlines() if line.endswith("?")]
    assert asked == [
        "What was spent?",
        "Why did tokens miss the cache?",
        "What could be avoided?",
        "What did the cache model predict?",
        "Churn: how often does a client change its prompt unasked?",
    ]


def test_a_folder_is_searched_and_all_clients_are_told_apart(compactlab, logs):
    (logs / "notes.txt").write_text("nothing")
    done = compactlab("audit", "--json", logs)
    told = json.loads(done.out)
    assert done.code == 0
    assert told["clients"].keys() == {"claude-code", "pi", "codex"}
    assert [each["session"] for each in told["sessions"]] == ["pi", "idle", "rollout"]
    assert told["passed_over"] == {"no_known_format": 1}
    assert told["all"]["recorded_sizes"]["calls"] == 12


def test_figures_are_those_on_paper(compactlab, tmp_path):
    done = compactlab("audit", "--json", claude_code(tmp_path / "idle.jsonl"))
    (session,) = json.loads(done.out)["sessions"]
    sums = session["recorded_sizes"]
    assert sums["input_cost_usd"]["recorded"] == pytest.approx(BILL)
    assert sums["cache_miss_tokens"]["recorded"] == 126_700
    assert sums["rebuilds"] == {"recorded": 2, "follow": 1, "found": 1, "invented": 0}
    causes = {each["cause"]: each["tokens"] for each in session["causes"]}
    assert causes == {
        "cold_start": 40_000,
        "append": 2_800,
        "ttl_expired": 41_500,
        "unexplained": 42_400,
    }
    paid = sum(each["cost_usd"] for each in session["causes"]) + session["read_cost_usd"]
    assert paid == pytest.approx(BILL)


def test_the_worst_call_says_what_was_expected_and_what_was_there(compactlab, tmp_path):
    file = claude_code(tmp_path / "idle.jsonl")
    lines = compactlab("audit", file, "--worst", 1).out.splitlines()
    at = lines.index("Largest errors: 1 call")
    assert [line.strip() for line in lines[at + 2 : at + 7]] == [
        "1  $0.15 more; tokens read: 42,400 fewer than expected, prompt 42,800 (claude-sonnet-4-5)",
        "expected: read 42,400; append 400",
        "recorded: read 0; unexplained 42,400, append 400",
        "2026-03-01 11:02:00 UTC, call 6, answer idle-5",
        str(file),
    ]
    assert "Largest errors" not in compactlab("audit", file, "--worst", 0).out


@pytest.mark.parametrize("content", [None, "no transcript"])
def test_a_folder_of_nothing_ends_with_2(compactlab, tmp_path, content):
    if content:
        (tmp_path / "notes.txt").write_text(content)
    done = compactlab("audit", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "there is nothing to audit" in done.err
    assert ("1 file of unknown format" in done.err) == bool(content)


def test_a_path_that_is_not_there_ends_with_2(compactlab, tmp_path, logs):
    assert compactlab("audit", tmp_path / "gone").code == 2
    done = compactlab("audit", logs, tmp_path / "gone")
    assert done.code == 2
    assert "gone: there is no such file or folder" in done.err
    assert "of input in 3 sessions" in done.out


def test_a_log_without_usage_is_passed_over_and_alone_ends_with_2(compactlab, logs, tmp_path):
    file = claude_code(tmp_path / "bare.jsonl", usage=False)
    done = compactlab("audit", file)
    assert done.code == 2
    assert "1 session without recorded usage" in done.err
    done = compactlab("audit", logs, file)
    assert (done.code, done.err) == (0, "")
    assert "Skipped: 1 session without recorded usage." in done.out


def test_an_unknown_model_is_named_and_may_be_written_down(compactlab, logs, tmp_path):
    file = claude_code(tmp_path / "new.jsonl", model="made-up-1")
    alone = compactlab("audit", file)
    assert alone.code == 2
    assert "write made-up-1 into a file with prices and name it with --models" in alone.err
    done = compactlab("audit", logs, file)
    assert done.code == 0
    assert "Calls of unknown models are not audited: made-up-1 (6 calls)" in done.out
    models = tmp_path / "models.toml"
    models.write_text(
        '[models.made-up-1]\nwindow = 200000\ncache = "anthropic"\n'
        "prices = { input = 3, cache_read = 0.3, cache_write_5m = 3.75, cache_write_1h = 6, "
        "output = 15 }\n"
    )
    known = compactlab("audit", file, "--models", models)
    assert known.out.startswith("$0.51 of input in 6 calls")


def test_a_model_without_a_price_has_tokens_and_no_dollars(compactlab, logs, tmp_path):
    models = tmp_path / "models.toml"
    models.write_text('[models.made-up-1]\nwindow = 200000\ncache = "anthropic"\n')
    file = claude_code(tmp_path / "new.jsonl", model="made-up-1")
    done = compactlab("audit", file, "--models", models)
    assert done.code == 0
    assert done.out.startswith("250k tokens of input in 6 calls: cache reads 49 %")
    assert "No price is known for made-up-1 (6 calls)" in done.out
    assert "--models" in done.out
    row = next(line for line in done.out.splitlines() if line.startswith("new "))
    assert row.split()[8:11] == [NONE] * 3
    told = json.loads(compactlab("audit", "--json", logs, file, "--models", models).out)
    assert told["models_without_price"] == {"made-up-1": 6}
    assert told["all"]["sessions_without_price"] == 1


def test_a_truncated_file_costs_itself_alone(compactlab, logs):
    file = claude_code(logs / "torn.jsonl")
    file.write_text(file.read_text("utf-8")[:-40])
    done = compactlab("audit", logs)
    assert done.code == 1
    assert f"{file}:12: not JSON" in done.err
    assert "of input in 3 sessions" in done.out
    kindly = compactlab("audit", "--lenient", logs)
    assert (kindly.code, kindly.err) == (0, "")
    assert "Skipped: 1 line that cannot be read." in kindly.out
    assert compactlab("audit", file).code == 2


def test_a_resumed_session_counts_its_calls_once(compactlab, tmp_path):
    first = claude_code(tmp_path / "first.jsonl", CALM)
    lines = first.read_text("utf-8") + claude_code(tmp_path / "more.jsonl", CALM).read_text("utf-8")
    resumed = [json.loads(line) for line in lines.splitlines()]
    for record in resumed[6:]:
        record["uuid"] += "-again"
        record["timestamp"] = record["timestamp"].replace("T10", "T11")
        record["parentUuid"] = record["parentUuid"] and f"{record['parentUuid']}-again"
    resumed[6]["parentUuid"] = "a2"
    written(tmp_path / "more.jsonl", resumed)
    told = json.loads(compactlab("audit", "--json", tmp_path).out)
    counts = [each["calls_counted_elsewhere"] for each in told["sessions"]]
    assert counts == [0, 3]
    assert told["all"]["recorded_sizes"]["calls"] == 6
    written(tmp_path / "same.jsonl", resumed)
    again = compactlab("audit", tmp_path).out
    assert "Skipped: 1 session whose calls are all in other files." in again


def test_churn_is_written_for_each_client(compactlab, tmp_path, logs):
    alone = tmp_path / "churn.json"
    done = compactlab("audit", logs / "project", "--churn-out", alone)
    assert done.err == f"wrote {alone}\n"
    churn = read_churn(alone)
    assert (churn.client, churn.sessions, churn.call.calls, churn.call.front) == (
        "claude-code",
        1,
        4,
        1.0,
    )
    compactlab("audit", logs, "--churn-out", tmp_path / "all.json")
    names = {path.name for path in tmp_path.glob("all*")}
    assert names == {"all-claude-code.json", "all-codex.json", "all-pi.json"}
    assert read_churn(tmp_path / "all-pi.json").client == "pi"


def test_a_client_may_be_called_as_no_file_can_be(compactlab, tmp_path):
    for number, client in enumerate(["../../x", "X", "\N{SNOWMAN}"]):
        usage = {"uncached": 10, "cache_write_5m": 4000, "output": 2}
        said = [{"type": "conversation", "version": 1, "id": client, "format": client}]
        for turn in range(3):
            text = [{"type": "text", "text": f"{number} {turn}"}]
            call = {"model": "claude-sonnet-4-5", "usage": usage}
            said += [
                {"type": "message", "id": f"u{turn}", "role": "user", "parts": text},
                {"type": "message", "id": f"a{turn}-{number}", "role": "assistant", "parts": text,
                 "call": call},
            ]  # fmt: skip
        written(tmp_path / f"{number}.jsonl", said)
    done = compactlab("audit", tmp_path, "--churn-out", tmp_path / "churn.json")
    assert done.code == 0, done.err
    names = sorted(path.name for path in tmp_path.glob("churn*"))
    assert names == ["churn-other.json", "churn-x-2.json", "churn-x.json"]


def test_a_page_is_written_beside_the_table(compactlab, tmp_path, logs):
    file = tmp_path / "audit.html"
    done = compactlab("audit", logs, "--html", file)
    assert (done.code, done.err) == (0, f"wrote {file}\n")
    assert "Why did these sessions cost this much?" in file.read_text("utf-8")


@pytest.mark.parametrize("option", ["--html", "--churn-out"])
def test_what_cannot_be_written_is_said_before_the_work(compactlab, tmp_path, logs, option):
    done = compactlab("audit", logs, option, tmp_path / "gone" / "file")
    assert (done.code, done.out) == (2, "")
    assert "there is no such folder" in done.err


def test_what_a_log_names_has_no_power_over_the_terminal(compactlab, tmp_path, logs):
    file = claude_code(tmp_path / "bad.jsonl", model="\x1b[31mred")
    assert "\x1b" not in compactlab("audit", logs, file).said
    assert "\x1b" not in compactlab("audit", file).said


def test_every_key_of_the_json_is_told(compactlab, root, logs):
    told = set(re.findall(r"`(\w+)`", (root / "docs" / "audit.md").read_text("utf-8")))
    assert keys(json.loads(compactlab("audit", "--json", logs).out)) <= told


def keys(value: object, skip: bool = False) -> set[str]:
    """All keys; not those that are names themselves: of clients, models, causes."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    found = set() if skip else set(value)
    for key, inside in value.items():
        named = key in ("clients", "models_not_known", "models_without_price", "passed_over")
        named = named or key == "calls_of_models_not_known"
        named = named or (key == "expected" and isinstance(inside, dict))
        found |= keys(inside, named)
    return found


@pytest.mark.parametrize("folder", ["entireio-cli", "pi-mono", "agentv"])
def test_recorded_sessions_are_audited(compactlab, shared, folder):
    done = compactlab("audit", "--json", shared / "recorded" / folder)
    told = json.loads(done.out)
    assert done.code == 0
    for session in told["sessions"]:
        sums = session["recorded_sizes"]
        assert sums["within_5_percent"] > 0.5
        cache_misses = sum(each["tokens"] for each in session["causes"])
        assert cache_misses == sums["cache_miss_tokens"]["recorded"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_a_log_that_nobody_may_read_is_named(compactlab, logs, tmp_path):
    closed = claude_code(tmp_path / "closed.jsonl")
    closed.chmod(0)
    done = compactlab("audit", tmp_path)
    assert done.code != 0
    assert "closed.jsonl" in done.err
    assert "Permission denied" in done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_nothing_is_written_if_one_of_two_files_cannot_be(compactlab, logs, tmp_path):
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o500)
    page = tmp_path / "page.html"
    done = compactlab("audit", logs, "--html", page, "--churn-out", shut / "churn.json")
    assert done.code == 2
    assert not page.exists()


# Without a path


def test_without_a_path_the_usual_folders_are_read_and_named(compactlab, tmp_path, monkeypatch):
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    claude_code(tmp_path / "CLAUDE_CONFIG_DIR" / "projects" / "one" / "idle.jsonl")
    codex(tmp_path / "CODEX_HOME" / "sessions" / "2026" / "rollout.jsonl")
    done = compactlab("audit", "--json")
    assert done.code == 0
    assert [line.rpartition(" ")[2] for line in done.err.splitlines()] == [
        "(claude-code)",
        "(codex)",
    ]
    assert json.loads(done.out)["clients"].keys() == {"claude-code", "codex"}
    alone = compactlab("audit", "--json", "--client", "codex")
    assert json.loads(alone.out)["clients"].keys() == {"codex"}


def test_without_a_path_and_without_any_folder_it_says_where_it_looked(
    compactlab, tmp_path, monkeypatch
):
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    for command in ("audit", "fit"):
        done = compactlab(command)
        assert (done.code, done.out) == (2, "")
        assert "none of the usual folders is here" in done.err
        assert "CODEX_HOME" in done.err


def test_a_client_picks_no_path(compactlab, logs):
    done = compactlab("audit", logs, "--client", "pi")
    assert (done.code, done.out) == (2, "")
    assert "not both" in done.err


def test_since_a_day_only_calls_of_that_day_on_are_counted(compactlab, tmp_path):
    calls = [(0, 0, 40_000, True), (90_000, 0, 41_000, True), (90_030, 41_000, 500, False)]
    file = claude_code(tmp_path / "long.jsonl", calls)
    (whole, later) = (
        json.loads(compactlab("audit", "--json", file, *more).out)["sessions"][0]["calls"]
        for more in ((), ("--since", "2026-03-02"))
    )
    assert len(whole) == 3
    assert later == whole[1:]  # and what came before is still known: the cache had expired
    none = compactlab("audit", file, "--since", "2026-03-03")
    assert (none.code, none.out) == (2, "")
    assert "from before the day that was named" in none.err


def placed(file: Path, folder: str, **more: object) -> Path:
    """The same transcript, of an agent that worked in a folder."""
    records = [
        {**json.loads(line), "cwd": folder, **more} for line in file.read_text().splitlines()
    ]
    return written(file, records)


def test_sums_are_those_of_the_audit(compactlab, logs):
    whole = json.loads(compactlab("audit", "--json", logs).out)["spent"]
    done = compactlab("audit", "--sums", "--json", logs)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["spent"] == whole
    out = compactlab("audit", "--sums", logs).out
    assert "12 calls of 3 sessions" in out
    assert "Why did tokens miss" not in out


def test_sums_explain_nothing(compactlab, logs, tmp_path):
    for option in ("--html", "--churn-out"):
        done = compactlab("audit", "--sums", logs, option, tmp_path / "file")
        assert done.code == 2
        assert "--sums explains nothing" in done.err
        assert not (tmp_path / "file").exists()


def test_a_bill_is_told_by_project_and_one_can_be_picked(compactlab, tmp_path):
    folder = tmp_path / "logs"
    placed(claude_code(folder / "idle.jsonl"), "/home/u/work/site")
    placed(claude_code(folder / "calm.jsonl", CALM), "C:\\work\\tool")
    projects = json.loads(compactlab("audit", "--json", folder).out)["spent"]["by_project"]
    assert [each["project"] for each in projects] == ["/home/u/work/site", "C:\\work\\tool"]
    for name, calls in (("site", 6), ("/home/u/work/site/", 6), ("tool", 3), ("work/tool", 3)):
        told = json.loads(compactlab("audit", "--json", folder, "--project", name).out)
        assert told["spent"]["calls"] == calls
        assert told["passed_over"] == {"other_project": 1}
    none = compactlab("audit", folder, "--project", "ool")
    assert none.code == 2
    assert "2 sessions of other projects" in none.err


def test_sub_agents_are_counted_apart(compactlab, tmp_path):
    claude_code(tmp_path / "main.jsonl")
    more = {"isSidechain": True, "agentId": "a1"}
    placed(claude_code(tmp_path / "agent-a1.jsonl", CALM), "/work", **more)
    agents = json.loads(compactlab("audit", "--json", tmp_path).out)["spent"]["by_agent"]
    assert {each["agent"]: each["calls"] for each in agents} == {"main agents": 6, "sub-agents": 3}
    assert "sub-agents" in compactlab("audit", tmp_path).out


def test_codex_tells_who_asked_for_an_agent(compactlab, tmp_path):
    file = codex(tmp_path / "rollout.jsonl")
    text = file.read_text().replace(
        '"id": "s"', '"id": "s", "cwd": "/w/x", "source": {"subagent": "review"}'
    )
    file.write_text(text)
    told = json.loads(compactlab("audit", "--json", file).out)
    assert told["sessions"][0]["subagent"] is True
    assert told["sessions"][0]["project"] == "/w/x"


def test_sums_count_tokens_of_models_that_nobody_knows(compactlab, tmp_path):
    claude_code(tmp_path / "calm.jsonl", CALM, model="new-model-9")
    assert compactlab("audit", tmp_path).code == 2
    done = compactlab("audit", "--sums", "--json", tmp_path)
    assert done.code == 0
    (row,) = json.loads(done.out)["spent"]["by_model"]
    assert (row["model"], row["read_tokens"], row["total_usd"]) == ("new-model-9", 60_600, None)


def test_sums_count_each_call_once_and_from_a_day_on(compactlab, tmp_path):
    calls = [(0, 0, 40_000, True), (90_000, 0, 41_000, True)]
    file = claude_code(tmp_path / "logs" / "one.jsonl", calls)
    (tmp_path / "logs" / "copy.jsonl").write_bytes(file.read_bytes())
    both, later = (
        json.loads(compactlab("audit", "--sums", "--json", tmp_path / "logs", *more).out)
        for more in ((), ("--since", "2026-03-02"))
    )
    assert (both["spent"]["calls"], later["spent"]["calls"]) == (2, 1)
    assert both["passed_over"] == {"counted_elsewhere": 1}
