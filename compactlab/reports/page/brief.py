"""The verdict in about thirty lines, for a terminal or a comment on a pull request."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

from compactlab.reports.analysis.advice import Advice, advised_alike, ordered_alike
from compactlab.reports.analysis.columns import (
    DOUBT,
    FAULTY,
    OVER,
    against,
    marks,
    recall_head,
    usd_head,
)
from compactlab.reports.analysis.comparison import ENOUGH, Comparison, Row, comparisons, label
from compactlab.reports.analysis.scope import (
    Sweep,
    scope,
    short,
    size_of,
    strategies,
    sweep_title,
    sweeps,
    told_apart,
)
from compactlab.reports.analysis.strength import points, signed
from compactlab.reports.page.headlines import bounds, outliers, picks, price, shown, waste
from compactlab.reports.page.table import (
    NOTHING,
    capped,
    failed_summaries,
    fault,
    inferred_models,
    never_acted,
    suspect,
    unfinished,
    unused,
)
from compactlab.reports.page.verdict import certainty, for_nothing, reasons, recorded
from compactlab.reports.render import markdown, terminal
from compactlab.reports.render.document import (
    Block,
    Cell,
    Column,
    Document,
    Key,
    Table,
    TableRow,
    Tone,
    name,
    sentences,
)
from compactlab.reports.render.text import (
    NONE,
    capitalised,
    clean,
    counted,
    exact,
    listed,
    plain,
    show,
)
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.manifest import windows_of
from compactlab.sim.store.results import Results
from compactlab.sim.store.tables import USUAL

_SHARE = "share"


def sweep_table(sweep: Sweep, colours: Mapping[str, str] | None = None) -> Table:
    """Cost and recall of every strategy under each window."""
    heads = [Column("strategy", words=True)]
    for each in sweep:
        under = f"at {short(size_of(each))}"
        heads += [
            Column("USD", group=under),
            Column(recall_head(each), group=under, better="higher"),
        ]
    rows = [
        TableRow(
            (name(row.label), *(cell for each in sweep for cell in _cells_of(each, row.spec))),
            key=Key(colours[row.spec], "") if colours else None,
        )
        for row in strategies(sweep)
    ]
    return Table(tuple(heads), tuple(rows), stacked=True)


def _cells_of(comparison: Comparison, spec: str) -> tuple[Cell, Cell]:
    row = next((row for row in comparison.rows if row.spec == spec), None)
    if row is None:
        return Cell(NONE), Cell(NONE)
    cost = row.mean()
    return (
        Cell(f"{show(cost, 'USD')} {marks(row)}".strip(), f"{cost:.6g}", cost),
        Cell(show(row.recall, "share"), value=row.recall),
    )


_MARKS = {
    OVER: "exceeds the context window on some calls",
    FAULTY: "the API would reject some calls, or they lack the system prompt",
    DOUBT: "it is not known whether the API would reject calls",
}


def sweep_document(results: Results, swept: Sequence[Sweep], width: int) -> Document:
    """The verdict of sweeps: a table each, and the cheapest strategies under each window.

    ``width`` is used if the output is not a terminal.
    """
    blocks: list[Block] = []
    for sweep in swept:
        carried = "".join(marks(row) for each in sweep for row in each.strategies)
        legend = "; ".join(f"{mark} {words}" for mark, words in _MARKS.items() if mark in carried)
        lines = [legend, *map(_cheapest, sweep)]
        blocks += [
            sentences([capitalised(sweep_title(sweep, name))], "strong", bullets=False),
            sweep_table(sweep),
            sentences([line for line in lines if line]),
        ]
    failed = len(results.failed)
    several = any(each.conversations > 1 for sweep in swept for each in sweep)
    closing = [
        "Cost: the mean of a conversation." if several else "",
        f"Recall: the share held of needed facts last stated {swept[0][0].lag:,} tokens ago or "
        "earlier, at each window.",
        unfinished(results),
        f"{counted(failed, 'run')} failed; compactlab report names them." if failed else "",
    ]
    blocks.append(sentences([line for line in closing if line]))
    return Document(tuple(blocks), width=width, dense=True)


def _cheapest(comparison: Comparison) -> str:
    """The cheapest usable strategies under a window, of those that compact."""
    advice = Advice(comparison)
    usable = [row for row in comparison.strategies if row.usable and not row.as_recorded]
    idle = usable and advice.cheapest not in (None, usable[0])  # what never compacts costs less
    best = {
        "cheapest that compacts" if idle else "cheapest": advice.cheapest,
        f"cheapest that recalls at least {ENOUGH:.0%}": advice.enough,
    }
    parts = [
        f"{role} {name(row.label)} ({show(row.mean(), 'USD')} USD"
        f"{'' if row.recall is None else f', recall {show(row.recall, _SHARE)}'})"
        for role, row in best.items()
        if row is not None
    ]
    return f"At {short(size_of(comparison))}: {'; '.join(parts) or 'no usable strategy'}."


_GENERATED = re.compile(r"(.+\))-\d+")


def specs(results: Results) -> list[str]:
    """The specs of the strategies, in the order of the runs."""
    return list(dict.fromkeys(run.strategy for run in results.runs if run.strategy))


def why(results: Results, advice: Advice) -> Iterator[str]:
    """The command that explains the row that wastes most, in its most expensive conversation."""
    found = waste(advice.comparison)
    if found is None:
        return
    run = max(found.row.runs, key=lambda run: run.metrics["cost_usd"] or 0.0)
    options = {"strategies": label(results, run.strategy)}
    made = [
        match[1]
        for source in results.manifest.get("sources", ())
        if (match := _GENERATED.fullmatch(source)) and match[1].startswith(f"{run.scenario}(")
    ]
    if len(made) == 1:
        where, seed = made[0], run.seed
        options |= {"seed": str(seed)} if seed else {}
    else:
        where = "FOLDER_OF_RECORDINGS" if not made else run.scenario
        options |= {"conversation": run.conversation}
    if run.model != "recorded":
        options |= {"model": run.model}
    options |= {"window": str(run.window)} if run.window else {}
    words = [_quoted(where), *(f"--{key} {_quoted(value)}" for key, value in options.items())]
    yield f"Why {name(found.row.label)} costs so much: `compactlab explain {' '.join(words)}`"


def command(results: Results) -> str:
    """The command that repeats the run; the user must supply the recordings that it names."""
    manifest = results.manifest
    computed, written = manifest.get("metrics", ()), manifest.get("tables", USUAL)
    seeds = len(manifest.get("seeds", ()))
    options: list[tuple[str, Iterable[Any]]] = [
        ("strategies", _named(results)),
        ("model", manifest.get("models", ())),
        ("models", ["FILE_OF_OWN_MODELS"] if manifest.get("own_models") else ()),
        ("churn", ["FILE_OF_CHURN"] if manifest.get("churn") else ()),
        ("window", filter(None, windows_of(manifest))),
        ("summarizer", manifest.get("summarizers", ())),
        ("loop", [manifest.get("loop") or "open"]),
        ("metrics", computed if len(computed) < len(METRICS) else ()),
        ("seeds", [seeds] if seeds > 1 else ()),
        ("tables", written if set(written) != set(USUAL) else ()),
    ]
    words = [f"--conversations {source}" for source in _conversations(manifest)]
    words += [f"--{option} {_quoted(value)}" for option, values in options for value in values]
    return " \\\n  ".join(["compactlab run", *words, *["--redact"] * bool(manifest.get("redact"))])


def _named(results: Results) -> list[str]:
    """The strategies as somebody would type them; nothing for the default ones."""
    manifest, known = results.manifest, specs(results)
    if set(known) == manifest.get("strategies", {}).keys() and manifest.get("line_up"):
        return [] if manifest["line_up"] == "default" else [manifest["line_up"]]
    own = manifest.get("own_strategies", ())
    return [spec if spec in own else label(results, spec) for spec in known]


def recordings(results: Results) -> str:
    """The names of the transcripts that the command needs, in words."""
    sources = dict.fromkeys(results.manifest.get("sources", ()))
    names = [clean(source) for source in sources if not _GENERATED.fullmatch(source)]
    shown = names[:20] + ([f"{len(names) - 20:,} more"] if len(names) > 20 else [])
    return listed(shown)


def _conversations(manifest: dict[str, Any]) -> list[str]:
    """The specs of scenarios, and a placeholder for all recordings."""
    sources = [clean(source) for source in manifest.get("sources", ())]
    made = dict.fromkeys(match[1] for s in sources if (match := _GENERATED.fullmatch(s)))
    others = [s for s in sources if not _GENERATED.fullmatch(s)]
    return [*map(_quoted, made), *(["FOLDER_OF_RECORDINGS"] if others else [])]


def _quoted(word: Any) -> str:
    """A word quoted for a shell; in double quotes if it has single ones and nothing to expand."""
    text = clean(str(word))
    plain = "'" in text and not re.search(r'["$`\\!]', text)
    return f'"{text}"' if plain else shlex.quote(text)


LINES = 32
# The width if the output is not a terminal, such as mail and logs.
_WIDTH = 110


def brief(results: Results) -> str:
    """Write the verdict for a terminal, in some thirty lines.

    The answer and its certainty are always shown. A narrow terminal and the user's own strategies
    need more lines. Of several comparisons it shows the first, and whether the others agree; of
    several windows, a table of all.
    """
    compared = comparisons(results)
    if not compared:
        return NOTHING
    if swept := sweeps(compared):
        return terminal.write(sweep_document(results, swept, _WIDTH))
    advice = Advice(compared[0])
    must, may = _sentences(results, compared, advice)
    text = terminal.write(_document(results, advice, must))
    for sentence in may:
        more = terminal.write(_document(results, advice, [*must, sentence]))
        if _fits(more):
            must, text = [*must, sentence], more
    return text


def brief_markdown(results: Results) -> str:
    """The verdict in GitHub's Markdown, with all its sentences."""
    compared = comparisons(results)
    if not compared:
        return NOTHING
    if swept := sweeps(compared):
        return markdown.write(sweep_document(results, swept, _WIDTH))
    advice = Advice(compared[0])
    must, may = _sentences(results, compared, advice)
    lines = dict.fromkeys([*must, *may, *reasons(advice)])
    return markdown.write(_document(results, advice, list(lines)))


def _fits(text: str) -> bool:
    return len(text.splitlines()) <= LINES


def _document(results: Results, advice: Advice, lines: Sequence[str]) -> Document:
    table = deciding(advice)
    blocks: list[Block] = [
        sentences([capitalised(scope(advice.comparison, name))], "strong", bullets=False),
        *([table] if table.rows else []),
        sentences([*bounds(advice.comparison)]),
        sentences(lines),
        sentences([*legend(advice), *why(results, advice)], "quiet"),
    ]
    return Document(tuple(blocks), width=_WIDTH, dense=True)


def deciding(advice: Advice) -> Table:
    """The rows that matter with the deciding figures, the same on the terminal and the page."""
    comparison = advice.comparison
    number = comparison.conversations
    than, head = name(against(comparison)), recall_head(comparison)
    recalled = any(advice.recalled(row) for row in comparison.rows)
    # A header wraps where its cells have intervals.
    there = (True, True, advice.reference is not None, True, recalled, True)
    columns = (
        Column("strategy", words=True),
        Column(usd_head(comparison), key="cost_usd"),
        Column(f"vs {than}", key="of_reference"),
        Column(head, key="recall", better="higher"),
        Column("Δ points", rank=1, key="recall_points", better="higher"),
        Column("note", words=True),
    )
    rows = (
        TableRow(tuple(compress(_cells(advice, row, role), there)), _tone(row, role))
        for row, role in shown(advice)
    )
    return Table(tuple(compress(columns, there)), tuple(rows), stacked=number > 1)


def _tone(row: Row, role: str) -> Tone:
    if role.startswith("choose"):
        return "strong"
    return "" if row.usable else "quiet"


def _sentences(
    results: Results, compared: Sequence[Comparison], advice: Advice
) -> tuple[list[str], list[str]]:
    """Sentences that are always below the table, and optional ones, the most important first."""
    failed = len(results.failed)
    comparison = compared[0]
    must = [
        unfinished(results),
        *inferred_models(comparison),
        f"{counted(failed, 'run')} failed; compactlab report names them." if failed else "",
        *certainty(advice),
        *(each.sentence for each in outliers(advice)),
        *recorded(comparison),
        *for_nothing(comparison),
        *never_acted([row for row, _ in shown(advice)]),
        *suspect(comparison),
        *advised_alike(compared),
    ]
    may = [
        *unused(comparison),
        *ordered_alike(compared),
        *(_other(each, compared) for each in compared[1:]),
        *capped(comparison),
    ]
    return [sentence for sentence in must if sentence], may


def _other(comparison: Comparison, compared: Sequence[Comparison]) -> str:
    """Another comparison in one line."""
    advice = Advice(comparison)
    parts = [
        f"{role} {name(row.label)}, {price(row)} (recall {show(row.recall, 'share')})"
        for row, role in picks(advice)
        if row.choice and role
    ]
    return f"{told_apart(comparison, compared, name)}: {'; '.join(parts) or 'no usable strategy'}."


def legend(advice: Advice) -> Iterator[str]:
    """What the columns count that their heads do not say."""
    if any(row.recall is not None for row in advice.comparison.rows):
        yield (
            f"{capitalised(recall_head(advice.comparison))}: of the needed facts last stated "
            f"{advice.comparison.lag:,} tokens ago or earlier, the share that the prompt holds."
        )
    if not all(row.usable or row.bound for row in advice.comparison.rows):
        yield "Usable: every prompt is valid, has its system prompt, and fits the context window."


def note(row: Row, role: str) -> str:
    """The roles of a row, and what is wrong with it."""
    faults = [fault(row)] if not (row.usable or row.bound) else []
    if row.rejected_for:
        faults.append(f"the API may reject it ({listed(list(row.rejected_for))})")
    if failed := failed_summaries(row):
        faults.append(f"{failed} summaries failed")
    played = "as recorded" if row.as_recorded and row.acted and "as recorded" not in role else ""
    return ", ".join(filter(None, [role, played, *faults]))


def _cells(advice: Advice, row: Row, role: str) -> list[Cell]:
    cost, recall = advice.cost(row), advice.recalled(row)
    if not row.usable:
        cost = None  # it saves nothing
    return [
        Cell(name(row.label)),
        _figure(show(spent := row.mean(), "USD"), spent),
        _figure(signed(cost) if cost else "", cost.estimate if cost else None),
        _figure(show(row.recall, "share"), row.recall),
        _figure(points(recall), recall.estimate if recall else None),
        Cell(note(row, role)),
    ]


def _figure(text: str, value: float | None) -> Cell:
    """A figure with its interval, which is in small print."""
    text, _, interval = text.partition(" (")
    return Cell(text or NONE, exact(value), plain(value), aside=interval and f"({interval}")
