"""The tables of the store beside that of the runs: one a file."""

from compactlab.sim.tables.calls import CALLS
from compactlab.sim.tables.compactions import COMPACTIONS
from compactlab.sim.tables.facts import FACTS
from compactlab.sim.tables.messages import MESSAGES
from compactlab.sim.tables.prompts import PROMPTS
from compactlab.sim.tables.table import NO_ROWS, Column, Columns, Rows, Table, joined
from compactlab.sim.tables.views import VIEWS

__all__ = ["CALLS", "NO_ROWS", "TABLES", "USUAL", "Column", "Columns", "Rows", "Table", "joined"]

TABLES = {table.name: table for table in (CALLS, COMPACTIONS, FACTS, MESSAGES, VIEWS, PROMPTS)}
# The trace is written on demand only: of a long session it is as long as the session.
USUAL = ("calls", "compactions", "facts", "messages", "views")
