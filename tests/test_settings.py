"""Values that a setting cannot take are refused in words that name the setting."""

from typing import Any

import pytest
from inline_snapshot import snapshot
from inline_snapshot.extra import raises

import compactlab
from compactlab import api
from compactlab.request.settings import SETTINGS, SUBJECT, checked, completed
from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.core.errors import UsageError

SMALL = "coding_agent(turns=2, tokens=3000)"
STRANGE: dict[str, Any] = {
    "a list": [40_000, "a"], "None": None, "text": "a", "a table": {"a": 1}, "a number": 1.5,
    "a flag": True, "bytes": b"a",
}  # fmt: skip
# What a kind of setting takes of these, besides None where that is a default.
TAKES = {
    "text": {"text"}, "path": {"text"}, "folder": {"text"}, "texts": {"text"}, "integer": set(),
    "integers": set(), "number": {"a number"}, "flag": {"a flag"},
}  # fmt: skip


@pytest.mark.parametrize("name", [*SUBJECT, *SETTINGS])
@pytest.mark.parametrize("kind", STRANGE)
def test_every_setting_refuses_what_it_cannot_take(name, kind):
    setting = (SUBJECT | SETTINGS)[name]
    value = STRANGE[kind]
    absent = None in (setting.default, setting.value(in_python=True))
    fits = absent if value is None else kind in TAKES[setting.kind] and not setting.choices
    if fits:
        assert checked(name, value) == value
        return
    subject = {} if name in SUBJECT else {"conversations": SMALL, "strategies": "keep_all"}
    with pytest.raises(UsageError, match=rf"^(unknown )?{name}\b") as refused:
        compactlab.run(**subject, **{name: value})
    assert len(str(refused.value)) < 200


def test_a_refusal_says_what_fits():
    said = []
    for name, value in {
        "seeds": [1, 2], "window": ["a"], "loop": ["open"], "strict": 1, "timeout": "60",
        "out": {"a": 1}, "metrics": [1], "strategies": None, "ask": "recrod",
    }.items():  # fmt: skip
        with pytest.raises(UsageError) as refused:
            checked(name, value)
        said.append(str(refused.value))
    assert said == snapshot(
        [
            "seeds must be a whole number, not [1, 2]",
            "window must be a whole number or a list of them, not 'a'",
            "loop must be text, not ['open']",
            "strict must be True or False, not 1",
            "timeout must be a number, not '60'",
            "out must be a path, not {'a': 1}",
            "metrics must be text or a list of texts, not 1",
            "strategies must be text or a list of texts, not None",
            "unknown ask 'recrod'; did you mean record?",
        ]
    )


@pytest.mark.parametrize("several", [[], [0], [40_000, -1], [[40_000]]])
def test_a_list_of_windows_holds_whole_numbers_from_one_on(several):
    with pytest.raises(UsageError, match=r"^window"):
        completed({"window": several})


@pytest.mark.parametrize("call", [api.replay, api.explain, api.tune])
def test_what_has_one_window_refuses_a_list(call):
    session = CodingAgent(turns=2, tokens=3000).conversation(seed=0)
    with raises(snapshot("UsageError: window must be a whole number here, not [40000, 60000]")):
        call(session, "keep_all", window=[40_000, 60_000])
