"""What an agent still knows: the state of each fact in each prompt, by provenance.

``Ledger`` holds the facts of a script, their revocations and needs over time. ``Tracker`` follows
the prompts of a replay and determines the state of every fact; unchanged messages are not read
again. Facts are numbered, and a set of facts is an integer whose bit *n* is fact *n*.
"""

from compactlab.sim.facts.inference import inferred
from compactlab.sim.facts.ledger import Ledger, ledger_of, numbers
from compactlab.sim.facts.tracker import STATES, States, Tracker

__all__ = ["STATES", "Ledger", "States", "Tracker", "inferred", "ledger_of", "numbers"]
