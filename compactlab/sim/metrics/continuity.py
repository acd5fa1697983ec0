"""The weakest of the figures of continuity."""

from __future__ import annotations

from compactlab.sim.metrics.forward import forward_need
from compactlab.sim.metrics.metric import OWN, Metric
from compactlab.sim.metrics.order import order_fidelity
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.metrics.references import reference_closure
from compactlab.sim.metrics.structure import structural_validity

_FIGURES = (structural_validity, reference_closure, forward_need, order_fidelity)


def continuity_minimum(reading: Reading) -> float | None:
    """The least of structural validity, reference closure, forward need and order fidelity.

    Of those that have a value; an order fidelity below 0 counts as 0. No mean: a prompt that is
    sound and in order, and lacks what the next action needs, is not good by two thirds.
    """
    values = [value for compute in _FIGURES if (value := compute(reading)) is not None]
    return max(0.0, min(values)) if values else None


METRICS = (
    Metric("share", "higher", "the worst of validity, closure, forward need and order",
           "minimum of these figures of the run", OWN, continuity_minimum),
)  # fmt: skip
