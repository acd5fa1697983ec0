"""Replays under strategies that do anything at all to a context, for naive recounts."""

import random
from typing import Any

import msgspec
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Lifetime

SAID = ["so far src/main.py", "AB-1200 and 17 of 250", "nothing", "see lib/new.py:12", ""]


def shortened(message: Message, rng: random.Random) -> Message:
    """The same message with a part cut, stubbed or put back."""
    part = message.parts[0]
    kind = rng.choice(["truncated", "stub", "recovered"])
    text = {"truncated": part.text[:9], "stub": "[gone]", "recovered": part.text}[kind]
    changed = msgspec.structs.replace(part, text=text, kind=kind)
    return msgspec.structs.replace(message, parts=(changed, *message.parts[1:]))


def summed_up(messages: list[Message], rng: random.Random) -> Message:
    """A summary of some messages, or of what they are summaries of."""
    sources = tuple(dict.fromkeys(s for m in messages for part in m.parts for s in part.sources))
    kind = "summary" if sources else "synthetic"
    text = " ".join(rng.sample(SAID, 2))
    return Message(f"s{rng.random()}", "user", (Part("text", text, kind, sources),), meta=True)


def rewrite(view: View, host: Host) -> View:
    """Drop, cut, sum up, swap, double or add messages, or change the system prompt."""
    rng, messages = host.rng(f"{len(host.log)} {host.phase}"), list(view.messages)
    deed, index = rng.randrange(10), rng.randrange(len(messages) + 1)
    if deed == 0:
        del messages[:index]
    elif deed == 1:
        del messages[index : index + 1]
    elif deed == 2:
        messages[:index] = [summed_up(messages[:index], rng)]
    elif deed == 3 and index < len(messages):
        messages[index] = shortened(messages[index], rng)
    elif deed == 4:
        messages.insert(index, summed_up(messages, rng))
    elif deed == 5:
        rng.shuffle(messages)
    elif deed == 6 and messages:
        messages.insert(index, rng.choice(messages))
    elif deed == 7:
        text = rng.choice(SAID)
        return view.with_system(Part("text", text, "summary", (Source(host.log[0].id),)))
    else:
        return view
    return view.with_messages(messages)


@st.composite
def replays(draw: st.DrawFn, kit: Any, **how: Any) -> tuple[Any, Any]:
    """A script, and its trace under a strategy that does anything."""
    script = draw(kit.stories(**how))
    lifetime = draw(st.sampled_from(list(Lifetime)))
    make = draw(st.sampled_from([kit.whim, lambda life: kit.act(rewrite, lifetime=life)]))
    return script, kit.replayed(script, make(lifetime), seed=draw(st.integers(0, 999)))
