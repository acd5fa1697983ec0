"""`compactlab audit`: why recorded sessions cost what they did."""

import json
import os
import re
import time
import zoneinfo
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.reports.render.text import NONE
from compactlab.sim.replay.client import read_churn
from tests.cli.conftest import Outcome
from tests.lines import fitting
from tests.recordings import CALM, START, claude_code, codex, pi, written

# 126,700 tokens written at 3.75 dollars a million, 123,000 read at 0.30.
BILL = 0.475125 + 0.0369


@pytest.fixture
def logs(tmp_path) -> Path:
    """A folder with a session of each client."""
    claude_code(tmp_path / "logs" / "project" / "idle.jsonl")
    pi(tmp_path / "logs" / "pi.jsonl", CALM)
    codex(tmp_path / "logs" / "rollout.jsonl")
    return tmp_path / "logs"


@pytest.fixture
def told(compactlab) -> Callable[..., dict[str, Any]]:
    """What the audit of some paths says as JSON."""
    return lambda *more: json.loads(compactlab("audit", "--format", "json", *more).out)


def prose(done: Outcome, *folders: Path) -> str:
    """Its exit code, its errors, and its sentences on what was spent: no causes, no tables."""
    said = done.err + done.out.partition("Why did tokens miss")[0]
    said = re.sub(r"(calls):.*?\n\n", r"\1\n\n", said + "\n\n", count=1, flags=re.DOTALL)
    said = re.sub(r"genai-prices \S+ of \S+", "genai-prices", said)
    texts = (text for text in said.strip().split("\n\n") if "───" not in text and text[-1] != "?")
    return replace(done, out="\n".join(texts), err="").told(*folders)


REFUSED = {
    "empty": "there is nothing to audit",
    "empty gone": "gone: there is no such file or folder",
    "notes": "1 file of unknown format",
    "logs --html gone/file": "there is no such folder",
    "logs --churn-out gone/file": "there is no such folder",
    "logs --client pi": "not both",
    "logs --sums --html file": "--sums explains nothing",
    "logs --sums --churn-out file": "--sums explains nothing",
    "priced.jsonl --churn-out file": "no churn was measured",
    "logs --tz Asia/Tokio": "unknown time zone 'Asia/Tokio'; did you mean Asia/Tokyo",
    "logs --tz Europe": "unknown time zone",
    "logs --tz ../../etc/passwd": "unknown time zone",
    "logs --tz \x1b[31m": "unknown time zone",
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_cannot_be_meant_is_refused_and_nothing_is_written(
    compactlab, tmp_path, logs, monkeypatch, asked
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    written(tmp_path / "notes" / "notes.txt", ["no transcript"])
    claude_code(tmp_path / "priced.jsonl", CALM, model=PRICED)
    done = compactlab("audit", *asked.split(" "))
    assert (done.code, REFUSED[asked] in " ".join(done.err.split())) == (2, True), done.err
    assert done.out == "" or asked.startswith("priced")
    assert "\x1b" not in done.err
    assert not (tmp_path / "file").exists()


def test_a_folder_is_searched_and_all_clients_are_told_apart(compactlab, logs):
    (logs / "notes.txt").write_text("nothing")
    done = compactlab("audit", "--format", "json", logs)
    told = json.loads(done.out)
    assert done.code == 0
    assert told["clients"].keys() == {"claude-code", "pi", "codex"}
    assert [each["session"] for each in told["sessions"]] == ["pi", "idle", "rollout"]
    assert told["passed_over"] == {"no_known_format": 1}
    assert told["all"]["recorded_sizes"]["calls"] == 12


def test_figures_are_those_on_paper(compactlab, tmp_path):
    done = compactlab("audit", "--format", "json", claude_code(tmp_path / "idle.jsonl"))
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


def test_a_path_that_is_not_there_ends_with_2(compactlab, tmp_path, logs):
    assert compactlab("audit", tmp_path / "gone").code == 2
    assert prose(compactlab("audit", logs, tmp_path / "gone"), tmp_path) == snapshot("""\
2
compactlab: gone: there is no such file or folder
$0.71 of input in 3 sessions and 12 calls\
""")


def test_a_log_without_usage_is_passed_over_and_alone_ends_with_2(compactlab, logs, tmp_path):
    file = claude_code(tmp_path / "bare.jsonl", usage=False)
    assert prose(compactlab("audit", file)) == snapshot("""\
2
compactlab: there is nothing to audit
  1 session without recorded usage\
""")
    assert prose(compactlab("audit", logs, file)) == snapshot("""\
0
$0.71 of input in 3 sessions and 12 calls
Skipped: 1 session without recorded usage.\
""")


def test_an_unknown_model_is_named_and_may_be_written_down(told, compactlab, logs, tmp_path):
    file = claude_code(tmp_path / "new.jsonl", model="made-up-1")
    assert prose(compactlab("audit", logs, file)) == snapshot("""\
0
$0.71 of input in 3 sessions and 12 calls
No price is known for made-up-1 (6 calls). Sums of dollars are without them. To include them,
write the prices into a file and name it with --models. An entry there replaces the built-in
model, so copy its other figures (list models --format json).
Billed, but not explained, as it is not known how their models cache: made-up-1 (6 calls). Write
these models into a file and name it with --models.\
""")
    audit = told(logs, file)
    assert audit["calls_not_explained"] == audit["models_without_price"] == {"made-up-1": 6}
    assert audit["spent"]["calls"] == audit["all"]["recorded_sizes"]["calls"] + 6
    models = tmp_path / "models.toml"
    models.write_text(
        '[models.made-up-1]\nwindow = 200000\ncache = "anthropic"\n'
        "prices = { input = 3, cache_read = 0.3, cache_write_5m = 3.75, cache_write_1h = 6, "
        "output = 15 }\n"
    )
    known = compactlab("audit", file, "--models", models)
    assert fitting(known.out.splitlines()[0]) == snapshot("""\
$0.51 of input in 6 calls: unexplained rebuilds 31 %, rebuilds after cache expiry 30 %,
cold starts 29 %, cache reads 7 % and new text 2 %.\
""")


def test_a_model_without_a_price_has_tokens_and_no_dollars(told, compactlab, logs, tmp_path):
    models = tmp_path / "models.toml"
    models.write_text('[models.made-up-1]\nwindow = 200000\ncache = "anthropic"\n')
    file = claude_code(tmp_path / "new.jsonl", model="made-up-1")
    done = compactlab("audit", file, "--models", models)
    assert prose(done) == snapshot("""\
0
250k tokens of input in 6 calls
No price is known for made-up-1 (6 calls). Sums of dollars are without them. To include them,
write the prices into a file and name it with --models. An entry there replaces the built-in
model, so copy its other figures (list models --format json).\
""")
    row = next(line for line in done.out.splitlines() if line.startswith("new "))
    assert row.split()[8:11] == [NONE] * 3
    audit = told(logs, file, "--models", models)
    assert audit["models_without_price"] == {"made-up-1": 6}
    assert audit["all"]["sessions_without_price"] == 1


def torn(file: Path) -> Path:
    """A transcript of which the writing of the last line broke off."""
    *whole, last = claude_code(file).read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(whole) + last[:60])
    return file


def test_of_a_truncated_file_what_is_whole_is_audited(told, compactlab, logs):
    torn(logs / "torn.jsonl")
    for more in ((), ("--lenient",)):
        assert prose(compactlab("audit", *more, logs), logs) == snapshot("""\
0
$1.06 of input in 4 sessions and 17 calls
Not understood and passed over: 1 x line that is not JSON (60 characters).\
""")
    (passed,) = told(logs)["not_understood"]
    assert (passed["kind"], passed["count"]) == ("line that is not JSON", 1)


def test_strictly_a_truncated_file_costs_itself_alone(compactlab, logs):
    file = torn(logs / "torn.jsonl")
    assert prose(compactlab("audit", "--strict", logs), logs) == snapshot("""\
1
compactlab: torn.jsonl:12: not JSON: Input data was truncated
$0.71 of input in 3 sessions and 12 calls\
""")
    assert compactlab("audit", "--strict", file).code == 2


def test_what_counts_tokens_and_is_not_understood_makes_the_bill_a_lower_bound(
    told, compactlab, tmp_path
):
    file = claude_code(tmp_path / "idle.jsonl")
    record = {"type": "dream", "uuid": "d", "parentUuid": None, "usage": {"input_tokens": 70}}
    file.write_text(json.dumps(record) + "\n" + file.read_text("utf-8"))
    spent = told(file)["spent"]
    assert (spent["at_least"], spent["tokens_passed_over"], spent["unpriced_calls"]) == (
        True,
        70,
        0,
    )
    assert prose(compactlab("audit", "--sums", file), tmp_path) == snapshot("""\
0
6 calls of 1 session: at least $0.51
Not understood and passed over: 1 x record 'dream' (70 tokens). The bill lacks the 70 tokens
that it counts.\
""")


def test_a_resumed_session_counts_its_calls_once(told, compactlab, tmp_path):
    first = claude_code(tmp_path / "first.jsonl", CALM)
    lines = first.read_text("utf-8") + claude_code(tmp_path / "more.jsonl", CALM).read_text("utf-8")
    resumed = [json.loads(line) for line in lines.splitlines()]
    for record in resumed[6:]:
        record["uuid"] += "-again"
        record["timestamp"] = record["timestamp"].replace("T10", "T11")
        record["parentUuid"] = record["parentUuid"] and f"{record['parentUuid']}-again"
    resumed[6]["parentUuid"] = "a2"
    written(tmp_path / "more.jsonl", resumed)
    audit = told(tmp_path)
    counts = [each["calls_counted_elsewhere"] for each in audit["sessions"]]
    assert counts == [0, 3]
    assert audit["all"]["recorded_sizes"]["calls"] == 6
    assert audit["spent"]["calls"] == 6
    written(tmp_path / "same.jsonl", resumed)
    assert prose(compactlab("audit", tmp_path)) == snapshot("""\
0
$0.27 of input in 2 sessions and 6 calls
3 calls of resumed sessions stand in two files. Each call is counted once.
Skipped: 1 session whose calls are all in other files.\
""")


def session(path: Path, *calls: tuple[str, float, bool]) -> Path:
    """A session of ours: of each call its id, its time, and whether it is of the parent."""
    said = [{"type": "conversation", "version": 1, "id": path.stem}]
    for number, (id, at, inherited) in enumerate(calls):
        text = {"parts": [{"type": "text", "text": "well"}], "time": START + at}
        usage = {"cache_write_5m": 4_000 * (number + 1), "output": 9}
        call = {"model": "claude-sonnet-4-5", "usage": usage, "id": id, "inherited": inherited}
        said.append({"type": "message", "id": f"u{number}", "role": "user", **text})
        answer = {"type": "message", "id": f"a{number}", "role": "assistant", **text}
        said.append({**answer, "call": call})
    return written(path, said)


def test_a_call_counts_once_in_its_original_and_on_its_day(told, compactlab, tmp_path):
    """A fork repeats a call of the first of March on the second, and is read first."""
    fork = session(tmp_path / "a-fork.jsonl", ("msg_1", 90_000, True), ("msg_2", 90_060, False))
    session(tmp_path / "z-parent.jsonl", ("msg_1", 0, False))
    spent = told(tmp_path)["spent"]
    assert {each["day"]: each["calls"] for each in spent["by_day"]} == {
        "2026-03-01": 1,
        "2026-03-02": 1,
    }
    assert {each["session"]: each["calls"] for each in spent["by_session"]} == {
        "a-fork": 1,
        "z-parent": 1,
    }
    assert spent["inherited_calls"] == 0
    alone = told(fork)["spent"]
    assert {each["day"]: each["calls"] for each in alone["by_day"]} == {
        "undated": 1,
        "2026-03-02": 1,
    }
    assert alone["inherited_calls"] == 1
    assert prose(compactlab("audit", fork)) == snapshot("""\
0
$0.045 of input in 2 calls
The bill includes 1 request ($0.015) of sessions that were forked and whose own logs were not
read. They count for no day: a copy may have the time of the fork.\
""")


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


def test_what_a_log_names_has_no_power_over_the_terminal(compactlab, tmp_path, logs):
    file = claude_code(tmp_path / "bad.jsonl", model="\x1b[31mred")
    assert "\x1b" not in compactlab("audit", logs, file).said
    assert "\x1b" not in compactlab("audit", file).said


def test_every_key_of_the_json_is_told(told, compactlab, root, logs):
    audit = set(re.findall(r"`(\w+)`", (root / "docs" / "audit.md").read_text("utf-8")))
    for more in ((), ("--sums",)):
        assert keys(told(*more, logs)) <= audit
    figures = json.loads(compactlab("inspect", "--format", "json", logs).out)
    assert keys([each["spent"] for each in figures]) <= audit


def keys(value: object, skip: bool = False) -> set[str]:
    """All keys; not those that are names themselves: of clients, models, causes."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    found = set() if skip else set(value)
    for key, inside in value.items():
        named = key in ("clients", "calls_not_explained", "models_without_price", "passed_over")
        named = named or (key == "expected" and isinstance(inside, dict))
        found |= keys(inside, named)
    return found


@pytest.mark.parametrize("folder", ["entireio-cli", "pi-mono", "agentv"])
def test_recorded_sessions_are_audited(compactlab, shared, folder):
    done = compactlab("audit", "--format", "json", shared / "recorded" / folder)
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


def test_without_a_path_the_usual_folders_are_read_and_named(compactlab, tmp_path, monkeypatch):
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    claude_code(tmp_path / "CLAUDE_CONFIG_DIR" / "projects" / "one" / "idle.jsonl")
    codex(tmp_path / "CODEX_HOME" / "sessions" / "2026" / "rollout.jsonl")
    done = compactlab("audit", "--format", "json")
    assert done.code == 0
    assert [line.rpartition(" ")[2] for line in done.err.splitlines()] == [
        "(claude-code)",
        "(codex)",
    ]
    assert json.loads(done.out)["clients"].keys() == {"claude-code", "codex"}
    alone = compactlab("audit", "--format", "json", "--client", "codex")
    assert json.loads(alone.out)["clients"].keys() == {"codex"}


def test_without_a_path_and_without_any_folder_it_says_where_it_looked(
    compactlab, tmp_path, monkeypatch
):
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    for command in ("audit", "fit"):
        done = compactlab(command)
        assert (done.code, done.out) == (2, "")
        assert done.err.partition(" (")[0] == snapshot(
            "compactlab: name a PATH: none of the default folders exists"
        )
        assert "CODEX_HOME" in done.err


def test_since_a_day_only_calls_of_that_day_on_are_counted(told, compactlab, tmp_path):
    calls = [(0, 0, 40_000, True), (90_000, 0, 41_000, True), (90_030, 41_000, 500, False)]
    file = claude_code(tmp_path / "long.jsonl", calls)
    (whole, later) = (
        told(file, *more)["sessions"][0]["calls"] for more in ((), ("--since", "2026-03-02"))
    )
    assert len(whole) == 3
    assert later == whole[1:]  # and what came before is still known: the cache had expired
    audit = told(file, "--since", "2026-03-02")
    assert audit["sessions"][0]["calls_counted_elsewhere"] == 0  # too old is no copy
    assert audit["spent"]["calls"] == 2
    assert prose(compactlab("audit", file, "--since", "2026-03-03")) == snapshot("""\
2
compactlab: there is nothing to audit
  1 session from before the day that was named\
""")


def placed(file: Path, folder: str, **more: object) -> Path:
    """The same transcript, of an agent that worked in a folder."""
    records = [
        {**json.loads(line), "cwd": folder, **more} for line in file.read_text().splitlines()
    ]
    return written(file, records)


def test_sums_are_those_of_the_audit(told, compactlab, logs):
    whole = told(logs)["spent"]
    done = compactlab("audit", "--sums", "--format", "json", logs)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["spent"] == whole
    out = compactlab("audit", "--sums", logs).out
    assert out.splitlines()[0] == snapshot("12 calls of 3 sessions: $0.71")
    assert "Why did tokens miss" not in out


def test_a_bill_is_told_by_project_and_one_can_be_picked(told, compactlab, tmp_path):
    folder = tmp_path / "logs"
    placed(claude_code(folder / "idle.jsonl"), "/home/u/work/site")
    placed(claude_code(folder / "calm.jsonl", CALM), "C:\\work\\tool")
    projects = told(folder)["spent"]["by_project"]
    assert [each["project"] for each in projects] == ["/home/u/work/site", "C:\\work\\tool"]
    for name, calls in (("site", 6), ("/home/u/work/site/", 6), ("tool", 3), ("work/tool", 3)):
        audit = told(folder, "--project", name)
        assert audit["spent"]["calls"] == calls
        assert audit["passed_over"] == {"other_project": 1}
    assert prose(compactlab("audit", folder, "--project", "ool")) == snapshot("""\
2
compactlab: there is nothing to audit
  2 sessions of other projects\
""")


def test_sub_agents_are_counted_apart(told, compactlab, tmp_path):
    claude_code(tmp_path / "main.jsonl")
    more = {"isSidechain": True, "agentId": "a1"}
    placed(claude_code(tmp_path / "agent-a1.jsonl", CALM), "/work", **more)
    agents = told(tmp_path)["spent"]["by_agent"]
    assert {each["agent"]: each["calls"] for each in agents} == {"main agents": 6, "sub-agents": 3}
    assert "sub-agents" in compactlab("audit", tmp_path).out


def test_codex_tells_who_asked_for_an_agent(told, tmp_path):
    file = codex(tmp_path / "rollout.jsonl")
    text = file.read_text().replace(
        '"id": "s"', '"id": "s", "cwd": "/w/x", "source": {"subagent": "review"}'
    )
    file.write_text(text)
    audit = told(file)
    assert audit["sessions"][0]["subagent"] is True
    assert audit["sessions"][0]["project"] == "/w/x"


def test_sums_count_tokens_of_models_that_nobody_knows(compactlab, tmp_path):
    claude_code(tmp_path / "calm.jsonl", CALM, model="new-model-9")
    done = compactlab("audit", "--sums", "--format", "json", tmp_path)
    assert done.code == 0
    (row,) = json.loads(done.out)["spent"]["by_model"]
    assert (row["model"], row["read_tokens"], row["total_usd"]) == ("new-model-9", 60_600, None)


def test_sums_count_each_call_once_and_from_a_day_on(compactlab, tmp_path):
    calls = [(0, 0, 40_000, True), (90_000, 0, 41_000, True)]
    file = claude_code(tmp_path / "logs" / "one.jsonl", calls)
    (tmp_path / "logs" / "copy.jsonl").write_bytes(file.read_bytes())
    both, later = (
        json.loads(compactlab("audit", "--sums", "--format", "json", tmp_path / "logs", *more).out)
        for more in ((), ("--since", "2026-03-02"))
    )
    assert (both["spent"]["calls"], later["spent"]["calls"]) == (2, 1)
    assert both["passed_over"] == {"counted_elsewhere": 1}


PRICED = "mistral-large-latest"  # stands in the price list; how it caches is not known


def test_what_has_a_price_and_no_policy_is_billed_and_named(told, logs, tmp_path):
    file = claude_code(tmp_path / "priced.jsonl", CALM, model=PRICED)
    audit = told(logs, file)
    (name,) = audit["calls_not_explained"]
    assert "mistral" in name
    assert audit["calls_not_explained"] == {name: 3}
    assert audit["models_without_price"] == {}
    (row,) = [each for each in audit["spent"]["by_model"] if each["model"] == name]
    assert (row["calls"], row["unpriced_calls"]) == (3, 0)
    assert row["total_usd"] > 0
    assert audit["all"]["recorded_sizes"]["calls"] == 12  # those of the other sessions


def test_where_nothing_can_be_explained_an_audit_says_what_was_spent(told, compactlab, tmp_path):
    file = claude_code(tmp_path / "priced.jsonl", CALM, model=PRICED)
    done = compactlab("audit", file, "--html", tmp_path / "page.html")
    assert prose(done, tmp_path) == snapshot("""\
0
wrote page.html
3 calls of 1 session: $0.18
mistral/mistral-large is not in the catalogue: priced by genai-prices (mistral/mistral-large);
no cache policy is known, tokens are counted as o200k_base, window 128,000 assumed.
Billed, but not explained, as it is not known how their models cache: mistral/mistral-large (3
calls). Write these models into a file and name it with --models.\
""")
    assert "Why did tokens miss" not in done.out
    assert "What did these sessions cost?" in (tmp_path / "page.html").read_text("utf-8")
    audit, sums = (told(*more, file) for more in ((), ("--sums",)))
    assert audit["spent"] == sums["spent"]
    assert [*audit["calls_not_explained"].values()] == [3]
    assert sums["calls_not_explained"] == {}  # nothing was to be explained


LATE = [(0, 0, 40_000, True), (13.5 * 3_600, 0, 41_000, True)]  # 10:00 and 23:30, UTC


def days(done) -> dict[str, int]:
    return {each["day"]: each["calls"] for each in json.loads(done.out)["spent"]["by_day"]}


def test_days_are_those_of_a_zone(compactlab, tmp_path, monkeypatch):
    pytest.importorskip("tzdata")
    file = claude_code(tmp_path / "late.jsonl", LATE)
    two = {"2026-03-01": 1, "2026-03-02": 1}
    assert days(compactlab("audit", "--format", "json", file)) == {"2026-03-01": 2}
    for more in ((), ("--sums",)):
        done = compactlab("audit", "--format", "json", *more, "--tz", "Europe/Berlin", file)
        assert days(done) == two
        assert json.loads(done.out)["spent"]["time_zone"] == "Europe/Berlin"
    assert "day (Europe/Berlin)" in compactlab("audit", "--tz", "Europe/Berlin", file).out
    assert days(compactlab("audit", "--format", "json", "--tz", "America/New_York", file)) == {
        "2026-03-01": 2
    }


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system's zone cannot be set")
def test_days_may_be_those_of_the_machine(compactlab, tmp_path, monkeypatch):
    file = claude_code(tmp_path / "late.jsonl", LATE)
    monkeypatch.setenv("TZ", "XYZ-2")
    time.tzset()
    try:
        assert days(compactlab("audit", "--format", "json", "--tz", "local", file)) == {
            "2026-03-01": 1,
            "2026-03-02": 1,
        }
        assert days(compactlab("audit", "--format", "json", file)) == {"2026-03-01": 2}
    finally:
        monkeypatch.undo()
        time.tzset()


def test_since_is_of_the_same_zone(compactlab, tmp_path):
    pytest.importorskip("tzdata")
    file = claude_code(tmp_path / "late.jsonl", LATE)
    since = ("audit", "--sums", "--format", "json", "--since", "2026-03-02", file)
    assert compactlab(*since).code == 2
    assert days(compactlab(*since, "--tz", "Europe/Berlin")) == {"2026-03-02": 1}


def test_where_no_zones_are_known_the_error_says_what_to_install(compactlab, tmp_path, monkeypatch):
    def none(name: str = "") -> set[str]:
        if name:
            raise zoneinfo.ZoneInfoNotFoundError(name)
        return set()

    monkeypatch.setattr(zoneinfo, "ZoneInfo", none)
    monkeypatch.setattr(zoneinfo, "available_timezones", none)
    file = claude_code(tmp_path / "idle.jsonl")
    assert prose(compactlab("audit", "--tz", "Asia/Tokyo", file)) == snapshot("""\
2
compactlab: --tz: this machine has no database of time zones: install the package tzdata, or
name UTC or local\
""")
    assert compactlab("audit", "--tz", "UTC", file).code == 0


def test_no_secret_of_a_log_is_told_in_another_zone(compactlab, tmp_path):
    """What hides secrets goes through all that is told, the zone with it."""
    pytest.importorskip("tzdata")
    file = claude_code(tmp_path / "idle.jsonl")
    placed(file, "/home/somebody@example.com/site")
    for more in ((), ("--sums",)):
        asked = ("audit", "--format", "json", *more, "--tz", "Asia/Tokyo", file)
        told, hidden = (compactlab(*asked, *redact).out for redact in ((), ("--redact",)))
        assert "somebody@example.com" in told
        assert "somebody@example.com" not in hidden
        assert json.loads(hidden)["spent"]["time_zone"] == "Asia/Tokyo"
