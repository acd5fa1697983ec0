"""What an agent still knows: each fact's state in each prompt, by provenance.

``Ledger`` knows what a script states, takes back and needs, and when. ``Tracker`` follows the
prompts of a replay and says in which state every fact is; what did not change is not looked at
again. Facts are numbered, and a set of them is an integer whose bit *n* stands for number *n*.
"""

from compactlab.sim.facts.inference import inferred
from compactlab.sim.facts.ledger import Ledger, ledger_of, numbers
from compactlab.sim.facts.tracker import STATES, States, Tracker

__all__ = ["STATES", "Ledger", "States", "Tracker", "inferred", "ledger_of", "numbers"]
