"""Sessions of the made-up client: whatever people and agents do that a log tells of."""

import msgspec
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Compaction, Conversation, Event, Rewind
from compactlab.sim.core.message import Call, Message, Usage
from tests.sim.audit.client import MAIN, MODELS, Client

CHANGES = ["model", "version", "thinking"]
TOLD = ["turn", "turn", "turn", "wait", "compact", "rewind", "image", *CHANGES]
UNTOLD = ["clear", "front", "messages", "suggest", "break_off"]

SIZES = st.sampled_from([30, 300, 3_000, 12_000])
GAPS = st.sampled_from([1.0, 60.0, 250.0, 310.0, 1_800.0, 3_700.0])


def _change(draw: st.DrawFn, client: Client, action: str) -> None:
    """Ask otherwise than before."""
    if action == "model":
        client.model = draw(st.sampled_from([*client.models]))
    elif action == "version":
        client.version = draw(st.sampled_from(["1.0", "1.1"]))
    else:
        client.thinking = draw(st.sampled_from(["low", "high"]))
    client.turn()


def _told(draw: st.DrawFn, client: Client, action: str) -> None:
    if action == "turn":
        thought = draw(st.sampled_from([0, 0, 40, 2_000]))
        client.turn(draw(st.integers(1, 4)), tokens=draw(SIZES), thought=thought)
    elif action == "wait":
        client.wait(draw(GAPS))
    elif action == "compact":
        client.compact(draw(SIZES), keep=draw(st.integers(0, 3)))
    elif action == "rewind":
        client.rewind(draw(st.sampled_from([*client.known])))
    elif action == "image":
        client.say(draw(SIZES), image=True).ask(ends=True)
    else:
        _change(draw, client, action)


def _untold(draw: st.DrawFn, client: Client, action: str) -> None:
    if action == "clear":
        client.clear(*draw(st.lists(st.sampled_from(["m3", "m5", "m7", "m9"]), max_size=3)))
    elif action in ("front", "messages"):
        client.churn("front" if action == "front" else "messages")
    elif action == "suggest":
        client.suggest()
    else:
        client.break_off(note=draw(st.booleans()))


@st.composite
def sessions(draw: st.DrawFn, *, untold: bool = True, most: int = 12) -> Client:
    """A client after a session; what it does untold may be left out."""
    client = Client(
        system=28_000 if not untold else draw(st.sampled_from([0, 300, 20_000, 28_000, 60_000])),
        context=draw(st.sampled_from([0, 200, 6_000] if untold else [60_000])),
        ttl=draw(st.sampled_from(["5m", "1h"])),
        format="claude-code" if untold and draw(st.booleans()) else "planted",
        noise=draw(st.sampled_from([0.0, 0.2, 0.9])),
        models=MODELS,
        seed=draw(st.integers(0, 9)),
    )
    client.thinking = "low"
    client.model = draw(st.sampled_from([MAIN, *client.models]))
    client.turn()
    actions = st.sampled_from(TOLD + UNTOLD if untold else TOLD)
    for _ in range(draw(st.integers(1, most))):
        action = draw(actions)
        if not client.messages:
            client.turn()
        act = _told if action in TOLD else _untold
        act(draw, client, action)
        if action == "compact" and not untold:
            # The request for the summary left an entry of a size that is not told.
            client.known = {"": client.known[""]}
    return client.turn()


NUMBERS = st.sampled_from([0, 0, 1, 500, 4_000, 30_000, 200_000, 10**15])
USAGES = st.builds(Usage, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
TIMES = st.sampled_from([0.0, -5.0, 1.0, 1e9, 1e9 + 100, 1e9 + 4_000, 1e18])
CALLS = st.builds(
    Call,
    st.sampled_from([*MODELS, "", "never heard of"]),
    st.one_of(USAGES, USAGES, st.none()),
    st.sampled_from(["", "5m", "1h"]),
    st.sampled_from(["", "1", "2"]),
    st.sampled_from(["", "low", "high"]),
    st.booleans(),
)


@st.composite
def rubbish(draw: st.DrawFn) -> Conversation:
    """A log of which nothing fits together."""
    log = draw(sessions(most=5)).log()
    events: list[Event] = []
    for event in log.events:
        change = draw(st.integers(0, 9))
        if change == 0:
            events.append(Compaction(time=draw(TIMES)))
        elif change == 1:
            events.append(Rewind(""))
        if not isinstance(event, Message):
            events.append(event)
            continue
        call = draw(CALLS) if event.call else None
        parts = () if change == 2 else event.parts
        origin = draw(st.sampled_from([event.origin, "aborted", "error", "interrupted"]))
        told = {"time": draw(TIMES), "call": call, "parts": parts, "origin": origin}
        events.append(msgspec.structs.replace(event, **told))
    form = draw(st.sampled_from(["claude-code", "pi", "codex"]))
    return Conversation("rubbish", form, tuple(events), starts_inside=draw(st.booleans()))
