"""The example of an agent's repository passes, and fails once its settings are worse."""

import re
import shutil
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab.testing.settings import KINDS
from tests.lines import lines_with

PLAIN = ("-W", "error", "-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:xdist")


@pytest.fixture
def agent(root: Path, pytester: pytest.Pytester) -> Path:
    shutil.copytree(root / "examples" / "agent_repository", pytester.path, dirs_exist_ok=True)
    return pytester.path


def test_it_passes_as_it_is(agent, pytester):
    pytester.runpytest_inprocess(*PLAIN).assert_outcomes(passed=5)


def test_a_worse_setting_is_caught(agent, pytester):
    settings = agent / "agent" / "settings.py"
    text = re.sub(
        r"COMPACTION = .*",
        'COMPACTION = "turn_slice(history_limit=1)"',
        settings.read_text("utf-8"),
        flags=re.DOTALL,
    )
    settings.write_text(text)
    result = pytester.runpytest_inprocess(*PLAIN, "-k", "never_lost")
    result.assert_outcomes(failed=1, deselected=4)
    assert lines_with(result.stdout.str(), "eu-west-3") == snapshot("""\
E           decision deploy target: eu-west-3, said in message 1 (u1), needed at call 4
(lag <1k) and gone\
""")


def test_the_page_shows_a_test_that_runs(root, agent, pytester):
    page = (root / "docs" / "gate.md").read_text("utf-8").partition("## In a test suite")[2]
    (shown, *_) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (agent / "tests" / "test_shown.py").write_text(shown)
    pytester.runpytest_inprocess(*PLAIN, "tests/test_shown.py").assert_outcomes(passed=1)
    settings = set(re.findall(r"^\| `(\w+)`", page.partition("| the fixture")[0], re.MULTILINE))
    assert settings | {"models_file"} == set(KINDS)
