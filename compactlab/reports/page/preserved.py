"""What summaries preserve of a strategy's exposure, with intervals, as a table and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from compactlab.reports.analysis.aggregate import ORACLE, OWN, RANDOM
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.preservation import Preservation, Share, preservation
from compactlab.reports.page.figures import row_of
from compactlab.reports.render.document import Block, Cell, Column, Heading, Table, TableRow, name
from compactlab.reports.render.text import with_interval

_HEADS = {
    "recall": "share of needs at this distance that the prompt meets",
    "exposure": "share of needs that is missed with summaries without content: the strategy's loss",
    "loss given exposure": "misses with these summaries over misses without content",
    "effect preserved": "one less that",
    "by random": "the same of summaries that quote at random, of the same length",
    "by oracle": "the same of summaries that state what later calls need",
}


def preserved(comparison: Comparison, colours: Mapping[str, str] | None = None) -> Iterator[Block]:
    """Render recall, exposure and effect preservation of strategies that summarise, if known.

    Brackets contain 95 % intervals, if there are any. The table has no colours on a terminal.
    """
    memories = list(_memories(comparison))
    if not memories:
        return
    lag = f"{comparison.lag:,} tokens"
    yield Heading(f"What summaries preserve, of facts last stated {lag} ago or earlier", 4)
    lines = []
    for memory in memories:
        cells = [with_interval(share) for share in _shares(memory).values()]
        if colours is None:
            lines.append(TableRow((name(memory.row.label), *cells)))
        else:
            lines.append(row_of(memory.row, colours, [*map(Cell, cells)]))
    heads = (Column(head, meaning=meaning) for head, meaning in _HEADS.items())
    yield Table((Column("strategy", words=True), *heads), tuple(lines), stacked=True)


def preserved_data(comparison: Comparison) -> dict[str, Any]:
    """The same for all strategies as data: shares with their intervals, if there are any."""
    return {
        "model": comparison.model,
        "window": comparison.window,
        "summarizer": comparison.summarizer,
        "lag": comparison.lag,
        "strategies": [
            {
                "strategy": row.spec,
                "conversations": memory.conversations,
                **{
                    head.replace(" ", "_"): None if share is None else asdict(share)
                    for head, share in _shares(memory).items()
                },
            }
            for row in comparison.rows
            for memory in (preservation(comparison, row),)
        ],
    }


def _memories(comparison: Comparison) -> Iterator[Preservation]:
    rows: Iterator[Row] = (row for row in comparison.lines if row.summarises)
    for row in rows:
        memory = preservation(comparison, row)
        if memory.preserved() is not None:
            yield memory


def _shares(memory: Preservation) -> dict[str, Share | None]:
    own = memory.preserved(OWN)
    found = (
        memory.recall(),
        memory.exposure,
        None if own is None else own.rest,
        own,
        memory.preserved(RANDOM),
        memory.preserved(ORACLE),
    )
    return dict(zip(_HEADS, found, strict=True))
