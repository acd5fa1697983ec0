"""The file of a baseline: made for a review, read with suspicion."""

import json
import math

import pytest
from inline_snapshot import snapshot
from inline_snapshot.extra import raises

from compactlab.reports.gate.baseline import (
    GATED,
    Baseline,
    fit_to_keep,
    parsed,
    read,
    written,
)
from compactlab.reports.gate.gate import gate
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.store.results import Results
from tests.lines import refusal


def test_a_file_holds_a_line_a_run_in_an_order_of_its_own(two):
    results = two()
    text = written(Baseline.of(results))
    turned = Results(results.runs[::-1], results.manifest)
    assert written(Baseline.of(turned)) == text
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    runs = [json.loads(line) for line in lines if '"figures"' in line]
    assert [(run["strategy"], run["conversation"]) for run in runs] == [
        (strategy, name)
        for strategy in ("keep_all", "sliding_window(keep=20)")
        for name in ("a", "b", "c")
    ]
    first = runs[0]
    assert list(first) == sorted(first)
    assert list(first["figures"]) == sorted(first["figures"])
    assert first["needs"] == {"decision": [10, 9], "prohibition": [5, 5]}
    assert first["figures"]["calls"] == 4
    assert json.loads(text)["provenance"] == {
        "churn": "",
        "compactlab": "0.1.0",
        "engine": "",
        "loop": "",
        "own_models": "",
        "prices": "genai-prices 0.2.3",
        "seeds": [0],
        "summarizers": ["lexrank(units=1000)"],
        "tokenizer": "tiktoken 0.14.0",
        "window": 2000,
    }


def test_a_change_of_one_figure_is_a_diff_of_one_line(two, changed):
    before = written(Baseline.of(two())).splitlines()
    after = written(Baseline.of(changed(two(), conversation="b", cost_usd=0.5))).splitlines()
    assert len(before) == len(after)
    [(old, new)] = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    assert old.replace(old.split('"cost_usd": ')[1].split(",")[0], "0.5", 1) == new


def test_what_is_read_is_what_was_written(two, changed, fail):
    results = changed(two("ab", 2), cost_usd=0.1 + 0.2, break_even_calls=math.inf)
    results.runs.append(fail("turn_slice(turns=1)", "a"))
    kept = Baseline.of(results, (*GATED, "break_even_calls", "prefix_reuse"))
    text = written(kept)
    again = parsed(text.encode())
    assert (written(again), again) == (text, kept)
    assert '"cost_usd": 0.30000000000000004' in text
    assert '"break_even_calls": "inf"' in text
    assert gate(results, again).code == 0


def test_names_from_outside_are_seen_in_a_diff_as_what_they_are(two):
    hostile = 'a\u202eb\x1b[31m"\n::error::\u200b'
    results = two("a")
    for run in results.runs:
        run.conversation = hostile
    text = written(Baseline.of(results))
    assert text.isascii()
    assert all(char.isprintable() or char == "\n" for char in text)
    assert [name for _, name in parsed(text.encode()).digests] == [hostile]


def test_of_several_summarisers_each_run_names_its_own(two):
    one, other = two("a"), two("a")
    for run in other.runs:
        run.summarizer, run.condition = "lead(tokens=1)", "2"
    both = Results([*one.runs, *other.runs], one.manifest)
    kept = Baseline.of(both)
    assert len(kept.records) == 4
    assert parsed(written(kept).encode()) == kept
    assert gate(both, kept).code == 0
    assert gate(one, kept).code == 2


def damaged(text: str) -> dict[str, str]:
    data = json.loads(text)

    def with_(**parts: object) -> str:
        return json.dumps({**data, **parts})

    run = data["runs"][0]
    return {
        "empty": "",
        "no JSON": "{",
        "a list": "[]",
        "half of it": text[: len(text) // 2],
        "another version": with_(baseline=2),
        "no version": json.dumps({k: v for k, v in data.items() if k != "baseline"}),
        "a version that is no number": with_(baseline=True),
        "an unknown key": with_(extra=1),
        "no runs": json.dumps({k: v for k, v in data.items() if k != "runs"}),
        "a figure that is none": with_(runs=[{**run, "figures": {"cost_usd": "much"}}]),
        "needs that are none": with_(runs=[{**run, "needs": {"decision": [1]}}]),
        "the same run twice": with_(runs=[run, run]),
        "a strategy that is not named": with_(strategies={}),
        "a conversation that is not named": with_(conversations=[]),
        "a conversation without a digest": with_(
            conversations=[{**each, "digest": ""} for each in data.get("conversations", [])]
        ),
        "the same conversation twice": with_(
            conversations=[*data.get("conversations", []), *data.get("conversations", [])]
        ),
        "a figure of no metric": with_(runs=[{**run, "figures": {"cost_us": 1.0}}]),
        "more needs met than there are": with_(runs=[{**run, "needs": {"decision": [1, 2]}}]),
        "fewer needs than none": with_(runs=[{**run, "needs": {"decision": [-1, -1]}}]),
        "needs that nobody looks at": with_(needs_by_type=False),
        "figures of what failed": with_(runs=[{**run, "failed": "no"}]),
        "both sides of a conflict": text.replace('"baseline"', '"baseline": 2, "baseline"', 1),
        "a figure that is no number": text.replace('"calls": 4', '"calls": NaN', 1),
        "a deep nest": "[" * 100_000,
    }


@pytest.mark.parametrize("kind", sorted(damaged(json.dumps({"runs": [{}]}))))
def test_a_damaged_file_is_no_baseline(kind, two, tmp_path):
    file = tmp_path / "baseline.json"
    file.write_text(damaged(written(Baseline.of(two())))[kind])
    with pytest.raises(InputError, match="no baseline: "):
        read(file)


def test_a_file_with_the_line_ends_of_another_machine_is_the_same_baseline(two):
    kept = Baseline.of(two())
    assert parsed(written(kept).replace("\n", "\r\n").encode()) == kept


def test_a_file_that_is_not_there_or_no_text_is_no_baseline(tmp_path):
    assert refusal(InputError, lambda: read(tmp_path / "nowhere.json")) == snapshot(
        "nowhere.json: no baseline: there is no such file"
    )
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="no baseline: "):
        read(tmp_path / "bytes")
    with pytest.raises(InputError, match="no baseline: "):
        read(tmp_path)


def test_results_that_are_not_whole_are_not_kept(two, fail, store):
    whole = two()
    fit_to_keep(whole, ["cost_usd"], allow_failed=False)
    failing = Results([*whole.runs, fail("turn_slice()")], whole.manifest)
    said = refusal(UsageError, lambda: fit_to_keep(failing, [], allow_failed=False))
    assert said == snapshot("""\
no baseline was written: 1 run failed: one (turn_slice()); --allow-failed records them as
failed\
""")
    fit_to_keep(failing, [], allow_failed=True)
    unfinished = two()
    unfinished.__dict__["missing"] = 3
    said = refusal(UsageError, lambda: fit_to_keep(unfinished, [], allow_failed=True))
    assert said == snapshot("""\
no baseline was written: 3 cells of the experiment are not in the store yet; finish the
run first\
""")
    whole.manifest["metrics"] = ["calls"]
    with raises("UsageError: no baseline was written: the store has no figures of cost_usd"):
        fit_to_keep(whole, ["cost_usd"], allow_failed=False)
    with raises("UsageError: no baseline was written: the store holds no runs"):
        fit_to_keep(store(), [], allow_failed=True)


def test_of_two_runs_over_the_same_the_one_that_went_well_counts(two, fail):
    results = two("a")
    well = Baseline.of(results)
    lost = [fail(run.strategy, "a") for run in results.runs]
    for runs in ([*lost, *results.runs], [*results.runs, *lost]):
        assert Baseline.of(Results(runs, results.manifest)).records == well.records


def test_strategies_of_one_short_name_go_by_their_full_ones(two):
    results = two("a")
    results.manifest["strategies"] = dict.fromkeys(results.manifest["strategies"], "same")
    kept = Baseline.of(results)
    assert [subject.label for subject in kept.records] == ["keep_all()", "sliding_window(keep=20)"]
    assert parsed(written(kept).encode()) == kept


def test_a_share_is_kept_with_what_it_is_put_together_from(two):
    assert (
        Baseline.of(two(), ["over_window"]).metrics
        == Baseline.of(two(), ["calls", "overflows", "over_window"]).metrics
    )


def test_a_count_is_whole_whoever_has_measured_it(two, changed):
    counts, floats = (written(Baseline.of(changed(two(), calls=n))) for n in (4, 4.0))
    assert counts == floats
