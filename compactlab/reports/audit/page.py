"""An audit as a page: one file, with nothing in it from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactlab.reports.audit.causes import (
    WHY_HEADS,
    WHY_MEANING,
    cause_rows,
    headline,
    read_cost,
    remarks,
)
from compactlab.reports.audit.charts import BARS, READ, bars, course, furthest_off, look
from compactlab.reports.audit.columns import (
    CHURN_HEADS,
    CHURN_MEANING,
    MEANING,
    REBUILDS,
    SIZES,
    Column,
    Line,
    churn_rows,
    line,
    totals,
    worst,
)
from compactlab.reports.audit.ledger import Entry, Ledger, client_name
from compactlab.reports.audit.terminal import told
from compactlab.reports.charts.drawing import COLOURS
from compactlab.reports.render.setting import set_page
from compactlab.reports.render.text import clean, counted, show
from compactlab.sim.cache.causes import CAUSES

# Sessions that have a row of their own; the dearest.
SESSIONS = 100


def audit_page(ledger: Ledger, most: int) -> str:
    """Set the page.

    Parameters
    ----------
    ledger
        What was audited.
    most
        How many of the calls that are furthest off are told.

    Returns
    -------
    str
        HTML that refers to nothing outside itself and runs no script; the same audit gives the
        same bytes.
    """
    return set_page("audit.html.j2", _content(ledger, most))


def _content(ledger: Ledger, most: int) -> dict[str, Any]:
    priced = [entry for entry in ledger.dearest if entry.audited.recorded.cost is not None]
    off = furthest_off(ledger.entries)
    shown = [line(entry) for entry in ledger.dearest[:SESSIONS]]
    lines = [*totals(ledger), *shown]
    return {
        "colours": COLOURS,
        "headline": headline(ledger.entries),
        "remarks": remarks(ledger),
        "failures": [clean(failure) for failure in ledger.failures],
        "scope": _scope(ledger),
        "tables": [_table(lines, columns) for columns in (SIZES, REBUILDS)],
        "hidden": len(ledger.entries) - len(shown),
        "meaning": MEANING,
        "course": course(off, "course"),
        "course_of": clean(off.name),
        "course_file": clean(off.file),
        "course_priced": off.audited.recorded.cost is not None,
        "worst": [list(told(miss)) for miss in worst(ledger.entries, most)],
        "why": list(_why(ledger)),
        "why_heads": WHY_HEADS,
        "why_meaning": WHY_MEANING,
        "bars": bars(priced[:BARS], "bars"),
        "without_bar": max(0, len(priced) - BARS),
        "churn_heads": CHURN_HEADS,
        "churn": list(churn_rows(ledger)),
        "churn_meaning": CHURN_MEANING,
        "alone": len(ledger.clients) == 1,
    }


def _scope(ledger: Ledger) -> str:
    parts = [
        f"{client_name(client)}, {counted(len(ledger.of_client(client)), 'session')}"
        for client in ledger.clients
    ]
    return "; ".join(parts)


def _table(lines: Sequence[Line], columns: Sequence[Column]) -> dict[str, Any]:
    """A table with columns in groups: of each its name and how many there are."""
    groups: list[list[Any]] = []
    for column in columns:
        if groups and groups[-1][0] == column.group:
            groups[-1][1] += 1
        else:
            groups.append([column.group, 1])
    rows = [
        {
            "label": clean(each.label),
            "total": each.total,
            "cells": [column.cell(each) for column in columns],
        }
        for each in lines
    ]
    return {"groups": groups, "heads": [column.title for column in columns], "rows": rows}


def _why(ledger: Ledger) -> list[dict[str, Any]]:
    """The table of causes over all, and of each client where there are several."""
    several = len(ledger.clients) > 1
    parts = [("all sessions" if several else "", ledger.entries)]
    if several:
        parts += [(client_name(each), ledger.of_client(each)) for each in ledger.clients]
    return [{"title": title, "rows": _causes(entries)} for title, entries in parts]


def _causes(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    rows = []
    for row in cause_rows(entries):
        colour, pattern = look(row.cause)
        meaning = CAUSES.get(row.cause, "")
        rows.append({"cells": row, "colour": colour, "pattern": pattern, "meaning": meaning})
    read = show(sum(entry.audited.recorded.read.recorded for entry in entries), "tokens")
    priced = any(entry.audited.recorded.cost is not None for entry in entries)
    cost = show(read_cost(entries), "USD") if priced else ""
    cells = (READ, read, "", cost, "", "", "")
    return [*rows, {"cells": cells, "colour": look(READ)[0], "pattern": "", "meaning": ""}]
