"""A store of a stranger's is data: it writes no file, reads no other, and breaks nothing.

Whatever stands in its manifest, in its shards and in the names of its folders, a command shows
figures or says in one line what is wrong, with the exit code 2. The folder around it is compared
before and after, file by file.
"""

import json
import os
import shutil
import string
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.core.errors import CompactlabError, InputError, UsageError
from compactlab.sim.metrics import METRICS
from compactlab.sim.store import parquet
from compactlab.sim.store.manifest import FORMAT
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import HEAD, Run, shard_files
from compactlab.sim.store.store import SAVED, Store
from compactlab.sim.store.tables import RUNS, TABLES
from tests.lines import lines_with, refusal

CALLS = TABLES["calls"].filled({"call": [1, 2], "cache_read": [10, 20], "model": ["m", "m"]})
FACTS = TABLES["facts"].filled({"fact": ["f"], "type": ["id"], "needs": [2], "needs_met": [1]})
VIEWS = TABLES["views"].filled({"call": [2, 2], "facts": [["f"], []], "states": [["lost"], []]})
EXAMPLES = int(os.environ.get("COMPACTLAB_ATTACKS", "15"))
pytestmark = pytest.mark.filterwarnings("ignore::compactlab.sim.core.errors.UnverifiedWarning")
KEYS = ["0" * 16, "1" * 16]
WRITES = "COPY (SELECT 'import os') TO 'conftest.py' (HEADER false, QUOTE '')"
PAYLOADS = [
    f'cost_usd" FROM runs; {WRITES}; SELECT "run',
    f"x'; {WRITES}; --",
    f"{WRITES}",
    "') ; ATTACH 'evil.db'; --",
    "'||(SELECT content FROM read_text('/etc/passwd'))||'",
    "../../evil", "/etc/passwd", "evil/../../x", "..", ".", "~", "*", "**/*", "[a-z]*", "?",
    "seed=7", "cost_usd=5", "a\0b", "evil\n.py", "{0.__class__}", "%s%n", "{{ 7*7 }}",
    "<script>alert(1)</script>", "$HOME", "file:///etc/passwd", "https://example.com/x.parquet",
    "\ud800", "", " ", "x" * 3000, "NaN", "1e999", "-0", "__class__",
]  # fmt: skip


# What the rows of calls add up to.
SUMS = {
    metric: float(sum(np.sum(CALLS[column]) for column in columns))
    for metric, columns in TABLES["calls"].sums.items()
}


def results() -> Results:
    """Two conversations under two strategies, with all that a manifest may say."""
    writer = {"label": "l", "simulated": "", "code": "c" * 16}
    runs = [
        Run(
            talk, "pi", f"{name}()", "claude-sonnet-4-5", 0, 0, digest=KEYS[n], label=name,
            source=talk, source_key=KEYS[n], condition=KEYS[m], summarizer="lead",
            metrics=dict.fromkeys(METRICS, (n + m + 1) / 8) | SUMS,
            rows={"calls": CALLS, "facts": FACTS, "views": VIEWS}, labels="declared",
        )
        for n, talk in enumerate(["one", "two"])
        for m, name in enumerate(["keep_all", "keep_none"])
    ]  # fmt: skip
    return Results(
        runs,
        {
            "compactlab": "1", "engine": "e", "engines": ["e"], "prices": "p", "tokenizer": "t",
            "own_models": {}, "churn": {}, "loop": "", "metrics": list(METRICS),
            "tables": ["calls", "facts", "views"], "window": 0, "redact": False,
            "summarizers": {"lead": writer}, "models": ["claude-sonnet-4-5"], "flushes": [],
            "strategies": {"keep_all()": "keep_all", "keep_none()": "keep_none"},
            "strategies_code": {"keep_all()": "a", "keep_none()": "b"}, "sees_future": [],
            "breaks": {"keep_none()": {"pairs": "why"}}, "skipped_files": 0, "seeds": [0],
            "sources": ["one", "two"], "source_seeds": [0, 0], "source_keys": KEYS,
            "conditions": KEYS,
        },
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: Any) -> Path:
    """A store in which nothing is wrong."""
    folder: Path = tmp_path_factory.mktemp("whole") / "store"
    results().save(folder)
    return folder


class Room:
    """A folder in which a command works, with a store in it that may be anything."""

    def __init__(self, folder: Path, whole: Path, call: Callable[..., Any]) -> None:
        self.folder, self.whole, self.call = folder, whole, call
        self.store = folder / "store"

    def refresh(self) -> Path:
        """The whole store again, in an otherwise empty folder that is worked in."""
        for entry in self.folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        shutil.copytree(self.whole, self.store)
        # Digests notice damage, not a stranger: who changes a file can write them anew, or none.
        shutil.rmtree(self.store / "digests")
        return self.store

    def attack(self, *command: object) -> Any:
        """Run a command; it shows figures or says what is wrong, and writes nothing."""
        before = content(self.folder)
        done = self.call(*command)
        assert done.code in (0, 1, 2), done
        assert done.code != 2 or len(done.err) < 3000, done.err
        assert "Traceback" not in done.said
        (self.folder / "baseline.json").unlink(missing_ok=True)  # where one asks for it
        assert content(self.folder) == before
        return done


def content(folder: Path) -> dict[str, bytes]:
    """All that lies in a folder."""
    return {str(p): b"" if p.is_dir() else p.read_bytes() for p in sorted(folder.rglob("*"))}


@pytest.fixture
def room(tmp_path: Path, whole: Path, compactlab: Any, monkeypatch: pytest.MonkeyPatch) -> Room:
    folder = tmp_path / "room"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Room(folder, whole, compactlab)


drawn = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
    max_examples=EXAMPLES,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(PAYLOADS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(PAYLOADS), inner, max_size=3)
    ),
    max_leaves=6,
)
COMMANDS = [
    ("report",),
    ("report", "--format", "md"),
    ("report", "--format", "json"),
    ("baseline",),
]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values stand in a document, itself among them."""
    yield at
    listed = enumerate(value) if isinstance(value, list) else ()
    for key, each in value.items() if isinstance(value, dict) else listed:
        yield from places(each, (*at, key))


def replaced(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """A document in which another value stands somewhere."""
    if not at:
        return new
    items = dict(value) if isinstance(value, dict) else list(value)
    items[at[0]] = replaced(items[at[0]], at[1:], new)
    return items


MANIFEST = {"store": FORMAT, **results().manifest}
PLACES = [at for at in places(MANIFEST) if len(at) < 2 or at[0] != "metrics" or at[1] < 3]


@pytest.mark.parametrize("payload", PAYLOADS[:5])
def test_no_name_of_a_metric_is_sql(payload, room):
    room.refresh()
    text = json.dumps(replaced(MANIFEST, ("metrics", 0), payload))
    (room.store / "manifest.json").write_text(text)
    for command in (*COMMANDS, ("report", "--format", "html"), ("report", "--format", "csv")):
        done = room.attack(*command, room.store)
        assert done.code == 2
        assert "unknown entry" in done.err


@drawn
@given(data=st.data())
def test_a_manifest_is_by_the_schema_or_refused(data, room):
    room.refresh()
    at = data.draw(st.sampled_from(PLACES))
    text = json.dumps(replaced(MANIFEST, at, data.draw(JSON)))
    note(f"{at}: {text[:2000]}")
    (room.store / "manifest.json").write_text(text)
    room.attack(*data.draw(st.sampled_from([*COMMANDS, ("compare", room.whole)])), room.store)


@drawn
@given(data=st.data())
def test_any_key_and_any_text_of_a_manifest_is_data(data, room):
    """Where a text may stand, none does anything."""
    room.refresh()
    free = ["prices", "tokenizer", "loop", "compactlab", "engine", "models", "sources", "flushes"]
    name = data.draw(st.sampled_from(free))
    text = data.draw(st.sampled_from(PAYLOADS))
    value = [text] * len(MANIFEST[name]) if isinstance(MANIFEST[name], list) else text
    (room.store / "manifest.json").write_text(json.dumps({**MANIFEST, name: value}))
    for command in COMMANDS:
        assert room.attack(*command, room.store).code == 0


@given(content=st.binary(max_size=200) | st.text(string.printable, max_size=200).map(str.encode))
def test_what_is_no_json_is_no_manifest(content, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(InputError):
        Store(folder).manifest()


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"store": 5, "store": 5}', '{"store": 5, "window": NaN}',
     '{"store": 5, "window": ' + "9" * 5000 + "}", '{"store": 5.0}', '{"store": true}'],
    ids=["deep", "twice", "NaN", "long", "float", "flag"],
)  # fmt: skip
def test_json_that_asks_for_trouble_is_refused(text, room):
    room.refresh()
    (room.store / "manifest.json").write_text(text)
    assert room.attack("report", room.store).code == 2


@drawn
@given(data=st.data())
def test_random_bytes_in_a_shard_are_named(data, room):
    room.refresh()
    table = data.draw(st.sampled_from([RUNS, "calls", "facts", "views"]))
    file = Store(room.store).path(table, SAVED)
    raw = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        # The footer is at the end, the pages before; both are worth it.
        back = data.draw(st.integers(1, min(len(raw), 6000)) | st.integers(1, len(raw)))
        raw[-back] = data.draw(st.integers(0, 255))
    file.write_bytes(raw[: data.draw(st.just(len(raw)) | st.integers(0, len(raw)))])
    room.attack("report", room.store)


def everything(folder: Path) -> None:
    """Read all columns of all rows of a store."""
    for run in Results.load(folder).runs:
        for rows in run.rows.values():
            for name in rows.columns:
                rows.array(name)


TYPES = [pa.int32(), pa.float32(), pa.binary(), pa.large_string(), pa.bool_(), pa.timestamp("s"),
         pa.list_(pa.list_(pa.string())), pa.struct([("a", pa.string())]),
         pa.decimal128(30)]  # fmt: skip


@drawn
@given(data=st.data())
def test_a_column_of_another_type_is_refused(data, room):
    room.refresh()
    table = data.draw(st.sampled_from([RUNS, "calls", "facts", "views"]))
    file = Store(room.store).path(table, SAVED)
    held = pq.read_table(file)
    names = [*HEAD, "cost_usd", "rows_calls"] if table == RUNS else held.column_names[1:]
    index = held.column_names.index(data.draw(st.sampled_from(names)))
    type = data.draw(st.sampled_from([t for t in TYPES if t != held.schema.types[index]]))
    column = pa.nulls(len(held), type)
    pq.write_table(held.set_column(index, held.column_names[index], column), file)
    with pytest.raises(InputError, match=f"damaged .*{table}/{SAVED}.parquet"):
        everything(room.store)
    room.attack("report", room.store)


@pytest.mark.parametrize("count", [-1, 3, 10**6, 10**15, 2**62])
def test_rows_that_are_not_there_are_not_counted(count, room):
    """Who believed the table of runs would make a list of so many."""
    room.refresh()
    file = Store(room.store).path(RUNS, SAVED)
    held = pq.read_table(file)
    column = pa.array([count] * len(held), pa.int64())
    pq.write_table(
        held.set_column(held.column_names.index("rows_calls"), "rows_calls", column), file
    )
    with pytest.raises(InputError, match="damaged"):
        Results.load(room.store).calls()
    assert room.attack("report", room.store).code == 2


DIGEST = f"{'0' * 64}  runs/{SAVED}.parquet\n"


@pytest.mark.parametrize("text", ["", "x", DIGEST, DIGEST[:-1], DIGEST * 2, DIGEST * 10_000,
                                  DIGEST.replace("runs", "../etc"), "\N{ROCKET}"])  # fmt: skip
def test_digests_that_are_none_are_refused(text, room):
    room.refresh()
    Store(room.store).digests_of(SAVED).parent.mkdir()
    Store(room.store).digests_of(SAVED).write_text(text, "utf-8")
    assert room.attack("report", room.store).code == 2


def test_rows_beyond_what_a_file_could_hold_are_refused(room):
    """A few kilobytes that would fill the memory."""
    room.refresh()
    file = Store(room.store).path(RUNS, SAVED)
    held = pq.read_table(file).slice(0, 1)
    many = pa.table({n: held[n].take(pa.array([0]).take([0] * 20_000_000)) for n in ["status"]})
    pq.write_table(many, file, compression="zstd")
    assert file.stat().st_size < 100_000
    with pytest.raises(InputError, match="cannot have 20,000,000 rows"):
        Results.load(room.store)


def test_texts_beyond_what_a_file_could_hold_are_refused(room):
    """One long text in a dictionary, and 2,000 rows that are made of it."""
    room.refresh()
    file = Store(room.store).path(RUNS, SAVED)
    held = pq.read_table(file).take([0] * 2_000)
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000), ["x" * 1_000_000])
    held = held.set_column(held.column_names.index("error"), "error", long)
    pq.write_table(held, file, compression="zstd")
    assert file.stat().st_size < 1_000_000
    assert refusal(InputError, lambda: Results.load(room.store)) == snapshot("""\
room/store: a damaged store of results: runs/results.parquet: it cannot have 2,000,242,000
bytes of text\
""")


def test_pages_with_more_rows_than_the_file_says_are_refused(room, monkeypatch):
    room.refresh()
    monkeypatch.setattr(parquet, "_counts", lambda *_: [1])
    assert refusal(InputError, lambda: Results.load(room.store)) == snapshot(
        "room/store: a damaged store of results: runs/results.parquet: it says 1 rows, and has 2"
    )


def test_a_file_that_breaks_the_database_breaks_no_other(room):
    """After an internal error DuckDB answers nothing more; the next who asks gets another one."""
    room.refresh()
    Results.load(room.store)
    broken = parquet._database(own=True)
    with pytest.raises(duckdb.InternalException), parquet.connection():
        raise duckdb.InternalException("INTERNAL Error: a page that is none")
    assert parquet._database(own=True) is not broken
    assert len(Results.load(room.store).runs) == 4


def test_one_damaged_shard_of_many_is_named(room):
    store = Store(room.refresh())
    for shard in ("0" * 16, "1" * 16, "2" * 16):
        for table in (RUNS, "calls", "facts", "views"):
            shutil.copy(store.path(table, SAVED), store.path(table, shard))
    raw = bytearray(store.path(RUNS, "1" * 16).read_bytes())
    raw[-2_000:-1_000] = bytes(1_000)
    store.path(RUNS, "1" * 16).write_bytes(raw)
    with pytest.raises(InputError, match=f"damaged .*runs/{'1' * 16}.parquet"):
        Results.load(room.store)


@drawn
@given(data=st.data())
def test_texts_and_figures_of_runs_are_data(data, room):
    room.refresh()
    made = results()
    texts = st.sampled_from([p for p in PAYLOADS if p.isprintable() or "\n" in p])
    odd = st.sampled_from([float("nan"), float("inf"), -1e308, 1e308, 5e-324, None])
    for run in made.runs:
        for name in data.draw(st.lists(st.sampled_from(
            ["conversation", "scenario", "strategy", "model", "label", "summarizer", "digest"]
        ), max_size=3)):  # fmt: skip
            setattr(run, name, data.draw(texts))
        for name in data.draw(st.lists(st.sampled_from(list(METRICS)), max_size=5)):
            run.metrics[name] = data.draw(odd)
    made.runs[0].status = data.draw(st.sampled_from(["ok", "failed", "unreadable", "so so"]))
    store = Store(room.store)
    for table, file in shard_files(made.runs).items():
        store.path(table, SAVED).write_bytes(file)
    done = room.attack(*data.draw(st.sampled_from(COMMANDS)), room.store)
    assert made.runs[0].status != "so so" or done.code == 2


@drawn
@given(data=st.data())
def test_a_baseline_of_a_stranger_is_data(data, room):
    room.refresh()
    file = room.folder / "theirs.json"
    assert room.call("baseline", room.store, "-o", file).code == 0
    told = json.loads(file.read_text())
    spots = [at for at in places(told) if "metrics" not in at and "figures" not in at]
    at = data.draw(st.sampled_from(spots))
    file.write_text(json.dumps(replaced(told, at, data.draw(JSON))))
    note(str(at))
    room.attack(data.draw(st.sampled_from(["gate", "report"])), room.store, "--baseline", file)


# ----------------------------------------------------------------------------------- links, names

LINKS = ["manifest.json", "runs", "calls", f"runs/{SAVED}.parquet", f"calls/{SAVED}.parquet"]


@pytest.mark.parametrize("where", LINKS)
def test_a_link_in_a_store_leads_nowhere(where, room):
    room.refresh()
    other = room.folder / "other"
    shutil.copytree(room.whole, other)
    linked = room.store / where
    shutil.rmtree(linked) if linked.is_dir() else linked.unlink()
    linked.symlink_to(other / where)
    done = room.attack("report", room.store)
    assert done.code == 2
    assert "link" in done.err
    assert room.attack("query", room.store, "SELECT count(*) FROM runs").code == 2
    assert room.call("merge", room.store, "-o", room.folder / "both").code == 2
    assert not list((room.folder / "both").rglob("*.parquet"))


@pytest.mark.parametrize("where", ["runs", "calls", "digests", ".counts", ".lock"])
def test_nothing_is_written_or_removed_through_a_link(where, room):
    room.refresh()
    other = room.folder / "other"
    other.mkdir()
    (other / f"{'a' * 16}.parquet").write_text("mine")
    linked = room.store / where
    if linked.is_dir():
        shutil.rmtree(linked)
    linked.symlink_to(other / f"{'a' * 16}.parquet" if where == ".lock" else other)
    before = content(other)
    store = Store(room.store)
    for act in (
        lambda: results().save(room.store), store.begin, store.tidy, store.clear,
        lambda: store.drop(["a" * 16]), lambda: store.put("b" * 16, {"calls": b"", RUNS: b""}),
        lambda: store.describe({}), lambda: store.remember("a" * 16, "b" * 16, b"x"),
        lambda: store.locked().__enter__(),
    ):  # fmt: skip
        with suppress(CompactlabError):
            act()
        assert content(other) == before


def test_a_file_that_is_begun_is_not_written_through_a_link(room):
    (room.folder / "mine").write_text("mine")
    (room.folder / ".store").mkdir()
    room.refresh()
    (room.folder / "mine").write_text("mine")
    (room.store / ".manifest.json.tmp").symlink_to(room.folder / "mine")
    results().save(room.store)
    assert (room.folder / "mine").read_text() == "mine"


def test_a_pipe_is_not_waited_for(room):
    room.refresh()
    (room.store / "manifest.json").unlink()
    os.mkfifo(room.store / "manifest.json")
    assert refusal(InputError, lambda: Store(room.store).manifest()) == snapshot(
        "room/store: no store of results (manifest.json: it is not a file)"
    )


NAMES = st.one_of(
    st.sampled_from(["cost_usd=5", "seed=7", "strategy=x", "run=1", "shard=2", "row=0",
                     "rows_calls=9", "a*", "a?", "**", "[a]", "a[b", "{a,b}", "it's", '"q"', " ",
                     "-", "~", "a\\b",
                     "größe 名", "%20", "s3:", "http:", "a\nb", ";", "$HOME", "a|b"]),
    st.text(
        st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20
    ).filter(lambda name: name not in (".", "..")),
)  # fmt: skip


@drawn
@given(names=st.lists(NAMES, min_size=1, max_size=3), column=st.sampled_from(list(HEAD)))
def test_no_name_of_a_folder_changes_a_figure(names, column, whole, tmp_path_factory):
    """Nor does a folder beside it whose name it would match, were it a pattern."""
    root = tmp_path_factory.mktemp("names")
    folder = root.joinpath(*names)
    shutil.copytree(whole, folder)
    beside = root / "ab" / Path(*names[1:]) if len(names) > 1 else root / "ab"
    if not beside.exists():
        shutil.copytree(whole, beside)
    found, wanted = Results.load(folder), Results.load(whole)
    assert found.runs == wanted.runs
    assert found.calls().equals(wanted.calls())
    sql = f"SELECT count(*), sum(cost_usd), min({column}::VARCHAR) FROM runs"
    assert found.query(sql).values.tolist() == wanted.query(sql).values.tolist()
    assert set(found.query("SELECT * FROM runs")) == set(wanted.query("SELECT * FROM runs"))
    shutil.rmtree(root)


def test_files_of_other_names_are_no_shards(room):
    store = Store(room.refresh())
    for name in ("mine", "A" * 16, "0" * 15, "0" * 17, "x'; --", f"{'0' * 16}\n"):
        shutil.copy(store.path(RUNS, SAVED), store.folder / RUNS / f"{name}.parquet")
    assert store.shards() == [SAVED]
    assert len(Results.load(room.store).runs) == 4


# ------------------------------------------------------------------- folders that are no store

OWN = ["runs/a.parquet", f"runs/{'0' * 16}.parquet", f"runs/{SAVED}.parquet", "calls/x.parquet",
       "views/y/z.parquet", "messages/mail.parquet", ".counts/a", "notes.txt",
       "report.html", "manifest.json"]  # fmt: skip


@given(files=st.lists(st.sampled_from(OWN), min_size=1, unique=True))
@drawn
def test_a_folder_of_others_is_refused_and_stays_as_it_is(files, room):
    """By saving, by joining and by running, from Python and from the command line."""
    from compactlab import api

    store = room.refresh()
    mine = room.folder / "mine"
    for name in files:
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_text('{"name": "somebody else\'s"}')
    before = content(mine)
    run = ("run", "--conversations", "coding_agent(turns=2, tokens=2000)", "--jobs", 1)
    with pytest.raises(UsageError):
        results().save(mine)
    with pytest.raises(CompactlabError):
        api.run("coding_agent(turns=2, tokens=2000)", "keep_all", metrics=["cost_usd"], out=mine)
    for command in (
        ("merge", store, "-o", mine),
        (*run, "--strategies", "keep_all", "--metrics", "cost_usd", "--out", mine),
        (*run, "--strategies", "keep_all", "--metrics", "cost_usd", "--out", mine, "--retry"),
        (*run, "--strategies", "keep_all", "--out", mine, "--dry-run"),
    ):
        assert room.attack(*command).code == 2
    for act in (Store(mine).tidy, Store(mine).clear):
        with suppress(CompactlabError):
            act()
    assert content(mine) == before


def test_a_store_that_vanishes_in_the_middle_stops_the_run(room, monkeypatch):
    out = room.folder / "out"
    put = Store.put

    def vanishing(self: Store, shard: str, parcel: Any) -> None:
        assert self.exists  # the manifest comes before the first shard
        shutil.rmtree(self.folder)
        put(self, shard, parcel)

    monkeypatch.setattr(Store, "put", vanishing)
    done = room.call("run", "--conversations", "coding_agent(turns=2, tokens=2000)", "--jobs", 1,
                     "--strategies", "keep_all", "--metrics", "cost_usd", "--out", out)  # fmt: skip
    assert (done.code, out.exists()) == (2, False)
    assert lines_with(done.err, "is gone:") == snapshot(
        "compactlab: 'room/out' is gone: somebody has removed or moved it"
    )


def test_a_manifest_of_something_else_is_not_written_over(tmp_path):
    """Others call their files manifest.json, too, and number what is in them."""
    theirs = '{"store": 7, "products": ["a shop"]}'
    (tmp_path / "manifest.json").write_text(theirs)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / f"{SAVED}.parquet").write_text("theirs")
    assert refusal(UsageError, lambda: Results([]).save(tmp_path)) == snapshot("""\
'' is neither a store of results nor empty ('manifest.json' is there): name another
folder, or move away what is in it\
""")
    assert (tmp_path / "manifest.json").read_text() == theirs
    assert (tmp_path / "runs" / f"{SAVED}.parquet").read_text() == "theirs"
