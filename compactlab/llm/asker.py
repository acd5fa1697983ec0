"""Gets answers of language models: from a recording, or from an endpoint, within a budget."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import msgspec

from compactlab.llm.endpoint import Endpoint, Reply, UnansweredError
from compactlab.llm.recorded import Answer, Dollars, Recording, locked, recordings
from compactlab.llm.request import Request, whole
from compactlab.privacy import Redactor
from compactlab.sim.core.errors import InputError, ModelError, UsageError
from compactlab.sim.core.files import read_file, replace_file
from compactlab.sim.core.message import Usage
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.models.pricing import prices_of

Mode = Literal["replay", "record", "refuse"]
MODES: tuple[Mode, ...] = get_args(Mode)
NO_ANSWER = "no answer of"
"""How the error of a run begins that got none."""

_PENDING = "pending.json"
# A request is reserved at half as many tokens again as we count: the counts of a model whose
# tokenizer is not public are off by less. No tokenizer makes more tokens than there are bytes.
_SURE = 1.5
_FRAME = 20  # tokens around a turn, more than any provider's


@dataclass(frozen=True)
class Asker:
    """Gives the answer to a request.

    It can be sent to other processes: what they share is the folder.

    Parameters
    ----------
    folder
        Where recorded answers are, a file for each model.
    mode
        ``replay``: what is not recorded has no answer. ``record``: it is asked for, and recorded.
        ``refuse``: nothing has an answer.
    budget
        Dollars that all answers in the folder may cost together, those of earlier days included;
        None for no limit.
    catalogue
        The models whose prices are known.
    """

    folder: Path
    mode: Mode = "replay"
    budget: float | None = None
    catalogue: Catalogue = field(default_factory=built_in, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UsageError(f"models are asked by {', '.join(MODES)}, not {self.mode!r}")
        if self.budget is not None and not 0 <= self.budget < math.inf:
            raise UsageError(f"a budget is a number of dollars from 0 on, not {self.budget!r}")

    def check(self, model: str, endpoint: Endpoint) -> None:
        """Refuse what cannot be answered at all, before anything is begun.

        Raises
        ------
        UsageError
            If a package, a key, or the price that a budget needs is missing, or models are refused.
        InputError
            If the recording, or what is reserved, cannot be read.
        """
        if self.mode == "refuse":
            raise UsageError(f"{model} would be asked, and --ask refuse allows no model")
        len(self.recording(model))
        if self.mode == "record":
            self._pending()
            endpoint.check()
            if self.budget is not None and self._price(model, Usage()) is None:
                raise UsageError(
                    f"a budget needs the price of {model}, which is not known: write it into a "
                    "file of models (--models)"
                )

    def recording(self, model: str) -> Recording:
        """The recorded answers of a model."""
        return Recording.of(self.folder, model)

    def answer(self, request: Request, endpoint: Endpoint) -> Answer:
        """The answer to a request.

        Raises
        ------
        ModelError
            If there is none: it is not recorded, the budget is spent, or the endpoint gives none.
        """
        request = request.redacted
        recording = self.recording(request.model)
        known = recording.get(request.key) if self.mode != "refuse" else None
        if known is not None:
            return known
        if self.mode != "record":
            raise ModelError(
                f"{NO_ANSWER} {request.model}: none is recorded for this request "
                f"({request.key[:8]}); to ask the model, and record what it answers, add "
                "--ask record"
            )
        with self._reserved(request):
            return recording.add(self._asked(request, endpoint))

    def _asked(self, request: Request, endpoint: Endpoint) -> Answer:
        try:
            reply = endpoint.ask(request)
        except UnansweredError as error:
            raise _LostError(f"{NO_ANSWER} {request.model}: {error}", paid=error.paid) from None
        answer = self.answer_of(request, reply)
        try:
            answer.line  # noqa: B018
        except ValueError as error:
            fault = f"{NO_ANSWER} {request.model}: what came cannot be recorded: {error}"
            raise _LostError(fault, paid=True) from None
        return answer

    def answer_of(self, request: Request, reply: Reply) -> Answer:
        """A reply as it is recorded: without secrets, and with its price."""
        request = request.redacted
        redactor = Redactor()
        usage = reply.usage or self.estimate(request)
        return Answer(
            key=request.key,
            model=redactor.text(request.model),
            draw=request.draw,
            text=redactor.text(whole(reply.text)),
            ended=whole(reply.ended),
            prompt=usage.prompt,
            output=usage.output,
            usd=self._price(request.model, usage),
            served=redactor.text(whole(reply.served)),
            date=datetime.now(UTC).date().isoformat(),
        )

    # What an answer costs, and what a budget allows.

    def estimate(self, request: Request, *, sure: bool = False) -> Usage:
        """The tokens that a request takes, with an answer of full length.

        Parameters
        ----------
        request
            The request.
        sure
            Whether it is to be no less than the endpoint will count.
        """
        texts = [request.system, *(turn.text for turn in request.turns)]
        count = self._tokenizer(request.model).text
        tokens = sum(map(count, texts))
        if sure:
            tokens = min(math.ceil(_SURE * tokens), sum(len(text.encode()) for text in texts))
            tokens += _FRAME * len(texts)
        return Usage(uncached=tokens, output=request.max_tokens)

    def price(self, request: Request, usage: Usage | None = None) -> float | None:
        """Dollars for a request, at most; None where no price is known."""
        return self._price(request.model, usage or self.estimate(request, sure=True))

    def _price(self, model: str, usage: Usage) -> float | None:
        try:
            sheet = prices_of(self.catalogue.find(model))
            return sheet.rates(0, usage.prompt).cost(usage)
        except ModelError:
            return None

    def _tokenizer(self, model: str) -> Tokenizer:
        try:
            return self.catalogue.find(model).tokenizer
        except ModelError:
            return Tokenizer()

    @property
    def spent(self) -> tuple[int, float]:
        """How many answers the folder holds, and the dollars that they cost."""
        every = recordings(self.folder)
        return sum(map(len, every)), sum(each.spent for each in every)

    @contextmanager
    def _reserved(self, request: Request) -> Iterator[None]:
        """Hold the most that a request can cost while it is asked.

        What nobody has released, because its process died or the connection broke, stays reserved:
        it may have to be paid.
        """
        most = self.price(request)
        if most is None and self.budget is not None:
            raise ModelError(f"{NO_ANSWER} {request.model}: a budget needs its price")
        name = f"{request.key} {datetime.now(UTC).timestamp()}"
        with locked(self.folder):
            pending = self._pending()
            self._check_budget(request, most or 0.0, sum(pending.values()))
            self._hold({**pending, name: most or 0.0})
        try:
            yield
        except _LostError as error:
            if not error.paid:
                self._release(name)
            raise ModelError(str(error)) from None
        self._release(name)

    def _check_budget(self, request: Request, most: float, pending: float) -> None:
        if self.budget is None:
            return
        spent = self.spent[1]
        if spent + pending + most > self.budget:
            reserved = f", {pending:.4f} USD is reserved" if pending else ""
            raise ModelError(
                f"{NO_ANSWER} {request.model}: the budget is {self.budget:g} USD, "
                f"{spent:.4f} USD is spent{reserved}, and this request may cost {most:.4f} USD; "
                "a larger --budget goes on from here"
            )

    def _pending(self) -> dict[str, float]:
        file = self.folder / _PENDING
        try:
            return msgspec.json.decode(read_file(file), type=dict[str, Dollars])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise InputError(f"is no list of requests that wait: {error}", str(file)) from None

    def _hold(self, pending: dict[str, float]) -> None:
        file = self.folder / _PENDING
        try:
            msgspec.convert(pending, dict[str, Dollars])
        except ValueError as error:
            raise ModelError(f"what a request costs cannot be reserved: {error}") from None
        if pending:
            replace_file(file, msgspec.json.encode(pending, order="sorted") + b"\n")
        else:
            file.unlink(missing_ok=True)

    def _release(self, name: str) -> None:
        with locked(self.folder):
            self._hold({key: usd for key, usd in self._pending().items() if key != name})


class _LostError(ModelError):
    """A request that has no answer; it may have to be paid all the same."""

    def __init__(self, message: str, *, paid: bool) -> None:
        super().__init__(message)
        self.paid = paid
