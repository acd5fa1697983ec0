"""An experiment: what goes wrong costs its own row, and everything has a name of its own."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.catalogue import sources
from compactlab.scenarios.readers import native
from compactlab.sim.core.errors import InputError
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.shard import DEFAULT_MODEL
from compactlab.sim.experiment.sources import Source
from compactlab.sim.experiment.sweep import Done, Experiment
from compactlab.sim.models.model import Catalogue
from compactlab.sim.store.tables import CALLS
from compactlab.strategies.controls import KeepAll, KeepNone


def held(*scripts: Any) -> tuple[Source, ...]:
    """Sources that are no code of others, which would be called in a process of its own."""
    return tuple(Source(script.id, partial(list, [script])) for script in scripts)


def small(kit: Any, id: str = "story", **more: Any) -> Any:
    return kit.Story().user("one").answer("two").script(id=id, **more)


def raising(error: Exception) -> Any:
    def do(view: Any, host: Any) -> Any:
        raise error

    return do


def outcomes(results: Any) -> list[tuple[str, str, str]]:
    return [(run.conversation, run.strategy, run.status) for run in results.runs]


def test_every_strategy_meets_every_conversation(kit):
    results = Experiment(held(small(kit, "a"), small(kit, "b")), (KeepAll(), KeepNone())).run()
    assert outcomes(results) == [
        ("a", "keep_all()", "ok"),
        ("a", "keep_none()", "ok"),
        ("b", "keep_all()", "ok"),
        ("b", "keep_none()", "ok"),
    ]
    assert all(len(run.calls) == run.metrics["calls"] == 1 for run in results.runs)


def test_one_that_raises_fails_its_own_row(kit):
    broken = kit.act(raising(ZeroDivisionError("oh no")), name="Broken")
    results = Experiment(held(small(kit, "a"), small(kit, "b")), (broken, KeepAll())).run()
    assert [status for *_, status in outcomes(results)] == ["failed", "ok", "failed", "ok"]
    error = results.runs[0].error
    assert re.fullmatch(r"ZeroDivisionError: oh no \(.*test_sweep\.py:\d+ in do\)", error)
    assert "/" not in error
    assert results.runs[0].metrics == {}
    assert len(results.runs[0].calls) == 0


@pytest.mark.parametrize("returned", [None, [], "view"])
def test_one_that_breaks_the_contract_fails_its_own_row(returned, kit):
    wrong = kit.act(lambda view, host: returned, name="Wrong")
    results = Experiment(held(small(kit)), (wrong, KeepAll())).run()
    assert [status for *_, status in outcomes(results)] == ["failed", "ok"]
    assert results.runs[0].error == f"wrong() returned {type(returned).__name__}, not a View"


def test_one_that_recurses_for_ever_fails_its_own_row(kit):
    def deep(view: Any, host: Any) -> Any:
        return deep(view, host)

    results = Experiment(held(small(kit)), (kit.act(deep), KeepAll())).run()
    assert [status for *_, status in outcomes(results)] == ["failed", "ok"]


def test_a_message_of_any_characters_can_be_stored(kit, tmp_path):
    broken = kit.act(raising(ValueError("half a character: \ud83d")))
    Experiment(held(small(kit)), (broken, KeepAll())).run().save(tmp_path)


def unreadable() -> Any:
    yield from ()
    raise InputError("not JSON", "broken.jsonl", 3)


def test_a_source_that_cannot_be_read_costs_its_own_row(kit):
    good = held(small(kit, "a"), small(kit, "c"))
    results = Experiment((good[0], Source("b", unreadable), good[1]), (KeepAll(),)).run()
    assert outcomes(results) == [
        ("a", "keep_all()", "ok"),
        ("b", "", "unreadable"),
        ("c", "keep_all()", "ok"),
    ]
    assert results.runs[1].error == "broken.jsonl:3: not JSON"
    assert [run.conversation for run in results.failed] == ["b"]


def test_what_could_be_read_before_the_error_is_kept(kit):
    def half() -> Any:
        yield small(kit, "first")
        yield from unreadable()

    results = Experiment((Source("file", half),), (KeepAll(),)).run()
    assert outcomes(results) == [("first", "keep_all()", "ok"), ("file", "", "unreadable")]


def test_a_source_that_breaks_otherwise_costs_its_own_row(kit):
    def broken() -> Any:
        raise KeyError("a fault of the reader")

    results = Experiment((Source("b", broken), *held(small(kit))), (KeepAll(),)).run()
    assert [status for *_, status in outcomes(results)] == ["unreadable", "ok"]


def test_a_model_without_policy_fails_with_advice(kit):
    row = {"window": 10_000, "cache": "", "prices": {"input": 1, "output": 2}}
    models = ("gpt-55", "gpt-55@none", "gpt-99")
    known = Catalogue.of({"models": {"gpt-55": row}})
    results = Experiment(held(small(kit)), (KeepAll(),), models, Setting(catalogue=known)).run()
    assert [run.status for run in results.runs] == ["failed", "ok", "failed"]
    assert "gpt-55@none" in results.runs[0].error
    assert DEFAULT_MODEL in results.runs[0].error
    assert "did you mean" in results.runs[2].error


def test_what_is_beyond_all_measure_fails_its_row_and_not_the_store(kit):
    row = {"window": 10_000, "cache": "none", "prices": {"input": 1e300, "output": 1}}
    known = Catalogue.of({"models": {"gpt-55": row}})
    setting = Setting(catalogue=known)
    results = Experiment(held(small(kit)), (KeepAll(),), ("gpt-55",), setting).run()
    assert [run.status for run in results.runs] == ["failed"]
    assert "cost_usd" in results.runs[0].error


def test_each_kind_has_its_own_model(kit):
    recorded = (
        kit.Story()
        .user("hi")
        .answer("ho", model="claude-opus-4-5-20251101")
        .script(id="r", seed=-1)
    )
    results = Experiment(held(small(kit), recorded), (KeepAll(),)).run()
    assert [run.model for run in results.runs] == [DEFAULT_MODEL, "recorded"]
    assert [run.calls["model"][0] for run in results.runs] == [DEFAULT_MODEL, "claude-opus-4-5"]


def test_progress_is_told_of_every_shard(kit):
    told: list[Done] = []
    Experiment(held(small(kit, "a"), small(kit, "b")), (KeepAll(),)).run(progress=told.append)
    assert told == [Done(cells=2, calls=2, failed=0, name="b", work=8)]


def test_the_manifest_says_where_results_come_from(kit):
    results = Experiment(
        held(small(kit)), (KeepAll(),), ("gpt-5@none",), Setting(window=900), skipped=2
    ).run()
    manifest = results.manifest
    assert manifest["strategies"] == {"keep_all()": "keep_all"}
    assert (manifest["models"], manifest["window"], manifest["skipped_files"]) == (
        ["gpt-5@none"],
        900,
        2,
    )
    assert manifest["prices"].startswith("genai-prices ")
    assert (manifest["sources"], manifest["seeds"]) == (["story"], [0])


def test_a_row_of_a_call_is_the_bill_of_its_step(kit):
    (run,) = Experiment(held(small(kit)), (KeepAll(),), (kit.model,)).run().runs
    row = {name: run.calls[name][0] for name in CALLS.columns}
    (step,) = kit.replayed(small(kit), kit.keep).steps
    assert (row["call"], row["model"], row["time"]) == (1, kit.model, step.time)
    assert (row["uncached"], row["output"]) == (step.usage.uncached, step.usage.output)
    causes = {name: row[name] for name in row if name.startswith("cache_miss_") and row[name]}
    assert causes == {"cache_miss_cold_start": 1}
    assert row["cost_usd"] == pytest.approx(1 * 1.25e-6 + 1 * 10e-6)


def written(path: Path, script: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    native.write(script, path)
    return path


CHAT = '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]'


def chat(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CHAT)
    return path


def ids(*paths: Path) -> list[str]:
    found, _ = sources(paths)
    return [
        run.conversation
        for run in Experiment(tuple(found), (KeepAll(),), (DEFAULT_MODEL,)).run().runs
    ]


def test_files_are_named_by_their_stems(tmp_path):
    assert ids(chat(tmp_path / "a.json"), chat(tmp_path / "b.json")) == ["a", "b"]


def test_files_of_equal_stem_are_told_apart_by_their_folders(tmp_path):
    paths = [chat(tmp_path / folder / "log.json") for folder in ("one/x", "two/x", "two/y")]
    assert ids(*paths) == ["one/x/log", "two/x/log", "two/y/log"]


def test_files_of_equal_stem_in_one_folder_are_told_apart(tmp_path):
    named = ids(chat(tmp_path / "log.json"), chat(tmp_path / "log.txt"))
    assert len(set(named)) == 2


def test_no_name_tells_where_the_files_lie_on_this_machine(tmp_path):
    named = ids(chat(tmp_path / "log.json"), chat(tmp_path / "log.txt"))
    assert not [name for name in named if str(tmp_path.parent) in name]


def test_native_files_that_carry_the_same_id_are_told_apart(tmp_path, kit):
    one, two = small(kit, "story"), kit.Story().user("three").answer("four").script(id="story")
    named = ids(written(tmp_path / "a.jsonl", one), written(tmp_path / "b.jsonl", two))
    assert len(set(named)) == 2


def test_seeds_are_replays_of_the_same_recording(tmp_path):
    found, _ = sources([chat(tmp_path / "a.json")], seeds=3)
    assert [(source.name, source.seed) for source in found] == [("a", 0), ("a", 1), ("a", 2)]
