"""The replay: the one loop that takes a conversation through a strategy, call by call."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

from compactlab.sim.cache import Cache
from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.replay.caller import RECORDED, Caller
from compactlab.sim.replay.client import Churn
from compactlab.sim.replay.recording import Unseen
from compactlab.sim.replay.recovery import Closed
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.replay.summarize import Summarizer
from compactlab.sim.replay.trace import Header, Step, Trace


def replay(
    conversation: Conversation,
    strategy: Strategy,
    model: str = RECORDED,
    *,
    summarizer: Summarizer | None = None,
    window: int | None = None,
    seed: int = 0,
    overhead: Unseen | None = None,
    files: MutableMapping[str, str] | None = None,
    catalogue: Catalogue | None = None,
    churn: Churn | None = None,
    caches: MutableMapping[str, Cache] | None = None,
    loop: Closed | None = None,
) -> Iterator[Step]:
    """Take a conversation through a strategy, call by call.

    Parameters
    ----------
    conversation
        The script.
    strategy
        The strategy.
    model
        A model's name, or ``recorded`` for the one that each recorded call went to.
    summarizer
        Makes the summaries that strategies ask for.
    window
        Narrows the model's context window to so many tokens.
    seed
        Root of all random draws.
    overhead
        Tokens that the recording's prompts held beside its messages; by default they are
        estimated from the recorded usage.
    files
        Where strategies keep what real agents keep in files; in memory by default.
    catalogue
        The models that may be named; those that are built in by default.
    churn
        How often the client changes its prompt unasked, as an audit measured it.
    caches
        By model, where prompts are stored. Sessions that are given the same one share it, as those
        do that have the same tools and system prompt; call them in the order of time.
    loop
        The closed loop, in which forgetting has consequences; by default the agent does what the
        script says.

    Yields
    ------
    Step
        One for every call of the script, and those that the closed loop adds.

    Raises
    ------
    ModelError
        If something needed is not known of a model.
    """
    known = catalogue or built_in()
    caller = Caller(
        conversation,
        strategy,
        model,
        summarizer,
        window,
        seed,
        overhead,
        files,
        catalogue=known,
        churn=churn,
        caches=caches,
        loop=loop,
    )
    step = None
    for event in conversation.events:
        if isinstance(event, Rewind):
            caller.session.rewind(event.to)
        elif isinstance(event, Compaction):
            caller.session.note(event)
        elif event.call is None:
            caller.session.append(event)
        else:
            for made in caller.calls(event):
                if step is not None:
                    yield step
                step = made
    if step is not None:
        yield caller.finish(step)


def record(
    conversation: Conversation,
    strategy: Strategy,
    model: str = RECORDED,
    *,
    summarizer: Summarizer | None = None,
    window: int | None = None,
    seed: int = 0,
    overhead: Unseen | None = None,
    files: MutableMapping[str, str] | None = None,
    catalogue: Catalogue | None = None,
    churn: Churn | None = None,
    caches: MutableMapping[str, Cache] | None = None,
    loop: Closed | None = None,
) -> Trace:
    """Replay to the end and keep everything; the parameters are those of :func:`replay`."""
    steps = replay(
        conversation,
        strategy,
        model,
        summarizer=summarizer,
        window=window,
        seed=seed,
        overhead=overhead,
        files=files,
        catalogue=catalogue,
        churn=churn,
        caches=caches,
        loop=loop,
    )
    header = Header(
        conversation.id,
        conversation.digest,
        strategy.spec,
        summarizer.spec if summarizer else "",
        model,
        window or 0,
        seed,
        strategy.flushes,
    )
    return Trace(header, list(steps), catalogue or built_in())
