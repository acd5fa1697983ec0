"""What the documentation says is what the code does."""

import json
import re
import shlex
from pathlib import Path
from runpy import run_path

import pandas as pd
import pytest
from click.testing import CliRunner

from compactlab import api
from compactlab.cli.group import cli
from compactlab.request.file import ExperimentSettings
from compactlab.request.names import plan
from compactlab.scenarios.catalogue import SCENARIOS
from compactlab.scenarios.engine.profile import BUILT_IN
from compactlab.scenarios.readers.homes import HOMES
from compactlab.scenarios.readers.transcript import FORMATS
from compactlab.sim.experiment.shard import Shard, Task
from compactlab.sim.store.manifest import FORMAT


@pytest.mark.parametrize(
    ("page", "writer"),
    [
        ("metrics-table", "metrics"),
        ("experiments", "experiments"),
        ("store", "store"),
        ("formats", "formats"),
        ("strategies", "strategies"),
    ],
)
def test_a_page_is_what_make_docs_writes(root, page, writer):
    held = written_in(root, page)
    written = run_path(str(root / "examples" / f"{writer}_page.py"))["renewed"](held)
    assert written == held, "write it anew: make docs"


def test_the_page_of_scenarios_is_what_make_docs_writes(root):
    page = written_in(root, "scenarios")
    written = run_path(str(root / "examples" / "scenarios_page.py"))["renewed"](page)
    assert written == page, "write it anew: make docs"
    purposes = re.findall(r"^\| `(\w+)`", page.partition("## What they measure")[0], re.MULTILINE)
    assert sorted(purposes) == sorted(SCENARIOS)


def test_the_experiment_file_that_is_shown_can_be_run(root, tmp_path):
    shown, *_ = re.findall(r"```toml\n(.*?)```", written_in(root, "experiments"), re.DOTALL)
    file = tmp_path / "experiment.toml"
    file.write_text(shown, encoding="utf-8")
    (own,) = re.findall(r"```text\n(\[providers.*?)```", written_in(root, "models"), re.DOTALL)
    (tmp_path / "own-models.toml").write_text(own, encoding="utf-8")
    (measured,) = re.findall(r"```json\n(.*?)```", written_in(root, "audit"), re.DOTALL)
    (tmp_path / "churn.json").write_text(measured, encoding="utf-8")
    settings = ExperimentSettings.load(file, {})
    assert settings.model_fields_set == set(ExperimentSettings.model_fields)
    assert settings.out == str(tmp_path / "results")
    assert settings.models_file == str(tmp_path / "own-models.toml")
    assert settings.churn == str(tmp_path / "churn.json")
    planned = plan(
        settings.conversations,
        settings.strategies,
        settings.models,
        summarizer=settings.summarizer,
        window=settings.window,
        seeds=settings.seeds,
        models_file=settings.models_file,
        churn=settings.churn,
    )
    assert planned.setting.catalogue.find("acme-large-1.5+night").multiplier == 0.5
    assert planned.setting.churn is not None
    assert planned.setting.churn.turn.share("front") == 37 / 115
    assert (len(planned.sources), len(planned.strategies), len(planned.models)) == (4, 4, 2)
    first = Task(planned.sources[0], planned.conditions[:1])
    assert [run.status for run in Shard((first,)).runs()] == ["ok"]


def test_the_page_of_the_store_names_its_version(root):
    assert f"version {FORMAT}." in written_in(root, "store")


def test_every_key_of_the_manifest_is_told(root, sweep):
    section = written_in(root, "store").partition("## The manifest")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    told = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(told) == sorted(json.loads((sweep / "manifest.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small store of the name that the pages use."""
    folder = tmp_path_factory.mktemp("shown") / "sweep"
    specs = ("keep_all", "auto_compact(keep_recent_tokens=1000)")
    given = {"loop": "open", "window": 20_000, "out": folder}
    api.run("coding_agent(turns=2, tokens=20000)", specs, ["gpt-5"], **given)
    return folder


@pytest.mark.parametrize("name", ["experiments", "store"])
def test_what_is_shown_of_reading_a_store_can_be_run(name, root, sweep, monkeypatch):
    page = (root / "docs" / f"{name}.md").read_text("utf-8")
    monkeypatch.chdir(sweep.parent)
    held: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    for block in blocks:
        exec(block, held)
    shown = [each for each in held.values() if isinstance(each, pd.DataFrame | pd.Series)]
    assert len(shown) > len(blocks)
    asked = re.findall(r"^compactlab (query .*?)(?: +#.*)?$", page, re.MULTILINE)
    for line in asked:
        answer = CliRunner().invoke(cli, shlex.split(line))
        assert (answer.exit_code, answer.stderr) == (0, ""), line
    assert len(asked) >= 2


# What is said of each format, and in which order.
POINTS = [
    "kept",
    "read",
    "billed",
    "counts, since",
    "compaction, edits",
    "passed over",
    "left out",
    "source",
]


def test_every_format_has_its_section_with_the_same_points(root):
    sections = re.split(r"^## ", written_in(root, "formats"), flags=re.MULTILINE)
    points = {}
    for section in sections:
        name, _, text = section.partition("\n")
        if found := re.findall(r"^- \*\*([a-z, ]+)\*\*: \S", text, re.MULTILINE):
            points[name] = found
    assert points == {each.name: POINTS for each in FORMATS}


def test_where_each_client_keeps_its_logs_is_told(root):
    page = written_in(root, "formats")
    kept = " ".join(re.findall(r"^- \*\*kept\*\*: (.*)$", page, re.MULTILINE))
    named = {variable for home in HOMES for variable in home.variables}
    assert {name for name in named if name not in kept} == set()
    folders = {folder for home in HOMES for folder in home.usual if folder.startswith("~/")}
    assert {name for name in folders if name not in kept} == set()


def test_every_built_in_profile_is_named(root):
    (named,) = re.findall(
        r"built-in one by its name \((.*?)\)", written_in(root, "scenarios"), re.DOTALL
    )
    assert tuple(re.findall(r"`(\w+)`", named)) == BUILT_IN


def written_in(root: Path, name: str) -> str:
    return (root / "docs" / f"{name}.md").read_text("utf-8")


MOST_WORDS = 60_000
GENERATED = re.compile(r"^<!-- Generated .*?^<!-- End of the generated part\. -->$", re.M | re.S)


def words(page: str) -> int:
    """The words of a page as `wc -w` counts them, without the rows of generated tables."""

    def prose(part: re.Match[str]) -> str:
        return "\n".join(line for line in part[0].splitlines() if not line.startswith("|"))

    return len(GENERATED.sub(prose, page).split())


def test_the_docs_have_at_most_60_000_words(root):
    docs = root / "docs"
    pages = [file for file in docs.rglob("*.md") if docs / "dev" not in file.parents]
    counted = {file.name: words(file.read_text("utf-8")) for file in [root / "README.md", *pages]}
    longest = sorted(counted.items(), key=lambda item: -item[1])[:8]
    assert sum(counted.values()) <= MOST_WORDS, longest


def test_rows_of_generated_tables_are_not_counted():
    begin, end = "<!-- Generated by `make docs` -->", "<!-- End of the generated part. -->"
    assert words("one | two\n| three |\n") == 6
    assert words(f"one\n{begin}\n| two |\nthree\n{end}\nfour\n") == 1 + 6 + 1 + 7 + 1


def test_contributing_says_first_how_many_files_an_addition_touches(root):
    page = (root / "CONTRIBUTING.md").read_text("utf-8")
    sections = re.findall(r"^## Adding .*\n\n(\w+) files?: (.*)\.$", page, re.MULTILINE)
    assert len(sections) == page.count("\n## Adding ")
    for count, files in sections:
        assert ["One", "Two", "Three", "Four", "Five"][len(files.split(", ")) - 1] == count
        assert all((root / file).is_file() for file in re.findall("`(.*?)`", files))
