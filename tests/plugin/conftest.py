"""A stranger's repository: a session in which something must not be forgotten, and its tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

# What a run inside this process imports is thrown away with it, and these bear no second import.
import duckdb  # noqa: F401
import numpy  # noqa: F401
import pandas  # noqa: F401
import pytest
from pydantic import BaseModel, Field, json_schema  # noqa: F401

MARK = 'conversations="sessions", model="claude-sonnet-4-5"'
HEAD = f"""
import pytest

pytestmark = pytest.mark.compaction({MARK})
"""


def session(place: str = "eu-west-3", id: str = "deploy") -> str:
    """Somebody says where to deploy, and it is done three turns later."""
    said = [
        ("u1", "user", f"We deploy to {place}, never on Fridays."),
        ("a1", "assistant", "Noted."),
        ("u2", "user", "Mend the build first."),
        ("a2", "assistant", "It is mended."),
        ("u3", "user", "And the tests?"),
        ("a3", "assistant", "They pass."),
        ("u4", "user", "Then deploy."),
        ("a4", "assistant", f"Deploying to {place}."),
    ]
    lines: list[dict[str, Any]] = [{"type": "conversation", "version": 1, "id": id}]
    for number, (name, role, text) in enumerate(said):
        call = {"call": {}} if role == "assistant" else {}
        parts = [{"type": "text", "text": text}]
        time = 1_790_000_000.0 + 30 * number
        lines.append({"type": "message", "id": name, "role": role, "parts": parts, "time": time})
        lines[-1].update(call)
    fact = {"key": "deploy target", "value": place, "origin": [{"id": "u1"}]}
    lines.append({"type": "fact", "id": "f1", "fact": "decision", **fact})
    lines.append({"type": "need", "fact": "f1", "at": "a4", "how": "argument"})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests inside are run by one process, and told as at a desk, whoever runs these here."""
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS", "CI", "BUILD_NUMBER", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def agent(pytester: pytest.Pytester) -> Callable[..., tuple[pytest.RunResult, str]]:
    """Run tests in an agent's repository; what came of them, and what was said."""
    folder = Path(pytester.path / "sessions")
    folder.mkdir()
    (folder / "deploy.jsonl").write_text(session())

    def run(tests: str, *options: str) -> tuple[pytest.RunResult, str]:
        pytester.makepyfile(test_agent=HEAD + tests)
        plain = ("-W", "error", "-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:xdist")
        result = pytester.runpytest_inprocess(*plain, *options)
        return result, "\n".join(result.outlines + result.errlines)

    return run
