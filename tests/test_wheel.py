"""What a stranger installs is whole: the wheel, built from the sdist, renders a report."""

import email
import email.policy
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow  # a stage of .ci/run

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


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    package = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "compactlab").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in packed if ".dist-info/" not in name} == package


@pytest.mark.parametrize("name", ["py.typed", "sim/models/models.toml"])
def test_the_wheel_holds_the_data(wheel, name):
    assert f"compactlab/{name}" in zipfile.ZipFile(wheel).namelist()


# What somebody was to fill in, and did not.
PLACEHOLDER = re.compile(
    r"\b(?:OWNER|HOST|COMMIT|USERNAME|TODO|FIXME|TBD|XXX+|PLACEHOLDER|CHANGEME)\b"
    r"|\bexample\.(?:com|org|net)\b|\byour-(?!own\b)[\w-]+"
    r"|<[a-z]+[ _-](?:name|url|here)>|\{\{|\bUNKNOWN\b"
)


def test_no_placeholder_stands_in_the_metadata(wheel):
    """Neither in a field nor in the README, which is the description of the package."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (each for each in packed.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(packed.read(name), policy=email.policy.default)
    text = metadata.get_content()
    assert "# compactlab" in text
    fields = [f"{field}: {value}" for field, value in metadata.items()]
    assert [line for line in [*fields, *text.splitlines()] if PLACEHOLDER.search(line)] == []
    assert [field for field, value in metadata.items() if not str(value).strip()] == []
    # Persons are not named, and an address is one that was decided.
    assert {"Author-Email", "Maintainer-Email"}.isdisjoint(metadata)
    urls = [value.partition(", ")[2] for value in metadata.get_all("Project-URL", [])]
    assert all(url.startswith("https://") for url in urls)


@pytest.mark.parametrize("line", ["Project-URL: Home, https://HOST/OWNER/x", "TODO", "{{ name }}"])
def test_a_placeholder_would_be_found(line):
    assert PLACEHOLDER.search(line)


@pytest.mark.slow
def test_what_is_installed_renders_a_report(installed, tmp_path):
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
