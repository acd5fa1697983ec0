"""Charts look the same whatever matplotlib is set to, and leave its settings as they were."""

import pytest
from matplotlib import rcParams

from compactlab.reports.charts.drawing import canvas, settings

OURS, THEIRS = 9, 31


def size() -> float:
    return rcParams["font.size"]


def test_our_settings_are_in_force_on_every_canvas_and_gone_behind_it(monkeypatch):
    monkeypatch.setitem(rcParams, "font.size", THEIRS)
    seen = []
    with settings():
        for _ in range(2):
            with canvas():
                seen.append(size())
        seen.append(size())
    assert seen == [OURS, OURS, OURS]
    assert size() == THEIRS
    with canvas():
        assert size() == OURS
    assert size() == THEIRS


def test_they_are_gone_after_a_failure_too(monkeypatch):
    monkeypatch.setitem(rcParams, "font.size", THEIRS)
    with pytest.raises(ZeroDivisionError), settings(), canvas():
        1 / 0  # noqa: B018
    assert size() == THEIRS
    with canvas():
        assert size() == OURS
