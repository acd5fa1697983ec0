"""One compaction, message by message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from msgspec.structs import replace

from compactlab.sim.blocks import Blocks, blocks_of
from compactlab.sim.diff.blame import blamed, said
from compactlab.sim.diff.line import STILL, TOLD, Forgotten, Line, together
from compactlab.sim.diff.lines import beside, lines_of, remade
from compactlab.sim.diff.losses import Loss, losses
from compactlab.sim.diff.sides import sides
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.message import Message
from compactlab.sim.metrics import Reading
from compactlab.sim.trace import Step

# Messages that are shown one by one; what stands between them is put together.
MOST = 16
_PUT_BACK = ("written", "back")


@dataclass(frozen=True)
class Diff:
    """One compaction, message by message.

    Parameters
    ----------
    call
        The number of the call before which it happened, from 1 on.
    lines
        What became of the messages.
    script
        The messages of the script, by their ids: what is none of them was written.
    """

    call: int
    lines: tuple[Line, ...]
    script: Mapping[str, Message]


def most_forgetful(reading: Reading, found: Mapping[int, Loss]) -> int | None:
    """The index of the compaction by which most was forgotten that was needed later.

    Of several, the one that made the prompt smaller by most tokens, then the first. None where
    nothing was compacted.
    """
    missed = {call: len(loss.missed) for call, loss in found.items()}
    calls = [(missed.get(each.call, 0), each.removed, -each.call) for each in reading.paybacks]
    return -max(calls)[2] if calls else None


def diff_of(reading: Reading, index: int, found: Mapping[int, Loss] | None = None) -> Diff:
    """Lay the two sides of a call beside each other.

    Parameters
    ----------
    reading
        A replay, in the open loop.
    index
        The index of the call, which is not the first.
    found
        What each call's prompt has lost, if that is known.
    """
    found = losses(reading) if found is None else found
    steps = reading.trace.steps
    both, model = sides(steps, index), reading.model(steps[index].model)
    script = {message.id: message for message in reading.conversation.messages}
    system = _system(steps[index - 1], steps[index], blocks_of(model.tokenizer))
    lines = [*system, *lines_of(both, model, script)]
    if lines and index in found:
        _forget(lines, reading, index, found[index])
    size = len(system)
    return Diff(index + 1, (*lines[:size], *_folded(lines[size:])), script)


def _system(last: Step, step: Step, blocks: Blocks) -> list[Line]:
    """The system blocks; shown is what came to them."""
    if not last.system and not step.system:
        return []
    before, after = (sum(blocks.of_system(parts)[1]) for parts in (last.system, step.system))
    if last.system == step.system:
        return [Line("kept", system=True, before=before, after=after)]
    come = tuple(part for part in step.system if part not in last.system)
    return [Line(remade(before, after), system=True, shown=come, before=before, after=after)]


def _forget(lines: list[Line], reading: Reading, index: int, loss: Loss) -> None:
    """Write each fact that was lost to the line with which it went."""
    facts, states = reading.ledger.facts, reading.states[index]
    with_line: dict[int, list[int]] = {}
    for number in numbers(loss.facts):
        with_line.setdefault(blamed(lines, facts[number]), []).append(number)
    for place, gone in with_line.items():
        missed = [number for number in gone if number in loss.missed]
        first = sorted(gone, key=lambda number: number not in loss.missed)
        told = tuple(
            Forgotten(facts[n].id, said(facts[n]), states.of(n), loss.missed.get(n, -1) + 1)
            for n in first[:TOLD]
        )
        lines[place] = replace(lines[place], lost=len(gone), missed=len(missed), facts=told)


def _folded(lines: Sequence[Line]) -> list[Line]:
    """The lines that say most one by one, and what stands between them put together."""
    cut = [line.fate not in STILL for line in lines]
    wanted = [place for place, near in enumerate(beside(cut)) if near]
    wanted.sort(key=lambda place: (_rank(lines[place]), -lines[place].before, place))
    chosen = set(wanted[:MOST])
    folded: list[Line] = []
    for alone, group in groupby(range(len(lines)), chosen.__contains__):
        if alone:
            folded += (_shown(lines[place]) for place in group)
        else:
            folded += together(lines[place] for place in group)
    return folded


def _rank(line: Line) -> int:
    """What was written comes first, then what was missed, lost, cut; what stayed comes last."""
    if line.fate in STILL:
        return 4
    if line.fate in _PUT_BACK:
        return 0
    return 1 if line.missed else 2 if line.lost else 3


def _shown(line: Line) -> Line:
    return line if line.message is None else replace(line, shown=line.message.parts)
