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


@given(st.integers(167_001 - 100_000, 900_000))
def test_claude_code_compacts_33_000_below_its_window(trigger: int) -> None:
    written = settings("claude_code", trigger, LARGE)["env"]
    assert int(written["CLAUDE_CODE_AUTO_COMPACT_WINDOW"]) - 20_000 - 13_000 == trigger


def test_windows_that_users_found_to_turn_compaction_off_are_told() -> None:
    small = pasted("claude_code", 120_000)
    assert any("turn compaction off" in remark for remark in small.remarks)
    # 67 % of the 180,000 tokens that are left when room for a summary is kept.
    assert any("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=67" in remark for remark in small.remarks)
    assert not any(
        "turn compaction off" in r for r in pasted("claude_code", 300_000, LARGE).remarks
    )


def test_below_its_smallest_window_only_a_share_can_be_set() -> None:
    assert settings("claude_code", 60_000)["env"] == {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "34"}


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
    assert "cap" in " ".join(pasted("openclaw", 100_000).remarks)
    assert "cap" not in " ".join(pasted("openclaw", 170_000).remarks)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_has_a_source_and_can_be_asked_for_its_own_rule(client: str) -> None:
    known = CLIENTS[client]
    assert known.source
    assert 0 < known.own(OPUS) <= known.highest(OPUS) <= OPUS.window or client == "openclaw"
    assert known.pasted(known.own(OPUS), OPUS).client == known.name
