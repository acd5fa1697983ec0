"""The page: whole for any store, the same bytes every time, and nothing in it from elsewhere."""

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from inline_snapshot.extra import raises
from markupsafe import escape

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.columns import columns
from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.charts.drawing import strategy_colours
from compactlab.reports.charts.palette import COLOURS
from compactlab.reports.page.conversations import conversations, flags, pane, series
from compactlab.reports.page.differences import differences
from compactlab.reports.page.explorer import Compactions
from compactlab.reports.page.figures import figures, telling
from compactlab.reports.page.page import command, page, write
from compactlab.reports.page.sections import chief, roles, section
from compactlab.reports.render.document import Cell, Column, Custom, Folded, Table, TableRow
from compactlab.reports.render.html import in_script
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from compactlab.sim.store.tables import CALLS
from tests.lines import lines_with
from tests.reports.conftest import CUT, SUMMED, Make, Store, make, store
from tests.reports.spoken import folded
from tests.reports.test_views import held

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def decoded(scale: float, text: str) -> list[float]:
    """A series as the page's script reads it."""
    pairs = [text[at : at + 2] for at in range(0, len(text), 2)]
    return [(64 * DIGITS.index(a) + DIGITS.index(b)) * scale / 4_095 for a, b in pairs]


def data(text: str) -> dict[str, Any]:
    """The data of the page's first comparison."""
    match = re.search(r'<script type="application/json" id="part-1-data">(.*?)</script>', text)
    assert match is not None
    known: dict[str, Any] = json.loads(match[1])
    return known


def blocked(results: Results) -> dict[str, Any]:
    """The same, without the page around it."""
    (comparison,) = comparisons(results)
    listing = conversations(results, comparison)
    known: dict[str, Any] = json.loads(pane(results, listing, strategy_colours(results), []).text)
    return known


def first_cells(results: Results) -> list[list[str]]:
    """The cells of the first row of each table of differences."""
    (comparison,) = comparisons(results)
    return [
        [f"{cell.text} {cell.aside}".strip() for cell in cells(table.rows[0])]
        for table in differences(comparison, strategy_colours(results))
        if isinstance(table, Table)
    ]


def tabled(results: Results) -> Table:
    """The table of all strategies."""
    (comparison,) = comparisons(results)
    shown, _ = telling(columns(comparison), comparison)
    return figures(comparison, strategy_colours(results), shown, roles(Advice(comparison)))


def cells(row: TableRow) -> list[Cell]:
    """The figures of a row."""
    return [cell for cell in row.cells[1:] if isinstance(cell, Cell)]


def named(row: TableRow) -> str:
    """The label of a row."""
    assert isinstance(row.cells[0], Cell)
    return row.cells[0].text


def chosen(text: str) -> str:
    """The conversation that is shown without a script."""
    match = re.search(r'<p class="chosen"><strong>(.*?)</strong>', text)
    assert match is not None
    return match[1]


def drawings(text: str) -> int:
    """How many charts there are."""
    return text.count("<svg role")


@pytest.fixture
def nine(make: Make, store: Store) -> Results:
    """Nine conversations, each larger than the one before."""
    return store(*(make("keep_all()", [(0, 100 + n)], f"c{n}") for n in range(9)))


@pytest.fixture(scope="module")
def cache() -> dict[str, str]:
    return {}


@pytest.fixture
def shown(small: Results, cache: dict[str, str]) -> str:
    if "page" not in cache:
        cache["page"] = page(small)
    return cache["page"]


def test_it_refers_to_nothing_outside_itself(shown):
    assert "://" not in shown
    assert "@import" not in shown
    assert re.findall(r'(?:href|src)="[^#]', shown) == []
    assert "default-src &#39;none&#39;" in shown


def test_it_runs_one_script_and_its_policy_names_that_one(shown):
    scripts = re.findall(r"<script>(.*?)</script>", shown, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in shown


def test_its_script_makes_no_markup_of_data(shown):
    (script,) = re.findall(r"<script>(.*?)</script>", shown, re.DOTALL)
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                "Function(", "fetch(", "XMLHttpRequest", "setTimeout(", "srcdoc"):  # fmt: skip
        assert way not in script
    assert not re.search(r"\.on\w+ = |setAttribute\((?!\"[\w-]+\"|key, value)", script)


def test_it_says_what_was_compared_and_with_what(shown):
    for word in ("7 strategies", "claude-code 3", "claude-sonnet-4-5", "narrowed to 2,000 tokens",
                 "compactlab 0.1.0", "genai-prices 0.2.3", "not a model"):  # fmt: skip
        assert word in shown[shown.index('id="provenance"') :]


def test_every_head_of_a_figure_says_what_it_means_and_no_glossary_says_it_again(shown):
    parts = shown[shown.index('id="part-1-strategies"') :]
    heads = re.findall(r'<th scope="col"([^>]*) data-key="(\w+)"', parts)
    assert {"cost_usd", "prefix_reuse", "write_spike"} <= {key for _, key in heads}
    for before, key in heads:
        if key in METRICS:
            meaning = escape(METRICS[key].meaning)
            assert f'noted" title="{meaning}' in before
    assert "\nprefix_reuse in CSV and JSON" in shown
    assert "What the figures mean" not in shown
    assert "compactlab list metrics" in shown[shown.index('id="about"') :]


def test_every_chart_has_its_units(shown):
    for words in (
        "USD a conversation (less is better)",
        "recall, % (more is better)",
        "cache-miss tokens, all",
        "call number",
    ):
        assert words in shown


def test_failed_runs_are_named_with_their_errors(shown, golden):
    failed = shown[shown.index('id="failed"') :]
    golden("page/failed.txt", lines_with(failed, "turn_slice.py", "four.jsonl:3") + "\n")


def test_it_says_how_to_do_it_again(shown, golden):
    command = re.search(r"<pre>(.*?)</pre>", shown, re.DOTALL)
    assert command is not None
    golden("page/command.txt", command[1] + "\n")


def test_the_command_gives_a_shell_the_very_specs(make, store):
    specs = ["keep_all()", "auto_compact(rides='fresh')", """odd(a='"', b="$x")""", "x('`y`')"]
    runs = [make(spec) for spec in specs]
    given = {"models": ["a b"], "sources": ["made(n=1)-0", "r"], "seeds": [0, 1]}
    first_cells = command(store(*runs, strategies={spec: spec for spec in specs}, **given))
    words = shlex.split(first_cells)
    assert [words[n + 1] for n, word in enumerate(words) if word == "--strategies"] == specs
    conversations = [words[n + 1] for n, word in enumerate(words) if word == "--conversations"]
    assert conversations == ["made(n=1)", "FOLDER_OF_RECORDINGS"]
    assert words[-2:] == ["--seeds", "2"]
    traced = command(store(make("keep_all()"), tables=["calls", "prompts"]))
    named = [word for word in shlex.split(traced) if word.strip()]
    assert named[-4:] == ["--tables", "calls", "--tables", "prompts"]
    assert "\"auto_compact(rides='fresh')\"" in first_cells


def test_the_command_is_what_was_typed_and_not_what_that_stands_for(make, store):
    runs = [make("codex(trigger=None)"), make("own(n=1)")]
    labels = {"codex(trigger=None)": "codex", "own(n=1)": "own"}

    def typed(**manifest: Any) -> list[str]:
        words = shlex.split(command(store(*runs, strategies=labels, **manifest)))
        return [words[n + 1] for n, word in enumerate(words) if word == "--strategies"]

    assert typed(own_strategies=["own(n=1)"]) == ["codex", "own(n=1)"]
    assert typed(line_up="default") == []
    assert typed(line_up="all") == ["all"]
    runs.append(make("added()"))  # by a later command, into the same store
    assert typed(line_up="all") == ["codex", "own", "added()"]


def test_every_strategy_has_one_colour(shown):
    swatches = re.findall(r'background-color: var\(--(\w+)\)"></span>(sliding_<wbr>window)', shown)
    assert len(set(swatches)) == 1


def test_both_themes_have_all_colours(shown):
    style = shown[shown.index("<style>") : shown.index("</style>")]
    light, dark = COLOURS["vermillion"]
    assert f"--vermillion: {light};" in style  # for browsers that know no more
    assert f"--vermillion: light-dark({light}, {dark});" in style
    assert not re.search(r"#[0-9a-f]{6}\b", shown[shown.index("</style>") :])


def test_without_runs_it_says_so():
    assert "No runs: there is nothing to compare." in page(Results([]))


def test_when_all_failed_it_names_them(fail, store, golden):
    text = page(store(fail("keep_all()"), fail("turn_slice()", "two")))
    golden("page/all-failed.txt", lines_with(text, "nothing to compare", "ValueError") + "\n")
    assert drawings(text) == 0


def test_one_run_makes_a_page(make, store):
    text = page(store(make("keep_all()")))
    assert drawings(text) >= 3
    assert "Differences to" not in text


@pytest.mark.usefixtures("undrawn")
def test_several_models_have_a_section_each(make, store):
    models = ("claude-sonnet-4-5", "claude-opus-4-5")
    text = page(store(*(make("keep_all()", model=model) for model in models)))
    assert 'id="part-2"' in text
    assert '<a href="#part-2">Model claude-opus-4-5</a>' in text


def test_a_conversation_is_told_with_its_own_models_and_windows(make, store):
    runs = [make("keep_all()", conversation=name) for name in ("one", "two")]
    for run, model in zip(runs, ("claude-sonnet-4-5", "gpt-5"), strict=True):
        run.window = 0
        calls = {name: run.calls.array(name).tolist() for name in run.calls.columns}
        run.rows["calls"] = CALLS.filled({**calls, "model": [model] * len(run.calls)})
    first_cells = {each["title"]: each["about"] for each in blocked(store(*runs))["conversations"]}
    assert "claude-sonnet-4-5; window 200,000 tokens" in first_cells["one (claude-code)"]
    assert "gpt-5; window 400,000 tokens" in first_cells["two (claude-code)"]


def test_a_window_holds_from_the_call_on_that_goes_to_its_model(make, store):
    run = make("keep_all()")
    run.window = 0
    models = ["claude-sonnet-4-5", "claude-sonnet-4-5", "gpt-5", "claude-sonnet-4-5"]
    calls = {name: run.calls.array(name).tolist() for name in run.calls.columns}
    run.rows["calls"] = CALLS.filled({**calls, "model": models})
    (each,) = blocked(store(run))["conversations"]
    assert each["windows"] == [[1, 200_000], [3, 400_000], [4, 200_000]]


def test_a_run_that_failed_has_a_cell_in_every_column(make, fail, store):
    other = make("keep_all()", conversation="smaller")
    each, _ = blocked(store(make("keep_all()"), fail("turn_slice()"), other))["conversations"]
    done, failed = each["runs"]
    assert len(failed) == len(done)
    assert failed[1:3] == ["failed", 1]
    assert failed[-1][1] is None


def test_a_control_is_never_the_best(make, store):
    table = tabled(store(make("keep_all()"), make("good()", SUMMED, cut=[2]),
                         make("bad()", CUT, cut=[2], need=0.5)))  # fmt: skip
    best = {named(row): sum(cell.best for cell in cells(row)) for row in table.rows}
    assert best["keep_all"] == 0
    assert best["good"] > 0


def test_what_reads_like_the_best_is_as_good(make, store):
    """The reader sees the same figure twice: one of them cannot be the better one."""
    results = store(
        make("keep_all()"), make("first()", CUT, cut=[2], need=0.9),
        make("second()", SUMMED, cut=[2], need=0.9001), make("third()", CUT, cut=[2], need=0.5),
    )  # fmt: skip
    best = {named(row): bolds(row, tabled(results)) for row in tabled(results).rows}
    assert "amnesia_need" in best["first"] & best["second"]
    assert "amnesia_need" not in best["third"] | best["keep_all"]
    alike = store(make("keep_all()"), *results.runs[1:3])
    assert not any("amnesia_need" in bolds(row, tabled(alike)) for row in tabled(alike).rows)


def bolds(row: TableRow, table: Table) -> set[str]:
    """In which columns a strategy has the best figure."""
    return {c.key for c, cell in zip(table.columns[1:], cells(row), strict=True) if cell.best}


def test_a_figure_below_nothing_has_a_minus(make, store):
    run = make("mine()", CUT, cut=[2])
    run.metrics["write_spike"] = -49.0
    texts = [cell.text for row in tabled(store(run)).rows for cell in cells(row)]
    assert "\N{MINUS SIGN}49" in texts
    assert "-49" not in texts


def test_a_difference_speaks_of_intervals_where_it_has_them(make, store):
    for number, title in ((6, "difference, %"), (12, "difference, % (95% interval)")):
        results = store(*(
            make(*run, conversation=f"c{n}")
            for n in range(number) for run in (("keep_all()",), ("mine()", CUT))
        ))  # fmt: skip
        (comparison,) = comparisons(results)
        blocks = differences(comparison, strategy_colours(results))
        first = next(block for block in blocks if isinstance(block, Table))
        assert first.columns[1].title == title


@pytest.mark.usefixtures("undrawn")
def test_a_command_in_a_note_is_code_that_does_not_break(make, store):
    broken = {f"s{n}()": {"pairs": "so"} for n in range(4)}
    text = page(store(*map(make, broken), breaks=broken))
    assert "<code>compactlab list strategies --format json</code> lists all rules." in text
    assert ".notes code { font-size: 0.93em; white-space: nowrap; }" in text


@pytest.mark.usefixtures("undrawn")
def test_strategies_have_their_roles_and_compactions_their_places(make, store):
    small = [(0, 400), (400, 100)]
    results = store(
        *(make("keep_all()", conversation=name) for name in ("one", "two")),
        *(held(make, "cut()", name, 3, 2, 1) for name in ("one", "two")),
        *(make("good()", small, name, cut=[1]) for name in ("one", "two")),
    )
    (comparison,) = comparisons(results)
    blocks = list(section(results, comparison, strategy_colours(results), "part-1"))
    parts = {block.title: block.blocks for block in blocks if isinstance(block, Folded)}
    first = parts["All 2 strategies"][0]
    assert isinstance(first, Table)
    assert {named(row): row.roles for row in first.rows if row.roles} == {
        "good": ("reference", "Pareto front"),
    }
    compactions = parts["One compaction, before and after"]
    (shown,) = [block.data for block in compactions if isinstance(block, Custom)]
    assert isinstance(shown, Compactions)
    assert {each.conversation for each in shown.own} == {shown.title} == {"one (claude-code)"}
    assert {each.conversation for each in shown.others} == {"two (claude-code)"}


def test_a_write_spike_below_nothing_is_no_merit(make, store):
    runs = [make("calm()", SUMMED, cut=[2]), make("each()", CUT, cut=[2, 3], need=0.8)]
    runs[1].metrics["write_spike"] = -49.0
    table = tabled(store(make("keep_all()"), *runs))
    index = [column.key for column in table.columns[1:]].index("write_spike")
    assert not any(cells(row)[index].best for row in table.rows)
    assert any(cell.best for row in table.rows for cell in cells(row))


@pytest.mark.usefixtures("undrawn")
def test_a_column_that_is_nearly_empty_is_left_out_and_named(make, store):
    runs = [make(f"s{n}()", cut=[2], need=None) for n in range(5)]
    runs[0].metrics |= {"flushed_compactions": 1.0, "recall_20k": 0.75}
    results = store(*runs)
    keys = [column.key for column in tabled(results).columns]
    assert "flushed_compactions" not in keys
    assert "recall" in keys
    assert "most strategies are left out: flushed." in page(results)


@pytest.mark.usefixtures("undrawn")
def test_a_rule_is_named_with_some_of_those_that_break_it(make, store):
    broken = {f"s{n}()": {"pairs": f"as {n}.<0> does", "order": "so"} for n in range(4)}
    text = page(store(*map(make, broken), breaks=broken))
    assert "s0, as 0.&lt;0&gt; does" in text
    assert "as 3.&lt;0&gt; does" not in text  # `compactlab list strategies --format json` has all


@pytest.mark.usefixtures("undrawn")
def test_a_conversation_that_is_not_there_is_refused(nine):
    with raises("UsageError: unknown conversation 'c33'; did you mean c3?"):
        page(nine, conversation="c33")


@pytest.mark.usefixtures("undrawn")
def test_a_conversation_that_failed_everywhere_is_none_to_choose(make, fail, store):
    results = store(make("keep_all()"), fail("keep_all()", "two"), fail("turn_slice()", "two"))
    assert [each["title"] for each in blocked(results)["conversations"]] == ["one (claude-code)"]
    with raises("UsageError: no run of the conversation 'two' went well"):
        page(results, conversation="two")


def test_an_error_of_many_runs_is_told_once(fail, store, golden):
    runs = [fail(f"s{n}()", f"c{m}", "ValueError: the same") for n in range(3) for m in range(40)]
    text = page(store(*runs, fail("other()", error="KeyError: another")))
    golden("page/many-failed.txt", lines_with(text, "runs failed", "ValueError", "KeyError") + "\n")


def test_all_conversations_can_be_chosen_the_largest_first(nine):
    titles = [each["title"] for each in blocked(nine)["conversations"]]
    assert titles == [f"c{n} (claude-code)" for n in range(8, -1, -1)]


@pytest.mark.usefixtures("undrawn")
def test_what_has_no_room_is_counted_and_told_how_to_see(nine, golden, monkeypatch):
    monkeypatch.setattr("compactlab.reports.page.page.BUDGET", 2_000)
    text = page(nine, conversation="c0")
    assert chosen(text) == "c0 (claude-code)"
    kept = [each["title"] for each in data(text)["conversations"]]
    assert kept[:2] == ["c0 (claude-code)", "c8 (claude-code)"]
    assert 2 <= len(kept) < 9
    assert f"no room for {9 - len(kept)} more conversations, the smallest." in text
    golden("page/no-room.txt", lines_with(text, "no room") + "\n")


def test_a_conversation_is_told_as_its_runs_were(make, store):
    prompts = [(0, 1_000), (1_000, 500), (0, 900)]
    known = blocked(store(make("keep_all()", prompts, cut=[2], side=0.5)))
    strategy, _, _, compactions, calls, step, *series = known["conversations"][0]["runs"][0]
    assert (strategy, compactions, calls, step) == (0, 1, 3, 1)
    assert decoded(*series[:2]) == [1_000, 1_500, 900]
    assert decoded(*series[2:4]) == [1_000, 500, 900]
    assert decoded(*series[4:6])[0] == pytest.approx(0.0039, rel=0.05)
    assert decoded(*series[4:6])[-1] == pytest.approx(0.5 + 0.00975, rel=0.001)
    assert series[6:8] == ["E", ""]  # the third of six places: a compaction; no overflow


def test_a_long_session_is_told_in_forty_eight_places_at_most(make, store):
    prompts = [(0, 100 + n) for n in range(500)]
    run = blocked(store(make("keep_all()", prompts)))["conversations"][0]["runs"][0]
    assert (run[4], run[5], len(run[7])) == (500, 11, 2 * 46)
    assert decoded(run[6], run[7])[-1] == 599


def test_at_first_the_front_and_the_controls_are_drawn(make, store):
    short = [(0, 500), (500, 100)]
    runs = [make(f"s{n}()", short, cut=[1], need=1 - n / 20, side=1.0 + n) for n in range(12)]
    best = make("s_best()", short, cut=[1], need=0.9)
    (comparison,) = comparisons(store(make("keep_all()", short), best, *runs))
    assert set(chief(Advice(comparison))) == {"keep_all()", "s_best()", "s0()"}


def test_without_a_front_the_cheapest_are_drawn(make, store):
    runs = [make(f"s{n}()", side=1.0 + n) for n in range(12)]  # all exceed the window
    (comparison,) = comparisons(store(make("keep_all()"), *runs))
    assert chief(Advice(comparison)) == ["keep_all()", "s0()", "s1()", "s2()", "s3()"]


def test_where_there_are_few_all_are_drawn(small):
    (comparison,) = comparisons(small)
    assert len(chief(Advice(comparison))) == len(comparison.rows)


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=40))
def test_a_series_is_read_as_it_was_written(values):
    scale, text = series(values)
    assert decoded(scale, text) == pytest.approx(values, abs=max(values) / 8_190 + 1e-6)
    assert max(values) > 4_095 or decoded(scale, text) == pytest.approx(values)


@given(st.lists(st.booleans(), max_size=40))
def test_what_is_true_is_read_as_it_was_written(hits):
    text = flags(hits).ljust(7, "A")
    read = [bool(DIGITS.index(text[n // 6]) >> n % 6 & 1) for n in range(len(hits))]
    assert read == hits


@pytest.mark.parametrize("text", ["</script><script>x", "<!--", "]]>", "a&b", "\u2028\u2029"])
def test_no_text_ends_the_block_that_it_is_in(text):
    first_cells = in_script([text])
    assert json.loads(first_cells) == [text]
    assert not set(first_cells) & set("<>&\u2028\u2029")


def test_differences_are_told_with_their_intervals(make, store):
    names = [f"c{n:02}" for n in range(36)]
    runs = [make("keep_all()", [(0, 1_000 + 10 * n)] * 4, each) for n, each in enumerate(names)]
    runs += [make("half()", [(0, 500 + 5 * n)] * 4, each, cut=[1], need=0.75 + n / 300)
             for n, each in enumerate(names)]  # fmt: skip
    cost, recall = first_cells(store(*runs))
    assert re.fullmatch(r"\N{MINUS SIGN}4\d% \(\N{MINUS SIGN}\d+% to \N{MINUS SIGN}\d+%\)", cost[0])
    assert cost[2:5] == ["36 / 0 / 0", "cheaper", "yes"]
    less = r"\N{MINUS SIGN}\d+\.\d"
    assert re.fullmatch(rf"\N{{MINUS SIGN}}19\.2 \({less} to {less}\)", recall[0])
    assert recall[2:5] == ["0 / 0 / 36", "worse", "not shown"]


def test_the_same_is_called_the_same_and_few_have_no_interval(make, store):
    runs = [make(s, CUT, f"c{n}") for s in ("keep_all()", "idle()") for n in range(6)]
    cost, missed = first_cells(store(*runs))
    assert (cost[0], cost[3]) == ("0%", "the same")
    assert (missed[0], missed[3]) == ("0.0", "the same")


@pytest.mark.usefixtures("undrawn")
def test_with_few_conversations_a_sentence_stands_for_the_differences(make, store):
    for number in (5, 6):
        specs = ("keep_all()", "idle()", "cut()")
        runs = [make(s, CUT, f"c{n}") for s in specs for n in range(number)]
        text = page(store(*runs))
        why = "with 5 conversations none can be statistically significant; for 2 strategies it"
        assert (why in text) == (number == 5)
        assert ("p (Holm)" in text) == (number == 6)


def test_a_column_that_says_the_same_in_every_row_is_a_sentence(make, store):
    specs = ("keep_all()", "one()", "two()")
    results = store(*(make(s, CUT, f"c{n}") for s in specs for n in range(6)))
    (comparison,) = comparisons(results)
    blocks = list(differences(comparison, strategy_colours(results)))
    table = next(block for block in blocks if isinstance(block, Table))
    assert [column.title for column in table.columns] == ["strategy", "difference, %"]
    (said,) = blocks[2].lines  # type: ignore[union-attr]
    assert folded(said.text) == snapshot("""\
The same in every row: p (Holm): 1.00; conversations better / same / worse: 0 / 6 / 0; finding:
the same; non-inferior, margin 2%: –; minimum detectable difference, %: –.\
""")  # noqa: RUF001


def test_where_the_reference_is_free_dollars_are_compared(make, store):
    names = [f"c{n}" for n in range(6)]
    free = [make("keep_all()", CUT, each) for each in names]
    paid = [make("other()", CUT, each) for each in names]
    for runs, cost in ((free, 0.0), (paid, 1.5)):
        for run in runs:
            run.metrics["cost_usd"] = cost
    cost, _ = first_cells(store(*free, *paid))
    assert cost[0] == "+1.50 USD"


def test_a_run_without_calls_or_figures_makes_a_page(store):
    bare = Run("one", "native", "keep_all()", "m", 0, 0)
    assert drawings(page(store(bare))) == 0


def test_it_replaces_a_file_as_a_whole_with_the_same_bytes(small, shown, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    write(small, path)
    assert path.read_text("utf-8") == shown
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def large() -> Results:
    """Thirty strategies over a hundred conversations of two hundred calls."""
    specs = ["keep_all()", "keep_none()", *(f"s{n}()" for n in range(28))]
    runs = []
    for number in range(100):
        size = 900 + number
        prompts = [(0, size), *((size + n, 900 + n % 7 * number) for n in range(200))]
        runs += [
            make(spec, prompts, f"c{number}", cut=[5, 9 + n], side=n / 9, need=1 - n / 50)
            for n, spec in enumerate(specs)
        ]
    return store(*runs)


@pytest.mark.slow
def test_a_large_store_makes_a_page_of_one_megabyte_at_most():
    text = page(large())
    assert len(text.encode()) < 1_000_000
    known = data(text)
    assert len(known["conversations"]) >= 12
    assert len(known["strategies"]) == 30
    assert "This page has no room for" in text or len(known["conversations"]) == 100


@pytest.mark.usefixtures("undrawn")
def test_of_very_many_conversations_the_first_are_listed(make, store, monkeypatch):
    monkeypatch.setattr("compactlab.reports.page.page._LISTED", 2)
    two = store(*(make("keep_all()", conversation=f"c{n}") for n in range(2)))
    assert "more, which" not in page(two)
    three = store(*(make("keep_all()", conversation=f"c{n}") for n in range(3)))
    _, _, listed = page(three).partition("Conversations and their digests")
    listing, _, _ = listed.partition("</details>")
    assert ["c0" in listing, "c1" in listing, "c2" in listing] == [True, True, False]
    assert lines_with(listing, "and 1") == snapshot(
        "<p>and 1 more, which <code>compactlab report --format csv</code> names</p>"
    )


def test_a_long_table_is_looked_through_once_to_see_whether_it_can_be_sorted():
    looks = []

    class Rows(tuple[TableRow, ...]):
        def __iter__(self) -> Iterator[TableRow]:
            looks.append(1)
            return super().__iter__()

    table = Table((Column("a"),), Rows([TableRow(("x",))] * 3))
    assert [table.sortable for _ in table.rows] == [False] * 3
    assert len(looks) == 2  # once of them this test
