"""A made-up chat with somebody who thinks aloud, breaks off and takes thoughts up again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, Lags, Mix, Tool, words
from compactlab.scenarios.engine.story import Story

_DOMAIN = Domain(
    words={
        "idea": (
            "the opening scene",
            "the letter in the attic",
            "the walk along the river",
            "the quarrel at dinner",
            "the missing key",
            "the lighthouse",
            "the train that stops",
            "the second brother",
            "the storm",
            "the old map",
            "the empty house",
            "the photograph",
        ),
        "how": (
            "too early",
            "too loud",
            "in the wrong place",
            "not needed at all",
            "funnier than it should be",
            "told by the wrong person",
            "the best thing so far",
            "a bit thin",
        ),
        "who": ("the aunt", "the narrator", "the ferryman", "the teacher", "the uncle", "nobody"),
        "does": (
            "knows it from the start",
            "comes back in winter",
            "keeps silent about it",
            "tells it as a joke",
            "has it from a book",
            "is on the other side of the river",
        ),
        "many": words("two three four five seven"),
    },
    # A turn is about one idea.
    pools={"i": ("{idea}", 30), "page": ("page-{h}", 40)},
    focus=1,
    often=0.85,
    areas=words(
        "prologue river attic winter dinner lighthouse ferry letter harbour garden train storm "
        "school market island funeral wedding epilogue"
    ),
    things={
        "open_loop": {"thought": "{chain}", "half sentence": "{chain}", "image": "{chain}"},
        "decision": {
            "first option": "{chain}",
            "second option": "{chain}",
            "third option": "{chain}",
        },
        "preference": {"tone": "{chain}", "rhythm": "{chain}"},
        "entity": {"minor figure": "the {chain} family", "street": "street-{word}-{code}"},
        "constraint": {"recurring line": "line-{chain}", "chapter mark": "mark-{word}-{code}"},
        "prohibition": {"sealed page": "page-{word}-{code}", "quoted song": "song-{word}-{code}"},
        "artifact": {"clean copy": "copies/{word}_{hex}.md", "timeline sheet": "times/{hex}.csv"},
        "goal": {"word target": "target-{word}-{code}"},
        "procedure": {"export run": "export --set {code}"},
        "tool_detail": {"archive shelf mark": "{word}/{code}", "scan number": "scan:{code}"},
    },
    kinds={
        "open_loop": 6,
        "constraint": 1,
        "decision": 8,
        "preference": 1,
        "prohibition": 1,
        "entity": 1,
        "artifact": 1,
        "goal": 0.5,
        "procedure": 0.5,
        "tool_detail": 2,
    },
    voices={"decision": "assistant", "artifact": "assistant"},
    together={"decision": ("first option", "second option", "third option")},
    states={
        "public": {
            "open_loop": (
                "About the {key}: something like {value}, and then ... hm.",
                "{value}, that is where the {key} stopped.",
                "The {key} goes towards {value}, but then it was gone.",
            ),
            "decision": (
                "The {key} would be {value}.",
                "{value} could be the {key}.",
                "As the {key} there is {value}.",
            ),
        },
        "held_out": {
            "open_loop": (
                "Half of the {key} is {value}, the other half will come.",
                "{value} came up for the {key}, unfinished.",
                "There was {value} in the {key} ... and so on.",
            ),
            "decision": (
                "One way, the {key}: {value}.",
                "{value} is what the {key} comes to.",
                "The {key} amounts to {value}.",
            ),
        },
    },
    resumes={
        "open_loop": (
            "As I was saying about the {key}, go on from where I broke off.",
            "Back to the {key}. What did I have?",
            "Where were we? Ah, the {key}.",
            "And that {key} from before, how could it end?",
        ),
        "decision": (
            "The {nth} one, I think. For the {area}, I mean.",
            "I take the {thing} for the {area}.",
            "No, wait, the {nth} one is better for the {area}.",
            "What was the {thing} again, of those for the {area}?",
        ),
    },
    requests=(
        "Hm.",
        "So, {i} is {how}, isn't it?",
        "And if {who} {does}?",
        "I keep thinking of {i}.",
        "Or the other way round.",
        "Maybe {i} comes before {idea}. Or after it.",
        "What if {i} were {how}, but on purpose?",
        "Give me some ways out of {i}.",
        "Wait, one more thing, {who} {does}.",
        "That is it, almost.",
        "I wrote {many} lines about it last night, on {page}.",
        "Yes. No. Yes.",
        "What did {who} have to do with {i}?",
    ),
    sentences=(
        "Then {i} is {how}, which could be the point.",
        "If {who} {does}, {i} has to come sooner.",
        "You could tell {i} twice, once by {who}.",
        "On {page} there are {many} lines on {i}.",
        "Perhaps {i} and {idea} want the same place in the story.",
        "I would leave {i} as it is and look at {idea}.",
        "Who says that {who} {does}?",
        "It reads as if {who} were in {i} already.",
    ),
    tools={
        "notes": Tool(
            {"find": "{i}"},
            (
                "{page}: {idea}, {how}",
                "{page}: {who} {does}?",
                "{page}: {many} lines, {idea}",
            ),
            head="{page}: {i}",
            share=3,
        ),
        "lookup": Tool(
            {"what": "{i}"},
            (
                "{page}, line {k}: ... {who} {does} ...",
                "{page}, line {k}: ... {idea}, {how} ...",
            ),
            share=2,
        ),
        "note": Tool({"text": "{i}: {how}"}, ("kept as {page}",), shows=False),
    },
    uses={
        "open_loop": (
            "You had got as far as {value}.",
            "It broke off at {value}; it could go on from there.",
            "{value}, you said, and then nothing.",
        ),
        "decision": (
            "That one was {value}.",
            "Then {value} it is.",
            ("note", {"text": "{value}, for now"}),
        ),
        "preference": ("In the manner of {value}, then.",),
        "entity": ("There {value} could walk in.",),
        "constraint": (("note", {"text": "{i}. {value}"}), "It ends on {value}."),
        "tool_detail": (("lookup", {"what": "{value}"}), "The one under {value}."),
        "artifact": (("lookup", {"what": "{value}"}),),
    },
    errors=("{page} is open elsewhere",),
    mix=Mix(density=0.38, late=40),
    turn=130,
    answers=0.75,
    lags=Lags(shortest=400, near=0.75, border=1_500),
)


@dataclass(frozen=True)
class HalfThoughts(Story):
    """A person thinks aloud about a story they write, a line at a time, and breaks off.

    The texture that a recency buffer is for: a thought (an open loop) is left half-finished and
    taken up again some messages later, "as I was saying"; the assistant offers three options, and
    "the second one" is chosen when other things have been said. So three quarters of all needs come
    within 1,500 tokens, some turns later, and those of thoughts and options come when the
    person refers back to them: the fact is the antecedent, labelled. The others are spread as
    elsewhere.

    People talk, and the few tools return less than a tenth of the tokens, not the 40 to 85 % of
    agents that work. Sizes, waits and shares are guesses (see ``profiles/aloud.toml``), the texts
    are made up. The last turns, for what is stated late, are forty, as turns are short.

    Examples
    --------
    >>> made = HalfThoughts(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('half_thoughts-1', 154, 8)
    """

    profile: str = "aloud"
    domain: ClassVar[Domain] = _DOMAIN
    results: ClassVar[tuple[float, float]] = (0.02, 0.30)
