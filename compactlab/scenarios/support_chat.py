"""A made-up chat with the support of a furnisher: orders, deliveries, complaints, plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, Mix, Tool, words
from compactlab.scenarios.engine.story import Story

_DOMAIN = Domain(
    words={
        "noun": (
            *words("desk shelf lamp bench cabinet screen sofa locker whiteboard stool trolley rug"),
            "meeting table",
            "office chair",
            "coat rack",
        ),
        "fault": (
            "a loose hinge",
            "a scratched edge",
            "a drawer that sticks",
            "two missing bolts",
            "a dent in the side",
            "a wobbly leg",
            "a torn cover",
        ),
        "time": (
            "in the morning",
            "after lunch",
            "on Monday",
            "on Tuesday",
            "on Thursday",
            "by the end of the week",
            "early next month",
        ),
        "floor": words("ground first second third fourth"),
        "c": words("oak ash white graphite birch sand moss-green"),
        "many": words("two three four five six eight ten twelve"),
        "d": ("on the way", "in the warehouse", "packed", "handed over", "waiting for a part"),
    },
    # A turn is about one order, one piece of furniture, one fault and one time.
    pools={
        "order": ("ORD-{k}-{h}", 18),
        "item": ("{c} {noun} no. {k}", 40),
        "n": ("{noun}", 30),
        "p": ("{fault}", 20),
        "w": ("{time}", 20),
        "f": ("{floor}", 10),
        "q": ("{many}", 20),
    },
    focus=1,
    often=0.9,
    areas=words(
        "reception canteen library studio archive workshop lobby lounge kitchen atelier hallway "
        "basement terrace showroom nursery classroom infirmary gallery"
    ),
    things={
        "preference": {"fabric shade": "{chain}", "greeting card": "{chain}"},
        "entity": {
            "contact desk": "desk-{chain}",
            "carrier depot": "depot-{word}-{code}",
            "cost centre": "cc-{word}-{code}",
        },
        "procedure": {"alarm test": "SET {code}", "motor reset": "HOLD {word} {code}"},
        "open_loop": {
            "refund claim": "claim-{code}",
            "callback request": "callback-{word}-{code}",
            "spare part order": "spare-{code}",
        },
        "decision": {"layout variant": "layout-{word}-{code}", "delivery plan": "{word}-{code}"},
        "constraint": {"delivery note line": "Ref {word}-{code}", "site badge": "badge-{code}"},
        "prohibition": {"listed fixture": "fixture-{word}-{code}", "goods lift": "lift-{hex}"},
        "artifact": {"quote sheet": "quotes/{word}-{hex}.pdf", "floor plan": "plans/{hex}.pdf"},
        "tool_detail": {
            "parcel number": "{word}-{code}",
            "batch mark": "{code}",
            "pallet label": "pal:{word}:{code}",
        },
        "goal": {"moving target": "stage-{word}-{code}"},
    },
    kinds={
        "preference": 3,
        "entity": 3,
        "procedure": 2,
        "open_loop": 5,
        "decision": 3,
        "constraint": 1.5,
        "prohibition": 1.5,
        "artifact": 2.5,
        "tool_detail": 2,
        "goal": 1,
    },
    voices={"artifact": "assistant"},
    requests=(
        "Where is {order}? It was due {time}.",
        "The {n} from {order} came with {p}.",
        "Could you move the delivery of {order} to some time {w}?",
        "We need {q} more like the {item}.",
        "Is the {item} in stock, or only in {c}?",
        "What does it cost to send the {n} back?",
        "How long does it take to put up {q} of them?",
        "Thanks. Then the {noun} as well, {w} if you can.",
        "My colleague says the {n} does not fit the {f} floor. What else is there?",
        "Who carries it up to the {f} floor?",
        "Hm, {w} nobody is in. Is there another day?",
        "That would do. And can the old {noun} be taken away with it?",
        "I would rather have it in {c}, if that is no trouble.",
    ),
    sentences=(
        "{order} is {d}, and should be with you {w}.",
        "I am sorry about {p}; the {n} can be exchanged or mended on site.",
        "The {item} is in stock, {q} of them.",
        "For the {f} floor I suggest {q} of the {item}, which leaves room for the {noun}.",
        "A driver can come {w}; it takes about an hour to put up the {n}.",
        "Sending the {n} back is free within thirty days, and somebody picks it up {w}.",
        "If you like, I keep the {item} for you until you have measured the {f} floor.",
        "In {c} there are {q} of them; other colours take until next month.",
        "There is room for {order} in a van {w}, but not before that.",
        "I have asked the driver to ring before, as somebody has to open the gate.",
        "The same {noun} in {c} costs as much.",
        "Two people carry it up to the {f} floor, that is part of the price.",
        "The old {noun} can go back with the same van.",
    ),
    tools={
        "order": Tool(
            {"order": "{order}"},
            (
                "{q} x {item}: {d}",
                "{many} x {noun}, {c}: {d}, {time}",
                "note: {fault}, reported {time}",
            ),
            head="{order}, status: {d}",
            share=4,
        ),
        "stock": Tool(
            {"item": "{item}"},
            ("{c} {noun} no. {k}: {many} in stock", "{c} {noun} no. {k}: none, expected {time}"),
            head="{item}: {q} in stock. Others of its kind:",
            share=2,
        ),
        "slots": Tool(
            {"when": "{w}"},
            ("van {k}, {time}: free for {many} parcels", "van {k}: full {time}"),
            head="vans {w}:",
            share=2,
        ),
        "note": Tool(
            {"order": "{order}", "text": "{n}: {p}, to be seen to {w}"},
            ("note {k} kept with {order}",),
            shows=False,
        ),
    },
    uses={
        "preference": ("I have put {value} on the list, as you like it.",),
        "entity": (
            "I pass it on to {value}.",
            ("note", {"order": "{order}", "text": "for {value}: {n}, {w}"}),
        ),
        "procedure": ("With `{value}` it should come back to life.",),
        "open_loop": (
            ("note", {"order": "{order}", "text": "ask again about {value}"}),
            "I have looked once more: {value} is with the warehouse.",
        ),
        "decision": (
            "That fits with {value}.",
            ("slots", {"when": "{w}", "for": "{value}"}),
        ),
        "constraint": (("note", {"order": "{order}", "text": "{n} {w}. {value}"}),),
        "prohibition": ("The carriers know that {value} stays as it is.",),
        "artifact": ("The prices are those of {value}.",),
        "tool_detail": (("order", {"parcel": "{value}"}), "It travels as {value}."),
        "goal": ("That takes us one step nearer to {value}.",),
    },
    errors=("{order} is locked by another desk", "no answer, try again"),
    mix=Mix(late=20),
    turn=330,
    answers=0.3,
)


@dataclass(frozen=True)
class SupportChat(Story):
    """A customer plans rooms and chases orders with a furnisher's agent, in short messages.

    People talk, and tools are few and small: they return about a tenth of the tokens, not the 40
    to 85 % of agents that work. Much is preferences, who is who and how things are done, and a
    sixth of the facts are open loops that the customer closes later. Sizes, waits and shares are
    guesses (see ``profiles/chat.toml``), the texts are made up. The last turns, for what is stated
    late, are twenty, as turns are short.

    Examples
    --------
    >>> made = SupportChat(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('support_chat-1', 61, 7)
    """

    domain: ClassVar[Domain] = _DOMAIN
    results: ClassVar[tuple[float, float]] = (0.03, 0.35)
