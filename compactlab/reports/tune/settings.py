"""Client settings that make a client compact at a given size, from documented rules.

A client reserves a part of the window or caps the user's value, so the value to paste is seldom the
trigger itself. Sources and dates are in :data:`CLIENTS`, and in docs/tune.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# Claude Code reserves the maximum length of a summary, at most 20,000 tokens, and 13,000 more. Its
# setting is a window, from 100,000 tokens to that of the model.
_SUMMARY, _BUFFER, _SMALLEST = 20_000, 13_000, 100_000
# Users report that 2.1.221 never compacts if the window is set below this.
_DOUBTFUL = 200_000
_IGNORED = (
    "Claude Code only compacts earlier by this, never later, and some versions ignore it "
    "(anthropics/claude-code#64773, #82761): see in /context after a restart."
)
_EMBEDDED = (
    "Embedded in another program (ACP, its SDK), Claude Code ignores this unless "
    "autoCompactEnabled is true, too, which it is not there by default (openclaw/openclaw#111723)."
)
_CODEX_SHARE = 0.9  # of the window, which caps the limit
_OPENCODE_ANSWER = 32_000  # the longest answer for which OpenCode reserves tokens by default
_PI_RESERVE = 16_384
_OPENCLAW_FLOOR = 20_000
_GEMINI_SHARE = 0.5


@dataclass(frozen=True)
class Model:
    """The model's window and maximum answer in tokens, which settings depend on; 0 if unknown."""

    window: int
    answer: int = 0
    provider: str = ""
    name: str = ""
    narrowed: bool = False  # whether a run has narrowed the window, which caps reserves
    client_window: int = 0  # the window that its provider's client takes it to have

    def free(self, tokens: int) -> int:
        """Reserved tokens; in a narrowed window at most a quarter of it."""
        return min(tokens, self.window // 4) if self.narrowed else tokens


@dataclass(frozen=True)
class Pasted:
    """Lines to paste into a file, with remarks and the source of the rule."""

    client: str
    file: str
    lines: tuple[str, ...]  # empty if the setting cannot be expressed
    remarks: tuple[str, ...] = ()
    source: str = ""
    condition: str = ""  # where the client ignores the lines


Lines = tuple[tuple[str, ...], tuple[str, ...]] | tuple[tuple[str, ...], tuple[str, ...], str]
"""Lines to paste, remarks, and where the client ignores the lines."""


@dataclass(frozen=True)
class Client:
    """A client: where its settings are, its own trigger, the highest one, and what to paste."""

    name: str
    file: str
    own: Callable[[Model], int]
    highest: Callable[[Model], int]
    write: Callable[[int, Model], Lines]
    source: str

    def pasted(self, trigger: int, model: Model) -> Pasted:
        lines, remarks, *condition = self.write(trigger, model)
        return Pasted(self.name, self.file, lines, remarks, self.source, *condition)


def _json(value: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(json.dumps(value, indent=2).splitlines())


def _claude_code_free(model: Model) -> int:
    return model.free(min(model.answer or _SUMMARY, _SUMMARY)) + model.free(_BUFFER)


def _claude_code(trigger: int, model: Model) -> Lines:
    setting = trigger + _claude_code_free(model)
    if setting >= model.window:
        return (), ('That is its own rule: nothing to set, or "autoCompactWindow": "auto".',)
    if setting < _DOUBTFUL:
        share = -(-100 * trigger // (model.window - min(model.answer or _SUMMARY, _SUMMARY)))
        remark = (
            f"A window of {setting:,} is less than the {_SMALLEST:,} that autoCompactWindow takes."
            if setting < _SMALLEST
            else f'Not "autoCompactWindow": {setting}: users of 2.1.221 found that '
            f"windows from {_SMALLEST:,} to {_DOUBTFUL - 1:,} turn compaction off."
        )
        lines = _json({"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": str(share)}})
        return lines, (remark,), f"{_IGNORED} {_EMBEDDED}"
    lines, named = _json({"autoCompactWindow": setting}), model.name or "MODEL"
    alone = json.dumps({"modelSettings": {named: {"autoCompactWindow": setting}}})
    return (
        lines,
        (
            f"It compacts {_claude_code_free(model):,} tokens below this window: "
            "what a summary may take, and 13,000.",
            f"For that model alone: {alone}. CLAUDE_CODE_AUTO_COMPACT_WINDOW in the environment "
            "goes before a model's entry, and that before the line above; versions before 2.1.311 "
            "know the variable alone.",
        ),
        _EMBEDDED,
    )


def _codex_limit(model: Model) -> int:
    return int(min(model.window, model.client_window or model.window) * _CODEX_SHARE)


def _codex(trigger: int, model: Model) -> Lines:
    if trigger >= _codex_limit(model):
        larger = model.client_window and model.client_window < model.window
        return (), (
            "That is its own rule, nine tenths of the window: nothing to set.",
            *(["`model_context_window` gives the model a larger one."] if larger else []),
        )
    return (f"model_auto_compact_token_limit = {trigger}",), (
        "In the first part of the file, above any [table]; more than nine tenths of the window are "
        "cut to that.",
    )


def _opencode_free(model: Model) -> int:
    return model.free(min(model.answer or _OPENCODE_ANSWER, _OPENCODE_ANSWER))


def _opencode(trigger: int, model: Model) -> Lines:
    if model.provider == "openai":
        prompt = model.window - model.answer
        if trigger > prompt:
            return (), (f"A prompt has at most {prompt:,} tokens there: it cannot be so large.",)
        return _json({"compaction": {"auto": True, "reserved": prompt - trigger}}), (
            "Where the list of models has a limit of the prompt, `reserved` is subtracted from it; "
            f"here it is taken to be {prompt:,}.",
        )
    free = _opencode_free(model)
    if trigger >= model.window - free:
        return (), ("That is its own rule: nothing to set.",)
    limit = {"context": trigger + free, "output": free}
    named = model.name or "MODEL"
    models = {model.provider or "PROVIDER": {"models": {named: {"limit": limit}}}}
    return _json({"compaction": {"auto": True, "reserved": 0}, "provider": models}), (
        "`compaction.reserved` alone does nothing for a model without a limit of the prompt (in "
        "1.18.33), so the window is declared smaller; the name of the model is that of OpenCode.",
    )


def _pi(trigger: int, model: Model) -> Lines:
    return _json({"compaction": {"reserveTokens": max(0, model.window - trigger)}}), (
        "The reserve counts for every model; for one alone, `compaction.modelOverrides` takes "
        "`provider/model` and the same field (0.86.0). Before 1.4.0 a summary takes up to four "
        "fifths of it; before 0.84.4 pi looks between turns only.",
    )


def _openclaw_limit(model: Model) -> int:
    return model.window - min(_OPENCLAW_FLOOR, model.window // 4)


def _openclaw(trigger: int, model: Model) -> Lines:
    if trigger >= _openclaw_limit(model):
        return (), ("That is its own rule: nothing to set.",)
    # The smallest window that leaves the trigger, less 20,000 or a quarter.
    most = min(trigger + _OPENCLAW_FLOOR, trigger + (trigger - 1) // 3)
    named = model.name or "MODEL"
    entry = {"id": named, "name": named, "contextTokens": most}
    providers = {model.provider or "PROVIDER": {"models": [entry]}}
    openai = (
        "Under OpenAI's own API the provider compacts before that, at seven tenths of this window, "
        "unless the model's `params` have `responsesServerCompaction: false`."
    )
    return _json({"models": {"providers": providers}}), (
        "It compacts 20,000 tokens below this, or a quarter of it if that is less: "
        "`reserveTokens` and `reserveTokensFloor` were retired, and a file with them is refused.",
        *([openai] if model.provider == "openai" else []),
    )


def _gemini(trigger: int, model: Model) -> Lines:
    share = round(trigger / model.window, 3)
    return _json({"model": {"compressionThreshold": share}}), ("It takes effect after a restart.",)


CLIENTS: Mapping[str, Client] = {
    "claude_code": Client(
        "Claude Code",
        "~/.claude/settings.json",
        lambda model: model.window - _claude_code_free(model),
        lambda model: model.window - _claude_code_free(model),
        _claude_code,
        "jojoprison/mnemo, release notes of v1.2.16; Astro-Han/claude-pace, of v0.9.6 "
        "(2026-11-10); BaseInfinity/claude-sdlc-harness#520 (2026-08-09, on 2.1.221); "
        "anthropics/claude-code#86863 (2026-08-17)",
    ),
    "codex": Client(
        "Codex CLI",
        "~/.codex/config.toml",
        _codex_limit,
        _codex_limit,
        _codex,
        "openai/codex, codex-rs/protocol/src/openai_models.rs at rust-v0.154.0; the models in "
        "npm @openai/codex 0.171.0",
    ),
    "opencode": Client(
        "OpenCode",
        "opencode.json",
        lambda model: model.window - _opencode_free(model),
        lambda model: model.window - _opencode_free(model),
        _opencode,
        "anomalyco/opencode, packages/opencode/src/session/overflow.ts at 08f74b9, the same in npm "
        "opencode-ai 1.18.33; "
        "quickbeard/codev-hub#171 (a model's limits)",
    ),
    "pi": Client(
        "pi",
        "~/.pi/agent/settings.json",
        lambda model: model.window - model.free(_PI_RESERVE),
        lambda model: model.window - 1,
        _pi,
        "@earendil-works/pi-coding-agent 1.6.0, docs/compaction.md and dist/core",
    ),
    "openclaw": Client(
        "OpenClaw",
        "~/.openclaw/openclaw.json",
        _openclaw_limit,
        _openclaw_limit,
        _openclaw,
        "npm openclaw 2026.9.6: docs/reference/session-management-compaction/compaction.md, "
        "docs/gateway/config-tools/custom-providers.md, and its check of a configuration",
    ),
    "gemini_cli": Client(
        "Gemini CLI",
        "~/.gemini/settings.json",
        lambda model: int(model.window * _GEMINI_SHARE),
        lambda model: model.window,
        _gemini,
        "google-gemini/gemini-cli, docs/reference/configuration.md at 0027ff7",
    ),
}
