"""What cannot be asked of a build whose replay is compiled (``make compiled``)."""

from __future__ import annotations

import pytest

from compactlab.sim.cache import prompt

COMPILED = not prompt.__file__.endswith(".py")
interpreted = pytest.mark.skipif(
    COMPILED,
    reason="compiled: classes have no subclass, refuse no attribute, are not copied nor traced",
)
