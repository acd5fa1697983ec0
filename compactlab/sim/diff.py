"""A compaction before and after: kept and cut messages, and lost facts.

The side before is the prompt that would have been sent without the compaction: the last prompt plus
the new messages. The side after is the prompt that was sent.
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
from compactlab.sim.metrics.memory import lag_of
from compactlab.sim.models.model import Model
from compactlab.sim.replay.trace import Step

# The possible fates of a message, and their descriptions.
FATES = {
    "kept": "it is in both prompts",
    "new": "it was added since the last call, and sent unchanged",
    "gone": "it is no longer sent",
    "shortened": "less of it is sent",
    "changed": "it is sent with other content, and not shorter",
    "back": "it is sent again, although the last prompt did not hold it",
    "written": "the strategy wrote it",
}
# Fates without any change.
STILL = ("kept", "new")
# Facts that a row lists by name.
TOLD = 8


class Forgotten(msgspec.Struct, frozen=True):
    """A fact that the prompt after the compaction no longer contains."""

    id: str
    statement: str  # key and value, shortened
    state: str  # in the prompt after; see compactlab.sim.facts.tracker
    missed: int = 0  # number of the first call that needed it and did not find it; 0: none
    lag: int | None = None  # distance of that need, as the lower end of its step; None: no need


class DiffRow(msgspec.Struct, frozen=True):
    """A message before and after, or several messages with the same fate."""

    fate: str  # one of FATES
    count: int = 1  # number of messages in the row
    # The message before; None if there is none, or for several messages or the system blocks.
    message: Message | None = None
    became: Message | None = None  # the message that replaced it, if it is a different one
    shown: tuple[Part, ...] = ()  # the parts to show; empty for a merged row
    system: bool = False  # whether the row shows the system blocks
    before: int = 0  # tokens
    after: int = 0  # tokens
    lost: int = 0  # number of facts lost with it
    missed: int = 0  # number of those that were missed later
    facts: tuple[Forgotten, ...] = ()  # the first lost facts, missed ones first


def merged(lines: Iterable[DiffRow]) -> list[DiffRow]:
    """Merge adjacent rows: one row per fate."""
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
# Characters of keys, paths and addresses.
_SIGNS = f"{ascii_letters}{digits}!#$%&*+-./:=?@\\^_`~"


def ends(text: str, head: int, tail: int) -> str:
    """Return the beginning and the end of a text that is longer than both.

    Words are not cut: half of a key could help to identify the key.

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
    r"""Return the beginning and the end of the text of parts, with white space collapsed.

    Examples
    --------
    >>> from compactlab.sim.core.message import verbatim
    >>> excerpt([verbatim("m", "text", "one  two"), verbatim("m", "text", "three\n  four")], 8, 5)
    'one two … four'
    """
    # Only look at the characters that may be shown: there may be ten million.
    room = 4 * (head + tail)
    texts = [part.text for part in parts if part.text]
    near = (t if len(t) <= 2 * room else f"{t[:room]}{t[-room:]}" for t in texts)
    return ends(" ".join(" ".join(near).split()), head, tail)


class Loss(NamedTuple):
    """The facts that one prompt lost."""

    facts: int  # as bits
    # By fact number, the index of the first call that misses the lost fact. A miss is attributed to
    # the last prompt that lost the fact.
    missed: dict[int, int]


def losses(data: RunData) -> dict[int, Loss]:
    """Return the facts that each prompt lost, by call.

    A prompt loses a fact if the fact is due, the prompt certainly does not contain it, and the
    previous prompt contained it (or may have), or it was stated since.
    """
    moments = data.ledger.moments
    by_fact: dict[int, Loss] = {}
    last: dict[int, dict[int, int]] = {}  # by fact, the calls that missed it since its last loss
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


# The two sides of a compaction, and how their messages correspond.


class Pair(NamedTuple):
    """The index of a message before and of its counterpart after; None: there is none."""

    before: int | None
    after: int | None


class Sides(NamedTuple):
    """The prompt before, the prompt after, and the messages that were added in between."""

    before: list[Message]
    after: list[Message]
    new: list[Message]


def sides(steps: Sequence[Step], index: int) -> Sides:
    """Return the two sides of a call that is not the first."""
    last, step = steps[index - 1], steps[index]
    same = last.log.shared(step.log)
    new, before = list(step.log[same:]), prompt_of(steps, index - 1)
    if same < len(last.log):  # the script was rewound: it removed those messages, not a strategy
        back = set(map(id, last.log[same:]))
        before = [message for message in before if id(message) not in back]
    return Sides(before + new, prompt_of(steps, index), new)


def prompt_of(steps: Sequence[Step], index: int) -> list[Message]:
    """Return the messages of one prompt, rebuilt backwards without visiting other prompts."""
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
    """Count the tokens of each message; some models drop the thinking of earlier turns."""
    blocks = blocks_of(model.tokenizer)
    sizes_of_each = list(map(blocks.tokens, messages))
    if model.strips_thinking and blocks.thoughts:
        last = len(messages) - 1
        turn = next((n for n in range(last, 0, -1) if messages[n].starts_turn), 0)
        for index, message in enumerate(messages[:turn]):
            if bare := blocks.thoughts.get(id(message)):
                sizes_of_each[index] = sum(bare[1])
    return sizes_of_each


def paired(before: Sequence[Message], after: Sequence[Message]) -> list[Pair]:
    """Match the messages of both sides, row by row, by their indices.

    Each message is in exactly one row. A row with two messages has the same message twice, or a
    message and its changed version with the same id. Rows follow the order of the side after. A
    removed message keeps its old position, above any message that was written instead.

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
    for index, twin in enumerate(twins):
        if twin < 0:
            waiting.append(Pair(None, index))
            continue
        rows += (Pair(n, None) for n in range(done, twin) if n not in taken)
        done = max(done, twin + 1)
        rows += waiting
        waiting = []
        rows.append(Pair(twin, index))
    rows += (Pair(n, None) for n in range(done, len(before)) if n not in taken)
    return rows + waiting


def _twins(before: Sequence[Message], after: Sequence[Message]) -> list[int]:
    """For each message after, return the index of its counterpart before; -1 if there is none."""
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
        for index, twin in enumerate(twins):
            if twin < 0:
                mine = named.get(after[index].id)
                twins[index] = mine.pop() if mine else -1
    return twins


# The message with which a fact was lost.

# Characters shown from the start and the end of a fact's key and of its value.
_KEY, _VALUE = (45, 15), (60, 20)
_POLARITY = {"is": "", "must": " (must)", "must_not": " (must not)", "asks": " (not decided)"}


def blamed(lines: Sequence[DiffRow], fact: Fact) -> int:
    """Return the index of the row with which a fact was lost.

    This is the last changed message that states it; else the last that stands for such a message;
    else the first one written by the strategy; else the first changed one.
    """
    origin = {source.id for source in fact.origin}
    changed = [index for index, line in enumerate(lines) if line.fate not in STILL]
    left = [(index, lines[index].message) for index in reversed(changed)]
    for index, message in left:
        if message is not None and message.id in origin:
            return index
    for index, message in left:
        if message is not None and any(s.id in origin for p in message.parts for s in p.sources):
            return index
    written = (index for index in changed if lines[index].fate == "written")
    return next(written, changed[0] if changed else 0)


def statement_of(fact: Fact) -> str:
    """Return a fact's key and value, shortened.

    Examples
    --------
    >>> statement_of(Fact("f", "prohibition", "branch", "main", polarity="must_not"))
    'branch: main (must not)'
    """
    key, value = ends(fact.key, *_KEY), ends(fact.value, *_VALUE)
    text = f"{key}: {value}" if key and key != value else value
    return text + _POLARITY[fact.polarity]


def lines_of(both: Sides, model: Model, script: Mapping[str, Message]) -> Iterator[DiffRow]:
    """Yield one row per message; messages far from any change are merged."""
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
        """Return rows of unchanged and of new messages."""
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
    """Return for each flag whether it or an adjacent flag is true.

    Examples
    --------
    >>> neighbours([False, False, True, False, False])
    [False, True, True, True, False]
    """
    return list(map(any, zip([False, *flags], flags, [*flags[1:], False], strict=False)))


def remade(before: int, after: int) -> str:
    """Return the fate of a changed message, by its token counts."""
    return "shortened" if after < before else "changed"


def _same(one: Message, two: Message) -> bool:
    return (one.role, one.parts) == (two.role, two.parts)


# Most messages shown individually; those in between are merged.
MOST = 16
_PUT_BACK = ("written", "back")


@dataclass(frozen=True)
class Diff:
    """A compaction, message by message."""

    call: int  # number of the call after it, from 1 on
    lines: tuple[DiffRow, ...]
    script: Mapping[str, Message]  # by id; any other message was written


def most_forgetful(data: RunData, by_call: Mapping[int, Loss]) -> int | None:
    """Return the index of the compaction that lost the most facts missed later.

    Ties go to the one that removed the most tokens, then to the first. None if nothing was
    compacted.
    """
    missed = {call: len(loss.missed) for call, loss in by_call.items()}
    calls = [(missed.get(each.call, 0), each.removed, -each.call) for each in data.paybacks]
    return -max(calls)[2] if calls else None


def diff_of(data: RunData, index: int, by_call: Mapping[int, Loss] | None = None) -> Diff:
    """Compare the two sides of a call."""
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
    """Return the rows of the system blocks; they show what was added."""
    if not last.system and not step.system:
        return []
    before, after = (sum(blocks.of_system(parts)[1]) for parts in (last.system, step.system))
    if last.system == step.system:
        return [DiffRow("kept", system=True, before=before, after=after)]
    come = tuple(part for part in step.system if part not in last.system)
    return [DiffRow(remade(before, after), system=True, shown=come, before=before, after=after)]


def _forget(lines: list[DiffRow], data: RunData, index: int, loss: Loss) -> None:
    """Add each lost fact to the row with which it was lost."""
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
    """Return the number of the call that missed a fact, and the distance of that need."""
    call = loss.missed.get(fact)
    return (0, None) if call is None else (call + 1, need_of(data, fact, call))


def need_of(data: RunData, fact: int, call: int) -> int | None:
    """Return the distance at which a call (by index) needs a fact (by number)."""
    tokenizer = fact_timeline(data).tokenizer
    return lag_of(data.ledger, tokenizer, data.trace.steps[call].answer, fact)


def _folded(lines: Sequence[DiffRow]) -> list[DiffRow]:
    """Keep the most important rows and merge the others between them."""
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
    """Rank rows by fate: written, missed, lost, cut, unchanged."""
    if line.fate in STILL:
        return 4
    if line.fate in _PUT_BACK:
        return 0
    return 1 if line.missed else 2 if line.lost else 3


def _shown(line: DiffRow) -> DiffRow:
    return line if line.message is None else replace(line, shown=line.message.parts)
