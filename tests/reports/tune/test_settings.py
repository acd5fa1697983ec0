"""What is pasted into a client makes it compact where it should."""

import json
from dataclasses import replace
from textwrap import fill

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.reports.tune.settings import CLIENTS, Model, Pasted
from compactlab.strategies.openclaw.pressure import effective_reserve

OPUS = Model(200_000, 64_000, "anthropic", "claude-opus-4-5")
LARGE = Model(1_000_000, 128_000, "anthropic", "claude-opus-5")
GPT = Model(400_000, 128_000, "openai", "gpt-5")
SOL = Model(1_050_000, 128_000, "openai", "gpt-6-2-sol", client_window=500_000)


def pasted(client: str, trigger: int, model: Model = OPUS) -> Pasted:
    return CLIENTS[client].pasted(trigger, model)


def settings(client: str, trigger: int, model: Model = OPUS) -> dict:
    return json.loads("\n".join(pasted(client, trigger, model).lines))


@given(st.integers(167_000, 900_000))
def test_claude_code_compacts_33_000_below_its_window(trigger):
    window = settings("claude_code", trigger, LARGE)["autoCompactWindow"]
    assert window - 20_000 - 13_000 == trigger
    assert 100_000 <= window <= 1_000_000


def test_in_a_window_of_a_million_its_own_rule_is_967_000():
    """Claude Code's documentation has 967K, too (as dev.to/paul_irolla quotes it)."""
    assert CLIENTS["claude_code"].own(LARGE) == 967_000
    (remark,) = pasted("claude_code", 967_000, LARGE).remarks
    assert remark == snapshot(
        'That is its own rule: nothing to set, or "autoCompactWindow": "auto".'
    )


def test_what_claude_code_is_told_with_its_window():
    told = pasted("claude_code", 400_000, LARGE)
    assert told.lines == ("{", '  "autoCompactWindow": 433000', "}")
    said = "\n".join(fill(each, 90) for each in (*told.remarks, told.condition))
    assert said == snapshot("""\
It compacts 33,000 tokens below this window: what a summary may take, and 13,000.
For that model alone: {"modelSettings": {"claude-opus-5": {"autoCompactWindow": 433000}}}.
CLAUDE_CODE_AUTO_COMPACT_WINDOW in the environment goes before a model's entry, and that
before the line above; versions before 2.1.311 know the variable alone.
Embedded in another program (ACP, its SDK), Claude Code ignores this unless
autoCompactEnabled is true, too, which it is not there by default
(openclaw/openclaw#111723).\
""")
    alone = told.remarks[1].partition(": ")[2].partition(". CLAUDE")[0]
    assert json.loads(alone)["modelSettings"][LARGE.name] == settings("claude_code", 400_000, LARGE)


@given(st.integers(1, 1_000_000), st.sampled_from([OPUS, LARGE]))
def test_nothing_is_pasted_that_turns_compaction_off(trigger, model):
    """Users found that Claude Code 2.1.221 does not compact with a window below 200,000."""
    found = pasted("claude_code", trigger, model)
    told = settings("claude_code", trigger, model) if found.lines else {}
    assert told.get("autoCompactWindow", 200_000) >= 200_000
    # The other way is ignored under some condition, and that is told with it.
    assert ("env" in told) == ("some versions ignore it" in found.condition)
    assert bool(told) == ("autoCompactEnabled is true" in found.condition)


@pytest.mark.parametrize(("trigger", "share"), [(120_000, 67), (60_000, 34)])
def test_below_that_window_a_share_is_set(trigger, share):
    """67 % of the 180,000 tokens that are left when room for a summary is kept."""
    told = {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": str(share)}
    assert settings("claude_code", trigger)["env"] == told


def test_codex_takes_the_trigger_itself_up_to_nine_tenths():
    assert pasted("codex", 120_000).lines == ("model_auto_compact_token_limit = 120000",)
    assert pasted("codex", 190_000).lines == ()
    assert CLIENTS["codex"].own(replace(SOL, client_window=272_000)) == 244_800
    assert CLIENTS["codex"].own(SOL) == 450_000
    assert "model_context_window" in pasted("codex", 450_000, SOL).remarks[-1]
    assert len(pasted("codex", 180_000).remarks) == 1


def test_opencode_declares_a_smaller_window():
    written = settings("opencode", 120_000)
    limit = written["provider"]["anthropic"]["models"]["claude-opus-4-5"]["limit"]
    # As overflow.ts (08f74b9): the context less the longest answer, of at most 32,000.
    assert limit["context"] - min(32_000, limit["output"]) == 120_000


def test_opencode_reserves_where_the_prompt_has_a_limit_of_its_own():
    written = settings("opencode", 200_000, GPT)
    assert 400_000 - 128_000 - written["compaction"]["reserved"] == 200_000


@pytest.mark.parametrize("trigger", [50_000, 120_000, 180_000])
def test_pi_and_gemini_are_told_what_is_left_and_a_share(trigger):
    assert 200_000 - settings("pi", trigger)["compaction"]["reserveTokens"] == trigger
    share = settings("gemini_cli", trigger)["model"]["compressionThreshold"]
    assert share * 200_000 == pytest.approx(trigger, rel=0.01)


@given(st.integers(1, 979_999), st.sampled_from([OPUS, LARGE, SOL]))
def test_openclaw_is_told_a_smaller_window(trigger, model):
    """The reserve is as in 2026.9.6, by its vectors; a whole model is asked for by its check."""
    if trigger >= CLIENTS["openclaw"].own(model):
        assert not pasted("openclaw", trigger, model).lines
        return
    providers = settings("openclaw", trigger, model)["models"]["providers"]
    (entry,) = providers[model.provider]["models"]
    assert entry["id"] == entry["name"] == model.name
    most = entry["contextTokens"]
    assert most - effective_reserve(20_000, most) == trigger
    assert most < model.window


def test_what_2026_9_6_has_retired_is_not_pasted():
    """Its check of a configuration refuses a file with either (asked of the package)."""
    told = pasted("openclaw", 100_000, SOL)
    assert "reserve" not in "".join(told.lines)
    assert "refused" in told.remarks[0]
    assert "seven tenths" in told.remarks[1]
    assert len(pasted("openclaw", 100_000).remarks) == 1


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_has_a_source_and_can_be_asked_for_its_own_rule(client):
    known = CLIENTS[client]
    assert known.source
    assert 0 < known.own(OPUS) <= known.highest(OPUS) <= OPUS.window
    assert known.pasted(known.own(OPUS), OPUS).client == known.name
