"""In the turn after a compaction the last messages are shown once more, at a price."""

from dataclasses import dataclass, replace

import msgspec
import pytest

from compactlab.sim.core.message import verbatim
from compactlab.sim.core.view import Phase
from compactlab.sim.metrics import measure
from compactlab.sim.replay.strategy import Pipeline, Strategy
from compactlab.strategies import ContextRecovery
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.openclaw.recovery import HEADING, INTRO

AUTO = "auto_compact(reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=400)"
THREE = ContextRecovery(messages=3)
RECOVERING = find_strategy(f"{AUTO} + context_recovery(messages=3, chars=40)")


@dataclass(frozen=True)
class Forgets(Strategy):
    """Keeps the last message alone, whenever one of those named is the newest."""

    after: str
    phases = frozenset({Phase.AFTER_TURN, Phase.AFTER_CALL, Phase.BEFORE_CALL})

    def compact(self, view, host):
        due = host.log[-1].id in self.after.split()
        return view.with_messages(view.messages[-1:]) if due else view


@pytest.fixture
def blocks(tell, play):
    """The system parts of every prompt, of a conversation that is forgotten at some points."""

    def of(script, after, recovery=THREE, **more):
        strategy = Pipeline((Forgets(after), recovery))
        return [step.system for step in play(tell(script, **more), strategy).steps]

    return of


def shown(systems) -> list[bool]:
    return [any(part.text.startswith(HEADING) for part in system) for system in systems]


def test_alone_it_does_nothing(tell, play):
    steps = play(tell("ua" * 8, size=400), ContextRecovery(), window=2000).steps
    assert {step.system for step in steps} == {()}


def test_the_turn_after_a_compaction_has_the_block_and_the_next_has_not(blocks):
    assert shown(blocks("ua" * 4, "a4")) == [False, False, True, False]


def test_a_compaction_on_the_way_to_a_prompt_is_recovered_with_the_prompt_after_it(blocks):
    """The original looks before the agent runs, and what runs then may compact."""
    assert shown(blocks("ua" * 4, "u3")) == [False, False, True, False]
    assert shown(blocks("uacra" + "ua" * 2, "r4")) == [False, False, False, True, False]


def test_it_stays_for_all_calls_of_its_turn(blocks):
    assert shown(blocks("ua" + "ucrcra" + "ua", "a2")) == [False, True, True, True, False]


def test_a_compaction_in_the_middle_of_its_turn_does_not_take_it_away(blocks):
    assert shown(blocks("ua" + "ucrcra" + "ua", "a2 r5")) == [False, True, True, True, True]


def test_the_block_quotes_the_last_that_was_said_before_the_prompt(blocks):
    heading, *quotes, end = blocks("ua" * 4, "a4")[2]
    assert (heading.text, heading.kind) == (f"{HEADING}\n\n{INTRO}\n\n", "synthetic")
    assert [part.text for part in quotes] == [
        "**Assistant:** a2 says: time work p\n\n",
        "**User:** u3 says: time work p\n\n",
        "**Assistant:** a4 says: time work p\n\n",
    ]
    assert {part.kind for part in quotes} == {"recovered"}
    assert [part.sources[0].id for part in quotes] == ["a2", "u3", "a4"]
    assert (end.text, end.kind) == ("---\n", "synthetic")


def test_long_messages_are_cut_and_say_so(blocks):
    _, quote, _ = blocks("ua" * 3, "a4", ContextRecovery(messages=1, chars=10))[2]
    assert quote.text == "**Assistant:** a4 says: t...\n\n"
    assert (quote.sources[0].start, quote.sources[0].end) == (0, 10)


def test_half_a_pair_of_code_units_is_not_sent(tell, play):
    story = tell("ua" * 3)
    said = msgspec.structs.replace(
        story.events[3], parts=(verbatim("a4", "text", "abc\N{ROCKET}d"),)
    )
    told = replace(story, events=(*story.events[:3], said, *story.events[4:]))
    strategy = Pipeline((Forgets("a4"), ContextRecovery(messages=1, chars=4)))
    _, quote, _ = play(told, strategy).steps[2].system
    assert quote.text == "**Assistant:** abc...\n\n"
    assert (quote.sources[0].start, quote.sources[0].end) == (0, 3)


def test_tools_and_what_no_person_typed_are_not_quoted(blocks):
    _, *quotes, _ = blocks("ucrcrmaua", "a7")[3]
    assert [part.sources[0].id for part in quotes] == ["u1", "a7"]


def test_it_asks_for_ten_messages_more_than_it_wants_and_results_count(blocks):
    """So that after much work with tools it has less to show than it was told to."""
    _, *quotes, _ = blocks("ua" + "u" + "cr" * 5 + "a" + "ua", "a14")[-1]
    assert [part.sources[0].id for part in quotes] == ["a2", "u3", "a14"]
    _, *quotes, _ = blocks("ua" + "u" + "cr" * 6 + "a" + "ua", "a16")[-1]
    assert [part.sources[0].id for part in quotes] == ["a16"]


def test_it_goes_before_the_system_prompt_that_there_is(blocks):
    system = blocks("ua" * 3, "a4", system=100)[2]
    assert [part.kind for part in system] == [
        "synthetic",
        *["recovered"] * 3,
        "synthetic",
        "opaque",
    ]


def test_no_messages_is_no_block(blocks):
    assert set(blocks("ua" * 4, "a4", ContextRecovery(messages=0))) == {()}


def test_as_long_as_there_is_nothing_to_quote_it_tries_again(blocks):
    """The mark is set only if there was a block; here nobody has words before the third turn."""
    quiet = {f"{letter}{n}": 0 for n in range(1, 5) for letter in "ua"}
    assert shown(blocks("ua" * 4, "a2", sizes=quiet)) == [False, False, False, True]


def test_a_rewind_takes_compaction_and_mark_back(blocks):
    assert shown(blocks("ua" * 3 + "<2" + "ua" * 2, "a4")) == [False, False, True, False, False]
    assert shown(blocks("ua" * 3 + "<4" + "ua" * 2, "a2")) == [False, True, False, False, False]
    assert shown(blocks("ua" * 3 + "<2" + "ua" * 2, "a2")) == [False, True, False, False, False]
    assert shown(blocks("ua" * 3 + "<3" + "aua", "a2")) == [False, True, False, True, False]


def test_what_the_compaction_had_kept_is_in_the_prompt_twice(tell, play):
    trace = play(tell("ua" * 8, size=400), RECOVERING, window=2000)
    pairs = zip(trace.steps, trace.prompts(), strict=True)
    step, prompt = next((step, prompt) for step, prompt in pairs if step.system)
    summary, *kept, _ = [message.id for message in prompt]
    quoted = [source.id for part in step.system for source in part.sources]
    assert (summary, quoted) == ("summary-1", kept[-3:])
    block = "".join(part.text for part in step.system)
    said = "\n".join(message.text for message in prompt)
    assert all(f"{id} says" in block and f"{id} says" in said for id in quoted)


def test_the_prompt_is_rewritten_twice_because_the_system_prompt_changes(tell, play):
    steps = play(tell("ucra" * 4, size=2000, system=3000), _forgetting("a8")).steps
    changed = [step.causes.get("system_changed", 0) for step in steps]
    assert [bool(tokens) for tokens in changed] == [False] * 4 + [True, False, True, False]
    assert steps[4].usage.cache_read == 0
    assert all(tokens > 2000 for tokens in (changed[4], changed[6]))


def test_and_the_figures_of_a_run_say_so(tell, play):
    story = tell("ucra" * 4, size=2000, system=3000)
    alone, recovering = (
        measure(play(story, strategy), story) for strategy in (Forgets("a8"), _forgetting("a8"))
    )
    assert (alone["rewrites"], recovering["rewrites"]) == (1, 2)
    assert recovering["tokens_rewritten"] > alone["tokens_rewritten"] + 5000
    assert recovering["cost_usd"] > 1.15 * alone["cost_usd"]


def _forgetting(after):
    return Pipeline((Forgets(after), ContextRecovery()))
