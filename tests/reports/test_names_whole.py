"""Names of strategies are never broken inside a word, however narrow the terminal is."""

from compactlab.cli.list import strategy_report
from compactlab.reports.page.brief import brief
from compactlab.reports.page.table import table
from compactlab.reports.render import terminal
from compactlab.reports.render.document import Column, Document, Table, name, rows
from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies.catalogue import STRATEGIES

FULL = [(0, 1_000), (1_000, 500), (1_500, 900)]
LABELS = [*ALL_STRATEGIES, "event_ranges(compaction_interval=0, trigger=0.8) + pair_repair"]
WIDTHS = (60, 61, 67, 74, 80, 93, 120, 160, 200)


def words(text: str) -> set[str]:
    """What stands between blanks, commas and opening brackets."""
    return set(text.replace("(", " ").replace(",", " ").split())


def test_in_a_table_of_figures(monkeypatch):
    figures = [[name(label), "highest recall", "123.45", "-12%", "100%", "9.9"] for label in LABELS]
    heads = [Column(title, words=n < 2, rank=n // 4) for n, title in enumerate("abcdef")]
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        text = terminal.write(Document((Table(tuple(heads), rows(figures)),)))
        assert max(map(len, text.splitlines())) <= width
        assert set().union(*map(words, LABELS)) <= words(text), width


def test_in_reports(make, store, monkeypatch):
    """The verdict with all of the user's own, the table of all, and their sentences."""
    cuts = [(0, 600), (0, 200), (0, 100)]
    labels = {f"{label}()": label for label in ALL_STRATEGIES if label != "keep_all"}
    runs = [make(spec, cuts, cut=[1], need=0.5) for spec in labels]
    results = store(make("keep_all()", FULL), *runs)
    results.manifest |= {"own_strategies": list(labels), "strategies": labels}
    for width in (60, 72, 80, 100, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        for text in (brief(results), table(results)):
            assert set().union(*map(words, labels.values())) <= words(text), width


def test_in_the_list(monkeypatch):
    listed: list[dict[str, object]] = [
        {"name": each, "does": ["clear", "summarise"], "when": ["every call"], "meaning": "x " * 40}
        for each in STRATEGIES.built_in
    ]
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        assert set(STRATEGIES.built_in) <= words(terminal.write(strategy_report(listed)))
