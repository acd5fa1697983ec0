"""The Complexity Trap: planted rows give back what they were made of, recorded ones are met."""

import csv
from collections.abc import Callable
from math import ceil
from pathlib import Path

import pytest
import validate_complexity_trap as trap
from inline_snapshot import snapshot

from tests.lines import lines_with

START, GROWTH, OBSERVED = 2000, 700, 0.839
COLUMNS = "experiment,strategy,turn_count,mean_completion_tokens,mean_prompt_tokens,cost"
PLANTED = "m-agent-baseline_raw", "m-agent-baseline_N_1_M_3"
Table = Callable[..., str]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Write rows to a CSV."""

    def write(rows: list[tuple[object, ...]], columns: str = COLUMNS) -> str:
        file = tmp_path / "rows.csv"
        with file.open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened).writerows([columns.split(","), *rows])
        return str(file)

    return write


def raw(turns: int, growth: float = GROWTH) -> tuple[object, ...]:
    return PLANTED[0], "Raw Agent", turns, 0, START + growth * (turns - 1) / 2, 1


def masked(turns: int, keep: int = 3) -> tuple[object, ...]:
    """A masked task, counted on paper: tokens are four characters, lines are of ten."""
    action, output = GROWTH * (1 - OBSERVED), GROWTH * OBSERVED
    line = ceil(len(f"Old environment output: ({ceil(output / 10)} lines omitted)") / 4)
    whole = 0.0
    for done in range(turns):
        old = max(0, done - keep)
        whole += START + action * done + output * (done - old) + line * old
    return PLANTED[1], "Observation Masking", turns, 0, whole / turns, 1


def test_what_the_raw_rows_were_made_of_is_found_again(table):
    (arm,) = trap.read(Path(table([raw(turns) for turns in range(1, 60)])))
    shape = trap.Shape.fit(arm.rows)
    assert shape.start == pytest.approx(START)
    assert shape.growths == pytest.approx([GROWTH] * 10)


def test_tasks_that_grow_otherwise_when_they_are_long_are_found_out(table):
    rows = [raw(turns) for turns in range(2, 92)] + [raw(turns, 300) for turns in range(92, 102)]
    (arm,) = trap.read(Path(table(rows)))
    shape = trap.Shape.fit(arm.rows)
    assert shape.growths[0] > 1.5 * shape.growths[-1]
    replays = trap.Replays(shape, "keep_all", trap.PLAIN, OBSERVED, 1, longest=101)
    tokens = sum(sum(replays.course(row.turns).prompts[: row.turns]) for row in arm.rows)
    assert tokens == pytest.approx(sum(row.turns * row.prompt for row in arm.rows), rel=1e-3)


def test_a_task_is_the_beginning_of_a_longer_one():
    shape = trap.Shape(START, (90,), (GROWTH,))
    for spec in ("observation_masking(n=4)", "turn_checkpoints(every=5, keep=3)"):
        long, short = (
            trap.Replays(trap.Shape(START, (turns,), (GROWTH,)), spec, trap.CACHED, 0.8, 50, turns)
            for turns in (60, 25)
        )
        assert long.course(25).dollars[:25] == short.course(25).dollars
        assert long.course(25).prompts[:25] == short.course(25).prompts
    assert shape.group(1000) == 0


def test_masked_rows_that_were_counted_on_paper_are_predicted(table, capsys):
    rows = [each for turns in range(5, 50) for each in (raw(turns), masked(turns))]
    assert trap.main([table(rows)]) == 0
    said = capsys.readouterr().out
    assert lines_with(said, "45 tasks") == snapshot("""\
met     mask/raw prompt 0.464, observed 0.464: +0.0 points of 8 (observation_masking(n=3),
45 tasks)\
""")
    assert "missed: 0" in said


def test_another_mask_can_be_tried_and_a_missed_bar_is_named(table, capsys):
    rows = [each for turns in range(5, 50) for each in (raw(turns), masked(turns))]
    for other in (["--mask-keep", "40"], ["--mask", "observation_masking(n=40)"]):
        assert trap.main([table(rows), *other]) == 1
        said = capsys.readouterr().out.splitlines()
        assert said[-2] == "missed: 1"
        assert "observation_masking(n=40)" in said[-1]


def test_a_task_that_failed_at_once_counts_as_nothing_on_both_sides(table, capsys):
    rows = [each for turns in range(5, 50) for each in (raw(turns), masked(turns))]
    rows += [(*PLANTED[:1], "Raw Agent", 1, 0, 0, 0), (PLANTED[1], "Masking", 0, 0, 0, 0)]
    assert trap.main([table(rows)]) == 0
    assert lines_with(capsys.readouterr().out, "46 tasks") == snapshot("""\
met     mask/raw prompt 0.464, observed 0.464: +0.0 points of 8 (observation_masking(n=3),
46 tasks)\
""")


def test_a_price_that_must_rise_and_does_not_is_a_bar_missed(table, capsys):
    """Prompts so small that nothing is cached cost the same a token, masked or not."""
    small = [(*row[:4], 200 + 5 * (row[2] - 1), 1) for row in map(raw, range(5, 50))]
    rows = [*small, *((PLANTED[1], "Observation Masking", *row[2:]) for row in small)]
    assert trap.main([table(rows)]) == 1
    told = capsys.readouterr().out
    assert lines_with(told, "MISSED") == snapshot("""\
MISSED  $/M prompt tokens under a cache must rise: 0.300, masked 0.300, x1.00
MISSED  order mask > raw, observed raw > mask\
""")


def test_a_mask_that_never_masks_raises_no_price(table, capsys):
    rows = [each for turns in range(5, 50) for each in (raw(turns), masked(turns))]
    assert trap.main([table(rows), "--mask-keep", "60"]) == 1
    assert lines_with(capsys.readouterr().out, "MISSED") == snapshot("""\
MISSED  mask/raw prompt 1.000, observed 0.464: +53.6 points of 8
(observation_masking(n=60), 45 tasks)
MISSED  $/M prompt tokens under a cache must rise: 0.089, masked 0.089, x1.00\
""")


def test_openhands_counts_events_and_leaves_out_the_calls_of_what_it_masks(table, capsys):
    """Counted on paper: of four events the two newest steps stay, of an older one a word."""
    rows = []
    for turns in range(5, 50):
        prompts = (START + GROWTH * min(done, 2) + 2 * max(0, done - 2) for done in range(turns))
        name = PLANTED[1].replace("M_3", "M_4")
        rows += [raw(turns), (name, "Observation Masking", turns, 0, sum(prompts) / turns, 1)]
    file = Path(table(rows))
    path = file.rename(file.with_name("costs_openhands.csv"))
    assert trap.main([str(path), "--first-prompt", str(START)]) == 0
    told = capsys.readouterr().out
    assert "scaffold openhands" in told
    assert lines_with(told, "2,000 tokens", "45 tasks") == snapshot("""\
fitted on: the raw rows of each model; 2,000 tokens in the first prompt are given; the
shape was chosen on SWE-agent's
met     mask/raw prompt 0.298, observed 0.298: -0.0 points of 8 (observation_masking(n=4,
system='openhands'), 45 tasks)\
""")
    assert trap.main([str(path), "--scaffold", "swe-agent"]) == 1
    assert trap.options_of([str(path)]).first_prompt == 6_000, "a guess, where none is named"


def test_a_first_prompt_that_is_known_need_not_be_fitted(table):
    (arm,) = trap.read(Path(table([raw(turns) for turns in range(30, 60)])))
    shape = trap.Shape.fit(arm.rows, 1000)
    assert shape.start == 1000
    assert all(growth > GROWTH for growth in shape.growths)


def test_it_says_on_which_half_it_was_fitted(table, capsys):
    rows = [each for turns in range(5, 50) for each in (raw(turns), masked(turns))]
    trap.main([table(rows)])
    told = capsys.readouterr().out
    assert lines_with(told, "fitted on", "judged on") == snapshot("""\
fitted on: the raw rows of each model; the shape was chosen on SWE-agent's
judged on: the masked and summarised rows of the same model and scaffold, by their own
turns\
""")


WRONG = [
    ([raw(3)], COLUMNS.replace("turn_count,", ""), ":1: the CSV has no column turn_count"),
    ([raw(3), ("m", "Raw Agent", "many", 0, 1, 1)], COLUMNS, ":3: one of cost"),
    ([("m", "Raw Agent", 3, 0, "nan", 1)], COLUMNS, ":2: cost, turn_count"),
    ([("m", "Raw Agent", 99999, 0, 5, 1)], COLUMNS, ":2: 99,999 turns are more"),
    ([masked(9)], COLUMNS, "there are no raw rows to fit"),
    ([raw(3), raw(4)], COLUMNS, "there is nothing to judge"),
    ([raw(3), raw(4), masked(4)], COLUMNS, "2 raw tasks are of too few lengths"),
    ([*(raw(turns, -5) for turns in range(3, 9)), masked(9)], COLUMNS, "raw prompts do not grow"),
]


@pytest.mark.parametrize("wrong", WRONG, ids=[each[2] for each in WRONG])
def test_what_cannot_be_used_is_named(wrong, table, capsys):
    rows, columns, complaint = wrong
    assert trap.main([table(rows, columns)]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.slow
def test_no_bar_is_missed_on_the_recorded_rows(shared, capsys):
    code = trap.main([str(shared / "recorded")])
    said = capsys.readouterr().out
    assert said.count("order raw > summary > mask, observed raw > summary > mask") == 5
    assert said.count("not judged: OpenHands") == 5
    assert code == 0, said
