"""Whether what the next recorded actions need is still in context: FNC@k, without labels."""

from __future__ import annotations

from collections.abc import Callable

from compactlab.sim.facts.counts import Counts
from compactlab.sim.message import Part
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.metrics.shared import shared
from compactlab.sim.needs import AHEAD, bits, forward_needs


def forward_need(reading: Reading) -> float | None:
    """Share of the words that the next five actions use, and that had appeared, in context.

    For each call of the script: the *words* (see below) that the next five recorded actions (this
    call's answer and the four after it) use and that had appeared before the call, and the share
    of them that stand somewhere in the prompt. Summed over calls: all that was there over all that
    was used. It needs no labels. A word that stands in a prompt by chance counts, so compare it
    with ``random_keep`` and ``keep_none``.
    """
    return _covered(reading)[5]


def _ahead(actions: int) -> Callable[[Reading], float | None]:
    def forward(reading: Reading) -> float | None:
        return _covered(reading)[actions]

    forward.__name__ = forward.__qualname__ = f"forward_need_{actions}"
    forward.__doc__ = f"The same share, looking {actions} recorded actions ahead (FNC@{actions})."
    return forward


forward_need_1 = _ahead(1)
forward_need_20 = _ahead(20)


@shared
def _covered(reading: Reading) -> dict[int, float | None]:
    """By how many actions are looked ahead, the share in context."""
    needs = forward_needs(reading.conversation)
    answers, lacking = [], dict.fromkeys(AHEAD, 0)
    furthest = needs.wanted[max(AHEAD)]
    held = Counts()
    system: tuple[Part, ...] = ()
    for step, gone, come, *_ in reading.changes:
        for message in gone:
            held.take(needs.bits_in(message))
        for message in come:
            held.add(needs.bits_in(message))
        if step.system is not system:
            held.take(bits(needs.held_by(system)))
            system = step.system
            held.add(bits(needs.held_by(system)))
        answer = step.answer
        if answer in furthest:  # else it is a call that the script does not have
            answers.append(answer)
            missing = furthest[answer] & ~held.bits
            if missing:
                for k in AHEAD:
                    lacking[k] += (needs.wanted[k][answer] & missing).bit_count()
    sums = {k: sum(map(needs.sizes[k].__getitem__, answers)) for k in AHEAD}
    return {k: (sums[k] - lacking[k]) / sums[k] if sums[k] else None for k in AHEAD}


_SLIPSTREAM = "the recorded future as ground truth, arXiv 2605.08580"
_SUMMED = "sum of what is in context over sum of what is used, of all calls"

METRICS = (
    Metric("share", "higher", "of what the next action uses, what is in context (FNC@1)",
           _SUMMED, _SLIPSTREAM, forward_need_1),
    Metric("share", "higher", "of what the next five actions use, what is in context (FNC@5)",
           _SUMMED, _SLIPSTREAM, forward_need),
    Metric("share", "higher", "of what the next 20 actions use, what is in context (FNC@20)",
           _SUMMED, _SLIPSTREAM, forward_need_20),
)  # fmt: skip
