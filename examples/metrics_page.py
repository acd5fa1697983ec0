"""Write the part of docs/metrics.md that comes from the code: tables and definitions.

``make docs`` runs it. A metric's definition is the docstring of its function.
"""

import re
from collections.abc import Iterator
from inspect import cleandoc
from itertools import groupby
from pathlib import Path

from compactlab.sim.metrics import FAMILIES, Family, Metric

PAGE = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
BEGIN = "<!-- From here to the next such line, `make docs` writes what the code says. -->\n"
END = "<!-- Written by hand again. -->\n"
HEAD = (
    "| metric | unit | better | meaning | figure of a run | source |",
    "|---|---|---|---|---|---|",
)


def renewed(page: str) -> str:
    """A page with its generated part as the code has it now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{generated()}\n{END}{after}"


def generated() -> str:
    """All families, one after the other."""
    return "\n".join(f"{line}\n" for family in FAMILIES for line in section(family))


def section(family: Family) -> Iterator[str]:
    """A family's heading, its table, and its definitions."""
    yield f"## {family.title}"
    yield "\n".join([*HEAD, *map(row, family.metrics)])
    if family.about:
        yield family.about
    for about, metrics in groupby(family.metrics, lambda metric: halves(metric.definition)[1]):
        yield from definitions(list(metrics), about)


def row(metric: Metric) -> str:
    """A metric's line in the table."""
    cells = (metric.name, metric.unit, metric.better, metric.meaning, metric.of_run, metric.source)
    return f"| {' | '.join(cells)} |"


def definitions(metrics: list[Metric], about: str) -> Iterator[str]:
    """What is said of metrics that share all but the first line of their definitions."""
    if about and len(metrics) > 1:
        yield f"**{', '.join(metric.name for metric in metrics)}.** {about}"
        return
    for metric in metrics:
        summary, _ = halves(metric.definition)
        if about or summary.rstrip(".").lower() != metric.meaning.lower():
            yield f"**{metric.name}.** {summary} {about}".rstrip()


def halves(text: str) -> tuple[str, str]:
    """The first line of a docstring and what follows, as Markdown; a line a paragraph."""
    plain = re.sub(r":\w+:(?=`)", "", cleandoc(text)).replace("``", "`")
    plain = re.sub(r"`~", "`", plain)
    first, *rest = (" ".join(each.split()) for each in plain.split("\n\n"))
    return first, "\n\n".join(rest)


def main() -> None:
    """Renew the page."""
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
