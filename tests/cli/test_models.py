"""Models on the command line: their table, a file of one's own, and several in one run."""

import json
import re
from textwrap import fill

import pytest
from inline_snapshot import snapshot

from compactlab.sim.models.model import catalogue, find_model
from compactlab.sim.models.pricing import price_list
from compactlab.sim.store.results import Results
from tests.cli.conftest import TINY
from tests.lines import lines_with
from tests.recordings import claude_code

OWN = """
[models."mine.1"]
provider = "acme"
window = 50_000
factor = 2.0
cache = { policy = "anthropic", minimum = 64 }
prices = { input = 100, cache_read = 10, cache_write_5m = 125, output = 500 }
multipliers = { night = 0.5 }

[models.claude-sonnet-4-5]
window = 200_000
cache = "none"
price = "anthropic/claude-sonnet-4-5"

[models.bare]
window = 1_000
cache = ""
"""


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(OWN, encoding="utf-8")
    return file


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_the_table_has_a_line_for_every_model(compactlab):
    done = compactlab("list", "models")
    head, _, *lines = done.out.partition("\n\n")[0].splitlines()
    assert done.code == 0
    assert cells(head)[:4] == ["model", "provider", "window", "output"]
    assert [cells(line)[0] for line in lines] == list(catalogue())
    assert {len(cells(line)) for line in (head, *lines)} == {13}


@pytest.mark.parametrize(
    "line",
    [
        "claude-opus-5-5 | anthropic | 1,000,000 | 128,000 | o200k x {} | anthropic | 512 | "
        "5m 1h | 4 | 0.2 | 5 | 8 | 20",
        "claude-haiku-5-5 | anthropic | 1,000,000 | 128,000 | o200k x {} | anthropic | 512 | "
        "5m 1h | 0.1+ | 0.01 | 0.125 | 0.2 | 0.5",
        "gpt-5-2 | openai | 400,000 | 128,000 | o200k x {} | openai_grid | 1,024 | 30m | 1.75 | "
        "0.175 | - | - | 14",
        "gpt-5-3-codex-spark | openai | 128,000 | 128,000 | o200k x {} | openai_grid | 1,024 | "
        "30m | ? | ? | ? | ? | ?",
    ],
)
def test_a_line_of_the_table(compactlab, line):
    name = line.partition(" ")[0]
    line = line.format(f"{find_model(name).tokenizer.factor:g}")
    shown = compactlab("list", "models").out
    (found,) = [row for row in shown.splitlines() if row.startswith(f"{name} ")]
    assert cells(found.replace("\N{MULTIPLICATION SIGN}", "x")) == line.split(" | ")


def test_json_has_all_of_it(compactlab):
    rows = {
        row["name"]: row for row in json.loads(compactlab("list", "models", "--format", "json").out)
    }
    assert set(rows) == set(catalogue())
    for row in rows.values():
        assert row["meaning"]
        assert row["source"]
        assert row["asof"]
    haiku = rows["claude-haiku-5-5"]
    assert [step["above"] for step in haiku["dollars_per_million_tokens"]] == [0, 100_000]
    assert [step["output"] for step in haiku["dollars_per_million_tokens"]] == [0.5, 2.5]
    assert haiku["lifetimes"] == [300, 3600]
    assert haiku["strips_thinking"]
    assert rows["claude-opus-5"]["multipliers"] == {"batch": 0.5, "us": 1.1, "fast": 2.0}
    assert rows["gemini-3-8-flash"]["storage_dollars_per_million_tokens_and_hour"] == 0.5
    assert rows["gpt-5-3-codex-spark"]["dollars_per_million_tokens"] == []
    assert rows["self-hosted-8b"]["dollars_per_million_tokens"][0]["cache_read"] == 0
    assert all(find_model(name).name == name for name in rows)


def test_prices_that_end_are_told_with_their_day(compactlab):
    rows = {
        row["name"]: row for row in json.loads(compactlab("list", "models", "--format", "json").out)
    }
    ends = {name: row["price_until"] for name, row in rows.items() if row["price_until"]}
    assert ends == snapshot(
        {
            "gemini-3-6-flash": "2026-12-31",
            "gemini-3-7-flash": "2026-12-31",
            "gemini-3-8-flash": "2026-12-31",
            "gemini-4-argon": "2026-11-30",
            "gemini-4-carbon": "2026-11-30",
        }
    )
    told = {name: row["promised_until"] for name, row in rows.items() if row["promised_until"]}
    assert told == {"gpt-5-6-sol": "2026-11-21"}
    assert rows["gpt-6-2-astra"]["price_source"].startswith("seen on 2026-11-27, second-hand: ")
    assert rows["gpt-6-2-astra"]["priced_at"] == "2026-11-27"
    assert rows["gpt-6-2-sol"]["client_window"] == 500_000
    assert rows["claude-opus-5"]["client_window"] == 1_000_000
    last = compactlab("list", "models").out.splitlines()[-2:]
    assert "\n".join(fill(line, 90) for line in last) == snapshot("""\
Prices end after: 2026-11-30 gemini-4-argon, 2026-11-30 gemini-4-carbon, 2026-12-31
gemini-3-6-flash, 2026-12-31 gemini-3-7-flash, 2026-12-31 gemini-3-8-flash.
Promotional at least until: 2026-11-21 gpt-5-6-sol.\
""")


def test_models_that_only_the_price_list_has(compactlab, own):
    done = compactlab("list", "models", "--unknown")
    assert done.code == 0
    head, *lines = done.out.splitlines()
    assert head == f"In {price_list()}, and not in this catalogue:"
    makers = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert makers == [
        "anthropic", "deepseek", "google", "minimax", "moonshotai", "openai", "x-ai", "zai",
    ]  # fmt: skip
    rows = json.loads(compactlab("list", "models", "--unknown", "--format", "json").out)
    assert {"name": "gpt-5-nano", "provider": "openai", "window": 400_000} in rows
    assert sum(line.count(",") for line in lines) <= len(rows)
    own.write_text('models.nano = { window = 9, cache = "none", price = "openai/gpt-5-nano" }')
    fewer = json.loads(
        compactlab("list", "models", "--unknown", "--models", own, "--format", "json").out
    )
    assert [row["name"] for row in rows if row not in fewer] == ["gpt-5-nano"]
    assert compactlab("list", "strategies", "--unknown").code == 2


def test_own_models_stand_in_the_list(compactlab, own):
    rows = json.loads(compactlab("list", "models", "--models", own, "--format", "json").out)
    rows = {row["name"]: row for row in rows}
    assert len(rows) == len(catalogue()) + 2
    (prices,) = rows["mine.1"]["dollars_per_million_tokens"]
    assert (prices["uncached"], prices["cache_write_1h"], prices["output"]) == (100, 125, 500)
    assert rows["claude-sonnet-4-5"]["cache"] == "no_cache()"
    assert rows["bare"]["cache"] is None
    assert "@none" in rows["bare"]["meaning"]
    table = compactlab("list", "models", "--models", own).out
    assert ["bare", "-", "1,000"] in [cells(line)[:3] for line in table.splitlines()]


def test_a_file_of_models_goes_with_the_list_of_models(compactlab, own):
    assert compactlab("list", "strategies", "--models", own).told() == snapshot("""\
2
compactlab: --models FILE adds to the list of models, not of strategies\
""")


WRONG = [
    "models.m = { window = 0 }",
    "models.m = { windo = 1 }",
    'models.m = { window = 1, cache = "none", price = "openai/gpt-55" }',
    "models = [",
]


@pytest.mark.parametrize(
    "command", [("list", "models"), ("run", "--conversations", TINY), ("inspect", TINY)]
)
def test_what_is_wrong_in_it_ends_with_2(compactlab, tmp_path, command):
    file, told = tmp_path / "own.toml", []
    for text in WRONG:
        file.write_text(text, encoding="utf-8")
        done = compactlab(*command, "--models", file)
        assert done.code == 2
        told.append(done.err.replace(f"{tmp_path}/", "").strip()[:85])
    assert told == snapshot(
        [
            "compactlab: own.toml: models.m.window must be a whole number from 1, not 0",
            "compactlab: own.toml: models.m: unknown key 'windo'; did you mean window or client_wi",
            "compactlab: own.toml: models.m.price: genai-prices has no price for openai/gpt-55; di",
            "compactlab: own.toml: no file of models: Invalid value (at end of document)",
        ]
    )


def test_an_unknown_model_is_told_with_what_to_do(compactlab, own, tmp_path):
    more = ("--models", own, "--out", tmp_path / "out")
    done = compactlab("run", "--conversations", TINY, "--model", "mine.2", *more)
    assert done.told(tmp_path) == snapshot("""\
2
compactlab: unknown model 'mine.2'; did you mean mine.1? Or name another, e.g. --model claude-
sonnet-4-5, or NAME@none for one without a cache (compactlab list models), or write it down with
its prices in a file of your own: --models FILE\
""")


@pytest.mark.usefixtures("drawn")
def test_a_run_under_ones_own_model_is_billed_by_its_prices(compactlab, process, own, tmp_path):
    """Also in workers, who are sent the models and have no file."""
    options = ("--strategies", "keep_all", "--models", own, "--seeds", 2)
    models = ("--model", "mine.1", "--model", "mine.1+night", "--model", "claude-sonnet-4.5")
    for call, jobs in ((compactlab, 1), (process, 2)):
        out = ("--jobs", jobs, "--out", tmp_path / f"out{jobs}")
        done = call("run", "--conversations", TINY, *options, *models, *out)
        assert done.code == 0, done.said
    one, two = (Results.load(tmp_path / f"out{jobs}") for jobs in (1, 2))
    assert one.runs == two.runs
    for run in one.runs:
        figures = run.metrics
        assert run.own_models == one.catalogue.digest != ""
        if run.model.startswith("mine"):
            dollars = (
                100 * figures["tokens_uncached"]
                + 10 * figures["tokens_cache_read"]
                + 125 * figures["tokens_cache_write"]
                + 500 * figures["tokens_output"]
            ) / 1e6
            factor = 0.5 if run.model.endswith("+night") else 1
            assert figures["cost_usd"] == pytest.approx(dollars * factor)
            assert figures["tokens_cache_read"] > 0
        else:
            assert figures["tokens_cache_read"] == 0
    shown = compactlab("report", tmp_path / "out1", "--format", "table").out
    for name in ("mine.1", "mine.1+night", "claude-sonnet-4-5"):
        assert re.search(rf"^Model {re.escape(name)}[;:]", done.out, re.MULTILINE)
        assert f"Model {name}; window" in shown
    assert "Model mine.1; window 50,000 tokens" in shown
    page = (tmp_path / "out1" / "report.html").read_text("utf-8")
    assert "--models FILE_OF_OWN_MODELS" in page
    assert "Model mine.1+night; window 50,000 tokens" in page


def test_a_recording_can_name_ones_own_model(compactlab, own, tmp_path):
    line = {
        "type": "message",
        "id": "a",
        "role": "assistant",
        "parts": [{"type": "text", "text": "done"}],
        "call": {"model": "mine-1", "usage": {"uncached": 1_000_000, "output": 2}},
    }
    rows = [
        {"type": "conversation", "version": 1, "id": "talk"},
        {"type": "message", "id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        line,
    ]
    file = tmp_path / "talk.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (plain,) = json.loads(compactlab("inspect", file, "--format", "json").out)
    (told,) = json.loads(compactlab("inspect", file, "--models", own, "--format", "json").out)
    bills = [each["spent"] for each in (plain, told)]
    assert [(bill["total_usd"], bill["unpriced_calls"]) for bill in bills] == [
        (None, 1), (100.001, 0),
    ]  # fmt: skip


@pytest.mark.usefixtures("drawn")
def test_a_model_of_the_price_list_is_run_and_said_to_be_inferred(compactlab, tmp_path):
    out, run = tmp_path / "out", ("run", "--conversations", TINY, "--strategies", "keep_all")
    done = compactlab(*run, "--model", "gpt-5-nano-2025-08-07", "--jobs", 1, "--out", out)
    assert done.code == 0, done.said
    said = "gpt-5-nano is not in the catalogue: priced by genai-prices"
    for form in ("table", "md", "html"):
        shown = compactlab("report", out, "--format", form).out.replace("`", "")
        assert said in " ".join(shown.split()), form
    assert said in " ".join(done.out.split())
    (row,) = Results.load(out).runs
    assert row.model == "gpt-5-nano"
    assert 0 < row.metrics["cost_usd"] < 0.1


def test_a_recording_that_names_such_a_model_is_replayed_and_audited(compactlab, tmp_path):
    file = claude_code(tmp_path / "log.jsonl", model="claude-3-7-sonnet-20250219")
    run = ("run", "--conversations", file, "--strategies", "keep_all", "--jobs", 1)
    done = compactlab(*run, "--out", tmp_path / "out")
    assert done.code == 0, done.said
    said = "claude-3-7-sonnet is not in the catalogue: priced by genai-prices"
    assert said in " ".join(done.out.split())
    audited = compactlab("audit", file)
    assert audited.code == 0, audited.said
    assert said in " ".join(audited.out.split())


@pytest.mark.usefixtures("drawn")
def test_several_models_are_told_apart_everywhere(compactlab, tmp_path):
    out = tmp_path / "out"
    names = ["claude-opus-5", "claude-opus-5@none", "claude-opus-5+batch", "gpt-6.1-sol"]
    models = [word for name in names for word in ("--model", name)]
    strategies = ("--strategies", "keep_all", "--strategies", "sliding_window(keep=4)")
    run = ("run", "--conversations", TINY, *strategies, *models, "--jobs", 1)
    done = compactlab(*run, "--out", out)
    assert done.code == 0, done.said
    assert "not in the catalogue" not in done.out
    names[-1] = "gpt-6-1-sol"
    runs = Results.load(out).runs
    assert [run.model for run in runs] == [name for name in names for _ in range(2)]
    dear = {(run.model, run.strategy): run.metrics["cost_usd"] for run in runs}
    for run in runs[:2]:
        plain = dear["claude-opus-5", run.strategy]
        assert dear["claude-opus-5+batch", run.strategy] == pytest.approx(plain / 2)
    for form in ("table", "md", "html"):
        shown = compactlab("report", out, "--format", form).out.replace("`", "")
        for name in names:
            assert f"Model {name}; window" in shown, form
    listed = compactlab("report", out, "--format", "csv").out
    assert all(f",{name}," in listed for name in names)


def test_a_model_that_is_named_twice_is_run_once(compactlab):
    names = ("--model", "claude-opus-4.5", "--model", "claude-opus-4-5-20251101")
    done = compactlab("run", "--conversations", TINY, "--dry-run", *names)
    assert lines_with(done.out, "opus-4-5") == snapshot(
        "would run into compactlab-out, under claude-opus-4-5:"
    )


def test_recorded_stands_beside_named_models(compactlab, chat, tmp_path):
    talk = tmp_path / "talk.jsonl"
    rows = [json.loads(line) for line in chat(tmp_path / "plain.jsonl").read_text().splitlines()]
    for row in rows:
        if row["role"] == "assistant":
            row["model"] = "claude-opus-4-5"
    talk.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    out = ("--out", tmp_path / "out", "--strategies", "keep_all", "--jobs", 1)
    done = compactlab(
        "run", "--conversations", talk, "--model", "recorded", "--model", "claude-opus-5", *out
    )
    assert done.code == 0, done.said
    assert [run.model for run in Results.load(tmp_path / "out").runs] == [
        "recorded",
        "claude-opus-5",
    ]
    assert lines_with(done.out, "opus-4-5") == snapshot("""\
Model as recorded: claude-opus-4-5 (4 calls); window 200,000 tokens; 1 strategy over 1
conversation\
""")
