"""What Claude Code sends beside a session and logs nowhere: it is in the cache all the same."""

from dataclasses import replace
from typing import Any

import pytest

from compactlab.sim.core.message import Call, Message, Usage, verbatim

CLAUDE = "claude-sonnet-4-5"  # drops the thinking of earlier turns
PROSE = 6_000


def told(kit: Any, story: Any, *, format: str = "claude-code") -> list[Any]:
    script = replace(story.script(), format=format)
    return list(kit.replayed(script, kit.keep, model="recorded").steps)


def conversation(kit: Any, story: Any, *, waits: float) -> Any:
    """Two turns; the first answer takes four minutes, and then the user thinks."""
    story.user(kit.prose(PROSE)).answer("done", after=240, model=CLAUDE)
    return story.user("go on", after=waits).answer("so", model=CLAUDE)


def test_a_suggestion_at_a_turns_end_keeps_the_prompt_alive(kit, story):
    """Five minutes count from its start, which is when the answer came."""
    _, second = told(kit, conversation(kit, story, waits=120))
    assert second.usage.cache_read > PROSE
    assert second.causes.keys() == {"append"}


def test_other_clients_ask_for_none(kit, story):
    _, second = told(kit, conversation(kit, story, waits=120), format="codex")
    assert second.usage.cache_read == 0
    assert "ttl_expired" in second.causes


def test_a_suggestion_lives_no_longer_than_anything_else(kit, story):
    _, second = told(kit, conversation(kit, story, waits=301))
    assert second.usage.cache_read == 0


def test_within_a_turn_nothing_is_suggested(kit, story):
    story.user(kit.prose(PROSE)).acts(after=240, model=CLAUDE).result("r", after=120)
    _, second = told(kit, story.answer("so", model=CLAUDE))
    assert second.usage.cache_read == 0


def test_who_goes_back_has_not_been_asked(kit, story):
    story.user(kit.prose(PROSE)).answer("done", after=240, model=CLAUDE).rewind("u1")
    _, second = told(kit, story.user("else", after=120).answer("so", model=CLAUDE))
    assert second.usage.cache_read == 0


FRONT, REST = 20_000, 10_000


@pytest.mark.parametrize(("read", "warm"), [(FRONT, True), (0, False)])
def test_what_other_sessions_keep_alive_is_read_by_the_first_call(kit, story, read, warm):
    usage = Usage(cache_read=read, cache_write_1h=FRONT + REST - read)
    story.user(kit.prose(100)).answer("done", usage=usage, model=CLAUDE, ttl="1h")
    (first,) = told(kit, story)
    assert first.usage.prompt == pytest.approx(FRONT + REST, abs=3)
    assert first.usage.cache_read == (pytest.approx(FRONT, abs=2) if warm else 0)


def test_after_hours_only_the_shared_front_is_still_there(kit, story):
    before = Usage(cache_read=FRONT, cache_write_1h=REST)
    story.user(kit.prose(100)).answer("done", usage=before, model=CLAUDE, ttl="1h")
    after = Usage(cache_read=FRONT, cache_write_1h=REST + 10)
    story.user("and?", after=9_000).answer("so", usage=after, model=CLAUDE, ttl="1h")
    _, second = told(kit, story)
    assert second.usage.cache_read == pytest.approx(FRONT, abs=2)
    assert "ttl_expired" in second.causes


def test_a_suggestion_drops_the_thinking_of_its_turn_already(kit, story):
    """So what follows it is stored as the next turn will want it."""
    story.user(kit.prose(3_000))
    story.events.append(thoughtful("t1", story.now + 5))
    story.client("done?", after=10).answer(kit.prose(2_000), model=CLAUDE)
    story.user("go on", after=20).answer("so", model=CLAUDE)
    with_it, without = (told(kit, story, format=format)[-1] for format in ("claude-code", "codex"))
    assert without.causes.get("thinking_strip", 0) > 0
    assert with_it.causes.get("thinking_strip", 0) == 0
    assert with_it.usage.cache_read > without.usage.cache_read + 1_500


def thoughtful(id: str, time: float) -> Message:
    parts = (
        verbatim(id, "thinking", "hm " * 300),
        verbatim(id, "tool_call", "{}", name="t", call_id=id),
    )
    return Message(id, "assistant", parts, time, call=Call(CLAUDE))
