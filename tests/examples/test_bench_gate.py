"""The gate of speed: wide on time, exact on counters, and never a pass by default."""

import json
from pathlib import Path
from typing import Any

import bench_gate as gate
import pytest
from inline_snapshot import snapshot

from tests.lines import lines_with

FOLDER = "tests/benchmarks/"
CALIBRATION = "test_calibration.py::test_calibration"
REPLAY = "test_replay.py::test_it[keep_all]"
COUNTED = {"calls": 500, "prompt_tokens": 9_000_000, "cache_miss_tokens": 80_000, "compactions": 0}


def run(calibration: float = 0.010, replay: float = 0.040, **counted: int) -> dict[str, Any]:
    """What pytest-benchmark writes of two benchmarks; times in seconds."""
    return {
        "machine_info": {"node": "somebody's laptop"},
        "commit_info": {"author_time": "yesterday"},
        "benchmarks": [
            each(CALIBRATION, calibration, {"result": 7}),
            each(REPLAY, replay, COUNTED | counted),
            {"fullname": f"{FOLDER}test_x.py::test_y", "stats": {"min": 9.0}, "extra_info": {}},
        ],
    }


def each(name: str, seconds: float, counters: dict[str, int]) -> dict[str, Any]:
    stats = {"min": seconds, "max": 9 * seconds, "median": 2 * seconds}
    return {"fullname": FOLDER + name, "stats": stats, "extra_info": {"counters": counters}}


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Call the gate with a run; what it says and how it ends."""

    def call(what: str, found: Any, stored: str = "stored.json") -> tuple[int, str]:
        (tmp_path / "run.json").write_text(found if isinstance(found, str) else json.dumps(found))
        code = gate.main([what, str(tmp_path / "run.json"), str(tmp_path / stored)])
        said = capsys.readouterr()
        return code, said.out + said.err

    code, _ = call("store", run())
    assert code == 0
    return call


@pytest.mark.parametrize(
    ("found", "ratio"),
    [
        (run(), "1.00"),
        (run(replay=0.1199), "3.00"),
        (run(calibration=0.020, replay=0.2), "2.50"),
        (run(calibration=0.001, replay=0.001), "0.25"),
    ],
    ids=["the same", "just under three times", "a slow machine", "a fast machine"],
)
def test_what_is_as_fast_as_it_was_holds(bench, found, ratio):
    code, said = bench("hold", found)
    assert code == 0, said
    assert f"{ratio}\n" in said
    assert "2 of 2 benchmarks hold" in said


@pytest.mark.parametrize(
    "found",
    [run(replay=0.1201), run(calibration=0.005, replay=0.0601)],
    ids=["just over three times", "as fast as it was, on a machine of twice the speed"],
)
def test_a_planted_slow_down_is_caught(bench, found):
    code, said = bench("hold", found)
    assert code == 1
    line = next(line for line in said.splitlines() if line.startswith(REPLAY))
    assert line.endswith("FAILS: over 3 times as long")
    assert lines_with(said, "1 of") == snapshot("1 of 2 benchmarks hold")


def test_a_planted_change_of_a_counter_is_caught_however_small(bench):
    code, said = bench("hold", run(cache_miss_tokens=80_001))
    assert code == 1
    assert f"{REPLAY} " in said
    assert "FAILS: cache_miss_tokens 80,000 → 80,001\n" in said
    code, said = bench("hold", run(replay=1.0, compactions=1, views=2))
    assert code == 1
    assert lines_with(said, "compactions") == snapshot("""\
test_replay.py::test_it[keep_all]          40.00   1,000.00   25.00  FAILS: over 3 times
as long; compactions 0 → 1; views none → 2\
""")


def test_what_is_only_in_one_of_the_two_is_no_pass(bench):
    lacking = run()
    del lacking["benchmarks"][1]
    code, said = bench("hold", lacking)
    assert (code, lines_with(said, "not run")) == (
        2,
        snapshot("test_replay.py::test_it[keep_all]: stored, and not run"),
    )
    more = run()
    more["benchmarks"].append(each("test_new.py::test_it", 0.1, {}))
    code, said = bench("hold", more)
    assert (code, lines_with(said, "bench-store")) == (
        2,
        snapshot("test_new.py::test_it: not stored, make bench-store"),
    )
    assert said.splitlines()[-1] == snapshot("2 of 2 benchmarks hold, 1 cannot be judged")


@pytest.mark.parametrize(
    "found",
    [
        "",
        "[]",
        "3",
        "{}",
        '{"benchmarks": [1]}',
        json.dumps({"benchmarks": run()["benchmarks"][1:]}),
    ],
    ids=["nothing", "list", "number", "empty", "of something else", "without a calibration"],
)
def test_what_is_no_run_cannot_be_judged(bench, found):
    code, said = bench("hold", found)
    assert (code, said.startswith("bench: run.json ")) == (2, True), said


def test_without_a_stored_run_nothing_can_be_judged(bench):
    code, said = bench("hold", run(), "gone.json")
    assert code == 2
    assert "gone.json cannot be read" in said


def test_the_stored_run_says_nothing_of_who_made_it(bench, tmp_path):
    text = (tmp_path / "stored.json").read_text("utf-8")
    assert json.loads(text) == {
        CALIBRATION: {"ms": 10.0, "counters": {"result": 7}},
        REPLAY: {"ms": 40.0, "counters": COUNTED},
    }
    assert len(text.splitlines()) == 4


def test_the_one_in_the_repository_is_whole(root):
    found = gate.of_store(gate.STORED)
    names = {name.partition("::")[0] for name in found}
    files = (root / "tests" / "benchmarks").glob("test_*.py")
    # Of those that state no counters nothing is stored: they have bounds of their own.
    assert names == {file.name for file in files if "counters" in file.read_text("utf-8")}
    replays = [each.counters for name, each in found.items() if "keep_all" in name]
    assert replays
    assert all(each["calls"] and each["prompt_tokens"] for each in replays)
    assert gate.STORED.stat().st_size < 50_000
