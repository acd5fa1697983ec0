"""How often sane summaries are called none: bars for what `docs/dev/measured.md` tells."""

from collections import Counter

import pytest

from compactlab.scenarios.catalogue import find_scenario
from compactlab.scenarios.readers import transcript
from compactlab.sim.core.conversation import Compaction, Conversation
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.tokens import chars4
from compactlab.sim.replay.summarize import SummaryRequest, faults
from compactlab.strategies.summarizers.catalogue import find_summarizer

SANE = ("lexrank", "centroid", "lead", "tail", "salience", "checklist", "lossy")


@pytest.fixture(scope="module")
def sessions() -> list[Conversation]:
    scenario = find_scenario("coding_agent(turns=16, tokens=60000)")
    return [scenario.conversation(seed) for seed in range(2)]


def judged(sessions: list[Conversation], name: str) -> list[tuple[str, ...]]:
    """Summarise each session a quarter at a time, and say what is wrong with that."""
    found = []
    for told in sessions:
        summarizer = find_summarizer(name).bound(told, 0)
        quarter = len(told.messages) // 4
        parts: tuple[Part, ...] = ()
        for start in range(0, 4 * quarter, quarter):
            request = SummaryRequest(told.messages[start : start + quarter], 4000, parts)
            parts = summarizer.summarize(request, chars4)
            found.append(faults(request, parts, chars4))
    return found


@pytest.mark.parametrize("name", SANE)
def test_made_up_sessions_raise_no_alarms(name, sessions):
    assert set(judged(sessions, name)) == {()}


@pytest.mark.parametrize("name", ["failed", "empty", "inflating"])
def test_there_what_is_none_is_found(name, sessions):
    assert all(judged(sessions, name))


def test_of_eleven_recorded_summaries_one_names_too_little(shared):
    """That one names 1.88 % of the identifiers that it was given."""
    found = Counter(
        fault
        for folder in ("entireio-cli", "pi-mono")
        for file in sorted((shared / "recorded" / folder).glob("*.jsonl"))
        for told in transcript.read(file)
        for wrong in recorded(told)
        for fault in wrong or ("none",)
    )
    assert found == {"none": 10, "few_identifiers": 1}


def recorded(told: Conversation) -> list[tuple[str, ...]]:
    """Judge the summaries that the recorded agent made, each of what was said since the last."""
    found = []
    since: list[Message] = []
    before: tuple[Part, ...] = ()
    for event in told.events:
        if isinstance(event, Message):
            since.append(event)
        elif isinstance(event, Compaction):
            made = tuple(
                Part("text", part.text, "summary", (Source(since[-1].id),))
                for message in event.inserted
                for part in message.parts
                if part.kind == "summary"
            )
            # Nobody knows what budget they had.
            found.append(faults(SummaryRequest(tuple(since), 10**6, before), made, chars4))
            before, since = made, []
    return found
