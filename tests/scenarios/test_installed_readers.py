"""A reader that an installed package brings: found by its entry point, and kept at a distance."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compactlab.scenarios.catalogue import content_of_file, sources
from compactlab.scenarios.readers import transcript
from compactlab.sim.core.errors import InputError

READER = """
import os
from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.script import Format, Script
from compactlab.sim.core.message import Call, verbatim

def sniff(first):
    return isinstance(first[0], dict) and "poem" in first[0]

def read(lines):
    script = Script()
    for number, value in jsonl.values(lines):
        with lines.at(number):
            {crash}
            if "poem" not in value:
                lines.pass_over("record without a poem", value)
                continue
            draft = script.draft("assistant")
            draft.parts = [verbatim(draft.id, "text", value["poem"])]
            draft.call = Call("claude-opus-4-5")
            script.add(draft)
    yield script.conversation(lines.path.stem, "poems", lines.path)

FORMAT = Format("anything", "poems, one a line", sniff, read)
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a package with a reader where Python finds it, as an installer would."""
    site = tmp_path / "site"

    def install(name: str = "poems", crash: str = "pass", version: str = "1.0") -> None:
        meta = site / f"poetry_logs-{version}.dist-info"
        meta.mkdir(parents=True, exist_ok=True)
        (meta / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: poetry-logs\nVersion: {version}\n"
        )
        (meta / "entry_points.txt").write_text(
            f"[compactlab.readers]\n{name} = poetry_logs:FORMAT\n"
        )
        (site / "poetry_logs.py").write_text(READER.replace("{crash}", crash))
        importlib.invalidate_caches()
        sys.modules.pop("poetry_logs", None)
        transcript.formats.cache_clear()

    monkeypatch.syspath_prepend(str(site))
    yield install
    sys.modules.pop("poetry_logs", None)
    transcript.formats.cache_clear()


@pytest.fixture
def poems(tmp_path: Path) -> Path:
    file = tmp_path / "logs" / "poems.jsonl"
    file.parent.mkdir()
    file.write_text('{"poem": "Roses are red"}\n{"prose": "hm"}\n{"poem": "Violets"}\n')
    return file


def test_a_package_brings_a_format_by_the_name_of_its_entry_point(
    install: Install, poems: Path
) -> None:
    with pytest.raises(InputError, match="not a transcript of a known format"):
        transcript.read(poems)
    install()
    (conversation,) = transcript.read(poems)
    assert [message.text for message in conversation.messages] == ["Roses are red", "Violets"]
    assert [str(each) for each in conversation.passed_over] == [
        "1 x record without a poem (2 characters)"
    ]
    assert "poems" in transcript.formats()
    assert [source.name for source in sources([poems.parent])[0]] == ["poems"]


def test_strict_holds_for_it_too(install: Install, poems: Path) -> None:
    install()
    with pytest.raises(InputError, match="record without a poem is not known"):
        list(transcript.read(poems, strict=True))


@pytest.mark.parametrize("crash", ["os._exit(3)", "raise SystemExit(3)", "1 / 0", "os.abort()"])
def test_a_crash_costs_its_file_alone(install: Install, poems: Path, crash: str) -> None:
    install(crash=crash)
    good = poems.with_name("talk.jsonl")
    good.write_text('{"role":"user","content":"hello"}\n{"role":"assistant","content":"hi"}\n')
    broken, whole = sources([poems.parent])[0]
    with pytest.raises(InputError, match=r"poems\.jsonl: .*\(poems, poetry-logs 1\.0"):
        list(broken.load())
    (conversation,) = whole.load()
    assert len(conversation.messages) == 2


def test_nor_does_one_that_crashes_at_a_look(install: Install, poems: Path) -> None:
    install()
    code = poems.parents[1] / "site" / "poetry_logs.py"
    code.write_text(code.read_text().replace("return isinstance", "os._exit(3)  # return"))
    with pytest.raises(InputError, match="not a transcript of a known format"):
        transcript.read(poems)


def test_a_built_in_name_wins(install: Install, poems: Path) -> None:
    install(name="codex")
    assert transcript.formats()["codex"].package == ""
    with pytest.raises(InputError, match="not a transcript of a known format"):
        transcript.read(poems)


def test_what_cannot_be_loaded_is_named(install: Install, poems: Path) -> None:
    install()
    (poems.parents[1] / "site" / "poetry_logs.py").write_text("import nowhere_at_all")
    with pytest.warns(UserWarning, match="poems cannot be loaded: No module named"):
        assert "poems" not in transcript.formats()


def test_its_code_and_its_version_are_part_of_what_a_source_is(
    install: Install, poems: Path
) -> None:
    install()
    before = content_of_file(poems, strict=False)
    install(version="1.1")
    newer = content_of_file(poems, strict=False)
    install(version="1.1", crash="more = 1")
    assert len({before, newer, content_of_file(poems, strict=False)}) == 3
