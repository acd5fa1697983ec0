"""A made-up session that goes back: variants are tried, abandoned and taken up again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, Mix, Tool, words
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.world import Draft, Open, World

# Turns in a row on branch 0, and on another one; and the probability that one is taken up again
# instead of a new one, once the first has been: guesses.
_STRAIGHT, _ASIDE, _TAKEN_UP = (2, 4), (1, 2), 0.4

_DOMAIN = Domain(
    words={
        "p": words("Ahlen Brisk Corrie Dunvar Ebbing Fallow Garth Holm Inver Kelda Lunna Marwick"),
        "n": (*words("ferry tender barge catamaran shuttle launch"), "car deck", "fast boat"),
        "t": ("half past", "quarter past", "ten to", "five past", "quarter to", "twenty past"),
        "q": words("six seven eight nine ten eleven twelve one two three four five"),
        "c": words("school fish market mail tourist shift hospital"),
        "v": (
            "misses the tide",
            "waits for the train",
            "is full by nine",
            "needs a second crew",
            "arrives with the last bus",
            "leaves half empty",
        ),
        "w": ("in winter", "on Sundays", "at spring tide", "on market days", "in fog"),
    },
    pools={"line": ("L{k}", 14), "run": ("R-{h}", 20)},
    areas=words(
        "winter summer morning evening weekend holiday harbour island northern southern express "
        "reserve charter freight commuter night outer inner"
    ),
    things={
        "decision": {
            "sailing order": "order-{word}-{code}",
            "crew rota": "rota-{word}-{code}",
            "fare table": "fares/{word}/{hex}",
            "berth plan": "plan-{word}-{code}",
        },
        "constraint": {
            "safety notice": "Notice {word}-{code}",
            "licence stamp": "stamp/{word}/{hex}",
        },
        "prohibition": {
            "closed berth": "berth-{word}-{code}",
            "protected channel": "channel/{word}/{hex}",
        },
        "preference": {"map style": "{chain}", "column layout": "{chain}"},
        "entity": {"pilot office": "office-{chain}", "relief vessel": "mv-{word}-{code}"},
        "artifact": {
            "timetable file": "timetables/{word}_{hex}.csv",
            "tide table": "tides/{word}_{hex}.nc",
        },
        "open_loop": {"berth request": "request {code}", "dredging query": "query {code}"},
        "procedure": {"tide check": "tides --set {code}", "load count": "count --from {code}"},
        "tool_detail": {
            "buoy reading": "{word}-{code}",
            "lock slot": "slot:{word}:{code}",
            "pier sensor": "pier:{code}",
        },
        "goal": {"season target": "{chain}"},
    },
    kinds={
        "decision": 5,
        "constraint": 1.5,
        "prohibition": 1.5,
        "preference": 1,
        "entity": 1.5,
        "artifact": 2,
        "open_loop": 1,
        "procedure": 1,
        "tool_detail": 4,
        "goal": 1,
    },
    voices={"artifact": "assistant"},
    requests=(
        "Run {line} again with {n} and {n2}, and tell me where it is late.",
        "Does the {t} {q} from {p} still meet the {c} run {w}?",
        "The {n} at {p} {v}. What can we shift?",
        "Compare {run} with {run2} for {line}.",
        "How many boats does {line} take {w}?",
        "Leave {p} out and see what that does to {line}.",
    ),
    sentences=(
        "In {run} the {n} on {line} {v} {w}.",
        "{line} leaves {p} at {t} {q} and is at {p2} at {t2} {q2}.",
        "The {c} run from {p} keeps its boat, so {line} loses one {w}.",
        "Between {run} and {run2} only the {n} at {p} moves.",
        "At {p} the {n} {v}, which {line} cannot make up for.",
    ),
    tools={
        "simulate": Tool(
            {"line": "{line}", "day": "{w}"},
            (
                "{line} {p} -> {p2}  dep {t} {q}  {n}  {k} on board",
                "{line} {p}: {n} {v} ({k} s)",
                "{line2} {p2} -> {p3}  dep {t2} {q2}  {n2}  {k2} on board",
            ),
            head="{run}, departure by departure",
            share=4,
        ),
        "table": Tool(
            {"name": "{line}", "stop": "{p}"},
            ("{p};{t} {q};{n};{k}", "{p2};{t2} {q2};{n};{k2}", "{p};{t} {q2};{n2};{c}"),
            head="stop;time;boat;seats",
            share=3,
        ),
        "tide": Tool(
            {"place": "{p}", "when": "{w}"},
            ("{p} {t} {q} {k} mm", "{p} {t2} {q2} {k2} mm, {n} {v}"),
            share=2,
        ),
        "save": Tool({"as": "{run}"}, ("{run} kept, {k} departures",), shows=False),
    },
    uses={
        "decision": (
            ("simulate", {"line": "{line}", "with": "{value}"}),
            "With {value} the boats meet.",
        ),
        "prohibition": ("{value} stays closed, and the boats go round it.",),
        "constraint": (("save", {"as": "{run}", "text": "{value}"}),),
        "artifact": (("table", {"name": "{value}"}),),
        "procedure": (("tide", {"place": "{p}", "run": "{value}"}),),
        "tool_detail": (("tide", {"place": "{value}"}), "It agrees with {value}."),
        "entity": (("save", {"as": "{run}", "copy to": "{value}"}), "I send it to {value}."),
    },
    errors=("error: {run} was never run", "error: no boat left for {line}"),
    # What replaces a fact on another branch comes on top of this.
    mix=Mix(deleted=0.06, dependent=0.06, first=0.35, last=0.27),
    turn=2_500,
)

_FORKS = (
    "Just to see it: suppose {line} went by {p}.",
    "A variant: the {n} is gone and {p} has one boat.",
    "Try it the other way round, {p} before {p2}.",
)


class _Variants(World):
    """What is asked first on a new branch is a variant."""

    def __init__(self, domain: Domain, draft: Draft, open: Open) -> None:
        super().__init__(domain, draft, open)
        self._known = {0}

    def request(self, left: float) -> str:
        """What the user asks; see :meth:`World.request`."""
        asked = super().request(left)
        if self.draft.branch in self._known:
            return asked
        self._known.add(self.draft.branch)
        return f"{self.writer.one(_FORKS)} {asked}"


@dataclass(frozen=True)
class Rewinds(Story):
    """A person works on a timetable with an agent, tries variants, and goes back.

    A third of the turns is on branches that are abandoned. A fact that is stated there holds
    there, and is needed there, before the user goes back; four in ten of them replace an older one
    of the trunk, which therefore holds again when the user is back, and is needed again. Facts
    from before a fork are needed on both sides of it. In four of ten cases what is gone over to is
    no new branch: an old one is taken up again, after turns elsewhere that never happened there.
    The trunk, branch 0, is never abandoned.

    All messages together have the tokens that are asked for, so that a prompt holds at most about
    two thirds of them. Sizes, waits and shares are guesses (see ``profiles/rewinds.toml``), the
    texts are made up.

    Examples
    --------
    >>> made = Rewinds(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len(made.events) - len(made.messages)
    ('rewinds-1', 8, 3)
    """

    profile: str = "rewinds"
    domain: ClassVar[Domain] = _DOMAIN
    world: ClassVar[type[World]] = _Variants

    def route(self, rng: random.Random, turns: int) -> Sequence[int]:
        """On which branch each turn is; see :meth:`Story.route`."""
        route = [0] * rng.randint(1, 2)
        asides: list[int] = []
        while len(route) < turns:
            # The first branch is soon taken up again, so that short sessions have that, too.
            again = len(asides) == 1 or (len(asides) > 1 and rng.random() < _TAKEN_UP)
            asides.append(rng.choice(asides) if again else max(asides, default=0) + 1)
            route += [asides[-1]] * rng.randint(*_ASIDE)
            route += [0] * (rng.randint(*_STRAIGHT) if len(asides) > 1 else 1)
        return [*route[: turns - 1], 0]
