"""Files of TOML: what would take long to parse is refused before."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.request.toml_file import parsed
from compactlab.sim.core import toml
from compactlab.sim.core.errors import InputError
from tests.lines import refusal

LONG = ".".join(["a"] * 50_000) + " = 1\n"


@pytest.fixture
def unparsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be parsed: it would not come to an end."""

    def parse(text: str) -> None:
        raise AssertionError(f"{len(text):,} characters are parsed")

    monkeypatch.setattr(tomllib, "loads", parse)


@pytest.mark.usefixtures("unparsed")
@pytest.mark.parametrize("read", [toml.read_toml, parsed], ids=["settings", "experiment"])
def test_a_key_of_many_names_is_refused_with_its_line(tmp_path, read):
    file = tmp_path / "my.toml"
    file.write_text(f"seeds = 1\n\n{LONG}")
    with pytest.raises(InputError, match=r"A key has more than 32 names.*line 3") as error:
        read(file, "experiment")
    assert str(file) in str(error.value)


@pytest.mark.usefixtures("unparsed")
@pytest.mark.parametrize("read", [toml.read_toml, parsed], ids=["settings", "experiment"])
def test_a_file_that_is_too_large_is_refused_unread(tmp_path, monkeypatch, read):
    monkeypatch.setattr(toml, "LARGEST", 100)
    (tmp_path / "my.toml").write_text("# a\n" * 26)
    assert refusal(InputError, lambda: read(tmp_path / "my.toml", "experiment")) == snapshot(
        "my.toml: no experiment: it has more than 100 characters; write less, or several files"
    )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
@pytest.mark.usefixtures("unparsed")
def test_a_file_without_an_end_is_refused():
    assert refusal(InputError, lambda: toml.read_toml(Path("/dev/zero"), "profile")) == snapshot(
        "/dev/zero: no profile: it has more than 8,388,608 characters; write less, or several files"
    )


@pytest.mark.parametrize("read", [toml.read_toml, parsed], ids=["settings", "experiment"])
def test_lists_in_lists_are_no_traceback(tmp_path, read):
    (tmp_path / "my.toml").write_text(f"x = {'[' * 10_000}")
    assert refusal(InputError, lambda: read(tmp_path / "my.toml", "experiment")) == snapshot(
        "my.toml: no experiment: it is nested too deeply"
    )
    (tmp_path / "my.toml").write_text(f"x = {'[' * 100}{']' * 100}")
    assert read(tmp_path / "my.toml", "experiment")


NAMES = st.sampled_from(["a", "b-1", '"x.y"', "'x.y'", r'"\"."', '"#"'])


@given(st.lists(NAMES, min_size=1, max_size=40), st.sampled_from([".", " . ", "\t."]))
def test_what_a_key_is_made_of_does_not_matter(names, dot):
    """The names are counted as the parser counts them."""
    key = dot.join(names)
    for text in (f"{key} = 1", f"[{key}]", f"x = {{ {key} = 1 }}"):
        if len(names) > toml.DEEPEST:
            with pytest.raises(tomllib.TOMLDecodeError, match="more than 32 names"):
                toml.loads(text)
        else:
            assert toml.loads(text) == tomllib.loads(text)


DOTS = "." + "a." * 100


@pytest.mark.parametrize(
    "text",
    [
        f'x = "{DOTS}"',
        f"x = '{DOTS}'",
        f'x = """\n{DOTS}"\n\\""" {DOTS}"""',
        f"x = '''{DOTS}'\n{DOTS}'''",
        f"x = 1 # {DOTS}",
        f"x = [{', '.join(['0.5'] * 100)}]",
        "\n".join(f"a{n}.b.c = {n}.5" for n in range(100)),
    ],
)
def test_dots_that_are_in_no_key_are_not_counted(text):
    assert toml.loads(text) == tomllib.loads(text)
