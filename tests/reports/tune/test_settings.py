"""What is pasted into a client makes it compact where it should."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.tune.settings import CLIENTS, Model, Pasted

OPUS = Model(200_000, 64_000, "anthropic", "claude-opus-4-5")
LARGE = Model(1_000_000, 128_000, "anthropic", "claude-opus-5")
GPT = Model(400_000, 128_000, "openai", "gpt-5")


def pasted(client: str, trigger: int, model: Model = OPUS) -> Pasted:
    return CLIENTS[client].pasted(trigger, model)


def settings(client: str, trigger: int, model: Model = OPUS) -> dict:
    return json.loads("\n".join(pasted(client, trigger, model).lines))


@given(st.integers(167_000, 900_000))
def test_claude_code_compacts_33_000_below_its_window(trigger: int) -> None:
    written = settings("claude_code", trigger, LARGE)["env"]
    assert int(written["CLAUDE_CODE_AUTO_COMPACT_WINDOW"]) - 20_000 - 13_000 == trigger


@given(st.integers(1, 1_000_000), st.sampled_from([OPUS, LARGE]))
def test_nothing_is_pasted_that_turns_compaction_off(trigger: int, model: Model) -> None:
    """Users found that Claude Code 2.1.221 does not compact with a window below 200,000."""
    found = pasted("claude_code", trigger, model)
    env = settings("claude_code", trigger, model)["env"] if found.lines else {}
    assert int(env.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW", 200_000)) >= 200_000
    # The other way is ignored under some condition, and that is told with it.
    assert ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE" in env) == bool(found.condition)


@pytest.mark.parametrize(("trigger", "share"), [(120_000, 67), (60_000, 34)])
def test_below_that_window_a_share_is_set(trigger: int, share: int) -> None:
    """67 % of the 180,000 tokens that are left when room for a summary is kept."""
    told = {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": str(share)}
    assert settings("claude_code", trigger)["env"] == told


def test_codex_takes_the_trigger_itself_up_to_nine_tenths() -> None:
    assert pasted("codex", 120_000).lines == ("model_auto_compact_token_limit = 120000",)
    assert pasted("codex", 190_000).lines == ()
    assert CLIENTS["codex"].own(Model(1_000_000, 128_000, "openai")) == 244_800


def test_opencode_declares_a_smaller_window() -> None:
    written = settings("opencode", 120_000)
    limit = written["provider"]["anthropic"]["models"]["claude-opus-4-5"]["limit"]
    # As overflow.ts (08f74b9): the context less the longest answer, of at most 32,000.
    assert limit["context"] - min(32_000, limit["output"]) == 120_000


def test_opencode_reserves_where_the_prompt_has_a_limit_of_its_own() -> None:
    written = settings("opencode", 200_000, GPT)
    assert 400_000 - 128_000 - written["compaction"]["reserved"] == 200_000


@pytest.mark.parametrize("trigger", [50_000, 120_000, 180_000])
def test_pi_and_gemini_are_told_what_is_left_and_a_share(trigger: int) -> None:
    assert 200_000 - settings("pi", trigger)["compaction"]["reserveTokens"] == trigger
    share = settings("gemini_cli", trigger)["model"]["compressionThreshold"]
    assert share * 200_000 == pytest.approx(trigger, rel=0.01)


def test_a_reserve_that_later_versions_cap_is_told() -> None:
    assert "150,000" in pasted("openclaw", 100_000).condition
    assert pasted("openclaw", 170_000).condition == ""


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_has_a_source_and_can_be_asked_for_its_own_rule(client: str) -> None:
    known = CLIENTS[client]
    assert known.source
    assert 0 < known.own(OPUS) <= known.highest(OPUS) <= OPUS.window or client == "openclaw"
    assert known.pasted(known.own(OPUS), OPUS).client == known.name
