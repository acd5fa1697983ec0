"""The replay: the loop that runs a conversation through a strategy, call by call."""

from __future__ import annotations

import random
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from compactlab.sim.cache import Cache
from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Call, Message
from compactlab.sim.core.stream import stream
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.facts import ledger_of
from compactlab.sim.facts.needs import Later
from compactlab.sim.models.model import Catalogue, Model, built_in, replayable
from compactlab.sim.replay.client import SUGGESTION, Churn, Client
from compactlab.sim.replay.host import Host, Services
from compactlab.sim.replay.meter import CountingMeter, Meter
from compactlab.sim.replay.recovery import Actor, ClosedLoop
from compactlab.sim.replay.session import Session, loses
from compactlab.sim.replay.side_calls import Outbox, SideCalls
from compactlab.sim.replay.sizes import WHOLE, Unseen, spoken, unseen
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Summarizer
from compactlab.sim.replay.trace import NOWHERE, Header, Step, Trace

RECORDED = "recorded"


@dataclass(frozen=True)
class Options:
    """The options of a replay."""

    model: str = RECORDED  # a model's name, or that of each recorded call
    summarizer: Summarizer | None = None  # makes the summaries that strategies request
    window: int | None = None  # limits the model's context window, in tokens
    seed: int = 0  # seed of all random draws
    catalogue: Catalogue = field(default_factory=built_in)  # the known models
    # The frequency of unrequested prompt changes by the client, as measured by an audit.
    churn: Churn | None = None
    loop: ClosedLoop | None = None  # makes forgetting have consequences
    # The unlogged tokens of a recording's prompts; by default inferred from the recorded usage.
    overhead: Unseen | None = None
    # The files of the agent; by default in memory.
    files: MutableMapping[str, str] | None = None
    # Whether requests are billed and summaries are checked for faults: recall needs neither.
    billed: bool = True
    # Caches by model. Sessions with the same tools and system prompt may share them; replay these
    # in order of time.
    caches: MutableMapping[str, Cache] | None = None


@dataclass
class Script:
    """The strategies' access to the script: random streams and, for oracles, the future."""

    conversation: Conversation
    parts: tuple[Strategy, ...]
    seed: int
    answered: int = 0

    def __post_init__(self) -> None:
        self.specs = {id(part): part.spec for part in self.parts}

    def needs(self, host: Host) -> Later:
        """Return the needs of the unanswered calls."""
        return Later(self.conversation, self.answered)

    def rng(self, host: Host, purpose: str) -> random.Random:
        """Return the random stream of the active strategy for a purpose."""
        spec = self.specs.get(id(host.asking), "")
        return stream(self.seed, self.conversation.id, spec, purpose)


@dataclass
class Caller:
    """One replay in progress."""

    conversation: Conversation
    strategy: Strategy
    options: Options

    def __post_init__(self) -> None:
        conversation, strategy, options = self.conversation, self.strategy, self.options
        if options.churn and conversation.recorded:
            options.churn.check(conversation.format)
        # The random stream of events that are the same for every strategy.
        chance = partial(stream, options.seed, conversation.id)
        meter = Meter if options.billed else CountingMeter
        self.meter = meter({} if options.caches is None else options.caches, chance)
        self.client = Client(conversation.format, options.churn, chance)
        self.asked, self.last_model = 0.0, ""  # time and model of the last call
        self.as_recorded = options.model == RECORDED
        first = next((m.call for m in conversation.calls), Call())
        self.ttl = next((m.call.ttl for m in conversation.calls if m.call and m.call.ttl), "")
        hidden = self.hidden = options.overhead or unseen(conversation, options.catalogue)
        system = (*hidden.blocks, *conversation.system)
        rewinds = (event for event in conversation.events if isinstance(event, Rewind))
        targets = frozenset(event.to for event in rewinds)
        self.session = Session(strategy.parts, View(system), targets)
        # It does not hold this object, which holds it: memory is free without a search for cycles.
        models: dict[str, Model] = {}
        self._find = partial(_found, models, options, hidden, conversation)
        self.side = self._side_calls()
        self.outbox = Outbox(strategy.parts, self.session, self.side)
        self.script = Script(conversation, strategy.parts, options.seed)
        self.host = Host(
            self.model_of(first or Call()),
            self.session.state,
            Services(
                summarize=self.side.summarize,
                run_turn=self.side.run_turn,
                charge=self.side.charge,
                send=self.side.send,
                fetch=self.outbox.fetch,
                rng=self.script.rng,
                needs=self.script.needs,
            ),
            ttl=self.ttl,
            files={} if options.files is None else options.files,
        )
        self.last = Messages()
        self.actor: Actor | None = None
        if options.loop is not None:
            strips = self.host.model.strips_thinking
            self.actor = Actor(options.loop, ledger_of(conversation), chance, strips=strips)
        # If the last call ended a turn: its model, its prompt with the answer, and the time.
        self.ended: tuple[Model, View, float] | None = None
        if hidden.opening is not None:
            self.session.append(hidden.opening, self.host)

    def _side_calls(self) -> SideCalls:
        options, conversation = self.options, self.conversation
        return SideCalls(
            self.strategy.spec,
            options.summarizer and options.summarizer.bound(conversation, options.seed),
            self.meter,
            self.session,
            options.catalogue if self.as_recorded else None,
            self._find,
            billed=options.billed,
        )

    def model_of(self, call: Call) -> Model:
        name = call.model if self.as_recorded else self.options.model
        if not name:
            raise ModelError("the recording does not say which model it used; name one: --model")
        return self._find(name)

    def calls(self, answer: Message) -> list[Step]:
        """Make the request that a script's assistant message answers.

        In the closed loop, calls that recover forgotten facts come first.
        """
        call, steps = answer.call or Call(), []
        self.ttl = call.ttl or self.ttl
        host, session = self.host, self.session
        host.model, host.now, host.ttl = self.model_of(call), session.now, self.ttl
        host.thinking = call.thinking
        self._unlogged()
        prompt, tokens = self._prompt()
        unmet: tuple[str, ...] = ()
        if self.actor is not None:
            tried: set[int] = set()
            while act := self.actor.act(prompt, answer, tried, session.now):
                for message in act.messages:
                    self.outbox.add(message)
                    if message.call is None:
                        session.append(message, host)
                        prompt, tokens = self._prompt()
                    else:
                        step = self._send(prompt, tokens, message, call, recovery=act.what)
                        steps.append(step)
                if message.call is not None:
                    prompt, tokens = self._prompt()
            unmet = self.actor.unmet(answer)
        steps.append(self._send(prompt, tokens, answer, call, unmet=unmet))
        self.script.answered += 1
        return steps

    def _unlogged(self) -> None:
        """Send the unlogged requests of the client."""
        host, state = self.host, self.session.state
        ended, self.ended = self.ended, None
        if ended is not None and not state.rewound:
            model, view, time = ended
            if any(message.starts_turn for message in state.log[state.heard + 1 :]):
                self.meter.unbilled(model, view.append(SUGGESTION), time, self.ttl)
        if self.hidden.shared and self.client.shares_system(self.ttl):
            front = View(self.hidden.blocks[:1])
            self.meter.unbilled(host.model, front, host.now, self.ttl)

    def _send(
        self,
        prompt: View,
        tokens: int,
        answer: Message,
        call: Call,
        **loop: Any,
    ) -> Step:
        host, session = self.host, self.session
        state, last = session.state, self.last
        shared, added = self._added(prompt.messages)
        reason, rewrite, compaction = self._change(prompt, last, shared)
        reason = self._caused(reason, call, answer)
        log, now, model = state.log, host.now, host.model.name
        arrived: list[str] = []
        if reason not in ("append", "cold_start"):
            arrived = [message.id for message in log[state.heard :]]
        output = self._output(answer, call)
        bill = self.meter.request(host.model, now, self.ttl, arrived, reason, output=output)
        overflow, cycle = tokens > host.window, len(state.compactions)
        state.sent, state.heard, state.rewound = prompt, len(log), False
        state.reported, self.last_model, host.requested = bill.usage, model, now
        session.append(answer, host)
        session.compact(Phase.AFTER_CALL, host)
        if "recovery" not in loop and "tool_call" not in [part.type for part in answer.parts]:
            if self.client.suggests:
                self.ended = host.model, prompt.append(answer), session.now
            session.compact(Phase.AFTER_TURN, host)
        created, outside = self.outbox.taken()
        return Step(
            answer=answer.id,
            model=model,
            time=now,
            system=prompt.system,
            shared=shared,
            added=added,
            log=log,
            usage=bill.usage,
            causes=bill.causes,
            rewrite=rewrite,
            compaction=compaction,
            overflow=overflow,
            side=self.side.taken(),
            cycle=cycle,
            place=bill.place,
            created=created,
            outside=outside,
            misjudged=session.misjudged(),
            **loop,
        )

    def _caused(self, reason: str, call: Call, answer: Message) -> str:
        """Return why the prompt differs from the last one, including changes by the client."""
        state = self.session.state
        self.meter.mark = state.marked
        opens = self.options.churn is not None and any(
            m.starts_turn for m in state.log[state.heard :]
        )
        gap = self.session.now - self.asked if self.asked else 0.0
        self.asked = self.session.now
        cause, self.meter.settings = self.client.settings(call, answer.id, opens, gap)
        if cause != "append" and reason in ("append", "history_edit", "compaction", "rewind"):
            return cause
        return reason

    def _prompt(self) -> tuple[View, int]:
        session, host = self.session, self.host
        model = host.model
        if session.state.new_turn:
            session.compact(Phase.BEFORE_TURN, host)
        session.compact(Phase.BEFORE_CALL, host)
        prompt = session.project(host)
        tokens = self.meter.tokens(model, prompt)
        if tokens > model.window:
            prompt = session.relieve(prompt, host)
            tokens = self.meter.tokens(model, prompt)
        session.state.new_turn = False
        turns, outside = self.outbox.look(host)
        if self.actor is not None and (turns or outside is not NOWHERE):
            self.actor.learn(turns, outside)
        return prompt, tokens

    def _added(self, prompt: Messages) -> tuple[int, Messages]:
        """Return the number of messages shared with the last prompt, and the others."""
        shared = self.last.shared(prompt)
        added = prompt[shared:]
        if shared and not added.stored_with(self.last):
            added = Messages(added)  # otherwise the trace would keep the whole prompt alive
        self.last = prompt
        return shared, added

    def _change(self, prompt: View, last: Messages, shared: int) -> tuple[str, bool, bool]:
        """Return why a prompt differs from the last one, and if it is a rewrite and a compaction.

        ``shared`` refers to ``last``; after a rewind, the state's last prompt is another one.
        """
        state = self.session.state
        sent, rewound, unasked = state.sent, state.rewound, self._unasked()
        if sent is None:
            return "rewind" if rewound else "cold_start", False, False
        if sent.messages is not last:
            shared = sent.messages.shared(prompt.messages)
        cut = shared < len(sent.messages)
        compaction = cut and loses(sent.messages[shared:], prompt.messages[shared:])
        # New messages may be withheld, too: then the prompt is not the last one plus the new
        # messages.
        come = len(prompt.messages) - len(sent.messages) == len(state.log) - state.heard
        edited = cut or not come or sent.system != prompt.system
        if self.host.model.name != self.last_model:
            reason = "model_switch"
        elif sent.system != prompt.system:
            reason = "system_changed"
        elif cut:
            reason = "compaction" if compaction else "history_edit"
        else:
            reason = "rewind" if rewound else unasked
        return reason, edited, compaction

    def _unasked(self) -> str:
        """Return why the provider sees a changed prompt though it only grew; ``append`` if not."""
        return "thinking_strip" if self.meter.stripped(self.host.model) else "append"

    def finish(self, step: Step) -> Step:
        """Return the last step with later side calls and messages, which no other step contains."""
        self.session.rest(self.host)
        return msgspec.structs.replace(step, side=(*step.side, *self.side.taken()))

    def _output(self, answer: Message, call: Call) -> int:
        """Return the tokens of an answer: logs undercount streamed answers, texts lack thinking."""
        counted = self.host.count(answer)
        if self.as_recorded and answer.call is call and call.usage is not None:
            written = call.usage.output
            text = self.host.model.tokenizer.message(answer)
            return written if written >= WHOLE * text else max(counted, written)
        return counted


def _found(
    models: dict[str, Model],
    options: Options,
    hidden: Unseen,
    conversation: Conversation,
    name: str,
) -> Model:
    """Return a model by its name in the catalogue, and keep it."""
    if name not in models:
        model, _ = replayable(options.catalogue.find(name))
        models[name] = model.narrowed(options.window)
        hidden.weigh(spoken(conversation), blocks_of(model.tokenizer))
    return models[name]


_PLAIN = Options()


def replay(
    conversation: Conversation, strategy: Strategy, options: Options = _PLAIN
) -> Iterator[Step]:
    """Run a conversation through a strategy; yield a step per call, closed loop included."""
    caller = Caller(conversation, strategy, options)
    step = None
    for event in conversation.events:
        if isinstance(event, Rewind):
            caller.session.rewind(event.to, caller.host)
        elif isinstance(event, Compaction):
            caller.session.note(event)
        elif event.call is None:
            caller.session.append(event, caller.host)
        else:
            for made in caller.calls(event):
                if step is not None:
                    yield step
                step = made
    if step is not None:
        yield caller.finish(step)


def record(conversation: Conversation, strategy: Strategy, options: Options = _PLAIN) -> Trace:
    """Replay to the end, and return the trace."""
    steps = list(replay(conversation, strategy, options))
    return Trace(header_of(conversation, strategy, options), steps, options.catalogue)


def header_of(conversation: Conversation, strategy: Strategy, options: Options) -> Header:
    """Return the header of a trace."""
    return Header(
        conversation.id,
        conversation.digest,
        strategy.spec,
        options.summarizer.spec if options.summarizer else "",
        options.model,
        options.window or 0,
        options.seed,
        strategy.flushes,
    )
