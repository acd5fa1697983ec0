"""A made-up planning session in which most of what is decided is revised, revoked or forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, Lags, Mix, Tool, words
from compactlab.scenarios.engine.story import Story

_DOMAIN = Domain(
    words={
        "noun": (
            *words("showcase plinth projector bench label banner curtain barrier model globe"),
            "wall text",
            "audio station",
            "touch table",
            "light rail",
        ),
        "theme": (
            "the age of sail",
            "salt and silver",
            "rivers in winter",
            "early flight",
            "bread and grain",
            "maps of nowhere",
            "clocks and towers",
        ),
        "v": (
            "is too wide for the door",
            "needs its own power line",
            "can be lent for a year",
            "came back from the workshop",
            "has to be dimmed",
            "stands in the escape route",
            "is insured until autumn",
            "was promised to another house",
        ),
        "w": ("this week", "next week", "by Friday", "before the opening", "in the second month"),
        "q": words("two three four five six seven nine"),
        "m": words("glass oak steel felt linen paper brass"),
        "r": words("drawing budget loan light sound transport press"),
    },
    pools={
        "obj": ("inv. {k}-{h}", 40),
        "sheet": ("{r}-sheet-{h}", 25),
        "n": ("{noun}", 30),
        "t": ("{theme}", 20),
    },
    focus=2,
    often=0.8,
    areas=words(
        "entrance north south east west upper lower garden tower cellar bridge chapel courtyard "
        "mezzanine attic annexe rotunda pavilion"
    ),
    things={
        "decision": {
            "hall theme": "theme-{chain}",
            "wall colour": "paint-{word}-{code}",
            "showcase order": "order-{word}-{code}",
            "visitor route": "route-{word}-{code}",
            "ticket scheme": "scheme-{word}-{code}",
        },
        "preference": {"label typeface": "face-{chain}", "bench fabric": "weave-{chain}"},
        "constraint": {"loan line": "Loan {word}-{code}", "safety mark": "mark/{word}/{hex}"},
        "prohibition": {"sealed crate": "crate-{word}-{code}", "fresco wall": "wall/{word}/{hex}"},
        "entity": {"lender": "house-{chain}", "fitter team": "crew-{word}-{code}"},
        "artifact": {"room sketch": "sketches/{word}_{hex}.pdf", "cost table": "costs/{hex}.csv"},
        "open_loop": {"loan request": "request-{code}", "fire permit": "permit-{word}-{code}"},
        "procedure": {"climate check": "climate-{word}-{code}"},
        "tool_detail": {
            "sensor serial": "{word}-{code}",
            "crate weight mark": "{code}",
            "lamp address": "lamp:{word}:{code}",
        },
        "goal": {"opening plan": "plan-{word}-{code}"},
    },
    kinds={
        "decision": 7,
        "preference": 2,
        "constraint": 1,
        "entity": 2,
        "prohibition": 1,
        "artifact": 1,
        "open_loop": 1,
        "procedure": 1,
        "tool_detail": 2.5,
        "goal": 1,
    },
    requests=(
        "How does the {n} look beside {obj}?",
        "Look up what {sheet} says about the {n} and the {noun}.",
        "I walked through it again, and {obj} {v}. What does that cost us?",
        "Go through {sheet} for {t} and tell me what is missing.",
        "The lender says that {obj} {v}. See whether we get it {w}.",
        "Let me see {q} objects for {t}.",
        "Hm, I am not happy with the {n}. What else is there in {m}?",
    ),
    sentences=(
        "As {obj} {v}, the {n} moves a little.",
        "According to {sheet} the {m} {n} arrives {w}.",
        "For {t} there are {q} objects, {obj} among them.",
        "I go through {sheet} before I order the {n}.",
        "If {obj} {v}, the {n} can stand in for it {w}.",
        "The {n} in {m} costs a little more than {sheet} allows.",
    ),
    tools={
        "collection": Tool(
            {"theme": "{t}", "kind": "{n}"},
            (
                "{obj} | {m} {noun}, belongs to {t} | {v}",
                "{obj} | {noun}, {q} parts, {k} mm | on loan {w}",
                "{obj} | {m}, {k} g | seen {w}, {v}",
            ),
            head="{k} objects for {t}",
            share=3,
        ),
        "sheet": Tool(
            {"name": "{sheet}"},
            (
                "{noun};{m};{q};{k};{k2}",
                "{noun};{m};{q};{k};{w}",
                "# {obj} {v}",
            ),
            head="item;material;count;net;gross",
            share=4,
        ),
        "floor": Tool(
            {"show": "{n}"},
            ("{n} at {k}/{k2}, {q} steps from the {noun}", "{obj} at {k}/{k2}, {v}"),
            share=2,
        ),
        "note": Tool(
            {"order": "{q} of {m} {n}", "when": "{w}"},
            ("order {k} kept",),
            shows=False,
        ),
    },
    uses={
        "decision": (
            ("note", {"order": "{m} {n}", "as": "{value}"}),
            ("floor", {"show": "{n}", "under": "{value}"}),
            "With {value} that works out.",
        ),
        "preference": (("note", {"order": "{n}", "in": "{value}"}), "I keep to {value} here."),
        "constraint": (("note", {"order": "{m} {n}", "text": "{w}. {value}"}),),
        "entity": ("I write to {value} about it.",),
        "artifact": (("sheet", {"name": "{value}"}),),
        "procedure": (("floor", {"show": "{n}", "run": "{value}"}),),
        "tool_detail": (("floor", {"show": "{value}"}), "That is the one with {value}."),
        "open_loop": ("{value} has not come back yet.",),
    },
    errors=("{sheet} is being edited", "no such drawing: {h}"),
    mix=Mix(
        superseded=0.42,
        deleted=0.15,
        dependent=0.12,
        first=0.6,
        last=0.15,
        twins=0.5,
        chain=(2, 4),
        late=10,
    ),
    lags=Lags(longest=50_000),
    turn=1_500,
)


@dataclass(frozen=True)
class RevisedDecisions(Story):
    """A person plans an exhibition and changes their mind: the stress for what is stale.

    It departs from the usual shares of facts on purpose: 42 % of them replace an older one, in
    chains of two to four revisions (demands and prohibitions are revised once, so that they stay
    even), 15 % are taken back ("strike that"), ends of chains among them, and 12 % follow from one
    that is replaced later. Half of the others are near-duplicates. As revisions come late, six
    tenths of what they revise is stated in the first tenth of the tokens. Facts hold for a
    shorter time than elsewhere, so that their needs come sooner.

    Sizes and waits are guesses (see ``profiles/chat.toml``), the texts are made up.

    Examples
    --------
    >>> made = RevisedDecisions(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, sum(bool(fact.supersedes) for fact in made.facts)
    ('revised_decisions-1', 13, 3)
    """

    domain: ClassVar[Domain] = _DOMAIN
