"""Whether what the next recorded actions need is still in context: FNC@k, without labels."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.core.message import Part
from compactlab.sim.facts.needs import AHEAD, forward_needs
from compactlab.sim.metrics.metric import Member, metric
from compactlab.sim.metrics.run_data import RunData, shared

_SLIPSTREAM = "the recorded future as ground truth, arXiv 2605.08580"
_SUMMED = "sum of words in context over sum of words used, of all calls"
_AHEAD = (
    Member("forward_need_1", 1, "action uses"),
    Member("forward_need", 5, "five actions use"),
    Member("forward_need_20", 20, "20 actions use"),
)


@metric("share", "higher", _SUMMED, _SLIPSTREAM, members=_AHEAD)
def forward_need(data: RunData, actions: int = 5) -> float | None:
    """Share of the words that the next {}, and that had appeared, in context.

    For each call of the script: the *words* (see below) that the next recorded actions (this call's
    answer and those after it; so many as the name says, five by default) use and that had appeared
    before the call, and the share of these words in the prompt. Summed over calls: all words
    present over all words used (FNC@k). It needs no labels. A word that is in a prompt by chance
    counts, so compare it with ``random_keep`` and ``keep_none``.
    """
    return _covered(data)[actions]


@shared
def _covered(data: RunData) -> dict[int, float | None]:
    """By how many actions are looked ahead, the share in context."""
    needs = forward_needs(data.conversation)
    wanted, lacking = dict.fromkeys(AHEAD, 0), dict.fromkeys(AHEAD, 0)
    held = [0] * needs.size  # how often each word stands in the prompt
    system: tuple[Part, ...] = ()

    def count(numbers: Iterable[int], times: int) -> None:
        for number in numbers:
            held[number] += times

    for step, gone, come, *_ in data.changes:
        for message in gone:
            count(needs.held_in(message), -1)
        for message in come:
            count(needs.held_in(message), 1)
        if step.system is not system:
            count(needs.held_by(system), -1)
            system = step.system
            count(needs.held_by(system), 1)
        if step.answer in needs.answers:  # else it is a call that the script does not have
            times = list(map(held.__getitem__, needs.wanted(step.answer, max(AHEAD))))
            for k, size in zip(AHEAD, needs.sizes(step.answer), strict=True):
                wanted[k] += size
                lacking[k] += times[:size].count(0)
    return {k: (wanted[k] - lacking[k]) / wanted[k] if wanted[k] else None for k in AHEAD}
