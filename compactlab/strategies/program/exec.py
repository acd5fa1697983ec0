"""``exec('node my-compactor.mjs')``: a program of any language as a strategy."""

from __future__ import annotations

import hashlib
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.limits import LONGEST_WAIT, above
from compactlab.sim.core.message import Message, Part, encoded
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Lifetime, Strategy
from compactlab.sim.replay.summarize import SummaryRequest, TurnRequest
from compactlab.strategies.mechanisms.text import transcript
from compactlab.strategies.program.answer import Exchange, ids_of
from compactlab.strategies.program.process import Process, files_of, words_of
from compactlab.strategies.program.protocol import (
    Answer,
    Counted,
    CountText,
    Done,
    File,
    FromHost,
    Hello,
    Read,
    Request,
    Summarize,
    Summary,
    Turn,
    Turned,
    Write,
    kind_of,
    summary_part,
)


@dataclass(frozen=True)
class Exec(Strategy):
    """Ask a program, which receives views and answers with messages: see docs/protocol.md.

    Parameters
    ----------
    command
        The program and its arguments. No shell reads them.
    timeout
        Seconds that each of its answers may take.

    Raises
    ------
    UsageError
        If the command names no program.
    """

    by_price = True  # the program receives the lifetime, and may use it

    command: str
    timeout: Annotated[float, above(0, up_to=LONGEST_WAIT)] = 60

    def __post_init__(self) -> None:
        """Check the command; the program is started when it is needed."""
        super().__post_init__()
        words_of(self.command)

    @cached_property
    def _line(self) -> _Line:
        return _Line(self.command, self.timeout)

    @property
    def hello(self) -> Hello:
        """The program's description of itself."""
        return self._line.hello

    @property
    def counts(self) -> Counter[str]:
        """Counts of views asked about and changed, and of its requests by type."""
        return self._line.counts

    @property
    def does(self) -> tuple[Act, ...]:  # type: ignore[override]
        """Its effects on the context, for lists."""
        return self.hello.does

    @property
    def phases(self) -> frozenset[Phase]:  # type: ignore[override]
        """The phases in which it wants to be asked."""
        return frozenset(self.hello.phases)

    @property
    def lifetime(self) -> Lifetime:  # type: ignore[override]
        return self.hello.lifetime

    @property
    def idle_after(self) -> float:  # type: ignore[override]
        """Seconds of silence after which it is asked."""
        return self.hello.idle_after

    @property
    def breaks(self) -> Mapping[str, str]:  # type: ignore[override]
        """Rules of the contract that it declares to break."""
        return {str(rule): why for rule, why in self.hello.breaks.items()}

    @property
    def outside(self) -> str:
        """The digest of its command, of the files named there, and of its description."""
        seen = hashlib.blake2b(encoded((words_of(self.command), self.hello)), digest_size=8)
        for file in files_of(self.command):
            content = file.read_bytes()
            seen.update(f"{len(content)}:".encode() + content)
        return seen.hexdigest()

    def compact(self, view: View, host: Host) -> View:
        return self._line.ask(view, host)

    def fetch(self, handle: str, host: Host) -> str | None:
        return host.files.get(handle)


class _Line:
    """The running program of a strategy, and the replay that it is asked about."""

    def __init__(self, command: str, seconds: float) -> None:
        self._command, self._seconds = command, seconds
        self._started: Process | None = None
        self._exchange = Exchange()
        self._host: weakref.ref[Host] | None = None
        self.counts: Counter[str] = Counter()

    @cached_property
    def hello(self) -> Hello:
        """The program's first message; it must stay the same after a restart."""
        return self._process().hello

    def _process(self) -> Process:
        """The program, restarted if it has failed."""
        if self._started is None or self._started.ended:
            self._started, self._host = Process(self._command, self._seconds), None
        return self._started

    def ask(self, view: View, host: Host) -> View:
        """Ask about a view."""
        hello, process = self.hello, self._process()
        if process.hello != hello:
            process.fail("said another hello when it was started again")
        if self._host is None or self._host() is not host:
            self._exchange, self._host = Exchange(), weakref.ref(host)
            process.write(self._exchange.begin(host))
        question = self._exchange.question(view, host)
        process.ask(question, f"about view {question.id}, {host.phase}")
        while not isinstance(message := process.receive(), Answer):
            if isinstance(message, Hello):
                process.fail("said hello twice")
            self.counts[kind_of(message)] += 1
            view, reply = self._done(message, view, host)
            process.reply(reply)
        after = self._answered(message, view, host)
        self.counts["views"] += 1
        self.counts["changed"] += after is not view
        return after

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Report an error in a message as the program's fault, and end it."""
        try:
            yield
        except ValueError as error:
            self._process().fail(str(error))

    def _answered(self, answer: Answer, view: View, host: Host) -> View:
        with self._blamed():
            after = self._exchange.view(answer, view, host)
        if answer.notes is not None:
            host.notes.clear()
            host.notes.update(answer.notes)
        if answer.mark is not None:
            host.mark(min(answer.mark, len(after.messages)))
        return after

    def _done(self, request: Request, view: View, host: Host) -> tuple[View, FromHost]:
        """Handle a request of the program; return the view of the question from then on."""
        match request:
            case CountText(text):
                return view, Counted(host.count(text))
            case Read(path):
                return view, File(host.files.get(path))
            case Write(path, text):
                host.files[path] = text
                return view, Done()
            case Summarize():
                return view, self._summary(request, view, host)
            case Turn():
                if host.phase == Phase.AFTER_CALL:
                    self._process().fail(
                        "asked for an extra turn in after_call, between a call and its result"
                    )
                asked = TurnRequest(
                    request.prompt,
                    request.system,
                    request.purpose,
                    request.max_tokens,
                    request.silent,
                    detached=request.detached,
                    waits=request.waits,
                )
                after = host.run_turn(view, asked)
                return after, Turned(ids_of(after), self._exchange.news(after, host))

    def _summary(self, request: Summarize, view: View, host: Host) -> Summary:
        with self._blamed():
            messages = self._exchange.messages(request.messages, view, host)
            before = self._exchange.messages(request.previous, view, host)
        carried = tuple(part for message in before for part in _carried(message))
        asked = SummaryRequest(
            messages,
            request.max_tokens,
            carried,
            request.instructions,
            request.transcript or self._written(request, messages, carried),
            request.rides,
            request.waits,
            request.marked,
        )
        count = blocks_of(host.model.tokenizer).tokenizer.part
        return Summary(tuple(summary_part(p, count(p)) for p in host.summarize(view, asked)))

    @staticmethod
    def _written(request: Summarize, messages: Iterable[Message], carried: Iterable[Part]) -> str:
        """Write the summariser's input if the program does not provide it."""
        if request.rides == "live":
            return ""
        return "\n\n".join(filter(None, [*(p.text for p in carried), transcript(messages)]))


def _carried(message: Message) -> Iterator[Part]:
    """Yield a message's parts about other messages: summaries and quotations."""
    for part in message.parts:
        quoted = part.kind == "verbatim" and bool(part.sources)
        if part.kind == "summary" or (
            quoted and all(source.id != message.id for source in part.sources)
        ):
            yield part
