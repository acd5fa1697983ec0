"""Side calls: what strategies ask for, a summary or an extra turn of the agent, made and billed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import msgspec

from compactlab.sim.errors import ModelError
from compactlab.sim.extra_turn import messages_of
from compactlab.sim.message import Message, Part, Role, Usage, verbatim
from compactlab.sim.messages import Messages
from compactlab.sim.meter import Meter
from compactlab.sim.sanity import faults
from compactlab.sim.session import Session
from compactlab.sim.summarize import Summarizer, SummaryRequest, TurnRequest
from compactlab.sim.trace import SideCall
from compactlab.sim.view import View


@dataclass
class SideCalls:
    """The side calls of a replay; its host asks here.

    Parameters
    ----------
    spec
        The strategy's, for errors.
    summarizer
        Says what the model would write; None if nobody does.
    meter
        Bills them.
    session
        What they are about.
    """

    spec: str
    summarizer: Summarizer | None
    meter: Meter
    session: Session
    made: list[SideCall] = field(default_factory=list)
    born: int = 0
    turns: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host = self.session.host
        self.host._summarize, self.host._run_turn = self.summarize, self.run_turn

    def taken(self) -> tuple[SideCall, ...]:
        """Those made since they were last taken."""
        if not self.made:
            return ()
        made, self.made = tuple(self.made), []
        return made

    def summarize(self, view: View, request: SummaryRequest) -> tuple[Part, ...]:
        """Make a summary and bill the request for it."""
        if self.summarizer is None:
            raise ModelError(f"{self.spec} asks for summaries; name a summariser")
        if self.host.reminders:
            instructions = "\n\n".join([request.instructions, *self.host.reminders])
            request = replace(request, instructions=instructions)
        told = f"{request.transcript}\n\n{request.instructions}".strip()
        if request.rides == "live":
            prompt = View(view.system, Messages([*view.messages, _said("request", "user", told)]))
        else:
            prompt = View((), Messages([_said("request", "user", told)]))
        count = self.host.model.tokenizer.text
        parts = self.summarizer.summarize(request, count)
        wrong = faults(request, parts, count)
        output = sum(map(self.host.count, parts))
        self._bill_side("summary", prompt, "compaction_call", output, faults=wrong)
        return parts

    def run_turn(self, view: View, request: TurnRequest) -> View:
        """Let the agent take an extra turn, and bill its calls.

        It comes before what a person has just said: nobody has answered that yet.
        """
        if self.summarizer is None:
            raise ModelError(f"{self.spec} has the agent write; name a summariser")
        host, state = self.host, self.session.state
        unanswered = _unanswered(state.log[state.heard :])
        waiting = {message.id for message in unanswered}
        place = len(view.messages)
        while place and view.messages[place - 1].id in waiting:
            place -= 1
        live = View(view.system, view.messages[:place])
        notes = self.summarizer.write(tuple(live.messages), request, host.model.tokenizer.text)
        self.born += 1
        time = unanswered[0].time if unanswered else host.now
        turn = messages_of(f"born-{self.born}", request, notes, time)
        self.turns += turn
        self._bill_turn(live, request, turn)
        host.memory += (msgspec.structs.replace(item, time=host.now) for item in notes.items)
        log = state.log
        state.log = host.log = log.branch(len(log) - len(unanswered), [*turn, *unanswered])
        return view.with_messages(view.messages.branch(place, [*turn, *view.messages[place:]]))

    def _bill_turn(self, live: View, request: TurnRequest, turn: list[Message]) -> None:
        """Bill a call for each of the agent's own messages in an extra turn."""
        own = [turn[0].id] if request.system and self._stored(live) else []
        if request.system:
            # The system prompt is one text, so that what is added to it changes all of it.
            words = Part("text", request.system, "synthetic", ())
            live = live.with_system(words, *live.system)
        host = self.host
        for message in turn:
            if message.role == "assistant":
                heard = "".join(part.text for part in message.parts if part.type == "text")
                usage = self._bill_side(
                    request.purpose,
                    live,
                    "extra_turn",
                    host.count(message),
                    own=own,
                    heard=host.count(request.heard(heard)),
                )
                own = []
                self.session.state.reported = host.reported = usage
            live = live.append(message)

    def _stored(self, live: View) -> bool:
        """Whether a view begins with the last prompt, and that is still in the cache."""
        sent, host = self.session.state.sent, self.host
        if sent is None or host.idle >= host.cache_lifetime:
            return False
        whole = sent.messages.shared(live.messages) == len(sent.messages)
        return whole and sent.system == live.system

    def _bill_side(
        self,
        purpose: str,
        prompt: View,
        cause: str,
        output: int,
        *,
        own: Collection[str] = (),
        heard: int = 0,
        faults: tuple[str, ...] = (),
    ) -> Usage:
        model, now = self.host.model, self.host.now
        bill = self.meter.side(model, prompt, now, self.host.ttl, cause, own=own)
        usage = msgspec.structs.replace(bill.usage, output=output)
        cycle = len(self.session.state.compactions)
        self.made.append(
            SideCall(purpose, model.name, now, usage, bill.causes, cycle, heard, bill.place, faults)
        )
        return usage


def _said(id: str, role: Role, text: str) -> Message:
    return Message(id, role, (verbatim(id, "text", text),), meta=True)


def _unanswered(new: Messages) -> Messages:
    """Of what came since the last call, that from which on a person has spoken."""
    start = next((n for n, message in enumerate(new) if message.starts_turn), len(new))
    return new[start:]
