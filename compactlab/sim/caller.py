"""Makes the calls of a replay: asks the strategy, sends the prompt, bills it, writes the step."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import msgspec

from compactlab.sim.conversation import Conversation, Rewind
from compactlab.sim.errors import ModelError
from compactlab.sim.host import Host
from compactlab.sim.message import Call, Message, Part, Role, verbatim
from compactlab.sim.meter import Meter
from compactlab.sim.model import Model, find_model, replayable
from compactlab.sim.needs import Later
from compactlab.sim.phase import Phase
from compactlab.sim.recording import Unseen, unseen
from compactlab.sim.session import Session, loses
from compactlab.sim.strategy import Strategy
from compactlab.sim.stream import stream
from compactlab.sim.summarize import Summarizer, SummaryRequest
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
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        first = next((m.call for m in self.conversation.calls), Call())
        self.ttl = next((m.call.ttl for m in self.conversation.calls if m.call and m.call.ttl), "")
        self.models: dict[str, Model] = {}
        self.host = Host(
            self.model_of(first or Call()),
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
        overflow = tokens > host.window
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
        sent, rewound = self.session.state.sent, self.session.state.rewound
        if sent is None:
            return "rewind" if rewound else "cold_start", False, False
        shared = sent.messages.shared(prompt.messages)
        cut = shared < len(sent.messages)
        compaction = cut and loses(sent.messages[shared:], prompt.messages[shared:])
        edited = cut or sent.system != prompt.system
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
        told = f"{request.transcript}\n\n{request.instructions}".strip()
        if request.rides == "live":
            prompt = View(view.system, Messages([*view.messages, _said("request", "user", told)]))
        else:
            prompt = View((), Messages([_said("request", "user", told)]))
        parts = self.summarizer.summarize(request, self.host.model.tokenizer.text)
        self._bill_side("summary", prompt, "compaction_call", sum(map(self.host.count, parts)))
        return parts

    def run_turn(self, view: View, prompt: str, reply: str, system: str) -> View:
        """Let the agent take an extra turn and bill it."""
        self.born += 1
        told = _said(f"born-{self.born}-prompt", "user", prompt)
        said = _said(f"born-{self.born}-reply", "assistant", reply)
        blocks = (*view.system, Part("text", system, "synthetic", ())) if system else view.system
        live = View(blocks, Messages([*view.messages, told]))
        self._bill_side("turn", live, "extra_turn", self.host.count(said))
        state = self.session.state
        state.log = self.host.log = state.log.append(told, said)
        return view.append(told, said)

    def _bill_side(self, purpose: str, prompt: View, cause: str, output: int) -> None:
        model, now = self.host.model, self.host.now
        bill = self.meter.side(model, prompt, now, self.ttl, cause)
        usage = msgspec.structs.replace(bill.usage, output=output)
        self.side.append(SideCall(purpose, model.name, now, usage, bill.causes))

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
