"""What a stranger installs is whole: the wheel, built from the sdist, renders a report."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

CONVERSATION = [
    {"type": "conversation", "version": 1, "id": "tiny"},
    {
        "type": "message",
        "id": "m1",
        "role": "user",
        "parts": [{"type": "text", "text": "hello"}],
        "time": 1790000000.0,
    },
    {
        "type": "message",
        "id": "m2",
        "role": "assistant",
        "parts": [{"type": "text", "text": "hi"}],
        "time": 1790000001.0,
        "call": {},
    },
]


def python(*arguments: object, cwd: Path, path: Path | None = None) -> str:
    """Run Python, with one folder in front of all others, and give what it wrote."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | ({"PYTHONPATH": str(path)} if path else {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Asked for neither one, `build` makes the sdist and then the wheel from it."""
    folder = tmp_path_factory.mktemp("dist")
    python("-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    python("-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel, cwd=folder)
    return folder


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    package = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "compactlab").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in packed if ".dist-info/" not in name} == package


@pytest.mark.parametrize("name", ["py.typed", "sim/models/models.toml"])
def test_the_wheel_holds_the_data(wheel: Path, name: str) -> None:
    assert f"compactlab/{name}" in zipfile.ZipFile(wheel).namelist()


@pytest.mark.slow
def test_what_is_installed_renders_a_report(installed: Path, tmp_path: Path) -> None:
    lines = [json.dumps(line) for line in CONVERSATION]
    (tmp_path / "tiny.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = python(
        "-P", "-c", "import compactlab; print(compactlab.__file__)", cwd=tmp_path, path=installed
    )
    assert Path(found.strip()).is_relative_to(installed)
    arguments = (
        "--conversations tiny.jsonl --strategies keep_all --model claude-sonnet-4-5 --out out"
    )
    python("-P", "-m", "compactlab", "run", *arguments.split(), cwd=tmp_path, path=installed)
    assert "keep_all" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
