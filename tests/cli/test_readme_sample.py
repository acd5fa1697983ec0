"""The README shows what ``compactlab run`` prints and draws today."""

import json
from runpy import run_path

from tests.cli.conftest import called


def test_the_sample_and_the_picture_are_those_of_the_command(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = called("run", "--jobs", 1)  # prints what two print, in less time
    assert ran.code == 0
    held = json.loads((root / "docs" / "results" / "built-in.json").read_text("utf-8"))["figures"]
    printed, _, last = ran.out.partition("\n\nall strategies: ")
    assert f"\n```text\n$ compactlab run\n{printed}\n```\n" == held["verdict"], "make picture"
    assert last.endswith("report.html\n")
    first_screen = run_path(str(root / "examples" / "readme_figures.py"))["first_screen"]
    page = tmp_path / "compactlab-out" / "report.html"
    assert first_screen(page) == held["first_screen"], "make picture"
