"""The settings of a session's calls, and which cause a change of them has."""

from compactlab.sim.cache import Settings
from compactlab.sim.core.message import Call
from compactlab.sim.replay.client import Client


def causes(*calls: Call) -> list[str]:
    client = Client("claude-code")
    return [client.settings(call, str(n), opens_turn=True)[0] for n, call in enumerate(calls)]


def test_the_first_call_changes_nothing_whatever_it_says():
    assert causes(Call(version="2.1", restarted=True)) == ["append"]


def test_a_client_that_was_started_anew_has_another_system_prompt():
    client = Client("claude-code")
    _, before = client.settings(Call(version="2.1"), "a", opens_turn=True)
    cause, after = client.settings(Call(version="2.1", restarted=True), "b", opens_turn=True)
    assert cause == "client_restart"
    assert (after.tools, after.messages) == (before.tools, before.messages)
    assert after.system != before.system
    assert client.settings(Call(version="2.1"), "c", opens_turn=True) == ("append", after)


def test_two_starts_are_two_system_prompts():
    client = Client("claude-code")
    calls = [Call(version="2.1", restarted=anew) for anew in (False, True, True)]
    settings = [client.settings(call, "x", opens_turn=True)[1] for call in calls]
    assert len({each.system for each in settings}) == 3


def test_whoever_is_started_anew_in_another_version_was_upgraded():
    old, new = Call(version="2.1"), Call(version="2.2", restarted=True)
    assert causes(old, new, new) == ["append", "client_upgrade", "client_restart"]


def test_a_change_of_thinking_changes_the_messages_alone():
    client = Client("claude-code")
    client.settings(Call(thinking="on"), "a", opens_turn=True)
    cause, after = client.settings(Call(thinking="off"), "b", opens_turn=True)
    assert (cause, after) == ("settings_changed", Settings(messages="off"))


def test_what_is_told_late_was_so_before():
    assert causes(Call(), Call(version="2.1"), Call(version="2.1")) == ["append"] * 3


def test_only_claude_codes_sessions_share_what_lives_for_an_hour():
    shares = {
        (name, ttl): Client(name).shares_system(ttl)
        for name in ("claude-code", "pi")
        for ttl in ("5m", "1h")
    }
    assert [*filter(shares.get, shares)] == [("claude-code", "1h")]
