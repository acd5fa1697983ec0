"""Side calls: summaries and extra turns that strategies request, made and billed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

import msgspec

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.errors import InputError, ModelError
from compactlab.sim.core.message import Call, Message, Part, Role, Usage, plain, verbatim
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages, View
from compactlab.sim.models.model import Catalogue, Model
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.meter import Meter
from compactlab.sim.replay.session import Session
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import (
    Summarizer,
    SummaryRequest,
    TurnRequest,
    Written,
    faults,
)
from compactlab.sim.replay.trace import NOWHERE, Outside, SideCall

# Conversion of an agent's extra turn to messages of the replay.

TOOL = "write"
FILE = "memory/notes.md"


def messages_of(id: str, request: TurnRequest, notes: Written, time: float) -> list[Message]:
    """Return the messages of an extra turn, in order.

    These are the prompt, a tool call that writes the notes (if there are any), its result, and the
    answer. Each message of the agent answers a model call. Only the notes have sources: the
    messages that they represent.
    """
    prompt = Message(f"{id}-prompt", "user", (plain(request.prompt),), time, meta=True)
    reply = Message(f"{id}-reply", "assistant", (plain(notes.reply),), time)
    if not notes.items:
        return [prompt, reply]
    sources = tuple(dict.fromkeys(source for item in notes.items for source in item.sources))
    call = Part("tool_call", _arguments(notes.items), "memory", sources, TOOL, call_id=id)
    done = Part("tool_result", f"{FILE} is written.", "synthetic", (), TOOL, call_id=id)
    wrote = Message(f"{id}-write", "assistant", (call,), time)
    return [prompt, wrote, Message(f"{id}-written", "tool", (done,), time), reply]


def _arguments(items: tuple[Remembered, ...]) -> str:
    lines = "\n".join(f"- {item.topic}: {item.text}" for item in items)
    written = {"path": FILE, "content": lines}
    return json.dumps(written, ensure_ascii=False, separators=(",", ":"))


@dataclass
class SideCalls:
    """The side calls of a replay: the host's summaries and extra turns."""

    spec: str  # of the strategy, for errors
    summarizer: Summarizer | None  # replaces the model; None: no summaries
    meter: Meter
    session: Session
    # The catalogue of recorded models, if requests are billed as in the log.
    recorded: Catalogue | None = None
    # Finds a model that a request names.
    find: Callable[[str], Model] | None = None
    billed: bool = True  # whether summaries are checked for faults and billed
    made: list[SideCall] = field(default_factory=list)
    created: int = 0
    turns: list[Message] = field(default_factory=list)

    def taken(self) -> tuple[SideCall, ...]:
        """Return the side calls made since the last call."""
        if not self.made:
            return ()
        made, self.made = tuple(self.made), []
        return made

    def summarize(self, host: Host, view: View, request: SummaryRequest) -> tuple[Part, ...]:
        if self.summarizer is None:
            raise ModelError(f"{self.spec} asks for summaries; name a summariser")
        if host.reminders:
            instructions = "\n\n".join([request.instructions, *host.reminders])
            request = replace(request, instructions=instructions)
        count = host.model.tokenizer.text
        parts = self.summarizer.summarize(request, count)
        if not self.billed:
            return parts
        wrong = faults(request, parts, count)
        text = f"{request.transcript}\n\n{request.instructions}".strip()
        if request.rides == "live":
            prompt = View(
                view.system, Messages([*view.messages, _message("request", "user", text)])
            )
        else:
            prompt = View((), Messages([_message("request", "user", text)]))
        model = self._model(host, request.model)
        output = sum(map(model.tokenizer.part, parts))
        self._bill_side(
            host,
            "summary",
            prompt,
            "compaction_call",
            output,
            faults=wrong,
            waits=request.waits,
            marked=request.marked,
            model=model,
        )
        return parts

    def _model(self, host: Host, name: str) -> Model:
        """Return the model that a request names, or the session's."""
        return self.find(name) if name and self.find is not None else host.model

    def charge(self, host: Host, view: View, call: Call) -> None:
        """Bill a recorded request for a summary."""
        prompt = View(view.system, Messages([*view.messages, _message("request", "user", "")]))
        known = call.usage or Usage()
        if self.recorded is None or not call.model:
            self._bill_side(host, "summary", prompt, "compaction_call", known.output)
            return
        model = self.recorded.find(call.model)
        bill = self.meter.side(model, prompt, host.now, host.ttl, "compaction_call")
        missed = known.prompt - known.cache_read
        causes = {"compaction_call": missed} if missed else {}
        cycle = len(self.session.state.compactions)
        made = SideCall("summary", model.name, host.now, known, causes, cycle, place=bill.place)
        self.made.append(made)

    def send(
        self, host: Host, prompt: View, output: int, purpose: str, *, model: str, marked: bool
    ) -> None:
        """Bill another request of the strategy, for which nobody waits."""
        found = self._model(host, model)
        self._bill_side(
            host,
            purpose,
            prompt,
            "compaction_call",
            output,
            waits=False,
            marked=marked,
            model=found,
        )

    def run_turn(self, host: Host, view: View, request: TurnRequest) -> View:
        """Let the agent take an extra turn, before any unanswered messages; bill its calls.

        Of a detached turn, only the notes and the bill remain.
        """
        if self.summarizer is None:
            raise ModelError(f"{self.spec} has the agent write; name a summariser")
        state = self.session.state
        unanswered = _unanswered(state.log[state.heard :])
        waiting = {message.id for message in unanswered}
        index = len(view.messages)
        while index and view.messages[index - 1].id in waiting:
            index -= 1
        live = View(view.system, view.messages[:index])
        notes = self.summarizer.write(tuple(live.messages), request, host.model.tokenizer.text)
        self.created += 1
        time = unanswered[0].time if unanswered else host.now
        turn = messages_of(f"born-{self.created}", request, notes, time)
        reported = state.reported
        self._bill_turn(host, live, request, turn)
        host.memory += (msgspec.structs.replace(item, time=host.now) for item in notes.items)
        if request.detached:
            state.reported = reported
            return view
        self.turns += turn
        log = state.log
        state.log = log.branch(len(log) - len(unanswered), [*turn, *unanswered])
        return view.with_messages(view.messages.branch(index, [*turn, *view.messages[index:]]))

    def _bill_turn(self, host: Host, live: View, request: TurnRequest, turn: list[Message]) -> None:
        """Bill a call for each of the agent's messages in an extra turn."""
        own = [turn[0].id] if request.system and self._stored(host, live) else []
        if request.system:
            # The system prompt is one text, so an addition changes all of it.
            words = plain(request.system)
            live = live.with_system(words, *live.system)
        model = self._model(host, request.model)
        for message in turn:
            if message.role == "assistant":
                heard = "".join(part.text for part in message.parts if part.type == "text")
                usage = self._bill_side(
                    host,
                    request.purpose,
                    live,
                    "extra_turn",
                    blocks_of(model.tokenizer).tokens(message),
                    own=own,
                    heard=host.count(request.heard(heard)),
                    waits=request.waits,
                    model=model,
                )
                own = []
                self.session.state.reported = usage
            live = live.append(message)

    def _stored(self, host: Host, live: View) -> bool:
        """Whether a view starts with the last prompt, and that is still in the cache."""
        sent = self.session.state.sent
        if sent is None or host.idle >= host.cache_lifetime:
            return False
        whole = sent.messages.shared(live.messages) == len(sent.messages)
        return whole and sent.system == live.system

    def _bill_side(
        self,
        host: Host,
        purpose: str,
        prompt: View,
        cause: str,
        output: int,
        *,
        own: Collection[str] = (),
        heard: int = 0,
        faults: tuple[str, ...] = (),
        waits: bool = True,
        marked: bool = True,
        model: Model | None = None,
    ) -> Usage:
        model, now = model or host.model, host.now
        bill = self.meter.side(model, prompt, now, host.ttl, cause, own=own, marked=marked)
        usage = msgspec.structs.replace(bill.usage, output=output)
        cycle, where = len(self.session.state.compactions), (heard, bill.place, faults, waits)
        self.made.append(SideCall(purpose, model.name, now, usage, bill.causes, cycle, *where))
        return usage


def _message(id: str, role: Role, text: str) -> Message:
    return Message(id, role, (verbatim(id, "text", text),), meta=True)


def _unanswered(new: Messages) -> Messages:
    """Return the new messages from the last user message on."""
    start = next((n for n, message in enumerate(new) if message.starts_turn), len(new))
    return new[start:]


@dataclass
class Outbox:
    """New messages, notes in memory, and content that strategies have offloaded."""

    parts: tuple[Strategy, ...]
    session: Session
    side: SideCalls
    _created: list[Message] = field(default_factory=list)
    _outside: Outside = NOWHERE
    _handles: set[str] = field(default_factory=set)
    _notes: int = 0
    _seen: Messages = field(default_factory=Messages)

    def __post_init__(self) -> None:
        self._fetching = tuple(p for p in self.parts if type(p).fetch is not Strategy.fetch)

    def look(self, host: Host) -> tuple[tuple[Message, ...], Outside]:
        """Return new content since the last look."""
        side = self.side
        stored, broken = self._stored(host) if self._fetching else ((), ())
        if not (side.turns or len(host.memory) > self._notes or stored or broken):
            return (), NOWHERE
        turns, side.turns = tuple(side.turns), []
        new = Outside(tuple(host.memory[self._notes :]), stored, broken)
        self._notes = len(host.memory)
        self._created += turns
        before = self._outside
        self._outside = Outside(
            before.notes + new.notes, before.stored + new.stored, before.broken + new.broken
        )
        return turns, new

    def add(self, message: Message) -> None:
        """Add a message that was created in the replay."""
        self._created.append(message)

    def taken(self) -> tuple[tuple[Message, ...], Outside]:
        """Return new content since it was last taken."""
        created, outside = tuple(self._created), self._outside
        if created:
            self._created = []
        self._outside = NOWHERE
        return created, outside

    def fetch(self, host: Host, handle: str) -> str:
        """Return the content of a handle, from the strategy that offloaded it."""
        text = self._fetched(host, handle)
        if text is None:
            raise InputError(f"nothing is stored under {handle!r}")
        return text

    def _fetched(self, host: Host, handle: str) -> str | None:
        refused: InputError | None = None
        for part in self._fetching:
            try:
                text = part.fetch(handle, host)
            except InputError as error:
                refused = error
                continue
            if text is not None:
                return text
        if refused is not None:
            raise refused
        return None

    def _stored(self, host: Host) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
        """Return the contents of new handles in the session's view, and the handles without any.

        A path that is only mentioned, such as that of a read file, is skipped: no replay opens
        files.
        """
        stored: list[tuple[str, str]] = []
        broken: list[str] = []
        view = self.session.state.view.messages
        _, come = self._seen.difference(view)
        self._seen = view
        for message in come:
            for part in message.parts:
                if part.handle and part.handle not in self._handles:
                    self._handles.add(part.handle)
                    try:
                        text = self._fetched(host, part.handle)
                    except InputError:
                        broken.append(part.handle)
                    else:
                        stored += [] if text is None else [(part.handle, text)]
        return tuple(stored), tuple(broken)
