"""Gets answers of language models from a recording or an endpoint, within a budget."""

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
from compactlab.llm.recorded import Answer, Dollars, Recording, Request, locked, recordings, whole
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
"""The start of the error of a run without an answer."""

_PENDING = "pending.json"
# A reservation has a margin of 50 %, more than the error of our counts for models without a public
# tokenizer. No tokenizer gives more tokens than bytes.
_SURE = 1.5
_FRAME = 20  # tokens around a turn, more than any provider's


@dataclass(frozen=True)
class Asker:
    """Answers requests.

    It can be sent to other processes, which share the folder.

    Parameters
    ----------
    folder
        The folder of recorded answers, one file per model.
    mode
        ``replay``: only recorded answers. ``record``: other requests are sent, and their answers
        recorded. ``refuse``: no answers.
    budget
        The most dollars for all answers in the folder, including earlier ones; None for no limit.
    catalogue
        The models with known prices.
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
        """Raise if requests cannot be answered at all, before any is sent.

        Raises
        ------
        UsageError
            If a package, a key, or a price for the budget is missing, or models are refused.
        InputError
            If the recording, or the file of reservations, cannot be read.
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
        return Recording.of(self.folder, model)

    def answer(self, request: Request, endpoint: Endpoint) -> Answer:
        """Return the answer to a request.

        Raises a ModelError if it is not recorded, the budget is spent, or the endpoint does
        not answer.
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
        """Convert a reply to a recorded answer: without secrets, with its price."""
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

    # Costs and the budget.

    def estimate(self, request: Request, *, sure: bool = False) -> Usage:
        """Estimate the tokens of a request with an answer of full length.

        If ``sure``, it is an upper bound of the endpoint's count.
        """
        texts = [request.system, *(turn.text for turn in request.turns)]
        count = self._tokenizer(request.model).text
        tokens = sum(map(count, texts))
        if sure:
            tokens = min(math.ceil(_SURE * tokens), sum(len(text.encode()) for text in texts))
            tokens += _FRAME * len(texts)
        return Usage(uncached=tokens, output=request.max_tokens)

    def price(self, request: Request, usage: Usage | None = None) -> float | None:
        """Return the most dollars that a request can cost; None if no price is known."""
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
        """Return the number of answers in the folder, and their cost in dollars."""
        every = recordings(self.folder)
        return sum(map(len, every)), sum(each.spent for each in every)

    @contextmanager
    def _reserved(self, request: Request) -> Iterator[None]:
        """Reserve the most that a request can cost while it is sent.

        A reservation remains if the process died or the connection broke: the request may be
        billed.
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
            raise InputError(f"is not a list of pending requests: {error}", str(file)) from None

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
    """A request without an answer that may be billed nevertheless."""

    def __init__(self, message: str, *, paid: bool) -> None:
        super().__init__(message)
        self.paid = paid
