"""Says of a context that somebody else compacted where its words come from.

What is found out here is *inferred* provenance. It is not what a strategy declares of itself, and
figures of the two are never put together.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from compactlab.sim.alignment import Run, aligned, count_words
from compactlab.sim.message import Message, Part, Source
from compactlab.sim.messages import Messages
from compactlab.sim.view import View

# Words that do not stand in a message, and it is still taken for that message cut short: what a
# product writes where it cut ("[... 12,345 characters were removed ...]"). And to each of them, so
# many words must stand there. Guesses.
_MARKER, _QUOTED = 20, 3
MADE = "compacted:"  # what the ids of messages begin with that are none of the original


@dataclass(frozen=True)
class Attributed:
    """A compacted context with provenance.

    Parameters
    ----------
    view
        The context. Messages that were left alone are the original ones.
    given
        The context as it came, by which its tokens are counted.
    inferred
        Whether the provenance was found out here, and not declared.
    words
        Words of the context.
    found
        Those of them that were found in the original word by word; of a context that declares its
        provenance, all.
    """

    view: View
    given: View
    inferred: bool
    words: int
    found: int


def attributed(original: Sequence[Message], system: tuple[Part, ...], context: View) -> Attributed:
    """Find out where a context comes from.

    A message that equals an original one is that message, a part that equals a part is verbatim.
    Of other texts the longest runs of words are looked for, see
    :func:`compactlab.sim.alignment.aligned`. A run that is all of an original text is put back
    (``recovered``). A text that begins or ends as one original text does, and has little beside, is
    ``truncated``; any other is a ``summary``, of the messages that its runs come from. What no run
    explains may be a paraphrase of anything, and so a text that has such words stands for the
    whole original as well. A tool's result that keeps nothing but the id of its call is a
    ``stub``. Messages that are none of the original are called ``compacted:1``, ``compacted:2``,
    ... after their places.

    Parameters
    ----------
    original
        The messages from which the context was made.
    system
        The system prompt that they had.
    context
        The context; what it says of provenance is not looked at.
    """
    return _Attribution(original, system).of(context)


class _Text(NamedTuple):
    """A text of the original: of which message, and of which of its parts."""

    id: str
    part: int
    text: str
    words: int


class _Piece(NamedTuple):
    """A piece of a part, the runs in it, and whether it is all of an original text."""

    start: int
    end: int
    runs: tuple[Run, ...]
    whole: bool = False


class _Attribution:
    """What is looked for in all messages of a context."""

    def __init__(self, original: Sequence[Message], system: tuple[Part, ...]) -> None:
        self._original, self._system = original, set(map(content, system))
        self._texts = [
            _Text(message.id, number, part.text, count_words(part.text))
            for message in original
            for number, part in enumerate(message.parts)
            if part.text.strip()
        ]
        self._everything = tuple(Source(message.id) for message in original)
        self._parts: dict[tuple[str, str], Source] = {}
        self._results: dict[str, Source] = {}
        for message in original:
            for number, part in enumerate(message.parts):
                self._parts.setdefault(content(part), Source(message.id, number))
                if part.type == "tool_result" and part.call_id:
                    self._results.setdefault(part.call_id, Source(message.id, number))
        self._found = 0

    def of(self, context: View) -> Attributed:
        same = _same(self._original, context.messages)
        others = (message for n, message in enumerate(context.messages) if n not in same)
        foreign = [*context.system, *(part for message in others for part in message.parts)]
        words = sum(count_words(part.text) for part in foreign)
        kept = sum(count_words(p.text) for message in same.values() for p in message.parts)
        self._found = kept  # words that were found so far
        unlike = [part for part in foreign if content(part) not in self._parts]
        asked = list(dict.fromkeys(part.text for part in unlike))
        known = [text.text for text in self._texts]
        self._runs = dict(zip(asked, aligned(known, asked), strict=True))
        system = tuple(self._of_system(context.system))
        messages = Messages(
            same.get(place) or self._message(message, place + 1)
            for place, message in enumerate(context.messages)
        )
        return Attributed(View(system, messages), context, True, kept + words, self._found)

    def _of_system(self, parts: Iterable[Part]) -> Iterator[Part]:
        """The system blocks: those of the original, and what was written into them."""
        for part in parts:
            if content(part) in self._system:
                self._found += count_words(part.text)
                yield part
            else:
                yield from self._part(part)

    def _message(self, message: Message, place: int) -> Message:
        """A message that is none of the original; its id must not be that of another one."""
        parts = tuple(piece for part in message.parts for piece in self._part(part))
        return replace(message, id=f"{MADE}{place}", parts=parts)

    def _part(self, part: Part) -> Iterator[Part]:
        words = count_words(part.text)
        same = self._parts.get(content(part)) if part.text.strip() else None
        if same is not None:
            self._found += words
            yield replace(part, kind="verbatim", sources=(same,))
        elif not words:
            # Tokens without text may hold anything; signs alone stand for nothing.
            opaque = part.kind == "opaque" and self._everything
            yield replace(part, sources=opaque or (), kind="opaque" if part.size else "synthetic")
        else:
            runs = self._runs[part.text]
            self._found += sum(run.words for run in runs)
            whole = [run for run in runs if self._whole(run)] if part.type == "text" else []
            for piece in _pieces(part.text, runs, whole):
                yield self._piece(part, piece)

    def _piece(self, part: Part, piece: _Piece) -> Part:
        text = part.text[piece.start : piece.end]
        held = self._results.get(part.call_id) if part.type == "tool_result" else None
        other = count_words(text) - sum(run.words for run in piece.runs)
        found = tuple(dict.fromkeys(s for run in piece.runs for s in self._sources(run)))
        if piece.whole:
            return replace(part, text=text, kind="recovered", sources=found)
        if held is not None and not piece.runs:
            return replace(part, text=text, kind="stub", sources=(held,))
        everything = self._everything if other else ()
        cut = self._cut(text, piece) if other <= _MARKER else ()
        if cut:
            return replace(part, text=text, kind="truncated", sources=(*cut, *everything))
        return replace(part, text=text, kind="summary", sources=(*found, *everything))

    def _whole(self, run: Run) -> bool:
        return any(self._texts[place.text].words == run.words for place in run.places)

    def _sources(self, run: Run) -> Iterator[Source]:
        for place in run.places:
            text = self._texts[place.text]
            yield Source(text.id, text.part, place.start, place.end)

    def _cut(self, text: str, piece: _Piece) -> tuple[Source, ...]:
        """The spans of the one original text whose beginning or end a piece is, or both.

        So it begins with the original's first word, or ends with its last.
        """
        runs = piece.runs
        if not runs or count_words(text) * _QUOTED > (_QUOTED + 1) * sum(r.words for r in runs):
            return ()
        begins = not count_words(text[: runs[0].start - piece.start])
        ends = not count_words(text[runs[-1].end - piece.start :])
        for number in sorted(set.intersection(*({p.text for p in run.places} for run in runs))):
            id, part, words, _ = self._texts[number]
            places = [p for run in runs for p in run.places if p.text == number]
            is_head = begins and not count_words(words[: min(p.start for p in places)])
            if is_head or (ends and not count_words(words[max(p.end for p in places) :])):
                return tuple(Source(id, part, p.start, p.end) for p in places)
        return ()


def _pieces(text: str, runs: Sequence[Run], whole: Sequence[Run]) -> Iterator[_Piece]:
    """A text cut around the runs that stand for themselves; signs between them go with those."""
    start = 0
    for number, run in enumerate(whole):
        between = tuple(each for each in runs if start <= each.start and each.end <= run.start)
        begin = run.start
        if count_words(text[start:begin]):
            yield _Piece(start, begin, between)
        else:
            begin = start
        stop = whole[number + 1].start if number + 1 < len(whole) else len(text)
        end = stop if not count_words(text[run.end : stop]) else run.end
        yield _Piece(begin, end, (run,), True)
        start = end
    if start < len(text):
        yield _Piece(start, len(text), tuple(run for run in runs if run.start >= start))


def _same(original: Sequence[Message], context: Messages) -> dict[int, Message]:
    """The original messages that messages of a context equal, by the places of the latter.

    Of several that say the same, the newest that keeps the order: contexts keep their ends.
    """
    places: dict[object, list[int]] = defaultdict(list)
    for place, message in enumerate(original):
        places[_said(message)].append(place)
    found: dict[int, Message] = {}
    bound = len(original)
    for here in range(len(context) - 1, -1, -1):
        equal = places.get(_said(context[here]), [])
        if equal:
            before = bisect_left(equal, bound)
            bound = equal[before - 1]  # the last of all, if none stands before
            found[here] = original[bound]
    return found


def _said(message: Message) -> tuple[object, ...]:
    return (message.role, *((*content(part), part.size) for part in message.parts))


def content(part: Part) -> tuple[str, str]:
    """What of a part makes it the same as another one."""
    return part.type, part.text
