"""The messages of a compaction line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from compactlab.sim.diff.line import STILL, Line
from compactlab.sim.diff.sides import Pair, Sides, paired, sizes
from compactlab.sim.message import Message
from compactlab.sim.model import Model


def lines_of(both: Sides, model: Model, script: Mapping[str, Message]) -> Iterator[Line]:
    """A line a message; what stands far from any change is put together at once.

    Parameters
    ----------
    both
        The two sides.
    model
        By which tokens are counted.
    script
        The messages of the script, by their ids.
    """
    return _Lines(both, model, script).told()


class _Lines:
    def __init__(self, both: Sides, model: Model, script: Mapping[str, Message]) -> None:
        self._before, self._after = both.before, both.after
        self._ones, self._twos = sizes(both.before, model), sizes(both.after, model)
        self._new = set(map(id, both.new))
        self._script = script

    def told(self) -> Iterator[Line]:
        pairs = paired(self._before, self._after)
        changed = [
            was is None or now is None or self._before[was] is not self._after[now]
            for was, now in pairs
        ]
        for shown, group in groupby(zip(pairs, beside(changed), strict=True), itemgetter(1)):
            if shown:
                yield from (self._line(*pair) for pair, _ in group)
            else:
                yield from self._still([pair for pair, _ in group])

    def _still(self, pairs: Sequence[Pair]) -> Iterator[Line]:
        """Those that were there before, and those that are new."""
        places = [(was, now) for was, now in pairs if was is not None and now is not None]
        fresh = [id(self._before[was]) in self._new for was, _ in places]
        for fate in STILL:
            of = [pair for pair, new in zip(places, fresh, strict=True) if new == (fate == "new")]
            if of:
                yield Line(
                    fate,
                    len(of),
                    self._before[of[0][0]] if len(of) == 1 else None,
                    before=sum(self._ones[was] for was, _ in of),
                    after=sum(self._twos[now] for _, now in of),
                )

    def _line(self, was: int | None, now: int | None) -> Line:
        before, one = (None, 0) if was is None else (self._before[was], self._ones[was])
        after, two = (None, 0) if now is None else (self._after[now], self._twos[now])
        if before is None:
            back = after is not None and self._is_said(after)
            return Line("back" if back else "written", became=after, after=two)
        if after is None:
            return Line("gone", message=before, before=one)
        if before is after or _same(before, after):
            fate = "new" if id(before) in self._new else "kept"
            return Line(fate, message=before, before=one, after=two)
        return Line(remade(one, two), message=before, became=after, before=one, after=two)

    def _is_said(self, message: Message) -> bool:
        said = self._script.get(message.id)
        return said is not None and (message is said or _same(message, said))


def beside(flags: Sequence[bool]) -> list[bool]:
    """Whether each is true, or one beside it.

    Examples
    --------
    >>> beside([False, False, True, False, False])
    [False, True, True, True, False]
    """
    return list(map(any, zip([False, *flags], flags, [*flags[1:], False], strict=False)))


def remade(before: int, after: int) -> str:
    """The fate of what is sent otherwise, by its tokens."""
    return "shortened" if after < before else "changed"


def _same(one: Message, two: Message) -> bool:
    return (one.role, one.parts) == (two.role, two.parts)
