"""A compaction before and after: what stayed, what was cut, and what was forgotten by it.

The side before is the prompt that would have been sent without it: the last one, and what has been
said since. The side after is the one that was sent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from string import ascii_letters, digits
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from compactlab.sim.core.blocks import Blocks, blocks_of
from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.message import Message, Part
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.metrics import RunData
from compactlab.sim.metrics.fact_timeline import fact_timeline
from compactlab.sim.metrics.lag import lag_of
from compactlab.sim.models.model import Model
from compactlab.sim.replay.trace import Step

# What may have become of a message, and how it is said.
FATES = {
    "kept": "it is in both prompts",
    "new": "it was added since the last call, and sent unchanged",
    "gone": "it is no longer sent",
    "shortened": "less of it is sent",
    "changed": "it is sent with other content, and not shorter",
    "back": "it is sent again, although the last prompt did not hold it",
    "written": "the strategy wrote it",
}
# Of these nothing has changed.
STILL = ("kept", "new")
# Facts that a line tells by name.
TOLD = 8


class Forgotten(msgspec.Struct, frozen=True):
    """A fact that the prompt after no longer holds."""

    id: str
    statement: str  # key and value, shortened
    state: str  # in the prompt after; see compactlab.sim.facts.tracker
    missed: int = 0  # number of the first call that needed it and did not find it; 0: none
    lag: int | None = None  # of that need, as the lower end of its step; None: none


class DiffRow(msgspec.Struct, frozen=True):
    """A message before and after, or several of one fate that were put together."""

    fate: str  # one of FATES
    count: int = 1  # how many messages it stands for
    # The message before; None where there is none, of several, and of the system blocks.
    message: Message | None = None
    became: Message | None = None  # what stands for it after, where that is another one
    shown: tuple[Part, ...] = ()  # the parts by which it is shown; none of what was put together
    system: bool = False  # whether it is the system blocks
    before: int = 0  # tokens
    after: int = 0  # tokens
    lost: int = 0  # how many facts the prompt lost with it
    missed: int = 0  # how many of those were needed later and not found
    facts: tuple[Forgotten, ...] = ()  # the first of them, those that were missed before the others


def merged(lines: Iterable[DiffRow]) -> list[DiffRow]:
    """Put lines that stand side by side together: one line for each fate."""
    by_fate: dict[str, list[DiffRow]] = {}
    for line in lines:
        by_fate.setdefault(line.fate, []).append(line)
    return [_sum(fate, by_fate[fate]) for fate in FATES if fate in by_fate]


def _sum(fate: str, lines: list[DiffRow]) -> DiffRow:
    if len(lines) == 1:
        return lines[0]
    facts = [fact for line in lines for fact in line.facts]
    return DiffRow(
        fate,
        sum(line.count for line in lines),
        before=sum(line.before for line in lines),
        after=sum(line.after for line in lines),
        lost=sum(line.lost for line in lines),
        missed=sum(line.missed for line in lines),
        facts=tuple(sorted(facts, key=lambda fact: not fact.missed)[:TOLD]),
    )


GAP = " … "
# What a key, a path or an address may be made of.
_SIGNS = f"{ascii_letters}{digits}!#$%&*+-./:=?@\\^_`~"


def ends(text: str, head: int, tail: int) -> str:
    """The beginning and the end of a text, if it is longer than both.

    Words are not cut, so that nobody sees half of a key whose other half would tell what it is.

    Examples
    --------
    >>> ends("the key is sk-ant-0123456789 and the rest is prose", 20, 10)
    'the key is … is prose'
    """
    if len(text) <= head + tail + len(GAP):
        return text
    first, last = text[:head], text[len(text) - tail :]
    if text[head] in _SIGNS:
        first = first.rstrip(_SIGNS)
    if text[len(text) - tail - 1] in _SIGNS:
        last = last.lstrip(_SIGNS)
    return f"{first.rstrip()}{GAP}{last.lstrip()}".strip()


def excerpt(parts: Iterable[Part], head: int, tail: int) -> str:
    r"""The beginning and the end of what parts say, white space put together.

    Examples
    --------
    >>> from compactlab.sim.core.message import verbatim
    >>> excerpt([verbatim("m", "text", "one  two"), verbatim("m", "text", "three\n  four")], 8, 5)
    'one two … four'
    """
    # Of ten million characters only those are looked at that may be shown.
    room = 4 * (head + tail)
    texts = [part.text for part in parts if part.text]
    near = (t if len(t) <= 2 * room else f"{t[:room]}{t[-room:]}" for t in texts)
    return ends(" ".join(" ".join(near).split()), head, tail)


class Loss(NamedTuple):
    """What one prompt no longer holds."""

    facts: int  # as bits
    # The index of the first call that needs a lost fact and does not find it, by the fact's number;
    # a need is put down to the last prompt that lost the fact.
    missed: dict[int, int]


def losses(data: RunData) -> dict[int, Loss]:
    """What prompts have lost.

    A fact is lost at a call if it is due there, the prompt surely does not hold it, and the prompt
    before held it, or may have, or it was stated since.
    """
    moments = data.ledger.moments
    by_fact: dict[int, Loss] = {}
    last: dict[int, dict[int, int]] = {}  # of each fact, who missed what was lost with it
    held = seen = 0
    for call, (step, states) in enumerate(zip(data.trace.steps, data.states, strict=True)):
        moment = moments[step.answer]
        due = moment.due
        now = states.verbatim | states.intact | states.unknown
        lacking = due & ~now
        if lacking:
            if lost := lacking & (held | ~seen):
                loss = by_fact[call] = Loss(lost, {})
                last.update(dict.fromkeys(numbers(lost), loss.missed))
            for fact in numbers(moment.needed & lacking):
                if fact in last:
                    last[fact].setdefault(fact, call)
        held = now
        seen |= due
    return by_fact


# The two sides of a compaction, and which message of the one is which of the other.


class Pair(NamedTuple):
    """The place of a message before and that of what stands for it after; None: there is none."""

    before: int | None
    after: int | None


class Sides(NamedTuple):
    """What would have been sent, what was sent, and which messages had been said in between."""

    before: list[Message]
    after: list[Message]
    new: list[Message]


def sides(steps: Sequence[Step], index: int) -> Sides:
    """The two sides of the call at an index, which is not the first."""
    last, step = steps[index - 1], steps[index]
    same = last.log.shared(step.log)
    new, before = list(step.log[same:]), prompt_of(steps, index - 1)
    if same < len(last.log):  # the script went back: it took those away, and no strategy
        back = set(map(id, last.log[same:]))
        before = [message for message in before if id(message) not in back]
    return Sides(before + new, prompt_of(steps, index), new)


def prompt_of(steps: Sequence[Step], index: int) -> list[Message]:
    """The messages of one prompt, put together from its end on: the others are not looked at."""
    pieces: list[Iterable[Message]] = []
    wanted = steps[index].shared + len(steps[index].added)
    while wanted:
        step = steps[index]
        if wanted > step.shared:
            pieces.append(step.added[: wanted - step.shared])
            wanted = step.shared
        index -= 1
    return [message for piece in reversed(pieces) for message in piece]


def sizes(messages: Sequence[Message], model: Model) -> list[int]:
    """Tokens of each message of a prompt: some models drop the thinking of earlier turns."""
    blocks = blocks_of(model.tokenizer)
    sizes_of_each = list(map(blocks.tokens, messages))
    if model.strips_thinking and blocks.thoughts:
        last = len(messages) - 1
        turn = next((n for n in range(last, 0, -1) if messages[n].starts_turn), 0)
        for place, message in enumerate(messages[:turn]):
            if bare := blocks.thoughts.get(id(message)):
                sizes_of_each[place] = sum(bare[1])
    return sizes_of_each


def paired(before: Sequence[Message], after: Sequence[Message]) -> list[Pair]:
    """Which message of the one side is which of the other, row by row, by their places.

    Each message of both stands in one row. A row with both has the same message twice, or one and
    what the strategy has made of it, by its id. Rows are in the order of the side after; what has
    no counterpart there stands where it stood before, and above whatever was written instead.

    Examples
    --------
    >>> one, two, three, short = (Message(i, "user", ()) for i in ("1", "2", "3", "2"))
    >>> paired([one, two, three], [short, three])
    [Pair(before=0, after=None), Pair(before=1, after=0), Pair(before=2, after=1)]
    """
    twins = _twins(before, after)
    taken = {twin for twin in twins if twin >= 0}
    rows: list[Pair] = []
    waiting: list[Pair] = []
    done = 0
    for place, twin in enumerate(twins):
        if twin < 0:
            waiting.append(Pair(None, place))
            continue
        rows += (Pair(n, None) for n in range(done, twin) if n not in taken)
        done = max(done, twin + 1)
        rows += waiting
        waiting = []
        rows.append(Pair(twin, place))
    rows += (Pair(n, None) for n in range(done, len(before)) if n not in taken)
    return rows + waiting


def _twins(before: Sequence[Message], after: Sequence[Message]) -> list[int]:
    """Of each message after, the place of its counterpart before; -1 where there is none."""
    same = 0
    for one, two in zip(before, after, strict=False):
        if one is not two:
            break
        same += 1
    places: dict[int, list[int]] = defaultdict(list)
    for n in range(len(before) - 1, same - 1, -1):
        places[id(before[n])].append(n)
    twins = [*range(same)]
    for message in after[same:]:
        mine = places.get(id(message))
        twins.append(mine.pop() if mine else -1)
    if -1 in twins:
        taken = set(twins)
        named: dict[str, list[int]] = defaultdict(list)
        for n in range(len(before) - 1, same - 1, -1):
            if n not in taken:
                named[before[n].id].append(n)
        for place, twin in enumerate(twins):
            if twin < 0:
                mine = named.get(after[place].id)
                twins[place] = mine.pop() if mine else -1
    return twins


# With which message a fact went.

# Characters of a fact's key and value that are told, of their beginnings and of their ends.
_KEY, _VALUE = (45, 15), (60, 20)
_POLARITY = {"is": "", "must": " (must)", "must_not": " (must not)", "asks": " (not decided)"}


def blamed(lines: Sequence[DiffRow], fact: Fact) -> int:
    """The place of the line with which a fact went.

    The last changed message that states it; else the last that stands for such a one, as a summary
    does; else the first that was written instead; else the first of which anything has changed.
    """
    origin = {source.id for source in fact.origin}
    changed = [place for place, line in enumerate(lines) if line.fate not in STILL]
    left = [(place, lines[place].message) for place in reversed(changed)]
    for place, message in left:
        if message is not None and message.id in origin:
            return place
    for place, message in left:
        if message is not None and any(s.id in origin for p in message.parts for s in p.sources):
            return place
    written = (place for place in changed if lines[place].fate == "written")
    return next(written, changed[0] if changed else 0)


def statement_of(fact: Fact) -> str:
    """A fact's key and value, shortened.

    Examples
    --------
    >>> statement_of(Fact("f", "prohibition", "branch", "main", polarity="must_not"))
    'branch: main (must not)'
    """
    key, value = ends(fact.key, *_KEY), ends(fact.value, *_VALUE)
    text = f"{key}: {value}" if key and key != value else value
    return text + _POLARITY[fact.polarity]


def lines_of(both: Sides, model: Model, script: Mapping[str, Message]) -> Iterator[DiffRow]:
    """A line a message; what stands far from any change is put together at once."""
    return _DiffRows(both, model, script).listed()


class _DiffRows:
    def __init__(self, both: Sides, model: Model, script: Mapping[str, Message]) -> None:
        self._before, self._after = both.before, both.after
        self._ones, self._twos = sizes(both.before, model), sizes(both.after, model)
        self._new = set(map(id, both.new))
        self._script = script

    def listed(self) -> Iterator[DiffRow]:
        pairs = paired(self._before, self._after)
        changed = [
            was is None or now is None or self._before[was] is not self._after[now]
            for was, now in pairs
        ]
        for shown, group in groupby(zip(pairs, neighbours(changed), strict=True), itemgetter(1)):
            if shown:
                yield from (self._line(*pair) for pair, _ in group)
            else:
                yield from self._still([pair for pair, _ in group])

    def _still(self, pairs: Sequence[Pair]) -> Iterator[DiffRow]:
        """Those that were there before, and those that are new."""
        places = [(was, now) for was, now in pairs if was is not None and now is not None]
        fresh = [id(self._before[was]) in self._new for was, _ in places]
        for fate in STILL:
            of = [pair for pair, new in zip(places, fresh, strict=True) if new == (fate == "new")]
            if of:
                yield DiffRow(
                    fate,
                    len(of),
                    self._before[of[0][0]] if len(of) == 1 else None,
                    before=sum(self._ones[was] for was, _ in of),
                    after=sum(self._twos[now] for _, now in of),
                )

    def _line(self, was: int | None, now: int | None) -> DiffRow:
        before, one = (None, 0) if was is None else (self._before[was], self._ones[was])
        after, two = (None, 0) if now is None else (self._after[now], self._twos[now])
        if before is None:
            back = after is not None and self._is_said(after)
            return DiffRow("back" if back else "written", became=after, after=two)
        if after is None:
            return DiffRow("gone", message=before, before=one)
        if before is after or _same(before, after):
            fate = "new" if id(before) in self._new else "kept"
            return DiffRow(fate, message=before, before=one, after=two)
        return DiffRow(remade(one, two), message=before, became=after, before=one, after=two)

    def _is_said(self, message: Message) -> bool:
        original = self._script.get(message.id)
        return original is not None and (message is original or _same(message, original))


def neighbours(flags: Sequence[bool]) -> list[bool]:
    """Whether each is true, or one beside it.

    Examples
    --------
    >>> neighbours([False, False, True, False, False])
    [False, True, True, True, False]
    """
    return list(map(any, zip([False, *flags], flags, [*flags[1:], False], strict=False)))


def remade(before: int, after: int) -> str:
    """The fate of what is sent otherwise, by its tokens."""
    return "shortened" if after < before else "changed"


def _same(one: Message, two: Message) -> bool:
    return (one.role, one.parts) == (two.role, two.parts)


# Messages that are shown one by one; what stands between them is put together.
MOST = 16
_PUT_BACK = ("written", "back")


@dataclass(frozen=True)
class Diff:
    """One compaction, message by message."""

    call: int  # the number of the call before which it happened, from 1 on
    lines: tuple[DiffRow, ...]
    script: Mapping[str, Message]  # by id; what is none of them was written


def most_forgetful(data: RunData, by_call: Mapping[int, Loss]) -> int | None:
    """The index of the compaction by which most was forgotten that was needed later.

    Of several, the one that made the prompt smaller by most tokens, then the first. None where
    nothing was compacted.
    """
    missed = {call: len(loss.missed) for call, loss in by_call.items()}
    calls = [(missed.get(each.call, 0), each.removed, -each.call) for each in data.paybacks]
    return -max(calls)[2] if calls else None


def diff_of(data: RunData, index: int, by_call: Mapping[int, Loss] | None = None) -> Diff:
    """Lay the two sides of a call beside each other."""
    by_call = losses(data) if by_call is None else by_call
    steps = data.trace.steps
    both, model = sides(steps, index), data.model(steps[index].model)
    script = {message.id: message for message in data.conversation.messages}
    system = _system(steps[index - 1], steps[index], blocks_of(model.tokenizer))
    lines = [*system, *lines_of(both, model, script)]
    if lines and index in by_call:
        _forget(lines, data, index, by_call[index])
    size = len(system)
    return Diff(index + 1, (*lines[:size], *_folded(lines[size:])), script)


def _system(last: Step, step: Step, blocks: Blocks) -> list[DiffRow]:
    """The system blocks; shown is what came to them."""
    if not last.system and not step.system:
        return []
    before, after = (sum(blocks.of_system(parts)[1]) for parts in (last.system, step.system))
    if last.system == step.system:
        return [DiffRow("kept", system=True, before=before, after=after)]
    come = tuple(part for part in step.system if part not in last.system)
    return [DiffRow(remade(before, after), system=True, shown=come, before=before, after=after)]


def _forget(lines: list[DiffRow], data: RunData, index: int, loss: Loss) -> None:
    """Write each fact that was lost to the line with which it went."""
    facts, states = data.ledger.facts, data.states[index]
    with_line: dict[int, list[int]] = {}
    for number in numbers(loss.facts):
        with_line.setdefault(blamed(lines, facts[number]), []).append(number)
    for place, gone in with_line.items():
        missed = [number for number in gone if number in loss.missed]
        first = sorted(gone, key=lambda number: number not in loss.missed)
        forgotten = tuple(
            Forgotten(facts[n].id, statement_of(facts[n]), states.of(n), *_need(data, n, loss))
            for n in first[:TOLD]
        )
        lines[place] = replace(lines[place], lost=len(gone), missed=len(missed), facts=forgotten)


def _need(data: RunData, fact: int, loss: Loss) -> tuple[int, int | None]:
    """The number of the call that missed a fact, and the lag of that need."""
    call = loss.missed.get(fact)
    return (0, None) if call is None else (call + 1, need_of(data, fact, call))


def need_of(data: RunData, fact: int, call: int) -> int | None:
    """The lag at which a call, by its index, needs a fact, by its number."""
    tokenizer = fact_timeline(data).tokenizer
    return lag_of(data.ledger, tokenizer, data.trace.steps[call].answer, fact)


def _folded(lines: Sequence[DiffRow]) -> list[DiffRow]:
    """The lines that say most one by one, and what stands between them put together."""
    cut = [line.fate not in STILL for line in lines]
    wanted = [place for place, near in enumerate(neighbours(cut)) if near]
    wanted.sort(key=lambda place: (_rank(lines[place]), -lines[place].before, place))
    chosen = set(wanted[:MOST])
    folded: list[DiffRow] = []
    for alone, group in groupby(range(len(lines)), chosen.__contains__):
        if alone:
            folded += (_shown(lines[place]) for place in group)
        else:
            folded += merged(lines[place] for place in group)
    return folded


def _rank(line: DiffRow) -> int:
    """What was written comes first, then what was missed, lost, cut; what stayed comes last."""
    if line.fate in STILL:
        return 4
    if line.fate in _PUT_BACK:
        return 0
    return 1 if line.missed else 2 if line.lost else 3


def _shown(line: DiffRow) -> DiffRow:
    return line if line.message is None else replace(line, shown=line.message.parts)
