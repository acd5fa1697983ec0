"""A made-up session flooded by its tools: logs, dumps and query results of 150,000 characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, Lags, Mix, Tool, words
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.world import ToolCall, World

# The longest result, in characters: above the 120,000 at which OpenClaw's guard cuts a text, its
# 8,000 of a preview and the 40,000 up to which Gemini CLI never cuts (see offload_outputs.py and
# mechanisms/history_split.py for sources). How many results come as long as the turn allows, and
# to how many characters there is one fact, are guesses.
LONGEST, _UNCUT, _APART = 150_000, 0.5, 9_000
_LINES = 2_000  # room for the lines of facts

_DOMAIN = Domain(
    words={
        "s": (
            "checkout",
            "search",
            "mailer",
            "ledger",
            "gateway",
            "thumbnailer",
            "scheduler",
            "indexer",
            "notifier",
            "importer",
            "renderer",
            "sessions",
        ),
        "v": (
            "took the slow path",
            "was retried",
            "came back late",
            "was served from the copy",
            "waited for a free worker",
            "gave up its lease",
            "was put back into the queue",
            "closed the connection first",
            "started over",
            "skipped the warm-up",
        ),
        "o": (
            "a full page of orders",
            "the picture of a kettle",
            "the weekly newsletter",
            "a customer without an address",
            "the last page of the catalogue",
            "an empty basket",
            "a voucher from last year",
            "the stock of the second warehouse",
        ),
        "l": words("info info info info debug debug warn trace"),
        "m": words("requests workers memory handles connections queue leases copies"),
        "z": words("north south east west"),
        "y": words("one two three four five six seven eight nine ten eleven twelve"),
    },
    pools={"host": ("{s}-{z}-{k}", 40), "job": ("job-{h}", 30)},
    areas=words(
        "checkout search mailer ledger gateway scheduler indexer importer renderer session staging "
        "canary backup regional primary secondary nightly shared"
    ),
    things={
        "goal": {"uptime target": "{chain}", "recovery plan": "plan {word}-{code}"},
        "decision": {
            "rollout ring": "ring-{word}-{code}",
            "retry budget": "budget-{word}-{code}",
            "alert route": "route/{word}/{hex}",
        },
        "constraint": {
            "incident label": "INC-{word}-{code}",
            "change header": "X-Change: {code}",
        },
        "prohibition": {
            "frozen cluster": "cluster-{word}-{code}",
            "audit volume": "/vol/{word}/{hex}",
        },
        "preference": {"report layout": "{chain}", "time notation": "{chain}"},
        "entity": {"duty team": "team {chain}", "upstream peer": "peer-{word}-{code}"},
        "artifact": {"heap snapshot": "heaps/{word}_{hex}.bin", "flame chart": "charts/{hex}.svg"},
        "open_loop": {"vendor ticket": "ticket {code}", "quota request": "quota {code}"},
        "procedure": {"drain command": "drain --pool {code}", "replay command": "replay {code}"},
        "tool_detail": {
            "crash signature": "sig:{word}:{code}",
            "trace id": "trace-{code}",
            "core address": "core:{hex}",
            "lease token": "{word}-{code}",
            "row checksum": "sum:{hex}",
        },
    },
    kinds={
        "goal": 0.6,
        "decision": 2,
        "constraint": 1,
        "prohibition": 1,
        "preference": 0.5,
        "entity": 1,
        "artifact": 1,
        "open_loop": 1,
        "procedure": 1,
        "tool_detail": 8,
    },
    voices={"artifact": "assistant"},
    requests=(
        "The {s} on {host} {v} again. Have a look at its log.",
        "Who asked for {o}, and what happened to {job} then?",
        "Dump the {m} of {host} and of {host2}.",
        "Was {job} the only one that {v}?",
        "Query all of the {s} rows since {y}, I want to see them whole.",
        "And {host2}? Same question.",
    ),
    sentences=(
        "On {host} the {s} {v} while it served {o}.",
        "{job} is the first in that log that {v}.",
        "As to its {m}, {host} looks even, and {host2} does not.",
        "I compare {job} with {job2}, since each {v}.",
    ),
    tools={
        "log": Tool(
            {"host": "{host}", "since": "{y}"},
            (
                "{l} {host} {s}: {job} {v}, {o} ({k} ms)",
                "{l} {host} {s}: the request for {o} {v} and was answered by the {s2}",
                "{l} {host} {s}: {y} of {k} {m} in use, the {s2} {v}",
                "      at the {s2} of {host2}, called by the {s3} for {o}",
            ),
            head="-- the log begins here --",
            share=4,
        ),
        "query": Tool(
            {"sql": "select * from {s} where kind = '{m}'"},
            ("{k};{s};{host};{v};{o}", "{k};{s};{host};{v};", "{k};{s2};{host};{v};{o};{job}"),
            head="id;service;host;state;object;job",
            share=3,
        ),
        "dump": Tool(
            {"of": "{m}", "host": "{host}"},
            (
                '{{"owner": "{s}", "kind": "{m}", "count": {k}, "last": "{o}", "state": "{v}"}}',
                '{{"owner": "{s}", "kind": "{m}", "held by": "{job}", "for": "{o}"}}',
            ),
            share=2,
        ),
        "status": Tool(
            {"host": "{host}"}, ("{host}: the {s} is up, {k} {m}",), share=2, shows=False
        ),
    },
    uses={
        "decision": (("status", {"host": "{host}", "as": "{value}"}), "{value} stays in force."),
        "prohibition": ("{value} is left out of it.",),
        "constraint": (("status", {"host": "{host}", "note": "{value}"}),),
        "artifact": (("dump", {"of": "{value}", "host": "{host}"}),),
        "procedure": (("status", {"host": "{host}", "run": "{value}"}),),
        "tool_detail": (
            ("query", {"sql": "select * from {s} where mark = '{value}'"}),
            ("status", {"host": "{host}", "match": "{value}"}),
            "It is {value} once more.",
        ),
    },
    errors=("{host} did not answer", "the query on {s} was cut off after {k} s"),
    mix=Mix(late=3),
    turn=12_000,
    # A long result alone puts thousands of tokens between what it states and the next call.
    at_once=6,  # messages are few
    lags=Lags(shortest=2_000, border=2_000),
)


class _Flood(World):
    """Results may be as long as the turn allows, and hold several facts then."""

    def result(self, name: str, left: float) -> str:
        """What a tool returns; see :meth:`World.result`."""
        uncut = self.domain.tools[name].shows and self.rng.random() < _UNCUT
        text = self._long(name, left) if uncut else super().result(name, left)
        most = LONGEST - _LINES
        return text if len(text) <= most else text[: text.rindex("\n", 0, most)]

    def _long(self, name: str, left: float) -> str:
        length = min(self.draft.characters(left, name), LONGEST)
        return self.writer.lines(self.domain.tools[name].lines, length)

    def room(self, call: ToolCall) -> tuple[int, float]:
        """All that is due by the end of a long result may stand in it; see :meth:`World.room`."""
        return 1 + len(call.result) // _APART, len(call.result) / 4


@dataclass(frozen=True)
class ToolFlood(Story):
    """A person on call has an agent search logs, dumps and query results of enormous length.

    Nearly all tokens are results of tools, and four in ten facts stand only in them, with the
    result as their handle. Half of the logs, dumps and tables are as long as the turn allows, up to
    150,000 characters (some 38,000 tokens): what cuts, offloads or clears results has to act. There
    are few turns, and they are very uneven, so that some have room for such a flood.

    In 100,000 tokens there is at least one result that Gemini CLI may cut (over 40,000 characters),
    and in half of the sessions one over the 120,000 of OpenClaw's guard; in 400,000 there are
    several. In 20,000 there is no room for one: results reach some thousand tokens, which is over
    OpenClaw's preview of 8,000 characters and under its guard.

    Sizes, waits and shares are guesses (see ``profiles/flood.toml``), the texts are made up.

    Examples
    --------
    >>> made = ToolFlood().conversation(seed=1)
    >>> made.id, made.turns
    ('tool_flood-1', 8)
    """

    profile: str = "flood"
    domain: ClassVar[Domain] = _DOMAIN
    world: ClassVar[type[World]] = _Flood
    results: ClassVar[tuple[float, float]] = (0.7, 0.99)
