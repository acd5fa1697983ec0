"""Probes that Inspect asks: what goes there, and what comes back."""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inline_snapshot import snapshot

from compactlab.llm.recorded import Request, Turn
from compactlab.reports.probe.actions import action_of
from compactlab.reports.probe.evaluator import Samples, Scored, with_scores
from compactlab.reports.probe.reader import PromptDraws
from compactlab.reports.render.document import Document
from compactlab.reports.render.write import WRITERS
from tests.cli.conftest import files
from tests.lines import lines_with
from tests.reports.probe.conftest import Probe, session
from tests.reports.probe.reading import Answering, finds, reading, repeats

JSON = ("--format", "json")


_EXPORTED: dict[tuple[object, ...], str] = {}


def exported(probe: Probe, *more: object) -> list[dict[str, Any]]:
    """The samples, exported once."""
    if more not in _EXPORTED:
        assert probe("--export", "samples.jsonl", *more).code == 0
        _EXPORTED[more] = Path("samples.jsonl").read_text()
    return [json.loads(line) for line in _EXPORTED[more].splitlines()]


def evaluated(
    samples: list[dict[str, Any]],
    answer: Answering,
    epochs: int = 1,
    model: str = "openai/gpt-5-mini",
) -> dict[str, Any]:
    """A log as Inspect writes it, less what is not read; one scorer of words, one of numbers."""

    def one(sample: dict[str, Any], epoch: int) -> dict[str, Any]:
        text = answer({"messages": sample["input"]})
        chosen = action_of(text)
        right = any(t in text or (chosen and chosen == action_of(t)) for t in sample["target"])
        return {
            "id": sample["id"],
            "epoch": epoch,
            "input": sample["input"],
            "target": sample["target"],
            "output": {
                "model": "gpt-5-mini-2025-08-07",
                "choices": [{"message": {"content": text}, "stop_reason": "stop"}],
                "completion": text,
                "usage": {"input_tokens": 90, "output_tokens": 9, "input_tokens_cache_read": 10},
            },
            "scores": {
                "includes": {"value": "C" if right else "I", "answer": text},
                "graded": {"value": {"length": len(text), "note": "long", "huge": 10**400}},
            },
        }

    every = [one(sample, epoch + 1) for epoch in range(epochs) for sample in samples]
    return {"version": 2, "status": "success", "eval": {"model": model}, "samples": every}


def log(value: object) -> tuple[str, str]:
    Path("log.json").write_text(json.dumps(value))
    return "--log", "log.json"


def cells(shown: str, scorer: str, strategy: str = "keep_all") -> list[str]:
    """What the table of scores says of a strategy."""
    lines = map(str.split, shown.splitlines())
    (row,) = [line for line in lines if line[:2] == [scorer, strategy]]
    return row[2:]


def test_each_request_is_one_sample_whichever_strategies_lead_to_it(probe):
    samples = exported(probe)
    # Three questions: full, without and restated for keep_all; under the window, and restated.
    assert len({sample["id"] for sample in samples}) == len(samples) <= 3 * 5
    first = samples[0]
    assert first["input"][-1]["role"] == "user"
    assert first["input"][-1]["content"].rpartition("\nQuestion: ")[1]
    about = first["metadata"]
    assert {"strategy": "keep_all", "condition": "full"} in about["asked_as"]
    assert {"strategy": "keep_all", "condition": "compacted"} in about["asked_as"]
    fact = next(fact for fact in session().facts if fact.id == about["fact"])
    assert fact.value in first["target"]
    assert (about["conversation"], about["max_tokens"]) == (session().id, 128)
    assert not Path("answers").exists()


def test_answers_of_an_evaluator_give_the_report_that_asking_gives(probe):
    """The keys of requests are the ids of samples, so either way leads to the same recording."""
    answer = finds(session())
    with reading(answer) as server:
        asked = probe("--base-url", f"{server.url}/v1", "--ask", "record", *JSON)
    given = log(evaluated(exported(probe), answer))
    taken = probe("--answers", "others", *given, *JSON)
    assert taken.code == 0, taken.said
    ours = json.loads(taken.out)
    scored = ours.pop("scored")
    assert ours == json.loads(asked.out)
    # And it is recorded: the log is needed no more.
    before = files(Path("others"))
    assert probe("--answers", "others", *JSON).out == asked.out
    assert files(Path("others")) == before
    values = {
        (each["strategy"], each["condition"], each["value"])
        for each in scored
        if each["scorer"] == "includes"
    }
    assert ("keep_all", "compacted", 1) in values
    assert ("keep_all", "without", 0) in values
    assert ("sliding_window(keep=4)", "compacted", 0) in values
    # A score of several parts is several scorers; what is no number is left out.
    assert {each["scorer"] for each in scored} == {"includes", "graded/length"}


def test_epochs_are_draws(probe):
    given = log(evaluated(exported(probe), finds(session()), epochs=2))
    done = probe("--draws", 2, *given, "--format", "csv")
    assert done.code == 0, done.said
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert {row["draw"] for row in rows} == {"0", "1"}
    # The column by which a frame of an evaluator's samples is joined.
    ids = {each["id"] for each in json.loads(Path("log.json").read_text())["samples"]}
    assert {row["sample"] for row in rows} == ids


def test_next_actions_go_there_and_back_too(probe):
    action = ("--what", "next-action")
    samples = exported(probe, *action)
    assert all(
        json.loads(target).keys() == {"tool", "arguments"} for target in samples[0]["target"]
    )
    done = probe(*action, *log(evaluated(samples, repeats(session()))))
    assert done.code == 0, done.said
    assert lines_with(done.out, "Scored by") == snapshot("Scored by the evaluator")
    assert cells(done.out, "includes") == ["1", "1"]


def test_what_was_paid_for_is_known_from_the_log(probe):
    probe(*log(evaluated(exported(probe), finds(session()))))
    lines = Path("answers/gpt-5-mini.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    assert (first["prompt"], first["output"], first["ended"]) == (100, 9, "stop")
    assert first["served"] == "gpt-5-mini-2025-08-07"
    assert first["usd"] > 0


def test_secrets_go_to_no_evaluator():
    mail = "Write to ann@example.org."
    asked = PromptDraws((Request("m", (Turn("user", mail),), 9, system=mail),))
    samples = Samples()
    samples.add([Writing("ann@example.org", "pi", {"full": asked}, (mail,), {"call": "m1"})])
    assert b"[redacted" in samples.lines
    assert b"ann@" not in samples.lines


@dataclass(frozen=True)
class Writing:
    """A probe in whose every text is an address."""

    conversation: str
    strategy: str
    asked: dict[str, PromptDraws]
    target: tuple[str, ...]
    about: dict[str, str]


def test_a_log_that_does_not_fit_changes_nothing_and_says_why(probe):
    samples = exported(probe)
    good = evaluated(samples, finds(session()))
    failed = {**good["samples"][0], "error": {"message": "no quota", "traceback": ""}}
    cases: list[tuple[object, str]] = [
        ([], "is not a log of Inspect in JSON"),
        ({"eval": {"model": "x"}, "samples": [{"id": "a"}]}, "missing required field `epoch`"),
        (
            evaluated(samples, finds(session()), model="openai/gpt-5"),
            "answers of openai/gpt-5, not",
        ),
        ({**good, "samples": [failed]}, "epoch 1, failed: no quota"),
        ({**good, "samples": None}, "must be those of --export"),
    ]
    for value, message in cases:
        done = probe(*log(value))
        assert (done.code, message in done.said) == (2, True), done.said
        assert "log.json" in done.said
    assert not Path("answers").exists()
    assert probe("--log", "none.json").code == 2


def test_what_could_not_be_read_again_is_not_recorded(probe):
    good = evaluated(exported(probe), finds(session()))
    for counts in (
        {"input_tokens": -5},
        {"output_tokens": -5},
        {"input_tokens": 10**18},
        {"output_tokens": 10**30},
        {"input_tokens": 10**12, "input_tokens_cache_read": 10**12},
    ):
        bad = json.loads(json.dumps(good))
        bad["samples"][-1]["output"]["usage"] |= counts
        assert probe(*log(bad)).code == 2, counts
        assert not Path("answers", "gpt-5-mini.jsonl").exists()
    assert probe(*log(good)).code == 0


def test_an_answer_that_is_recorded_is_not_overwritten(probe):
    samples = exported(probe)
    assert probe(*log(evaluated(samples, finds(session())))).code == 0
    before = files(Path("answers"))
    # The same once more is the same answer.
    assert probe(*log(evaluated(samples, finds(session())))).code == 0
    done = probe(*log(evaluated(samples, lambda body: "Something else.")))
    assert (done.code, lines_with(done.err, "sample")) == (
        2,
        snapshot("""\
compactlab: answers/gpt-5-mini.jsonl has another answer to sample
d2e7be94a56500ef013f96ea2476db5c than log.json: take another folder for --answers\
"""),
    )
    assert files(Path("answers")) == before
    # Nor is a part of a log taken that contradicts in another part.
    lines = Path("answers/gpt-5-mini.jsonl").read_text().splitlines(keepends=True)
    Path("answers/gpt-5-mini.jsonl").write_text(lines[-1])
    before = files(Path("answers"))
    assert probe(*log(evaluated(samples, lambda body: "Something else."))).code == 2
    assert files(Path("answers")) == before


def test_to_export_to_read_a_log_and_to_ask_are_different_ways(probe):
    export, dry, ask = ("--export", "samples.jsonl"), ("--dry-run",), ("--ask", "record")
    for one, other in ((export, dry), (export, log({})), (log({}), dry), (log({}), ask)):
        done = probe(*one, *other)
        assert (done.code, "are different ways: choose one" in done.err) == (2, True)
    assert not Path("samples.jsonl").exists()
    assert not Path("answers").exists()


def test_scores_are_numbers_as_inspect_has_them(probe):
    given = evaluated(exported(probe), finds(session()))
    for sample in given["samples"]:
        sample["scores"] = {"part": {"value": "P"}, "share": {"value": 0.25}, "y": {"value": True}}
    done = probe(*log(given))
    numbers = {"part": "0.5", "share": "0.25", "y": "1"}
    assert {name: cells(done.out, name) for name in numbers} == {
        name: [number] * 4 for name, number in numbers.items()
    }


def test_a_conversation_counts_once_however_much_is_asked_of_it():
    scored = [Scored(c, "pi", {}, "full", "mine", v) for c, v in [("a", 1), ("a", 1), ("b", 0)]]
    table = WRITERS["md"](with_scores(Document(()), scored))
    assert lines_with(table, "| `mine`") == snapshot("| `mine` | `pi` | 0.5 |")


def test_a_log_without_scores_still_has_answers(probe):
    given = evaluated(exported(probe), finds(session()))
    for sample in given["samples"]:
        sample["scores"] = None
    done = probe(*log(given))
    assert (done.code, lines_with(done.out, "scorer")) == (
        0,
        snapshot("""\
scorer   strategy
No scorer gave a number to any of it.\
"""),
    )
