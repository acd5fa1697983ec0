"""A made-up session of a research assistant: searches, long pages, tables, notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, Tool, words
from compactlab.scenarios.engine.story import Story

_DOMAIN = Domain(
    words={
        "n": words(
            "turbine aquifer heat-pump catalyst sediment orchard ferry harbour glacier reservoir "
            "membrane battery pasture fishery canopy kelp peat estuary tramway greenhouse quarry "
            "levee rail-yard furnace silo wetland"
        ),
        "t": words(
            "yield salinity throughput uptake turnover drift erosion load recovery density intake "
            "discharge retention growth demand mortality leakage abrasion output variance"
        ),
        "v": words(
            "rises falls doubles levels-off oscillates lags recovers peaks stalls diverges shrinks"
        ),
        "a": words("coastal alpine urban rural tidal seasonal regional pooled adjusted lagged"),
        "y": tuple(str(year) for year in range(1998, 2026)),
    },
    pools={
        "doc": ("https://archive.example/{n}/{y}/{h}", 60),
        "set": ("set-{n}-{h}", 25),
    },
    areas=words(
        "northern southern coastal inland upland lowland eastern western delta island harbour "
        "valley plateau fjord steppe lagoon basin strait"
    ),
    things={
        "goal": {"report target": "{chain}", "review brief": "brief {word}-{code}"},
        "decision": {
            "study period": "window {word}-{code}",
            "baseline series": "{word}-{code}",
            "exclusion filter": "filter-{code}",
        },
        "constraint": {
            "citation tag": "[{word}:{code}]",
            "disclosure line": "Disclosure {code}",
            "licence mark": "LM-{word}-{code}",
        },
        "prohibition": {
            "embargoed dataset": "set-{word}-{code}",
            "private annex": "annex/{word}/{hex}.pdf",
            "unpublished survey": "survey-{code}",
        },
        "preference": {"chart palette": "{chain}", "summary tone": "{chain}"},
        "entity": {
            "data steward": "team {chain}",
            "field station": "station {word}-{code}",
            "funding line": "grant {code}",
        },
        "artifact": {
            "draft section": "drafts/{word}_{hex}.md",
            "figure file": "figures/{word}_{hex}.svg",
            "export table": "exports/{word}_{hex}.csv",
        },
        "open_loop": {"permission request": "request {code}", "author query": "query {code}"},
        "procedure": {"unit conversion": "convert --scheme {code}", "dedup run": "dedup {code}"},
        "tool_detail": {
            "sample digest": "{code}",
            "registry entry": "reg:{word}:{code}",
            "gauge serial": "{word}-{code}",
            "archive shelf mark": "{word}/{code}",
        },
    },
    kinds={
        "goal": 1,
        "decision": 2,
        "constraint": 1.5,
        "prohibition": 1.5,
        "preference": 1,
        "entity": 1.5,
        "artifact": 1.5,
        "open_loop": 1,
        "procedure": 1,
        "tool_detail": 5,
    },
    voices={"artifact": "assistant"},
    requests=(
        "What is known about {t} of the {n} since {y}?",
        "Does the {a} {t} agree with {doc}, and if not, why?",
        "Compare {set} with {set2} for the {n}.",
        "Find out whether {t} {v} once {a} {t2} {v2}.",
        "Hm, that contradicts {doc2}. Look at it again.",
        "Go on with the {n}, then the {n2}.",
    ),
    sentences=(
        "{doc} reports {a} {t} of the {n}, which {v} after {y}.",
        "The {t} in {set} {v}, but the {a} {t2} does not.",
        "Between {y} and {y2} the {n} lacks {a} figures, so {set} has to serve.",
        "I compare {set} with {set2} before I trust the {t}.",
        "Two sources disagree on the {n}: {doc} and {doc2}.",
        "The {a} sample in {set} has {k} rows, too few for the {t}.",
    ),
    tools={
        "search": Tool(
            {"query": "{a} {t} {n} {y}"},
            (
                "{doc} | {a} {t} of the {n} | {y}",
                "  ... the {n} {v} while {t} {v2}, according to {k} {a} samples ...",
                "{set} | {n} and {n2}, {k} rows | {y}",
            ),
            head="{k} results",
            shows=False,
        ),
        "open": Tool(
            {"url": "{doc}"},
            (
                "In the {a} series the {t} of the {n} {v}, with a median of {k} and {k2} outliers.",
                "Table {k}: {t} by {n}, {y} to {y2}; source: {set}.",
                "It has been argued that {a} {t} {v} whenever the {n} {v2} ({y}).",
                "Section {k}. {a} {n} and its {t2}.",
                "The authors of {doc2} found {t} to be {a}, which the {n2} does not bear out.",
                "",
                "Measurements at the {n} were taken in {y} with {k} probes, of which {k2} drifted.",
                "See also {doc3} on the {t} of the {n3}.",
            ),
            head="# {a} {t} of the {n} ({y})",
        ),
        "table": Tool(
            {"dataset": "{set}", "columns": "{t},{t2}"},
            ("{y};{n};{k};{k2};{k3}", "{y};{n2};{k};{k2};{a}"),
            head="year;site;{t};{t2};n",
        ),
        "note": Tool(
            {"title": "{n} {t}", "text": "{a} {t} {v}, see {doc}"},
            ("kept {n}-{k}, {k2} notes in all",),
            shows=False,
        ),
    },
    uses={
        "procedure": (("table", {"dataset": "{set}", "prepare": "{value}"}),),
        "decision": (
            ("table", {"dataset": "{set}", "with": "{value}"}),
            "So {value} is what the figures rest on.",
        ),
        "constraint": (("note", {"title": "{n}", "text": "{a} {t} {v}. {value}"}),),
        "artifact": (("open", {"url": "{value}"}), "Taken over from {value}."),
        "tool_detail": (
            ("search", {"query": "{value}"}),
            ("note", {"title": "{n}", "text": "cross-check with {value}"}),
            "This is the one with {value}.",
        ),
        "open_loop": (("note", {"title": "reminder", "text": "ask after {value}"}),),
    },
    errors=("error: {doc} answered 503", "error: {set} is locked by job {h}"),
    turn=6_000,
)


@dataclass(frozen=True)
class ResearchAssistant(Story):
    """A person has an agent read up on a subject: search, open long pages, tables, take notes.

    Most tokens are results of tools, pages of thousands of tokens among them, and a third of the
    facts stands only there. Sizes, waits and shares are guesses (see ``profiles/research.toml``),
    the texts are made up. Facts come at 0.36 for a thousand tokens, and decoys on top.

    Examples
    --------
    >>> made = ResearchAssistant(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('research_assistant-1', 8, 7)
    """

    profile: str = "research"
    domain: ClassVar[Domain] = _DOMAIN
