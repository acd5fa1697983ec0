"""Export questions to Inspect, an evaluator, and read its log.

Samples have the form of ``inspect_ai.dataset.json_dataset``, and logs that of ``inspect eval
--log-format json`` (inspect-ai 0.3.285, 2026-11).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

import msgspec

from compactlab.llm.endpoint import Reply
from compactlab.llm.recorded import Request, Tokens
from compactlab.privacy import Redactor
from compactlab.reports.probe.reader import PromptDraws, Reader
from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Heading,
    Table,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.text import NONE, plain
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.files import read_file
from compactlab.sim.core.message import Usage


class Probed(Protocol):
    """The requests at a call under a strategy, and the right answers."""

    @property
    def conversation(self) -> str:
        """The conversation's id."""

    @property
    def strategy(self) -> str:
        """The strategy's label."""

    @property
    def asked(self) -> Mapping[Any, PromptDraws]:
        """The requests to a reader, by condition."""

    @property
    def target(self) -> Sequence[str]:
        """The right answers."""

    @property
    def about(self) -> Mapping[str, Any]:
        """Metadata, by name."""


# Export to an evaluator.


class Sample(msgspec.Struct):
    """A request in Inspect's form."""

    id: str
    input: list[dict[str, str]]
    target: list[str]
    metadata: dict[str, Any]


@dataclass
class Samples:
    """All requests, each once, even if several strategies share it."""

    by_id: dict[str, Sample] = field(default_factory=dict)

    def add(self, probes: Iterable[Probed]) -> None:
        """Add the requests of some probes; further draws of a request are epochs of its sample."""
        for probe in probes:
            for condition, asked in probe.asked.items():
                if asked.sample not in self.by_id:
                    self.by_id[asked.sample] = _sample(probe, asked.draws[0])
                place = {"strategy": probe.strategy, "condition": condition}
                self.by_id[asked.sample].metadata["asked_as"].append(place)

    @property
    def lines(self) -> bytes:
        return msgspec.json.Encoder().encode_lines(self.by_id.values())


def _sample(probe: Probed, request: Request) -> Sample:
    sent, redactor = request.redacted, Redactor()
    system = [{"role": "system", "content": sent.system}] if sent.system else []
    about = {
        "conversation": redactor.text(probe.conversation),
        **probe.about,
        "max_tokens": sent.max_tokens,
        "temperature": sent.temperature,
        "asked_as": [],
    }
    turns = [{"role": turn.role, "content": turn.text} for turn in sent.turns]
    return Sample(request.key, system + turns, [*map(redactor.text, probe.target)], about)


# Import from an evaluator.

# The values of Inspect's scorers, as in its value_to_float.
_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

_LARGEST = 1e300  # of a score; the mean of larger ones could overflow


class _Choice(msgspec.Struct):
    stop_reason: str = ""


class _Tokens(msgspec.Struct):
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    input_tokens_cache_write: Tokens | None = None
    input_tokens_cache_read: Tokens | None = None


class _Output(msgspec.Struct):
    model: str = ""
    completion: str = ""
    choices: list[_Choice] = []
    usage: _Tokens | None = None


class _Fault(msgspec.Struct):
    message: str = ""


class _Score(msgspec.Struct):
    value: Any = None


class _Evaluated(msgspec.Struct):
    id: int | str
    epoch: int
    output: _Output = msgspec.field(default_factory=_Output)
    scores: dict[str, _Score] | None = None
    error: _Fault | None = None


class _Eval(msgspec.Struct):
    model: str


class _Log(msgspec.Struct):
    eval: _Eval
    samples: list[_Evaluated] | None = None


@dataclass(frozen=True)
class Log:
    """The answers of Inspect's model, and the scores of its scorers."""

    file: str  # the path of the log
    model: str  # Inspect's name of the model, which begins with its provider
    samples: Mapping[tuple[str, int], _Evaluated]  # by id of the sample, and by draw from 0 on

    @classmethod
    def read(cls, path: Path) -> Log:
        """Read a log.

        Raises an InputError if the file is not a log, or a sample failed.
        """
        try:
            log = msgspec.json.decode(read_file(path), type=_Log)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", str(path)) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"is not a log of Inspect in JSON ({error}): inspect eval --log-format json writes "
                "one, and inspect log convert --to json makes one of others",
                str(path),
            ) from None
        samples = {(str(each.id), each.epoch - 1): each for each in log.samples or ()}
        for each in samples.values():
            if each.error is not None:
                raise InputError(
                    f"sample {each.id}, epoch {each.epoch}, failed: {each.error.message}; "
                    "inspect eval-retry runs it again",
                    str(path),
                )
        return cls(str(path), log.eval.model, samples)

    def record(self, reader: Reader, asked: Iterable[PromptDraws]) -> None:
        """Add the log's answers to the recorded ones of a reader.

        Raises
        ------
        UsageError
            If the model differs, or other answers are recorded.
        InputError
            If one cannot be recorded.
        """
        if reader.model != self.model and not self.model.endswith(f"/{reader.model}"):
            raise UsageError(f"{self.file} has answers of {self.model}, not of {reader.model}")
        recording, new, matched = reader.asker.recording(reader.model), [], False
        for sample, request in self._matching(asked):
            matched = True
            answer = reader.asker.answer_of(request, _reply(sample))
            known = recording.get(request.key)
            try:
                answer.line  # noqa: B018  # all of them can be written, or none is
            except ValueError as error:
                fault = f"the answer to sample {sample.id} cannot be recorded: {error}"
                raise InputError(fault, self.file) from None
            if known is None:
                new.append(answer)
            elif known.text != answer.text:
                raise UsageError(
                    f"{recording.file} has another answer to sample {sample.id} than {self.file}: "
                    "take another folder for --answers"
                )
        if not matched:
            raise UsageError(
                f"{self.file} has no answer to what is asked here: conversations, strategies and "
                "options must be those of --export"
            )
        for answer in new:  # only if no answer contradicts recorded ones
            recording.add(answer)

    def _matching(self, asked: Iterable[PromptDraws]) -> Iterator[tuple[_Evaluated, Request]]:
        for each in asked:
            for draw, request in enumerate(each.draws):
                sample = self.samples.get((each.sample, draw))
                if sample is not None:
                    yield sample, request

    def scored(self, probes: Iterable[Probed]) -> list[Scored]:
        return [
            Scored(probe.conversation, probe.strategy, probe.about, condition, scorer, value)
            for probe in probes
            for condition, asked in probe.asked.items()
            for scorer, value in self._means(asked).items()
        ]

    def _means(self, asked: PromptDraws) -> dict[str, float]:
        """The mean over draws, by scorer."""
        values: defaultdict[str, list[float]] = defaultdict(list)
        for sample, _ in self._matching([asked]):
            for scorer, value in _values(sample):
                values[scorer].append(value)
        return {scorer: fmean(every) for scorer, every in values.items()}


def _reply(sample: _Evaluated) -> Reply:
    output, used = sample.output, sample.output.usage
    ended = output.choices[0].stop_reason if output.choices else ""
    usage = None
    if used is not None:
        read, written = used.input_tokens_cache_read or 0, used.input_tokens_cache_write or 0
        usage = Usage(used.input_tokens, read, written, output=used.output_tokens)
    return Reply(output.completion, ended, usage, output.model)


def _values(sample: _Evaluated) -> Iterator[tuple[str, float]]:
    """The numeric scores of a sample, by scorer; a scorer may give several."""
    for scorer, score in (sample.scores or {}).items():
        several = isinstance(score.value, dict)
        every = score.value.items() if several else [("", score.value)]
        for part, value in every:
            number = _WORDS.get(value) if isinstance(value, str) else value
            if isinstance(number, int | float) and abs(number) <= _LARGEST:
                yield (f"{scorer}/{part}" if several else scorer), float(number)


@dataclass(frozen=True)
class Scored:
    """A scorer's mean over the draws of a request in a condition."""

    conversation: str
    strategy: str
    about: Mapping[str, Any]
    condition: str
    scorer: str
    value: float


def with_scores(document: Document, scored: Sequence[Scored]) -> Document:
    """A report, followed by the evaluator's scores of the same answers."""
    blocks: list[Block] = [*document.blocks, Heading("Scored by the evaluator")]
    conditions = [*dict.fromkeys(each.condition for each in scored)]
    heads = Column("scorer", words=True), Column("strategy", words=True)
    blocks.append(Table((*heads, *map(Column, conditions)), rows(_rows(scored, conditions))))
    blocks.append(sentences(_MEANING if scored else _NOTHING, "quiet"))

    def data() -> dict[str, Any]:
        own = document.data()
        assert isinstance(own, dict)
        return {**own, "scored": [*map(_record, scored)]}

    return Document(tuple(blocks), data)


def _record(scored: Scored) -> dict[str, Any]:
    return {
        "scorer": scored.scorer,
        "conversation": scored.conversation,
        "strategy": scored.strategy,
        **scored.about,
        "condition": scored.condition,
        "value": plain(scored.value),
    }


_MEANING = ["Means over conversations of what each scorer gave, as its own numbers."]
_NOTHING = ["No scorer gave a number to any of it."]


def _rows(scored: Sequence[Scored], conditions: Sequence[str]) -> Iterator[Sequence[str]]:
    groups: defaultdict[tuple[str, str], list[Scored]] = defaultdict(list)
    for each in scored:
        groups[each.scorer, each.strategy].append(each)
    for (scorer, strategy), some in groups.items():
        yield name(scorer), name(strategy), *(_mean(some, each) for each in conditions)


def _mean(scored: Iterable[Scored], condition: str) -> str:
    by_conversation: defaultdict[str, list[float]] = defaultdict(list)
    for each in scored:
        if each.condition == condition:
            by_conversation[each.conversation].append(each.value)
    return f"{fmean(map(fmean, by_conversation.values())):.3g}" if by_conversation else NONE
