"""After a pause old tool results are sent trimmed or cleared, for one request."""

from dataclasses import replace

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.sim.replay.strategy import Lifetime
from compactlab.strategies import TtlPrune
from compactlab.strategies.catalogue import find_strategy

# Trims what has more than 100 characters, wherever it stands before the newest answer.
SMALL = TtlPrune(
    keep_last_assistants=1,
    soft_trim_ratio=0.0,
    soft_trim_max_chars=100,
    soft_trim_head_chars=40,
    soft_trim_tail_chars=20,
)
STICKY = replace(SMALL, sticky=True)


@pytest.fixture
def kinds(play):
    """Of every prompt, which results are as they were (r), trimmed (T) or cleared (S)."""

    def of(story, strategy, **more):
        names = {"verbatim": "r", "truncated": "T", "stub": "S"}
        prompts = play(story, strategy, **more).prompts()
        return [
            "".join(names[m.parts[0].kind] for m in prompt if m.role == "tool")
            for prompt in prompts
        ]

    return of


def test_within_a_turn_that_goes_on_for_longer_a_warm_cache_is_taken_for_a_cold_one(tell, kinds):
    """Only the end of a turn is a touch; ten seconds lie between two messages here."""
    story = tell("ucra u" + "cr" * 20 + "a", size=400)
    found = kinds(story, SMALL)
    pruned = [number for number, letters in enumerate(found) if "T" in letters]
    # The first turn ended at 40 s: pruned is at 340 s or later, and not again before 640 s.
    assert len(pruned) == 1
    assert story.calls[pruned[0]].time - story.messages[3].time >= 300


def test_the_pruned_request_is_smaller_and_the_next_writes_everything_once_more(tell, play):
    results = {f"r{n}": 8000 for n in range(200)}
    story = tell("ua" + "ucra" * 20 + "~ ucra ua", sizes=results)
    plain, sticky = (play(story, strategy).steps for strategy in (SMALL, STICKY))
    first = next(n for n, step in enumerate(plain) if step.rewrite)
    assert plain[first].usage == sticky[first].usage
    assert plain[first].usage.prompt < plain[first - 1].usage.prompt / 5
    again, goes_on = plain[first + 1].usage, sticky[first + 1].usage
    assert again.cache_write > 5 * goes_on.cache_write
    assert again.prompt > 5 * goes_on.prompt
    assert [step.compaction for step in plain[first : first + 3]] == [True, False, False]


def test_where_no_result_is_too_long_nothing_is_pruned_and_the_cache_counts_as_cold_still(moment):
    now = moment("ucra ucra ua", size=50, window=1_000)
    now.host.notes, now.host.now = {"touched": 1}, 900.0
    assert SMALL.compact(now.view, now.host) is now.view
    assert now.host.notes["touched"] == 1


def test_only_anthropics_models_are_served_unless_one_wants_others_too(moment):
    now = moment("ucra u", size=400)

    def prunes(strategy, price):
        now.host.notes, now.host.now = {"touched": 1}, 1_760_000_000.0
        now.host.model = replace(now.host.model, price=price)
        return strategy.compact(now.view, now.host) is not now.view

    assert prunes(SMALL, "anthropic/claude-sonnet-4-5")
    assert not prunes(SMALL, "openai/gpt-5")
    assert prunes(replace(SMALL, every_provider=True), "openai/gpt-5")


def test_the_older_version_takes_the_beginning_of_a_turn_for_a_touch(tell, kinds):
    story = tell("ucra" + "cr" * 14 + "a" + "uaua", size=400)  # 320 seconds of work in a turn
    assert not any("T" in letters for letters in kinds(story, SMALL))
    older = kinds(story, replace(SMALL, version="2026.1.29"))
    assert ["T" in letters for letters in older[-2:]] == [True, False]


def test_a_turn_in_which_the_session_was_compacted_is_no_touch(tell, play):
    """OpenClaw writes no entry behind a compaction, so the touch before that one counts."""
    compacting = "auto_compact(reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=900)"
    story = tell("ucra" + "~ ucra" + "ua", size=400, sizes={"r3": 2000, "r7": 8000})

    def touches(spec):
        strategy = find_strategy(f"{compacting} + {spec}")
        steps = play(story, strategy, window=4000).steps
        return [step.rewrite for step in steps], [bool(step.side) for step in steps]

    rewritten, summarised = touches(SMALL.spec)
    assert any(summarised)
    assert rewritten.count(True) > summarised.count(True)


def test_sticky_or_not_is_a_matter_of_lifetime():
    assert (SMALL.lifetime, STICKY.lifetime) == (Lifetime.REQUEST, Lifetime.SESSION)
    assert find_strategy("ttl_prune(sticky=True) + turn_slice").parts[0].lifetime == "session"
    with pytest.raises(UsageError, match="session, turn, request"):
        find_strategy("ttl_prune + turn_slice")
