"""A call that was made in fast mode is billed at its price, wherever a bill is made."""

import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab import api
from compactlab.scenarios.readers.transcript import read
from tests.lines import lines_with
from tests.recordings import claude_code

CALLS = ((0, 0, 30_000, True), (20, 30_000, 600, False), (40, 30_600, 300, False))
OPUS = "claude-opus-5"
# Dollars of a token that is written for 5 minutes, read, and answered, at standard speed.
WRITTEN, READ, ANSWERED = 6.25e-6, 0.5e-6, 25e-6


def session(path: Path, *speeds: str | None, model: str = OPUS) -> Path:
    """A session of three calls, which say at which speed they were made."""
    lines = [json.loads(line) for line in claude_code(path, CALLS, model).read_text().splitlines()]
    answers = [line for line in lines if line["type"] == "assistant"]
    for line, speed in zip(answers, speeds, strict=True):
        line["message"]["usage"]["speed"] = speed
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def dollars(*factors: float) -> float:
    """What the session costs, input and output, each call by its own factor."""
    costs = [read * READ + written * WRITTEN + 20 * ANSWERED for _, read, written, _ in CALLS]
    return sum(factor * cost for factor, cost in zip(factors, costs, strict=True))


@pytest.mark.parametrize(
    ("speeds", "factors"),
    [
        (("standard", None, "standard"), (1, 1, 1)),
        (("fast", "fast", "fast"), (2, 2, 2)),
        (("standard", "fast", "standard"), (1, 2, 1)),
    ],
)
def test_inspect_bills_each_call_at_its_speed(compactlab, tmp_path, speeds, factors):
    (figures,) = json.loads(
        compactlab("inspect", "--format", "json", session(tmp_path / "s", *speeds)).out
    )
    assert figures["spent"]["total_usd"] == pytest.approx(dollars(*factors))
    assert figures["spent"]["unpriced_calls"] == 0


def test_the_models_that_no_longer_have_it_are_billed_as_they_were(compactlab, tmp_path):
    path = session(tmp_path / "s", *["fast"] * 3, model="claude-opus-4-6")
    (figures,) = json.loads(compactlab("inspect", "--format", "json", path).out)
    assert figures["spent"]["total_usd"] == pytest.approx(dollars(6, 6, 6))


def test_a_speed_without_a_price_is_told_and_not_guessed(compactlab, tmp_path):
    path = session(tmp_path / "s", "standard", "turbo", "standard")
    out = compactlab("inspect", path).out
    assert "models             claude-opus-5 2, claude-opus-5+turbo 1" in out
    assert lines_with(out, "1 call") == snapshot(
        "cost               at least $0.21 (1 call without a price)"
    )
    told = json.loads(compactlab("audit", "--format", "json", path).out)
    assert told["calls_not_explained"] == {"claude-opus-5+turbo": 1}
    run = ("run", "--conversations", path, "--strategies", "keep_all", "-o", tmp_path / "out")
    done = compactlab(*run)
    assert done.code != 0
    assert "unknown multiplier of claude-opus-5 'turbo'" in done.said


def test_audit_bills_each_call_and_knows_that_speeds_share_no_cache(compactlab, tmp_path):
    path = session(tmp_path / "s", "standard", "fast", "fast")
    (told,) = json.loads(compactlab("audit", "--format", "json", path).out)["sessions"]
    inputs = [read * READ + written * WRITTEN for _, read, written, _ in CALLS]
    first, switched, last = told["calls"]
    billed = [call["input_cost_usd"]["recorded"] for call in told["calls"]]
    assert billed == pytest.approx([inputs[0], 2 * inputs[1], 2 * inputs[2]])
    assert (first["model"], switched["model"]) == (OPUS, f"{OPUS}+fast")
    assert switched["read_tokens"]["expected"] == 0
    assert switched["causes"]["expected"].keys() == {"model_switch", "append"}
    assert last["read_tokens"]["expected"] > 0


def test_a_replay_bills_each_call_and_reads_nothing_across_speeds(tmp_path):
    fast, plain = (
        next(read(session(tmp_path / name, *speeds)))
        for name, speeds in [("a", ["fast"] * 3), ("b", ["standard"] * 3)]
    )
    costs = [api.run([each], ["keep_all"]).runs[0].metrics["cost_usd"] for each in (fast, plain)]
    assert costs[0] == pytest.approx(2 * costs[1])
    (mixed,) = read(session(tmp_path / "c", "standard", "fast", "fast"))
    steps = list(api.replay(mixed, "keep_all"))
    assert [step.usage.cache_read > 0 for step in steps] == [False, False, True]
    assert steps[1].causes.keys() == {"model_switch", "append"}
