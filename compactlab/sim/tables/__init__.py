"""The tables of the store: one a file, but that of the runs, which every shard has."""

from compactlab.sim.tables.calls import CALLS
from compactlab.sim.tables.compactions import COMPACTIONS
from compactlab.sim.tables.facts import FACTS
from compactlab.sim.tables.messages import MESSAGES
from compactlab.sim.tables.prompts import PROMPTS
from compactlab.sim.tables.table import NO_ROWS, Column, Columns, Rows, Table, joined
from compactlab.sim.tables.views import VIEWS

__all__ = [
    "CALLS",
    "COUNTED",
    "NO_ROWS",
    "RUNS",
    "TABLES",
    "USUAL",
    "Column",
    "Columns",
    "Rows",
    "Table",
    "joined",
]

RUNS = "runs"
COUNTED = "rows_"  # in the table of runs, a column a table: how many rows it has for the run
TABLES = {table.name: table for table in (CALLS, COMPACTIONS, FACTS, MESSAGES, VIEWS, PROMPTS)}
# The trace is written on demand only: of a long session it is as long as the session.
USUAL = ("calls", "compactions", "facts", "messages", "views")
