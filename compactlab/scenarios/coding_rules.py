"""What the user lays down in a made-up coding session, and when.

Values have forty random bits: nobody guesses them, and no two are alike.
"""

from __future__ import annotations

import random
from typing import Literal, NamedTuple

from compactlab.scenarios.coding_repository import NOUNS, Repository
from compactlab.sim.conversation import FactType

SNAPSHOT, TRAILER, FROZEN, SETTING = "test snapshot", "commit trailer", "frozen file", "setting"
_EVERY, _SETTINGS = 3, 3  # a setting is decided every third turn; the fourth renames the first


class Rule(NamedTuple):
    """Something that the user states, and the words in which it is said."""

    kind: FactType
    polarity: Literal["is", "must", "must_not"]
    key: str
    value: str
    said: str


def rules(rng: random.Random, turn: int, repository: Repository) -> list[Rule]:
    """Say what the user lays down in a turn, counted from 0.

    Two rules in the first turn and one in the second; then, every third turn, a decision on how a
    setting is called. There are three settings: from the fourth decision on, one is renamed.
    """
    code = f"{rng.getrandbits(40):010x}"
    if turn == 0:
        frozen = f"src/{repository.package}/core/schema_{rng.getrandbits(40):010x}.py"
        return [
            Rule("procedure", "must", SNAPSHOT, code,
                 f"Always run the tests against snapshot {code}, the others are out of date."),
            Rule("prohibition", "must_not", FROZEN, frozen,
                 f"Do not touch {frozen}: another team owns it."),
        ]  # fmt: skip
    if turn == 1:
        trailer = f"Change-Ref: {code}"
        return [
            Rule("constraint", "must", TRAILER, trailer,
                 f"From now on every commit message has to end with the line `{trailer}`.")
        ]  # fmt: skip
    if turn % _EVERY == 2:
        number = turn // _EVERY
        setting = f"{rng.choice(NOUNS)}_{rng.choice(NOUNS)}_{code}"
        again = "rename it, " if number >= _SETTINGS else ""
        return [
            Rule("decision", "is", f"{SETTING} {number % _SETTINGS + 1}", setting,
                 f"About setting {number % _SETTINGS + 1}: {again}let us call it `{setting}`.")
        ]  # fmt: skip
    return []
