"""Whether a text leaves open what nobody has decided, or speaks of it as if the user had."""

from __future__ import annotations

import pytest

from compactlab.sim.core.conversation import Fact
from compactlab.sim.facts.wording import SILENT, Wording

VALUE = "zone-otter-4f9a-21c7-e08b"
ASKED = Fact("f", "proposal", "northern fare zone", VALUE, polarity="asks")

OPEN = [
    "Should the northern fare zone become {v}?",
    "Would {v} do as the northern fare zone?",
    "Should the northern fare zone be {v}? Not decided yet.",
    "The northern fare zone could become {v}; nobody has decided.",
    "Proposed: {v} as the northern fare zone.",
    "northern fare zone (not decided): {v}",
    "- northern fare zone: {v} (awaiting approval)",
    "The user was asked whether the northern fare zone becomes {v}.",
    "## Open questions\n- northern fare zone: {v}",
    "## Options\n- northern fare zone: {v}",
    "{v} is an option for the northern fare zone.",
    "If the user agrees, the northern fare zone becomes {v}.",
    "The northern fare zone is {v} once approved.",
    "Waiting for the user's decision on the northern fare zone: {v}",
    "Do not set the northern fare zone to {v} without approval.",
    "It was suggested to make the northern fare zone {v}.",
    "Asked about the northern fare zone ({v}), no answer yet.",
    "The northern fare zone is to be confirmed: {v}",
]
DECIDED = [
    "northern fare zone: {v}",
    "Set the northern fare zone to {v}.",
    "The northern fare zone is {v}.",
    "Decision: the northern fare zone is {v}.",
    "The user agreed on {v} for the northern fare zone.",
    "The user wants {v} for the northern fare zone.",
    "The user confirmed {v} as the northern fare zone.",
    "Should the northern fare zone be {v}? Yes.",
    "Should the northern fare zone be {v}? No.",
    "## Next steps\n1. Switch the northern fare zone to {v}.",
    "## Rejected\n- northern fare zone: {v}",
    "We must change the northern fare zone to {v}.",
    "northern fare zone: zone-raven-77aa-9c3e-5d10",  # another answer is one, too
]
SILENCE = ["The southern fare zone is zone-raven-77aa-9c3e-5d10.", "Nothing of the kind."]


def said(text: str) -> str:
    spoken = Wording(text.format(v=VALUE)).says(ASKED)
    return "open" if spoken.intact else "decided" if spoken.wrong else "key" * spoken.key


@pytest.mark.parametrize("text", OPEN)
def test_what_is_left_open_is_intact(text: str) -> None:
    assert said(text) == "open"


@pytest.mark.parametrize("text", DECIDED)
def test_what_is_stated_as_decided_is_wrong(text: str) -> None:
    assert said(text) == "decided"


@pytest.mark.parametrize("text", SILENCE)
def test_what_is_not_spoken_of_is_neither(text: str) -> None:
    assert Wording(text).says(ASKED) == SILENT


def test_that_a_matter_is_open_does_not_say_what_was_proposed() -> None:
    assert said("The northern fare zone is still open.") == "key"
