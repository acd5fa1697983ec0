"""A compaction before and after: what stayed, what was cut, and what was forgotten by it.

The side before is the prompt that would have been sent without it: the last one, and what has been
said since. The side after is the one that was sent.
"""

from compactlab.sim.diff.diff import Diff, diff_of, most_forgetful
from compactlab.sim.diff.line import FATES, Forgotten, Line
from compactlab.sim.diff.losses import Loss, losses

__all__ = [
    "FATES",
    "Diff",
    "Forgotten",
    "Line",
    "Loss",
    "diff_of",
    "losses",
    "most_forgetful",
]
