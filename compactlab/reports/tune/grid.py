"""The settings that were replayed, for a slider: a place of it is a replay, and nothing between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compactlab.reports.render.document import Custom, with_names
from compactlab.reports.render.html import in_script
from compactlab.reports.render.text import dollars
from compactlab.reports.tune.tuned import Tuned

# What a setting is called, its row of the table, and what its marks mean.
Called = Callable[[Tuned, int], str]
Cells = Callable[[Tuned, int], Sequence[str]]


@dataclass(frozen=True)
class Grid:
    """All settings of all strategies and windows, as JSON that can stand in a script element."""

    text: str
    settings: int


def grid(
    tuned: Sequence[Tuned], heads: Sequence[str], called: Called, cells: Cells, marked: Called
) -> Custom:
    """Write down what a reader can choose from."""
    data = {
        "heads": list(heads),
        "strategies": [
            {
                "label": with_names(each.label),
                "window": each.window,
                "sessions": len(each.conversations),
                "keep_all": None if each.keep_all is None else dollars(each.keep_all),
                "first": each.own if each.advised is None else each.advised,
                "settings": [
                    _setting(each, place, called, cells, marked) for place in range(len(each.tried))
                ],
            }
            for each in tuned
        ],
    }
    settings = sum(len(each.tried) for each in tuned)
    return Custom("settings.html.j2", Grid(in_script(data), settings))


def _setting(
    tuned: Tuned, place: int, called: Called, cells: Cells, marked: Called
) -> dict[str, Any]:
    tried, pasted = tuned.tried[place], tuned.pasted(place)
    return {
        "name": with_names(called(tuned, place)),
        "place": tried.place,
        "cells": [with_names(cell) for cell in cells(tuned, place)],
        "recovery": float(f"{tried.recovery:.6g}"),
        "marked": marked(tuned, place),
        "file": pasted.file if pasted else "",
        "condition": pasted.condition if pasted else "",
        "paste": "\n".join(pasted.lines) if pasted else "",
    }
