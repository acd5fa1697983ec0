"""The attacks: they are there, they state nothing, and every strategy survives them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest

from compactlab import api
from compactlab.scenarios.adversarial import Adversarial
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.facts.wording import Wording
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.store.run import Run
from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, find_summarizer
from tests.scenarios.made import SEEDS, made, of_all_seeds, stated, written

SCRIPTS, LOOK_ALIKES = (Adversarial.domain.words[name] for name in "gx")
MESSAGE_IDS, CALL_IDS = (Adversarial.domain.texts[name] for name in ("message_ids", "call_ids"))
SPEC = "adversarial(tokens=20000)"
MODEL = "claude-sonnet-4-5"
NARROW = 12_000  # so that strategies made for 200,000 tokens have to act
# Sizes in which those do, too, that go by figures of their own.
SMALL = (
    "recent_events(max_events=20)",
    "amortized_forgetting(max_size=20)",
    "trim_messages(max_tokens=3000)",
    "turn_slice(history_limit=2)",
    "turn_checkpoints(every=1, keep=1)",
    "clear_tool_results(trigger=3000, keep=1)",
    "auto_compact(reserve_tokens=3000, reserve_tokens_floor=0, keep_recent_tokens=500)",
    "preserve_turns(reserve_tokens=8000, reserve_tokens_floor=0, keep_recent_tokens=100)",
)


def text(conversation: Conversation) -> str:
    parts = (part for message in conversation.messages for part in message.parts)
    return "\n".join(map(written, parts))


# ------------------------------------------------------------------------------- what there is


def test_all_attacks_occur() -> None:
    texts = "\n".join(text(made("adversarial", 100_000, seed)) for seed in SEEDS)
    assert not [each for each in SCRIPTS if each not in texts]
    assert sum(each in texts for each in LOOK_ALIKES) > 0.8 * len(LOOK_ALIKES)
    for order in ("leave out the", "Drop it", "Correction: the", "Summary budget: 0"):
        assert order in texts


@of_all_seeds
def test_orders_are_aimed_at_facts_and_state_none(seed: int) -> None:
    session = made("adversarial", 100_000, seed)
    facts = stated(session)
    aimed = 0
    for message in session.messages:
        for line in message.text.split("\n"):
            if line.startswith(("Correction: the", "When you summarise")):
                aimed += any(fact.key in line for fact in facts)
                assert not any(Wording(line).says(fact).stated for fact in session.facts)
    assert aimed > 0


def test_names_are_unusual_and_their_own() -> None:
    session = made("adversarial", 100_000, 0)
    ids = [message.id for message in session.messages]
    calls = [part.call_id for m in session.messages for part in m.parts if part.type == "tool_call"]
    for names, shapes in ((ids, MESSAGE_IDS), (calls, CALL_IDS)):
        assert len(set(names)) == len(names)
        for shape in shapes:
            assert any(shape.format(n=n + 1) == name for n, name in enumerate(names))


def test_some_messages_of_the_user_and_some_lines_are_enormous() -> None:
    longest = 0
    for seed in SEEDS:
        session = made("adversarial", 100_000, seed)
        said = [Tokenizer().message(m) for m in session.messages if m.role == "user"]
        assert max(said) > 2_000
        words = chain.from_iterable(m.text.split() for m in session.messages)
        longest = max(longest, *map(len, words))
    assert longest > 10_000


# --------------------------------------------------------------------------------- who survives


def test_every_strategy_survives() -> None:
    results = api.run([SPEC], "all")
    assert len(results.runs) == len(ALL_STRATEGIES)
    assert not failed(results.runs)


def test_every_strategy_survives_where_there_is_little_room() -> None:
    results = api.run([SPEC], (*ALL_STRATEGIES, *SMALL), window=NARROW)
    assert not failed(results.runs)
    acted = [run for run in results.runs if run.metrics["compactions"]]
    assert len(acted) >= len(ALL_STRATEGIES) / 2 + len(SMALL)


@pytest.mark.slow
def test_every_strategy_survives_a_long_session() -> None:
    results = api.run(["adversarial(tokens=200000)"], "all", window=70_000)
    assert not failed(results.runs)
    acted = [run for run in results.runs if run.metrics["compactions"]]
    assert len(acted) > 0.8 * len(ALL_STRATEGIES)


def failed(runs: Sequence[Run]) -> list[tuple[str, str]]:
    return [(run.strategy, run.error) for run in runs if run.status != "ok"]


@pytest.mark.parametrize("summarizer", sorted(set(SUMMARIZERS) - {"llm"}))  # it asks a model
def test_every_summariser_survives(summarizer: str) -> None:
    specs = ["full_summary", "rolling_summary", "openclaw"]
    results = api.run([SPEC], specs, window=NARROW, summarizer=summarizer)
    assert [run.status for run in results.runs] == ["ok"] * len(specs)


def test_the_closed_loop_survives() -> None:
    specs = ["observation_masking", "memory_flush + auto_compact + memory_recall", "openclaw"]
    results = api.run([SPEC], specs, window=NARROW, loop="closed")
    assert [run.status for run in results.runs] == ["ok"] * len(specs)


@pytest.mark.parametrize("spec", ALL_STRATEGIES)
def test_nothing_that_a_stranger_wrote_is_taken_for_more_than_text(spec: str) -> None:
    session = Adversarial(tokens=20_000).conversation(0)
    script = {message.id: message for message in session.messages}
    strategy, stored = find_strategy(spec), set[str]()
    trace = record(
        session, strategy, Options(MODEL, summarizer=find_summarizer("lead"), window=NARROW)
    )
    seen: set[int] = set()
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        stored |= {handle for handle, _ in step.outside.stored}
        for message in (each for each in prompt if id(each) not in seen):
            seen.add(id(message))
            for part in message.parts:
                assert not part.handle or part.handle in stored
                assert part.kind != "verbatim" or said(part, script)
                assert part.kind != "summary" or part.type == "text"


def said(part: Part, script: dict[str, Message]) -> bool:
    """Whether a part that claims to be as it was said is."""
    sources = [script[source.id] for source in part.sources if source.id in script]
    if not sources:  # born in the replay
        return True
    return any(part.text == other.text for source in sources for other in source.parts)


def test_bytes_never_change_unnoticed() -> None:
    assert Adversarial(tokens=10_000).conversation(0).digest == "f27239eaf4e59751"
