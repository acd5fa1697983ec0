"""The contract of a summariser, the requests made of it, and how one tells that it failed."""

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
    """What a strategy wants summarised, and how the request for it is built.

    Parameters
    ----------
    messages
        What is to be summarised, oldest first.
    max_tokens
        How long the summary may be, in tokens of the model.
    previous
        The summary before this one, to be carried on; empty if there was none.
    instructions
        What the model is told to do. It is billed; a summariser without a model ignores it.
    transcript
        For a request with a prompt of its own: the messages written out as text. It is billed.
    rides
        ``live``: the request is the live prompt with the instructions after it, so that it reads
        the cache. ``fresh``: a prompt of its own, made of transcript and instructions.
    waits
        Whether the agent waits for it: not where it is made beside the work, or in a silence.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    previous: tuple[Part, ...] = ()
    instructions: str = ""
    transcript: str = ""
    rides: Literal["live", "fresh"] = "fresh"
    waits: bool = True


@dataclass(frozen=True)
class TurnRequest:
    """An extra turn that a strategy has the agent take, so that it can write its memory down.

    Parameters
    ----------
    prompt
        What the agent is told, as a message that no person typed.
    system
        What is added to the system prompt for this turn; it changes all of it.
    purpose
        What bills call it: ``flush``, for one before a compaction.
    max_tokens
        How long its notes may be together, in tokens of the model.
    silent
        What it is asked to answer where the user need not hear anything.
    heard
        What of its answer reaches the user.
    """

    prompt: str
    system: str = ""
    purpose: str = "turn"
    max_tokens: int = 1000
    silent: str = ""
    heard: Callable[[str], str] = str


@dataclass(frozen=True)
class Written:
    """What an agent did with an extra turn."""

    reply: str  # what it answered in the end
    # What it put down before; where there is nothing, it made no call of a tool.
    items: tuple[Remembered, ...] = ()


class Summarizer(ABC):
    """Something that makes summaries. Subclasses are frozen dataclasses, named by their spec.

    It stands in for the model wherever one would write something, so it also says what the agent
    puts down in an extra turn. It belongs to a run's identity: the same request must give the
    same answer.

    Attributes
    ----------
    simulated
        What of it is simulated, in one line; "" for one that only copies what was said.
    matched
        Whether, as a control, it writes at the length of the summariser that it stands beside.
    asks
        Whether it asks a language model: each request that no other run has made costs money.
    """

    simulated: ClassVar[str] = ""
    matched: ClassVar[bool] = False
    asks: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse what its fields, by their declaration, cannot be."""
        check_fields(self)

    @property
    def spec(self) -> str:
        """The summariser's name with its parameters."""
        return spec_of(self)

    @property
    def label(self) -> str:
        """The spec without what stands at its default: for titles, where room is scarce."""
        return label_of(self)

    @property
    def named_files(self) -> tuple[str, ...]:
        """The files that its spec names: what they hold belongs to a run's identity."""
        return ()

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        """Get to know what is replayed; asked for once before each replay.

        Parameters
        ----------
        conversation
            The script with its facts and needs: who uses them is simulated, and says so.
        seed
            The experiment's seed.

        Returns
        -------
        Summarizer
            Of the same spec; itself, if it need not know.
        """
        return self

    @abstractmethod
    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        """Summarise.

        Parameters
        ----------
        request
            What to summarise; all parts of its messages have sources.
        count
            Counts the tokens of a text as the model does.

        Returns
        -------
        tuple of Part
            Text parts of kind ``summary`` (or ``verbatim`` where a piece is quoted whole), each
            with its sources; within ``request.max_tokens`` together. Empty if nothing was said.
        """

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Take an extra turn: say what is put down, and what is answered.

        A summariser that does not say puts nothing down.

        Parameters
        ----------
        messages
            What the agent sees, and nothing else: the messages of its prompt before the request.
        request
            What it is told.
        count
            Counts the tokens of a text as the model does.

        Returns
        -------
        Written
            The texts of its items are within ``request.max_tokens`` together, each with its
            sources.
        """
        return Written(request.silent)


@dataclass(frozen=True)
class Wrapper(Summarizer):
    """A summariser under the name of another one, which it asks in its own way."""

    inner: Summarizer

    @property
    def spec(self) -> str:
        """The inner summariser's spec."""
        return self.inner.spec

    @property
    def label(self) -> str:
        """The inner summariser's short name."""
        return self.inner.label

    @property
    def simulated(self) -> str:  # type: ignore[override]
        """What of the inner summariser is simulated."""
        return self.inner.simulated

    @property
    def asks(self) -> bool:  # type: ignore[override]
        """Whether the inner summariser asks a model."""
        return self.inner.asks

    @property
    def named_files(self) -> tuple[str, ...]:
        """The files that the inner summariser's spec names."""
        return self.inner.named_files


@dataclass(frozen=True)
class Remembering(Wrapper):
    """A summariser that answers the same request from memory.

    Strategies that differ in something else often ask for the same summary, and making one is
    the most expensive part of a replay.
    """

    known: dict[tuple[object, ...], tuple[Part, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _bound: dict[tuple[str, str, int], Remembering] = field(
        default_factory=dict, repr=False, compare=False
    )

    def bound(self, conversation: Conversation, seed: int) -> Remembering:
        """Bind the inner one; what one that knows more has answered is remembered apart."""
        key = conversation.id, conversation.digest, seed
        if key not in self._bound:
            inner = self.inner.bound(conversation, seed)
            self._bound.clear()
            self._bound[key] = self if inner is self.inner else Remembering(inner)
        return self._bound[key]

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        """Answer from memory, or ask."""
        key = (request, count)
        summary = self.known.get(key)
        if summary is None:
            summary = self.known[key] = self.inner.summarize(request, count)
        return summary

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Ask; each turn sees something else, so there is nothing to remember."""
        return self.inner.write(messages, request, count)


@dataclass(frozen=True, eq=False)
class Matched(Wrapper):
    """A control that writes at the length of another summariser, request by request.

    So the prompts of both replays have the same size, to a token or two a summary, and the same
    strategy compacts at the same calls, or the next one: what differs is the content of the
    summaries. The control never writes more than the other one did. What the other one would have
    said before is remembered, so that it carries on its own summary and not the control's.
    """

    other: Summarizer
    # What the other one said, by what the control said instead.
    _instead: dict[tuple[str, ...], tuple[Part, ...]] = field(default_factory=dict, repr=False)

    def bound(self, conversation: Conversation, seed: int) -> Matched:
        """Bind both."""
        bind = methodcaller("bound", conversation, seed)
        return Matched(bind(self.inner), bind(self.other))

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        """Have the control write as many tokens as the other one does."""
        said = self._instead.get(_texts(request.previous), request.previous)
        own = self.other.summarize(replace(request, previous=said), count)
        length = sum(count(part.text) for part in own)
        if not length:
            return ()
        parts = self.inner.summarize(replace(request, max_tokens=length), count)
        self._instead[_texts(parts)] = own
        return parts

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Have the control put down as many tokens as the other one does."""
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
    """A control that writes as long as another summariser did, one summary after the other.

    :class:`Matched` asks the other one again at each request, which holds what the control said
    before. Where a language model is asked, each such request would be a new one, and be paid; so
    the lengths of what it wrote in the run itself are taken. The same strategy asks at the same
    calls, or the next ones; where it asks more often, the last length holds.

    Parameters
    ----------
    inner
        The control.
    lengths
        Tokens of the other one's summaries, in order.
    """

    lengths: tuple[int, ...]
    _numbers: Iterator[int] = field(default_factory=counting, repr=False)

    def bound(self, conversation: Conversation, seed: int) -> InStep:
        """Bind the control, for a replay from the beginning."""
        return InStep(self.inner.bound(conversation, seed), self.lengths)

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        """Have the control write as many tokens as the other one did."""
        number = next(self._numbers)
        length = self.lengths[min(number, len(self.lengths) - 1)] if self.lengths else 0
        return self.inner.summarize(replace(request, max_tokens=length), count) if length else ()


# Whether a summary is one: the faults by which one can tell that it is not.
#
# After the project's notes on metrics, section 4, "Summary sanity": of 28 recorded "summaries" in
# one published repository 25 were answers to the last message. The definitions were fixed before
# their alarms were counted, but for ``holds_summary`` and what a quotation is in ``answers``:
# these were made narrower for quotations that are carried on. The alarms that are left where
# nothing is wrong stand in ``docs/summarizers.md``.

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

_LEAST, _SHARE = 50, 0.02  # identifiers among the sources, from which on so many must be named
_OVER = 1.2
_SHARED = 3  # words that a sentence must have in common with one of the sources, and half of its
_INSTRUCTION, _SUMMARY = 8, 30  # words
_READ = 50_000  # characters of a summary; one that is longer is over any budget, or repeats itself
_PIECE = 300  # characters; a line of a megabyte holds the words of any sentence

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
_LABEL = re.compile(r"\A[-*\s]*(?:[^\W\d]+:\s)?")  # of an entry in a list: "- Open: ..."
_CLOSING = " \t\r\n\"'*_`)]}>\u201d\u2019"


def faults(request: SummaryRequest, parts: Iterable[Part], count: Count) -> tuple[str, ...]:
    """Name the faults of a summary."""
    return _faults(request, tuple(part for part in parts if part.text), count)


# Strategies ask for the same summary, and one strategy in each replay of the same. A request may
# hold a megabyte of text.
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
    """Everything that it was to say something about; thinking and images are nothing to quote."""
    parts = (part for message in request.messages for part in message.parts)
    return [p for p in (*request.previous, *parts) if p.type not in ("thinking", "image")]


def _names_little(text: str, given: Iterable[Part]) -> bool:
    names = frozenset().union(*(identifiers(part.text) for part in given))
    return len(names) >= _LEAST and len(names & identifiers(text)) < _SHARE * len(names)


def _aligns(text: str, parts: Iterable[Part], request: SummaryRequest, given: list[Part]) -> bool:
    """Whether a sentence stands for one of the sources; one too short to tell is passed over."""
    sentences = [
        words for sentence in _sentences(text) if len(words := _words(sentence)) >= _SHARED
    ]
    where = defaultdict(list)
    for number, words in enumerate(sentences):
        for word in words:
            where[word].append(number)
    needed = [max(_SHARED, -(-len(words) // 2)) for words in sentences]
    known, least = frozenset(where), min(needed, default=0)
    # Where it says that it comes from, first: that is where most summaries are found to be sane.
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


# The same is said again in many summaries, and asked for by many strategies.
@lru_cache(maxsize=2**11)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(
        sentence[start : start + _PIECE]
        for sentence in _SENTENCE.split(text)
        for start in range(0, len(sentence), _PIECE)
    )


@lru_cache(maxsize=2**15)
def _words(text: str) -> frozenset[str]:
    """Words of four letters or more; of scripts without blanks, all pairs of characters."""
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
    # What the summary before says is no proof: that may have been an answer, too. A quotation
    # that was carried on says itself from where.
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
    """The sentences that are long enough to be told again."""
    sentences = map(_plain, _SENTENCE.split(instructions))
    return tuple(each for each in sentences if len(each.split()) >= _INSTRUCTION)


def _holds_summary(text: str, previous: Iterable[Part]) -> bool:
    """Whether a summary stands in the summary, as one that is quoted and not carried on.

    One that is carried on, with little to add, begins as the one before.
    """
    before = _plain("\n".join(part.text for part in previous if part.sources))
    return len(before.split()) >= _SUMMARY and _plain(text).find(before) > 0


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
