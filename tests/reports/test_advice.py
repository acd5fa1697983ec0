"""Who is advised, and how surely: one rule, told in words that the statistics carry."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from inline_snapshot import snapshot

import compactlab
from compactlab import Host, Strategy, View
from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.columns import marks
from compactlab.reports.analysis.comparison import RECALL
from compactlab.reports.page.brief import LINES, brief, brief_markdown
from compactlab.reports.page.headlines import ROWS, picks
from compactlab.reports.page.table import fault
from compactlab.sim.store.results import Results
from compactlab.sim.store.tables import LAG_TABLE
from tests.lines import fitting
from tests.reports.conftest import Make, Store
from tests.reports.spoken import only, tokens_and_money, verdict

KEPT = [(0, 600), (600, 300), (900, 100)]
SHORT = [(0, 600), (0, 200), (0, 100)]
TINY = [(0, 300), (0, 90), (0, 20)]


def scaled(prompts: list[tuple[int, int]], size: float) -> list[tuple[int, int]]:
    return [(round(read * size), round(written * size)) for read, written in prompts]


@pytest.fixture
def many(make: Make, store: Store) -> Callable[..., Results]:
    """So many conversations of several sizes; what `careful` forgets can be set."""

    def made(
        number: int, careful: float = 0.02, keen: float = 0.01, *, labels: str = "declared"
    ) -> Results:
        runs = []
        for index in range(number):
            size, shift = 0.5 + 0.13 * (index % 7), 0.002 * (index % 5)
            name = f"talk-{index}"
            runs += [
                make("keep_all()", scaled(KEPT, size), name, labels=labels),
                make("keep_none()", scaled(TINY, size / 2), name, cut=[1], need=0.1),
                make("careful()", scaled(SHORT, size * (1 + shift)), name, cut=[1],
                     need=1 - careful - shift),
                make("keen()", scaled(SHORT, size * 1.05), name, cut=[1], need=1 - keen - shift),
                make("forgetful()", scaled(TINY, size), name, cut=[1], need=0.8 - shift),
            ]  # fmt: skip
        return store(*runs)

    return made


def test_the_cheapest_that_is_shown_to_recall_enough_is_recommended(many):
    advice = Advice(only(many(40)))
    assert [row.label for row in (advice.advised, advice.cheapest, advice.best_recall) if row] == [
        "careful", "forgetful", "keen",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "number", "how"),
    [
        ("forty", 40, {}),
        # 88 % is enough in these 40 conversations, and not surely so in all others.
        ("not shown", 40, {"careful": 0.12, "keen": 0.5}),
        ("inferred", 40, {"labels": "inferred"}),
        ("five", 5, {"careful": 0.0, "keen": 0.0}),
        ("one", 1, {}),
        # Four strategies: 4 * 2 / 2**6 is 0.13, and with 8 conversations it is 0.031.
        ("six", 6, {}),
        ("eight", 8, {}),
        ("twelve", 12, {}),
    ],
)
def test_a_verdict_is_what_it_was(many, told, name, number, how):
    told(name, verdict(only(many(number, **how))))


@pytest.mark.parametrize(("forgotten", "shown"), [(0.02, True), (0.12, False)])
def test_what_is_not_shown_is_not_recommended(many, forgotten, shown):
    """88 % is enough in these 40 conversations, and not surely so in all others."""
    advice = Advice(only(many(40, careful=forgotten, keen=0.5)))
    assert (advice.advised is not None) == shown


@pytest.mark.parametrize("recorded", [False, True])
def test_seeds_are_advised_only_where_they_make_conversations(many, recorded):
    """Another seed of a recording replays it again: an answer there is to record more."""
    results = many(6)
    if recorded:  # without a compaction, so that it costs as much as keep_all
        results.bounds = [
            replace(run, strategy="as_recorded()", model="gpt-5", bound=True)
            for run in results.runs
            if run.strategy == "keep_all()"
        ]
        results.runs = [replace(run, model="gpt-5") for run in results.runs]
    text = " ".join(verdict(only(results)))
    assert "takes at least 28 conversations" in text
    assert ("--seeds" in text) is not recorded


def test_few_conversations_recommend_nothing(many):
    assert Advice(only(many(27, 0.0, 0.0))).advised is None


def test_what_does_not_show_what_forgetting_is_recommends_nothing(many, told):
    bare, easy, plain, early = (many(40) for _ in range(4))
    bare.runs = [run for run in bare.runs if run.strategy != "keep_none()"]
    for run in easy.runs:
        if run.strategy == "keep_none()":
            run.metrics |= dict.fromkeys(RECALL.values(), 0.9)
    for run in plain.runs:
        rows = run.rows["lags"]
        run.rows["lags"] = LAG_TABLE.filled({name: rows[name][:1] for name in rows.columns})
    for run in early.runs:
        run.metrics |= {name: None for lag, name in RECALL.items() if lag > 5_000}
    told("without keep_none", verdict(only(bare)))
    told("keep_none forgets little", verdict(only(easy)))
    told("without null summarisers", verdict(only(plain)))
    told("needs that are not old enough", verdict(only(early)))


@pytest.mark.parametrize(
    ("junk", "advised"), [(0.98, False), (0.93, False), (0.3, True)], ids=["junk", "near", "far"]
)
def test_what_summaries_keep_counts_only_beyond_summaries_without_content(
    make, store, told, junk, advised
):
    """It recalls 98 % in each case: only the last time that is shown to be for its summaries."""
    runs = []
    for index in range(40):
        name, size = f"talk-{index}", 1 + 0.01 * index
        runs += [
            make("keep_all()", scaled(KEPT, 2 * size), name, labels="declared"),
            make("keep_none()", TINY, name, cut=[1], need=0.1),
            make("summed()", scaled(SHORT, size), name, cut=[1], side=0.0001, need=0.98, junk=junk),
        ]
    advice = Advice(only(store(*runs)))
    assert (advice.advised is not None) == advised
    told(f"junk recalls {round(100 * junk)} of 100", verdict(only(store(*runs))))


def test_where_an_oracle_loses_as_much_the_loss_is_the_strategys(make, store, told):
    runs = [
        make("keep_all()", scaled(KEPT, 2), labels="declared"),
        make("summed()", SHORT, cut=[1], side=0.0001, need=0.6, junk=0.5, oracle=0.7),
    ]
    told("an oracle loses as much", verdict(only(store(*runs))))


def test_a_control_in_a_pipeline_is_a_control(make, store):
    comparison = only(
        store(make("keep_all()", KEPT), make("keep_none() + memory_recall()", TINY, cut=[1]))
    )
    assert [row.control for row in comparison.rows] == [True, True]


def test_who_only_asked_and_never_compacted_is_no_candidate(make, store):
    comparison = only(
        store(make("keep_all()", [(0, 100)]), make("refused()", [(0, 100)], side=0.0001))
    )
    assert not comparison.rows[-1].choice


def test_the_cheapest_and_the_best_are_named(many):
    roles = {row.label: role for row, role in picks(Advice(only(many(12, careful=0.1, keen=0.08))))}
    assert roles["forgetful"] == "cheapest"
    assert roles["keen"] == "highest recall"
    assert roles["careful"] == "cheapest \N{GREATER-THAN OR EQUAL TO}80%"


def test_bills_that_cannot_be_told_apart_are_named(make, store, told):
    runs = []
    for index in range(40):
        name, other = f"talk-{index}", 1.0 + 0.06 * (-1) ** index
        runs += [
            make("keep_all()", scaled(KEPT, 2), name, labels="declared"),
            make("keep_none()", TINY, name, cut=[1], need=0.1),
            make("one()", SHORT, name, cut=[1], need=0.99),
            make("two()", scaled(SHORT, other), name, cut=[1], need=0.99),
        ]
    told("bills that cannot be told apart", verdict(only(store(*runs))))


def test_the_verdict_has_twenty_lines(many, told):
    text = brief(many(40))
    assert len(text.splitlines()) <= LINES
    assert max(map(len, text.splitlines())) <= 110
    told("first screen", [text])
    told("first screen in Markdown", [brief_markdown(many(40))])


def test_how_far_it_carries_never_falls_off_the_end(make, store, told):
    """Of a long front, the table has three steps and what has a role."""
    runs = []
    for index in range(8):
        name, size = f"talk-{index}", 1 + 0.05 * index
        runs += [
            make("keep_all()", scaled(KEPT, 2 * size), name),
            make("as_recorded()", scaled(KEPT, 1.5 * size), name, cut=[1], need=0.99),
            make("keep_none()", scaled(TINY, size), name, cut=[1], need=0.1),
            make("random_keep()", scaled(TINY, size), name, cut=[1], need=0.2),
        ]
        for step in range(14):
            own = scaled([(0, 600), (0, 100), (0, 50 + 40 * step)], size)
            runs.append(
                make(
                    f"step(size={step})",
                    own,
                    name,
                    cut=[1],
                    need=0.85 + 0.01 * step,
                )
            )
    results = store(*runs)
    named = [row.label for row, _ in picks(Advice(only(results)))]
    text = brief(results)
    assert len(named) <= ROWS
    assert sum(label.startswith("step(") for label in named) == 3
    assert len(text.splitlines()) <= LINES
    told("first screen of a long front", [text])


def test_a_hundredth_of_a_point_is_not_worth_money(make, store):
    """Neither as the one that forgets least, nor as a step of the front."""
    comparison = only(
        store(
            make("keep_all()", scaled(KEPT, 3)),
            make("cheap()", TINY, cut=[1], need=0.9),
            make("good()", SHORT, cut=[1], need=0.98),
            make("dear()", scaled(SHORT, 1.2), cut=[1], need=0.9801),
        )
    )
    advice = Advice(comparison)
    assert advice.best_recall is not None
    assert advice.best_recall.label == "good"
    assert [row.label for row in comparison.front] == ["cheap", "good", "dear"]
    assert [row.label for row in advice.steps] == ["cheap", "good"]


def test_alike_is_who_is_as_sound_and_cannot_be_told_apart(make, store):
    runs = []
    for index in range(60):
        name, other = f"talk-{index}", 1.0 + 0.06 * (-1) ** index
        runs += [
            make("keep_all()", scaled(KEPT, 3), name, labels="declared"),
            make("keep_none()", TINY, name, cut=[1], need=0.1),
            make("best()", SHORT, name, cut=[1], need=0.99),
            make("alike()", scaled(SHORT, other), name, cut=[1], need=0.99),
            make("dearer()", scaled(SHORT, 1.5), name, cut=[1], need=0.99),
            make("unsound()", scaled(SHORT, other), name, cut=[1], need=0.8),
        ]
    advice = Advice(only(store(*runs)))
    both = {row.label for row, _ in advice.alike} | {advice.advised.label if advice.advised else ""}
    assert both == {"best", "alike"}


def test_nothing_is_advised_that_costs_more_than_the_reference(make, store, told):
    runs = []
    for index in range(40):
        name, size = f"talk-{index}", 1 + 0.001 * index
        runs += [
            make("keep_all()", scaled([(0, 500), (500, 700), (1_200, 600)], size), name,
                 labels="declared"),
            make("keep_none()", TINY, name, cut=[1], need=0.1),
            make("sound()", scaled([(0, 600), (0, 1_500), (0, 1_700)], size), name, cut=[1],
                 need=0.99),
            make("loose()", SHORT, name, cut=[1], need=0.5),
        ]  # fmt: skip
    advice = Advice(only(store(*runs)))
    assert [row.label for row in advice.proven] == ["sound"]
    assert advice.advised is None
    told("dearer than the reference", verdict(only(store(*runs))))


def test_the_nearest_is_over_the_window_least(make, store):
    over = [(0, 1_000), (1_000, 1_500), (0, 900)]
    results = store(
        make("keep_all()", over),
        make("cheap()", [(0, 2_100), (0, 2_100), (0, 10)], cut=[1]),
        make("once()", [(0, 2_100), (0, 1_900), (0, 1_900)], cut=[1]),
    )
    nearest = Advice(only(results)).nearest
    assert nearest is not None
    assert nearest.label == "once"


def test_only_what_is_determined_is_counted(make, store, told):
    runs = []
    for index in range(60):
        name, other = f"talk-{index}", 1.0 + 0.06 * (-1) ** index
        runs += [
            make("keep_all()", SHORT, name),
            make("same()", scaled(SHORT, other), name, cut=[1], need=1.0),
            make("dear()", scaled(SHORT, 1.5), name, cut=[1], need=0.9),
        ]
    told("half is determined", verdict(only(store(*runs))))


def test_made_up_sessions_were_not_run_by_anybody(make, store):
    runs = [make(spec, KEPT, model="m") for spec in ("keep_all()", "as_recorded()")]
    runs.append(make("cut()", SHORT, cut=[1], model="m"))
    assert "as recorded" not in brief(store(*runs))


def test_tokens_and_money_need_tokens(make, store):
    runs = [make("keep_all()", KEPT), make("sliding_window()", SHORT, cut=[1])]
    (sentences,) = tokens_and_money(only(store(*runs)))
    assert fitting(sentences) == snapshot("""\
sliding_window sent 64% fewer prompt tokens than keep_all and cost 18% less than it. It
read 0% of its prompt tokens from the cache, and keep_all 60.0%.\
""")
    for run in runs:
        run.metrics = {**run.metrics, "tokens_cache_read": 0, "tokens_cache_write": 0}
    assert list(tokens_and_money(only(store(*runs)))) == []


def test_the_closed_loop_is_compared_with_the_open_one(make, store, told):
    runs = [make("keep_all()", KEPT), make("one()", SHORT, cut=[1]), make("two()", TINY, cut=[1])]
    for run in runs:
        run.metrics["cost_with_recovery_usd"] = 2 * (run.metrics["cost_usd"] or 0)
    runs[2].metrics["cost_with_recovery_usd"] = 1.0
    told("closed loop", verdict(only(store(*runs))))


@dataclass(frozen=True)
class DropsTheSystemPrompt(Strategy):
    def compact(self, view: View, host: Host) -> View:
        return view if len(view.messages) < 8 else view.with_system()


def test_a_strategy_that_drops_the_system_prompt_is_no_choice():
    own = DropsTheSystemPrompt()
    results = compactlab.run("coding_agent(turns=2, tokens=9000)", ["keep_all", own], distance=1000)
    dropped = {row.label: row.figures["system_dropped"] for row in only(results).rows}
    assert dropped["keep_all"] == 0
    assert 0 < dropped["drops_the_system_prompt"] < 1
    (row,) = (row for row in only(results).rows if row.bare)
    assert not row.usable
    assert fault(row) == snapshot("no system prompt or no tools in 80.0% of its calls")
    assert marks(row) == snapshot("□")
