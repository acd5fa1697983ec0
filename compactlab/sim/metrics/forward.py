"""Whether words that the next recorded actions need are still in context: FNC@k, without labels."""

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
    """Share in context of the words that had appeared and that the next {}.

    For each call of the script: the *words* (see below) that had appeared before the call and that
    the next recorded actions use (this call's answer and later ones; the name has their number,
    five by default). The metric is the share of these words in the prompt, summed over calls
    (FNC@k). It needs no labels. Words may be in a prompt by chance, so compare it with
    ``random_keep`` and ``keep_none``.
    """
    return _covered(data)[actions]


@shared
def _covered(data: RunData) -> dict[int, float | None]:
    """The share in context, by the number of actions to look ahead."""
    needs = forward_needs(data.conversation)
    wanted, lacking = dict.fromkeys(AHEAD, 0), dict.fromkeys(AHEAD, 0)
    held = [0] * needs.size  # occurrences of each word in the prompt
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
