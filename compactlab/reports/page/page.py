"""The page for a design review: one file, with nothing in it from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from compactlab.reports.analysis.advice import agreement
from compactlab.reports.analysis.aggregate import together
from compactlab.reports.analysis.columns import ARROWS
from compactlab.reports.analysis.comparison import (
    Comparison,
    comparisons,
    model_names,
    told_apart,
    window,
)
from compactlab.reports.charts.drawing import COLOURS, strategy_colours
from compactlab.reports.charts.sensitivity import sensitivity
from compactlab.reports.page import provenance
from compactlab.reports.page.block import BUDGET
from compactlab.reports.page.conversations import must_be_there
from compactlab.reports.page.notes import (
    failures,
    faults,
    legend,
    passed_over,
    summaries,
    unfinished,
)
from compactlab.reports.page.sections import drawing, section
from compactlab.reports.render.html import set_page
from compactlab.sim.core.files import replace_file
from compactlab.sim.experiment.results import Results
from compactlab.sim.metrics import METRICS

# The page's script and the policy under which a browser opens it: that script and no other.

# In the order in which they stand on the page: a later one uses what an earlier one defines.
_PARTS = ("report.js", "drawing.js", "conversation.js")


@cache
def script() -> str:
    """The script, as it stands on the page between its tags."""
    folder = resources.files("compactlab.reports") / "templates"
    return "\n" + "\n".join((folder / part).read_text(encoding="utf-8") for part in _PARTS)


@cache
def policy() -> str:
    """What the page may do: show what is in it, and run the one script that hashes to this.

    Nothing is fetched from anywhere, no form sent, and no text is made markup of. Drawings have
    their styles inline, so styles are let.
    """
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    rules = (
        "default-src 'none'",
        f"script-src 'sha256-{digest}'",
        "style-src 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(rules)


# The page for a design review: one file, with nothing in it from elsewhere.


def page(results: Results, conversation: str | None = None) -> str:
    """Set the page.

    Raises
    ------
    UsageError
        If there is no such conversation.
    """
    must_be_there(results, conversation)
    return set_page("report.html.j2", _content(results, conversation))


def write(results: Results, path: Path) -> None:
    """Write the page to a file, which is whole or not there."""
    replace_file(path, page(results).encode())


def _facts(results: Results, compared: Sequence[Comparison]) -> list[tuple[str, str]]:
    """What stands at the head of the page."""
    models = dict.fromkeys(model_names(each) for each in compared)
    windows = dict.fromkeys(window(each).removeprefix("window").strip(" :") for each in compared)
    over, lacking = passed_over(results), unfinished(results)
    return [
        *provenance.facts(results),
        ("Models", "; ".join(models) or "none"),
        ("Window", "; ".join(windows) or "none"),
        ("Summaries", summaries(results).removeprefix("summaries ")),
        *([("Not finished", lacking.removeprefix("Not finished: "))] if lacking else []),
        *([("Passed over", over.removeprefix("Passed over: "))] if over else []),
    ]


def _content(results: Results, wanted: str | None) -> dict[str, Any]:
    compared = comparisons(results)
    colours = strategy_colours(results, compared)
    chart = sensitivity(compared, colours)
    budget = BUDGET // max(1, len(compared))
    return {
        "policy": policy(),
        "script": script(),
        "colours": COLOURS,
        "arrows": ARROWS,
        "facts": _facts(results, compared),
        "sections": [
            section(results, comparison, colours, f"part-{number}", wanted=wanted, budget=budget)
            for number, comparison in enumerate(compared, 1)
        ],
        "names": [told_apart(each, compared) for each in compared],
        "agreement": list(agreement(compared)),
        "sensitivity": [drawing(chart)] if chart else [],
        "legend": legend(compared),
        "failed": len(results.failed),
        "faults": faults(failures(results)),
        "metrics": [(name, metric, together(name)) for name, metric in METRICS.items()],
        "manifest": provenance.provenance(results),
        "specs": provenance.specs(results),
        "digests": provenance.digests(results),
        "command": provenance.command(results),
        "recordings": provenance.recordings(results),
    }
