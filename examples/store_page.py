"""Write the part of docs/store.md that comes from the code: the columns of every table.

``make docs`` runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from compactlab.sim.experiment.parquet import Column
from compactlab.sim.experiment.run import HEAD
from compactlab.sim.experiment.tables import COUNTED, TABLES, USUAL

PAGE = Path(__file__).resolve().parents[1] / "docs" / "store.md"
BEGIN = "<!-- From here to the next such line, `make docs` writes what the code says. -->\n"
END = "<!-- Written by hand again. -->\n"
RUN = "| `run` | text | the run, see [runs](#runs) |"


def renewed(page: str) -> str:
    """A page with its generated part as the code has it now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{generated()}\n{END}{after}"


def generated() -> str:
    """All tables, one after the other."""
    parts = [*runs(), *(part for name in TABLES for part in section(name))]
    return "\n".join(f"{part}\n" for part in parts)


def runs() -> Iterator[str]:
    """The table of runs: what stands in front, and that the metrics follow."""
    yield "## runs"
    yield "A row is a conversation under a strategy and a model."
    counts = ", ".join(f"`{COUNTED}{name}`" for name in TABLES)
    yield table(
        HEAD,
        last=(
            f"| {counts} | count | number of rows of the run in that table |",
            "| each of the metrics | number | its value, see [metrics](metrics.md); null where "
            "it has none or was not requested |",
        ),
    )


def section(name: str) -> Iterator[str]:
    """A table's heading, what a row is, and its columns."""
    found = TABLES[name]
    asked = "" if name in USUAL else " It is written only on request: `--tables`."
    yield f"## {name}"
    yield f"A row is {found.meaning}.{asked}"
    yield table(found.columns, first=(RUN,))


def table(
    columns: Mapping[str, Column], first: tuple[str, ...] = (), last: tuple[str, ...] = ()
) -> str:
    """Columns as a table, with lines before and behind them."""
    rows = [f"| `{name}` | {column.type} | {column.meaning} |" for name, column in columns.items()]
    return "\n".join(["| column | type | what it holds |", "|---|---|---|", *first, *rows, *last])


def main() -> None:
    """Renew the page."""
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
