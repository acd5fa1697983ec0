"""The replay: the loop that runs a conversation through a strategy, call by call."""

from __future__ import annotations

from collections.abc import Iterator

from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.replay.caller import Caller
from compactlab.sim.replay.options import Options
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.trace import Header, Step, Trace

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
