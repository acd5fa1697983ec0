"""The contract of a summariser, its requests, and the detection of failed summaries."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count as counting
from operator import methodcaller
from typing import ClassVar, Literal

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.limits import check_fields
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.spec import label_of, spec_of
from compactlab.sim.facts.needs import identifiers

Count = Callable[[str], int]
"""Counts the tokens of a text."""


@dataclass(frozen=True)
class SummaryRequest:
    """A strategy's request for a summary.

    Parameters
    ----------
    messages
        The messages to summarise, oldest first.
    max_tokens
        The token limit of the summary.
    previous
        The previous summary, to be updated; empty if there was none.
    instructions
        The instructions to the model. They are billed; a summariser without a model ignores them.
    transcript
        For a separate request: the messages written out as text. It is billed.
    rides
        ``live``: the request is the live prompt followed by the instructions, so it reads the
        cache. ``fresh``: a separate prompt of transcript and instructions.
    waits
        Whether the agent waits for the summary; False in the background or while idle.
    marked
        Whether a separate request has cache marks, for providers that need them.
    model
        The model that writes it, by its name in the catalogue; "" for the session's own.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    previous: tuple[Part, ...] = ()
    instructions: str = ""
    transcript: str = ""
    rides: Literal["live", "fresh"] = "fresh"
    waits: bool = True
    marked: bool = True
    model: str = ""


@dataclass(frozen=True)
class TurnRequest:
    """A request for an extra turn, in which the agent writes down its memory.

    Parameters
    ----------
    prompt
        The prompt, as a message that no person typed.
    system
        Text added to the system prompt for this turn; it changes the whole prefix.
    purpose
        The name in bills: ``flush`` for a turn before a compaction.
    max_tokens
        The token limit of all notes together.
    silent
        The answer to give if the user need not see one.
    heard
        The part of the answer that reaches the user.
    detached
        Whether the turn is taken on a copy of the conversation: only its notes enter the session.
    waits
        Whether the user waits for it.
    model
        The model that takes it, by its name in the catalogue; "" for the session's own.
    """

    prompt: str
    system: str = ""
    purpose: str = "turn"
    max_tokens: int = 1000
    silent: str = ""
    heard: Callable[[str], str] = str
    detached: bool = False
    waits: bool = True
    model: str = ""


@dataclass(frozen=True)
class Written:
    """What an agent wrote in an extra turn."""

    reply: str  # its final answer
    # The notes; if empty, the agent made no tool call.
    items: tuple[Remembered, ...] = ()


class Summarizer(ABC):
    """A maker of summaries. Subclasses are frozen dataclasses, named by their spec.

    It stands in for the model wherever a model would write text, including the notes of an extra
    turn. It is part of a run's identity: the same request must give the same answer.

    Attributes
    ----------
    simulated
        Which part of it is simulated, in one line; "" if it only copies messages.
    matched
        Whether, as a control, it writes at the length of the summariser that it is compared with.
    asks
        Whether it calls a language model: then each new request costs money.
    """

    simulated: ClassVar[str] = ""
    matched: ClassVar[bool] = False
    asks: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse invalid field values."""
        check_fields(self)

    @property
    def spec(self) -> str:
        """The summariser's name with its parameters."""
        return spec_of(self)

    @property
    def label(self) -> str:
        """The spec without default values: for titles with little room."""
        return label_of(self)

    @property
    def named_files(self) -> tuple[str, ...]:
        """Return the files that the spec names; their content is part of a run's identity."""
        return ()

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        """Return the summariser for a conversation; called once before each replay.

        Parameters
        ----------
        conversation
            The script with facts and needs; a summariser that uses them declares ``simulated``.
        seed
            The experiment's seed.

        Returns
        -------
        Summarizer
            With the same spec; itself, if it does not depend on the conversation.
        """
        return self

    @abstractmethod
    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        """Summarise messages.

        Parameters
        ----------
        request
            The request; all parts of its messages have sources.
        count
            Counts the tokens of a text like the model.

        Returns
        -------
        tuple of Part
            Text parts of kind ``summary`` (or ``verbatim`` for whole quotations) with their
            sources, within ``request.max_tokens`` together. Empty if there is no summary.
        """

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Take an extra turn: return its notes and its answer.

        By default there are no notes.

        Parameters
        ----------
        messages
            All that the agent sees: the messages of its prompt before the request.
        request
            The request.
        count
            Counts the tokens of a text like the model.

        Returns
        -------
        Written
            Its notes have sources and stay within ``request.max_tokens`` together.
        """
        return Written(request.silent)


@dataclass(frozen=True)
class Wrapper(Summarizer):
    """A summariser that delegates to another one and has its name."""

    inner: Summarizer

    @property
    def spec(self) -> str:
        return self.inner.spec

    @property
    def label(self) -> str:
        return self.inner.label

    @property
    def simulated(self) -> str:  # type: ignore[override]
        """Which part of the inner summariser is simulated."""
        return self.inner.simulated

    @property
    def asks(self) -> bool:  # type: ignore[override]
        """Whether the inner summariser calls a model."""
        return self.inner.asks

    @property
    def named_files(self) -> tuple[str, ...]:
        return self.inner.named_files


@dataclass(frozen=True)
class Remembering(Wrapper):
    """A summariser that caches its answers by request.

    Different strategies often request the same summary, and summaries are the most expensive part
    of a replay.
    """

    known: dict[tuple[object, ...], tuple[Part, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _bound: dict[tuple[str, str, int], Remembering] = field(
        default_factory=dict, repr=False, compare=False
    )

    def bound(self, conversation: Conversation, seed: int) -> Remembering:
        key = conversation.id, conversation.digest, seed
        if key not in self._bound:
            inner = self.inner.bound(conversation, seed)
            self._bound.clear()
            self._bound[key] = self if inner is self.inner else Remembering(inner)
        return self._bound[key]

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        """Return the cached summary, or ask the inner summariser."""
        key = (request, count)
        summary = self.known.get(key)
        if summary is None:
            summary = self.known[key] = self.inner.summarize(request, count)
        return summary

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Ask the inner summariser; turns are not cached, because each sees other messages."""
        return self.inner.write(messages, request, count)


@dataclass(frozen=True, eq=False)
class Matched(Wrapper):
    """A control that writes at the length of another summariser, request by request.

    So the prompts of both replays have the same size, up to one or two tokens per summary, and the
    same strategy compacts at the same calls, or one later. Only the content of the summaries
    differs. The control never writes more than the other summariser. The other's previous summaries
    are stored, so that it updates its own summary and not the control's.
    """

    other: Summarizer
    # The other summariser's summary, by the control's summary.
    _instead: dict[tuple[str, ...], tuple[Part, ...]] = field(default_factory=dict, repr=False)

    def bound(self, conversation: Conversation, seed: int) -> Matched:
        bind = methodcaller("bound", conversation, seed)
        return Matched(bind(self.inner), bind(self.other))

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        """Have the control write as many tokens as the other summariser."""
        said = self._instead.get(_texts(request.previous), request.previous)
        own = self.other.summarize(replace(request, previous=said), count)
        length = sum(count(part.text) for part in own)
        if not length:
            return ()
        parts = self.inner.summarize(replace(request, max_tokens=length), count)
        self._instead[_texts(parts)] = own
        return parts

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Have the control note as many tokens as the other summariser."""
        own = self.other.write(messages, request, count)
        length = sum(count(item.text) for item in own.items)
        if not length:
            return Written(own.reply)
        written = self.inner.write(messages, replace(request, max_tokens=length), count)
        return Written(own.reply, written.items)


def _texts(parts: Iterable[Part]) -> tuple[str, ...]:
    return tuple(part.text for part in parts)


@dataclass(frozen=True, eq=False)
class InStep(Wrapper):
    """A control that writes at the lengths of another summariser's summaries, in order.

    :class:`Matched` asks the other summariser again, and its requests contain the control's
    summaries. With a language model each of them would be a new, paid request. So this control uses
    the recorded summary lengths of the run. The same strategy compacts at the same calls, or one
    later. If it compacts more often, the last length is repeated.

    Parameters
    ----------
    inner
        The control.
    lengths
        Tokens of the other summariser's summaries, in order.
    """

    lengths: tuple[int, ...]
    _numbers: Iterator[int] = field(default_factory=counting, repr=False)

    def bound(self, conversation: Conversation, seed: int) -> InStep:
        """Bind the control, for a replay from the start."""
        return InStep(self.inner.bound(conversation, seed), self.lengths)

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        """Have the control write as many tokens as the other summariser did."""
        number = next(self._numbers)
        length = self.lengths[min(number, len(self.lengths) - 1)] if self.lengths else 0
        return self.inner.summarize(replace(request, max_tokens=length), count) if length else ()


# Summary sanity: the faults that show that a text is not a summary.
#
# See the project's notes on metrics, section 4, "Summary sanity": in one published repository, 25
# of 28 recorded "summaries" were answers to the last message. The definitions were fixed before
# alarms were counted, except ``holds_summary`` and quotations in ``answers``, which were narrowed
# for quotations that are carried on. ``docs/dev/measured.md`` lists the remaining false alarms.

FAULTS = {
    "empty": "It says nothing, although there was something to say.",
    "few_identifiers": "It names less than 2 % of the identifiers that it was given (50 or more).",
    "nothing_aligns": "No sentence of it has half its words, and three, in one of the sources.",
    "asks_user": "It ends with a question that nobody asked in what it was given.",
    "answers": "It begins as an answer does, and not with a quotation.",
    "holds_instructions": "A sentence of the request for it, of eight words or more, stands in it.",
    "holds_summary": "All of the summary before, if 30 words or more, is in it behind other words.",
    "over_budget": "It has more than 1.2 times the tokens that it was allowed.",
}

_LEAST, _SHARE = 50, 0.02  # least identifiers to check; share to be named
_OVER = 1.2
_SHARED = 3  # least number of words (and half of them) that a sentence must share with a source
_INSTRUCTION, _SUMMARY = 8, 30  # words
_READ = 50_000  # characters read; a longer summary exceeds any budget, or repeats itself
_PIECE = 300  # characters; a line of a megabyte would contain the words of any sentence

_SENTENCE = re.compile(r"[\r\n]+|(?<=[.!?]) +(?=[A-Z])|(?<=[\u3002\uff01\uff1f])")
_NO_BLANKS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # scripts without blanks
_WORD = re.compile(rf"[{_NO_BLANKS}]+|[^\W{_NO_BLANKS}]+")
_DENSE = re.compile(f"[{_NO_BLANKS}]")
_ANSWER = re.compile(
    r"(?:sure|certainly|absolutely|of course|no problem|got it|okay|ok|yes|no|yeah|great|thanks"
    r"|thank you|you're (?:right|welcome)|you are (?:right|welcome)|i'll|i will|i'd be|i can|i'm"
    r"|i am|let me|let's|happy to|sorry|i apologi[sz]e|as an ai|good (?:question|idea))\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\A[-*\s]*(?:[^\W\d]+:\s)?")  # the label of a list entry: "- Open: ..."
_CLOSING = " \t\r\n\"'*_`)]}>\u201d\u2019"


def faults(request: SummaryRequest, parts: Iterable[Part], count: Count) -> tuple[str, ...]:
    """Name the faults of a summary."""
    return _faults(request, tuple(part for part in parts if part.text), count)


# Strategies often repeat a request, which may hold a megabyte of text.
@lru_cache(maxsize=32)
def _faults(request: SummaryRequest, parts: tuple[Part, ...], count: Count) -> tuple[str, ...]:
    given = _given(request)
    if not any(part.text.strip() for part in given):
        return ()
    text = "\n".join(part.text for part in parts)[:_READ]
    if not text.strip():
        return ("empty",)
    tests = {
        "few_identifiers": _names_little(text, given),
        "nothing_aligns": not _aligns(text, parts, request, given),
        "asks_user": _asks(text, given),
        "answers": _answers(text, parts[0], request),
        "holds_instructions": _holds_instructions(text, request.instructions),
        "holds_summary": _holds_summary(text, request.previous),
        "over_budget": sum(count(part.text) for part in parts) > _OVER * request.max_tokens,
    }
    return tuple(name for name, wrong in tests.items() if wrong)


def _given(request: SummaryRequest) -> list[Part]:
    """Return all parts that the summary should cover, without thinking and images."""
    parts = (part for message in request.messages for part in message.parts)
    return [p for p in (*request.previous, *parts) if p.type not in ("thinking", "image")]


def _names_little(text: str, given: Iterable[Part]) -> bool:
    names = frozenset().union(*(identifiers(part.text) for part in given))
    return len(names) >= _LEAST and len(names & identifiers(text)) < _SHARE * len(names)


def _aligns(text: str, parts: Iterable[Part], request: SummaryRequest, given: list[Part]) -> bool:
    """Whether any sentence matches a sentence of the sources; very short ones are skipped."""
    sentences = [
        words for sentence in _sentences(text) if len(words := _words(sentence)) >= _SHARED
    ]
    where = defaultdict(list)
    for number, words in enumerate(sentences):
        for word in words:
            where[word].append(number)
    needed = [max(_SHARED, -(-len(words) // 2)) for words in sentences]
    known, least = frozenset(where), min(needed, default=0)
    # Declared sources first: most sane summaries are recognised there.
    ids = {source.id for part in parts for source in part.sources}
    first = [part for message in request.messages if message.id in ids for part in message.parts]
    for part in (*first, *given):
        for sentence in _sentences(part.text):
            shared = _words(sentence).intersection(known)
            if len(shared) >= least:
                hits = Counter(number for word in shared for number in where[word])
                if any(times >= needed[number] for number, times in hits.items()):
                    return True
    return not sentences


# Many summaries and strategies repeat the same text.
@lru_cache(maxsize=2**11)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(
        sentence[start : start + _PIECE]
        for sentence in _SENTENCE.split(text)
        for start in range(0, len(sentence), _PIECE)
    )


@lru_cache(maxsize=2**15)
def _words(text: str) -> frozenset[str]:
    """Return words of four or more letters; all character pairs in scripts without spaces."""
    words: set[str] = set()
    for run in _WORD.findall(text.lower()):
        if _DENSE.match(run):
            words.update(run[index : index + 2] for index in range(len(run) - 1))
        elif len(run) > 3:
            words.add(run)
    return frozenset(words)


def _asks(text: str, given: Iterable[Part]) -> bool:
    text = text.rstrip(_CLOSING).rstrip()
    if not text.endswith(("?", "\uff1f")):
        return False
    sentences = map(str.strip, reversed(_SENTENCE.split(text)))
    last = _LABEL.sub("", next(filter(None, sentences)))
    return not _quoted(last, given)


def _answers(text: str, first: Part, request: SummaryRequest) -> bool:
    line = _opening(text)
    if not _ANSWER.match(line):
        return False
    # The previous summary is no evidence: it may have been an answer, too. A quotation that was
    # carried on has a source of its own.
    source = first.sources[0] if first.sources else Source("")
    copied = source.end - source.start == len(first.text.split("\n", 1)[0])
    return not copied and not _quoted(line, _given(replace(request, previous=())))


def _opening(text: str) -> str:
    return text.lstrip(" \t\r\n#*>_\"'-").split("\n", 1)[0][:80]


def _quoted(text: str, given: Iterable[Part]) -> bool:
    return any(text in part.text for part in given)


def _holds_instructions(text: str, instructions: str) -> bool:
    plain = _plain(text)
    return any(sentence in plain for sentence in _long_ones(instructions))


@lru_cache(maxsize=64)
def _long_ones(instructions: str) -> tuple[str, ...]:
    """Return the sentences that are long enough to be recognised when repeated."""
    sentences = map(_plain, _SENTENCE.split(instructions))
    return tuple(each for each in sentences if len(each.split()) >= _INSTRUCTION)


def _holds_summary(text: str, previous: Iterable[Part]) -> bool:
    """Whether the summary contains the previous one as a quotation, not as an update.

    An update with few additions starts like the previous summary.
    """
    before = _plain("\n".join(part.text for part in previous if part.sources))
    return len(before.split()) >= _SUMMARY and _plain(text).find(before) > 0


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
