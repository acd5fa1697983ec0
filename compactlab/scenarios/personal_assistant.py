"""A made-up week with a personal assistant: calendar, mail, notes, reminders, nights between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, Lags, Mix, Tool, words
from compactlab.scenarios.engine.story import Story

_DOMAIN = Domain(
    words={
        "event": (
            "dentist",
            "piano lesson",
            "parents' evening",
            "car service",
            "choir",
            "eye test",
            "swimming course",
            "neighbours' party",
            "tax appointment",
            "flat viewing",
            "book club",
            "vaccination",
        ),
        "who": (
            "the school office",
            "the landlord",
            "my sister",
            "the garage",
            "the club",
            "the insurance",
            "the practice",
            "a neighbour",
            "the bank",
            "the library",
        ),
        "day": words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
        "hour": words("08:15 09:00 10:30 11:00 13:45 15:00 16:30 17:15 18:00 19:30"),
        "about": (
            "the bill",
            "the spare key",
            "a change of date",
            "the missing form",
            "the deposit",
            "the shared lift",
            "a parcel",
            "the summer trip",
        ),
        "did": (
            "asks for an answer this week",
            "has sent a form to be signed",
            "moved it to another day",
            "wants to know who is coming",
            "has not been paid yet",
            "thanks you and sends a picture",
        ),
        "place": ("at home", "in town", "at the school", "by the station", "upstairs", "online"),
        "many": words("two three four five six"),
    },
    # A turn is about one event, one person and one day.
    pools={
        "e": ("{event}", 30),
        "p": ("{who}", 25),
        "m": ("{about}", 20),
        "d": ("{day}", 20),
        "mail": ("mail-{h}", 60),
        "page": ("note-{h}", 25),
    },
    focus=1,
    often=0.9,
    areas=words(
        "piano garden school kitchen holiday tax car choir dentist birthday attic bicycle "
        "insurance library moving swimming allotment balcony"
    ),
    things={
        "preference": {"seat choice": "{chain}", "greeting line": "{chain}"},
        "entity": {
            "contact desk": "desk-{chain}",
            "member account": "account-{word}-{code}",
            "spare key holder": "flat-{word}-{code}",
        },
        "goal": {"saving plan": "plan-{word}-{code}", "training aim": "aim-{chain}"},
        "open_loop": {
            "callback": "call-{word}-{code}",
            "signed form": "form-{code}",
            "reimbursement": "claim-{word}-{code}",
        },
        "decision": {"gift idea": "gift-{chain}", "travel option": "trip-{word}-{code}"},
        "constraint": {"subject line": "Subj {word}-{code}", "meal rule": "diet-{word}-{code}"},
        "prohibition": {"locked folder": "folder/{word}/{hex}", "surprise list": "list-{code}"},
        "procedure": {"heating restart": "HEAT {word} {code}", "alarm code run": "ARM {code}"},
        "artifact": {"packing list": "lists/{word}_{hex}.md", "letter draft": "drafts/{hex}.md"},
        "tool_detail": {
            "booking number": "{word}-{code}",
            "ticket code": "{code}",
            "meter reading mark": "meter:{word}:{code}",
        },
    },
    kinds={
        "preference": 3,
        "constraint": 1.5,
        "entity": 3,
        "goal": 2,
        "prohibition": 1.5,
        "open_loop": 4,
        "decision": 2,
        "procedure": 1,
        "artifact": 1.5,
        "tool_detail": 4,
    },
    voices={"artifact": "assistant"},
    requests=(
        "What is on {d}? I have forgotten about the {e}.",
        "Has {p} written about {m}?",
        "Move the {e} to {day}, {hour}, if nothing else is then.",
        "Write to {p} that I come at {hour}.",
        "Read me what {p} wants with {m}.",
        "When is the {e}, and where?",
        "Look up what I noted about {m}.",
        "I am on my way, what is left for {d}?",
        "Good morning. Anything new from {p}?",
        "How long do I have between the {e} and the {event}?",
    ),
    sentences=(
        "On {d} the {e} is at {hour}, {place}.",
        "There is a letter about {m} ({mail}): {p} {did}.",
        "Between {hour} and the {e} nothing is planned.",
        "I have moved the {e} to {day}, {hour}, and told {p}.",
        "In {page} you noted {many} things about {m}.",
        "There are {many} letters from {p}, the latest is {mail}.",
        "If you leave at {hour}, you are at the {e} in time.",
        "The date of the {e} stands in {mail}: {d}, {hour}.",
    ),
    tools={
        "calendar": Tool(
            {"day": "{d}"},
            (
                "{day} {hour} {event}, {place}",
                "{day} {hour} {event} ({who})",
                "{day} all day: {about}",
            ),
            head="{d} {hour} {e}, {place}",
            share=4,
        ),
        "inbox": Tool(
            {"from": "{p}", "about": "{m}"},
            ("{mail} | {who} | {about} | {day} {hour}", "{mail} | {p} | {m} | {day} {hour}"),
            head="{many} new letters",
            share=3,
        ),
        "mail": Tool(
            {"open": "{mail}"},
            (
                "We would like to come back to {about}.",
                "The {event} is on {day} at {hour}, {place}.",
                "There are {many} of us, and {who} comes later.",
                "As to {about}: {who} {did}.",
                "Bring {many} copies and something to write.",
                "If {day} does not suit you, {day2} at {hour} would do.",
            ),
            head="From: {p}, about {m}",
            share=4,
        ),
        "notes": Tool(
            {"find": "{m}"},
            (
                "{page}: {about}, ask {who}",
                "{page}: {event}, {day} {hour}, {place}",
                "{page}: {many} things for the {event}",
            ),
            share=3,
        ),
        "remind": Tool(
            {"of": "{e}", "on": "{d}"},
            ("reminder {k} kept for {d}",),
            shows=False,
        ),
        "send": Tool(
            {"to": "{p}", "text": "about {m}: {d} at {hour}"},
            ("sent, {k} in the outbox",),
            shows=False,
        ),
    },
    uses={
        "preference": (
            ("send", {"to": "{p}", "text": "{value}, if there is a choice"}),
            "I have taken {value}, as you like it.",
        ),
        "entity": (("send", {"to": "{value}", "text": "about {m}: {d} at {hour}"}),),
        "goal": ("That leaves something over for {value}.",),
        "open_loop": (
            ("remind", {"of": "{value}", "on": "{d}"}),
            "It is {d}, and {value} is not back yet.",
        ),
        "decision": (
            ("calendar", {"day": "{d}", "add": "{value}"}),
            "Then I book {value}.",
        ),
        "constraint": (("send", {"to": "{p}", "text": "{value}. {d} at {hour}"}),),
        "procedure": ("`{value}` has worked before.",),
        "artifact": (("notes", {"open": "{value}"}),),
        "tool_detail": (
            ("send", {"to": "{p}", "text": "number {value}, {m}"}),
            "They want to know the number: {value}.",
        ),
    },
    errors=("no connection to the calendar", "{mail} could not be opened"),
    mix=Mix(first=0.4, late=10),
    turn=1_000,
    # At six days to 100,000 tokens, a reminder is due after half a day at least.
    lags_by={"open_loop": Lags(shortest=10_000, border=10_000)},
)


@dataclass(frozen=True)
class PersonalAssistant(Story):
    """A person and an assistant with calendar, mail and notes, over days.

    Before every second turn there is an idle gap that outlives a cache of five minutes, and before
    every fourth one that outlives a cache of an hour too: errands, afternoons, nights. In 100,000
    tokens pass about six days. Facts are about the person (preferences, entities), goals, and
    reminders: open loops that are closed, and mostly needed, days later. Sizes, waits and shares
    are guesses (see ``profiles/days.toml``), the texts are made up. The last turns, for what is
    stated late, are ten.

    Examples
    --------
    >>> made = PersonalAssistant(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('personal_assistant-1', 20, 7)
    """

    profile: str = "days"
    domain: ClassVar[Domain] = _DOMAIN
