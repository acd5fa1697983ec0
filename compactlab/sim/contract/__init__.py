"""The contract of the family, as checks that anybody can run on a strategy."""

from __future__ import annotations

from compactlab.sim.contract.battery import Violation, check_strategy
from compactlab.sim.contract.rules import RULES

__all__ = ["RULES", "Violation", "check_strategy"]
