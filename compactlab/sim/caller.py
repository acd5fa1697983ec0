"""Makes the calls of a replay: asks the strategy, sends the prompt, bills it, writes the step."""

from __future__ import annotations

import random
from collections.abc import Collection, MutableMapping
from dataclasses import dataclass, field, replace

import msgspec

from compactlab.sim.conversation import Conversation, Rewind
from compactlab.sim.errors import ModelError
from compactlab.sim.extra_turn import messages_of
from compactlab.sim.host import Host
from compactlab.sim.message import Call, Message, Part, Role, Usage, verbatim
from compactlab.sim.meter import Meter
from compactlab.sim.model import Model, find_model, replayable
from compactlab.sim.needs import Later
from compactlab.sim.phase import Phase
from compactlab.sim.recording import Unseen, unseen
from compactlab.sim.session import Session, loses
from compactlab.sim.strategy import Strategy
from compactlab.sim.stream import stream
from compactlab.sim.summarize import Summarizer, SummaryRequest, TurnRequest
from compactlab.sim.trace import SideCall, Step
from compactlab.sim.view import Messages, View

RECORDED = "recorded"


@dataclass
class Caller:
    """One replay in progress; the parameters are those of :func:`compactlab.sim.replay.replay`."""

    conversation: Conversation
    strategy: Strategy
    model: str
    summarizer: Summarizer | None
    window: int | None
    seed: int
    overhead: Unseen | None
    files: MutableMapping[str, str] | None = None
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        first = next((m.call for m in self.conversation.calls), Call())
        self.ttl = next((m.call.ttl for m in self.conversation.calls if m.call and m.call.ttl), "")
        self.models: dict[str, Model] = {}
        self.host = Host(
            self.model_of(first or Call()),
            files={} if self.files is None else self.files,
            _summarize=self.summarize,
            _run_turn=self.run_turn,
            _rng=self.rng,
            _later=self.later,
        )
        hidden = unseen(self.conversation) if self.overhead is None else self.overhead
        system = (*hidden.blocks, *self.conversation.system)
        rewinds = (event for event in self.conversation.events if isinstance(event, Rewind))
        targets = frozenset(event.to for event in rewinds)
        self.session = Session(self.strategy.parts, View(system), self.host, targets)
        self.side: list[SideCall] = []
        self.last = Messages()
        self.last_model = ""
        self.born = 0
        self.answered = 0
        if hidden.opening is not None:
            self.session.append(hidden.opening)

    def model_of(self, call: Call) -> Model:
        """The model that a call goes to."""
        name = call.model if self.model == RECORDED else self.model
        if not name:
            raise ModelError("the recording does not say which model it used; name one: --model")
        if name not in self.models:
            model, _ = replayable(find_model(name))
            self.models[name] = model.narrowed(self.window)
        return self.models[name]

    def call(self, answer: Message) -> Step:
        """Make the request that a script's assistant message answers."""
        call = answer.call or Call()
        self.ttl = call.ttl or self.ttl
        host, session = self.host, self.session
        host.model, host.now, host.ttl = self.model_of(call), session.now, self.ttl
        prompt, tokens = self._prompt()
        state = session.state
        reason, rewrite, compaction = self._change(prompt)
        new = state.log[state.heard :] if reason not in ("append", "cold_start") else ()
        arrived = [message.id for message in new]
        bill = self.meter.request(host.model, host.now, self.ttl, arrived, reason)
        usage = msgspec.structs.replace(bill.usage, output=self._output(answer, call))
        shared, added = self._added(prompt.messages)
        log, now, model = state.log, host.now, host.model.name
        overflow, cycle = tokens > host.window, len(state.compactions)
        state.sent, state.heard, state.rewound = prompt, len(state.log), False
        state.reported = host.reported = usage
        self.last_model, host.requested = model, now
        session.append(answer)
        self.answered += 1
        session.compact(Phase.AFTER_CALL)
        if not any(part.type == "tool_call" for part in answer.parts):
            session.compact(Phase.AFTER_TURN)
        side, self.side = tuple(self.side), []
        return Step(
            answer=answer.id,
            model=model,
            time=now,
            system=prompt.system,
            shared=shared,
            added=added,
            log=log,
            usage=usage,
            causes=bill.causes,
            rewrite=rewrite,
            compaction=compaction,
            overflow=overflow,
            side=side,
            cycle=cycle,
        )

    def _prompt(self) -> tuple[View, int]:
        session, model = self.session, self.host.model
        if session.state.new_turn:
            session.compact(Phase.BEFORE_TURN)
        session.compact(Phase.BEFORE_CALL)
        prompt = session.project()
        tokens = self.meter.tokens(model, prompt)
        if tokens > model.window:
            prompt = session.relieve(prompt)
            tokens = self.meter.tokens(model, prompt)
        session.state.new_turn = False
        return prompt, tokens

    def _added(self, prompt: Messages) -> tuple[int, Messages]:
        """What a prompt shares with the one sent before, and what comes after that."""
        shared = self.last.shared(prompt)
        added = prompt[shared:]
        if shared and not added.stored_with(self.last):
            added = Messages(added)  # else the trace would keep a whole prompt for its tail
        self.last = prompt
        return shared, added

    def _change(self, prompt: View) -> tuple[str, bool, bool]:
        """Why a prompt is not the last one; whether that is a rewrite, and a compaction."""
        state = self.session.state
        sent, rewound = state.sent, state.rewound
        if sent is None:
            return "rewind" if rewound else "cold_start", False, False
        shared = sent.messages.shared(prompt.messages)
        cut = shared < len(sent.messages)
        compaction = cut and loses(sent.messages[shared:], prompt.messages[shared:])
        # What is new may be withheld, too: then it is not the last prompt plus what is new.
        come = len(prompt.messages) - len(sent.messages) == len(state.log) - state.heard
        edited = cut or not come or sent.system != prompt.system
        if self.host.model.name != self.last_model:
            reason = "model_switch"
        elif sent.system != prompt.system:
            reason = "system_changed"
        elif cut:
            reason = "compaction" if compaction else "history_edit"
        else:
            reason = "rewind" if rewound else "append"
        return reason, edited, compaction

    def finish(self, step: Step) -> Step:
        """The last step, with what was caused after it: nobody else will answer for that."""
        return msgspec.structs.replace(step, side=(*step.side, *self.side)) if self.side else step

    def _output(self, answer: Message, call: Call) -> int:
        """Tokens of an answer: logs of streamed answers undercount, and texts lack thinking."""
        counted = self.host.count(answer)
        if self.model == RECORDED and call.usage is not None:
            return max(counted, call.usage.output)
        return counted

    def summarize(self, view: View, request: SummaryRequest) -> tuple[Part, ...]:
        """Make a summary and bill the request for it."""
        if self.summarizer is None:
            raise ModelError(f"{self.strategy.spec} asks for summaries; name a summariser")
        if self.host.reminders:
            instructions = "\n\n".join([request.instructions, *self.host.reminders])
            request = replace(request, instructions=instructions)
        told = f"{request.transcript}\n\n{request.instructions}".strip()
        if request.rides == "live":
            prompt = View(view.system, Messages([*view.messages, _said("request", "user", told)]))
        else:
            prompt = View((), Messages([_said("request", "user", told)]))
        parts = self.summarizer.summarize(request, self.host.model.tokenizer.text)
        self._bill_side("summary", prompt, "compaction_call", sum(map(self.host.count, parts)))
        return parts

    def run_turn(self, view: View, request: TurnRequest) -> View:
        """Let the agent take an extra turn, and bill its calls.

        It comes before what a person has just said: nobody has answered that yet.
        """
        if self.summarizer is None:
            raise ModelError(f"{self.strategy.spec} has the agent write; name a summariser")
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
        self._bill_turn(live, request, turn)
        host.memory += (msgspec.structs.replace(item, time=host.now) for item in notes.items)
        log = state.log
        state.log = host.log = log.branch(len(log) - len(unanswered), [*turn, *unanswered])
        return view.with_messages(view.messages.branch(place, [*turn, *view.messages[place:]]))

    def _bill_turn(self, live: View, request: TurnRequest, turn: list[Message]) -> None:
        """Bill a call for each of the agent's own messages in an extra turn."""
        if request.system:
            # The system prompt is one text, so that what is added to it changes all of it.
            words = Part("text", request.system, "synthetic", ())
            live = live.with_system(words, *live.system)
        host = self.host
        # What is stored no longer, or never was, would have been fresh without that.
        change = request.system and host.idle < host.cache_lifetime
        own = [turn[0].id] if change else []
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

    def _bill_side(
        self,
        purpose: str,
        prompt: View,
        cause: str,
        output: int,
        *,
        own: Collection[str] = (),
        heard: int = 0,
    ) -> Usage:
        model, now = self.host.model, self.host.now
        bill = self.meter.side(model, prompt, now, self.ttl, cause, own=own)
        usage = msgspec.structs.replace(bill.usage, output=output)
        cycle = len(self.session.state.compactions)
        self.side.append(SideCall(purpose, model.name, now, usage, bill.causes, cycle, heard))
        return usage

    def later(self) -> Later:
        """What the calls that have not been answered yet need."""
        return Later(self.conversation, self.answered)

    def rng(self, purpose: str) -> random.Random:
        """The stream of the asking strategy for a purpose."""
        asking = self.host.asking
        spec = asking.spec if isinstance(asking, Strategy) else ""
        return stream(self.seed, self.conversation.id, spec, purpose)


def _said(id: str, role: Role, text: str) -> Message:
    return Message(id, role, (verbatim(id, "text", text),), meta=True)


def _unanswered(new: Messages) -> Messages:
    """Of what came since the last call, that from which on a person has spoken."""
    start = next((n for n, message in enumerate(new) if message.starts_turn), len(new))
    return new[start:]
