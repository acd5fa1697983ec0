"""What every summariser in the catalogue promises, whatever it is given."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.message import Call, Message, Part, PartType, Source, verbatim
from compactlab.sim.core.tokens import Tokenizer, chars4
from compactlab.sim.replay.summarize import Summarizer, SummaryRequest
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, find_summarizer
from tests.summarizers.story import many

o200k = Tokenizer("o200k_base", 1.3).text
counters: list[Callable[[str], int]] = [o200k, chars4, len]
# A model answers as it likes: tests/summarizers/test_llm.py.
SPECS = [
    *(name for name in SUMMARIZERS if name != "llm"),
    "checklist(mode='regenerate')",
    "lossy(level='low')",
    "lossy(first=0.7, later=0.9, mutated=0.5, stale=0.5)",
]
some, few = (settings(max_examples=number, deadline=None) for number in (25, 10))

words = st.sampled_from(
    [
        "never",
        "must",
        "decided",
        "src/a.py",
        "x_1",
        "fails.",
        "It",
        "{x}",
        "日本語",
        "مرحبا",
        "нет?",
    ]
)
lines = st.lists(words, max_size=10).map(" ".join) | st.text(max_size=30)
texts = st.lists(lines, max_size=5).map("\n".join)
kinds: list[PartType] = ["text", "thinking", "tool_call", "tool_result"]


@st.composite
def sessions(draw: st.DrawFn) -> Conversation:
    """Messages of all sorts, and facts that some of them state."""
    messages, facts = [], []
    for number in range(draw(st.integers(0, 8))):
        id = f"m{number}"
        role = draw(st.sampled_from(["user", "assistant", "tool"]))
        made = draw(st.lists(st.tuples(st.sampled_from(kinds), texts), min_size=1, max_size=3))
        parts = [verbatim(id, kind, text, name="read") for kind, text in made]
        if draw(st.booleans()):
            parts.append(verbatim(id, "text", f"key {number} is value-{number}"))
            origin = Source(id, len(parts) - 1)
            polarity = draw(st.sampled_from(["is", "must", "must_not"]))
            fact = Fact(
                f"f{number}", "decision", f"key {number}", f"value-{number}", (origin,), polarity
            )
            facts.append(fact)
        call = Call() if role == "assistant" else None
        messages.append(Message(id, role, tuple(parts), call=call))  # type: ignore[arg-type]
    return Conversation("drawn", "drawn", tuple(messages), facts=tuple(facts), seed=0)


def ids(parts: tuple[Part, ...]) -> set[str]:
    return {source.id for part in parts for source in part.sources}


def rounds(
    summarizer: Summarizer, told: Conversation, budget: int, count: Callable[[str], int]
) -> list[tuple[SummaryRequest, tuple[Part, ...]]]:
    """Summarise the first half, then carry on with the second, then with nothing more."""
    half, made, previous = len(told.messages) // 2, [], ()
    for messages in (told.messages[:half], told.messages[half:], ()):
        request = SummaryRequest(messages, budget, previous)
        previous = summarizer.summarize(request, count)
        made.append((request, previous))
    return made


@pytest.mark.parametrize("spec", SPECS)
@some
@given(sessions(), st.integers(0, 150), st.sampled_from(counters))
def test_budget_sources_and_kind(spec, told, budget, count):
    summarizer = find_summarizer(spec).bound(told, 7)
    for request, parts in rounds(summarizer, told, budget, count):
        given = ids(request.previous) | {message.id for message in request.messages}
        assert all(p.kind == "summary" and p.type == "text" and p.text for p in parts)
        assert all(part.sources for part in parts)
        assert ids(parts) <= given
        if spec != "inflating":
            assert sum(count(part.text) for part in parts) <= budget


@pytest.mark.parametrize("spec", SPECS)
@few
@given(sessions(), st.integers(0, 300))
def test_the_same_is_summarised_in_the_same_way(spec, told, budget):
    first = rounds(find_summarizer(spec).bound(told, 7), told, budget, chars4)
    assert rounds(find_summarizer(spec).bound(told, 7), told, budget, chars4) == first


@pytest.mark.parametrize("spec", SPECS)
def test_of_nothing_nothing_is_made(spec):
    told = Conversation("c", "made", (), seed=0)
    assert find_summarizer(spec).bound(told, 0).summarize(SummaryRequest((), 100), len) == ()


@pytest.mark.parametrize("spec", SPECS)
def test_a_session_of_a_million_characters(spec):
    story = many(1, facts=40)
    for number in range(200):
        text = f"line {number} of job_{number % 31}: a.b/c_{number} fails?\n" * 100
        story.say(text, ("user", "assistant", "tool")[number % 3])
    story.say("x" * 150_000 + " " + "日本" * 50_000)
    told = story.told()
    request = SummaryRequest(told.messages, 3000)
    parts = find_summarizer(spec).bound(told, 0).summarize(request, chars4)
    if spec != "inflating":
        assert sum(chars4(part.text) for part in parts) <= 3000


@pytest.mark.parametrize("spec", SPECS)
def test_a_spec_builds_the_same_again(spec):
    summarizer = find_summarizer(spec)
    assert find_summarizer(summarizer.spec) == summarizer


@pytest.mark.parametrize("spec", SPECS)
def test_the_bound_one_goes_by_the_same_name(spec):
    summarizer = find_summarizer(spec)
    bound = summarizer.bound(many(2).told(), 5)
    assert bound.spec == summarizer.spec
    assert bound.simulated == summarizer.simulated


def test_what_is_simulated_says_so_and_what_copies_has_nothing_to_say():
    simulated = {name for name in SUMMARIZERS if find_summarizer(name).simulated}
    drawn = {"lossy", "calibrated", "random"}
    assert simulated == {*drawn, "oracle", "junk", "empty", "inflating", "failed"}
