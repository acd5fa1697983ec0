"""A made-up session of a coding agent, with sizes and pauses as recorded sessions have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.coding_world import CodingWorld
from compactlab.scenarios.engine.domain import Domain, Tool, words
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.world import World

_TOOLS = ("read", "grep", "bash", "edit", "write")

_DOMAIN = Domain(
    words={},
    areas=words(
        "billing freight ledger tariff customs roster archive invoice refund catalogue courier "
        "storage payroll transit warehouse booking ticketing loyalty"
    ),
    things={
        "goal": {"milestone": "release {word}-{code}", "throughput target": "plan {word}-{code}"},
        "decision": {
            "limit setting": "{word}_limit_{hex}",
            "cache region": "{word}-{code}",
            "feature switch": "ff.{word}.{code}",
        },
        "constraint": {
            "commit trailer": "Change-Ref: {word}-{code}",
            "header line": "X-Trace: {code}",
            "migration label": "label/{word}/{hex}",
        },
        "prohibition": {
            "schema file": "src/core/schema_{word}_{hex}.py",
            "vendored module": "vendor/{word}_{hex}/init.py",
            "signing key": "keys/{word}-{code}.pem",
        },
        "preference": {"log style": "{chain}", "naming scheme": "{chain}"},
        "entity": {
            "service owner": "team {chain}",
            "staging host": "{word}-{code}.internal",
            "message queue": "queue/{word}/{hex}",
        },
        "artifact": {
            "build output": "dist/{word}-{hex}.tar.gz",
            "trace dump": "var/traces/{word}_{hex}.json",
            "patched wheel": "wheels/{word}-{code}.whl",
        },
        "open_loop": {"review request": "review {code}", "access ticket": "access-{code}"},
        "procedure": {
            "replay suite": "make replay SNAPSHOT={code}",
            "smoke suite": "make smoke TARGET={word}-{code}",
        },
        "tool_detail": {
            "image digest": "sha256:{hex}{hex}",
            "trace id": "{code}",
            "lock token": "lock:{word}:{code}",
            "socket path": "/run/{word}/{hex}.sock",
        },
    },
    kinds={
        "goal": 1,
        "decision": 3,
        "constraint": 2,
        "prohibition": 2,
        "preference": 1,
        "entity": 1.5,
        "artifact": 2,
        "open_loop": 1,
        "procedure": 1.5,
        "tool_detail": 5,
    },
    voices={"artifact": "assistant"},
    requests=(),
    sentences=(),
    tools={name: Tool({}, ()) for name in _TOOLS},
)


@dataclass(frozen=True)
class CodingAgent(Story):
    """A person has an agent work on a repository: read, search, edit, test, commit.

    Sizes of results, texts and arguments, how uneven turns are and the time between messages are
    drawn from distributions measured on eight recorded Claude Code and pi sessions, 2026-11 (see
    ``profiles/coding.toml``); the texts are made up. The repository is a model: what was edited
    reads edited later, and tasks, files and functions come back. The system prompt and the tools
    are opaque parts of 12,500 tokens. Facts come at 0.36 for a thousand tokens, and decoys on top.

    Examples
    --------
    >>> script = CodingAgent(turns=2, tokens=8_000).conversation(seed=7)
    >>> script.id, script.turns, len([fact for fact in script.facts if not fact.decoy])
    ('coding_agent-7', 2, 3)
    """

    tokens: int = 120_000
    profile: str = "coding"

    domain: ClassVar[Domain] = _DOMAIN
    world: ClassVar[type[World]] = CodingWorld
