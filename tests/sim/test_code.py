"""Digests of code: of the file of a class, and of all that it imports of its project.

What the engine's digest covers is tested in test_engine_code.py.
"""

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.store import code
from compactlab.sim.store.code import digest_of_classes, digest_of_file, digest_of_folder
from compactlab.strategies.catalogue import find_class
from compactlab.strategies.controls import KeepAll
from compactlab.strategies.pi.compaction import AutoCompact
from compactlab.strategies.windows import SlidingWindow

FILES = {
    "idea/__init__.py": "from .within import x",
    "idea/within.py": "x = 1",
    "idea/mine.py": (
        "import json, idea.near\n"
        "from idea import far\n"
        "from . import here\n"
        "from .deep.down import depth\n"
        "def later():\n"
        "    from idea.late import lately\n"
        "class Mine: pass\n"
    ),
    "idea/mine.toml": "keep = 1\n",
    "idea/near.py": "import numpy\nimport compactlab.sim.core.view\n",
    "idea/far.py": "from idea.further import *\n",
    "idea/further.py": "from idea import mine  # a circle\n",
    "idea/here.py": "",
    "idea/late.py": "lately = 1  # nobody has imported it yet\n",
    "idea/deep/__init__.py": "",
    "idea/deep/down.py": "from ..beside import width as depth\n",
    "idea/beside.py": "width = 1\n",
    "idea/beside.toml": "width = 1\n",
    "idea/stranger.py": "import idea.mine\n",
    "idea/stranger.toml": "",
    "idea/README.md": "",
}
COUNT = {
    "idea/mine.py", "idea/mine.toml", "idea/near.py", "idea/far.py", "idea/further.py",
    "idea/here.py", "idea/late.py", "idea/deep/down.py", "idea/beside.py", "idea/beside.toml",
    # `from . import` names the package, which imports something itself.
    "idea/__init__.py", "idea/within.py",
}  # fmt: skip

Digest = Callable[[], str]


@pytest.fixture
def idea(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Digest]:
    """A project of somebody's, imported; gives the digest of its class."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("idea.mine", "idea.stranger"):
        importlib.import_module(name)
    mine = sys.modules["idea.mine"].Mine
    yield lambda: digest_of_classes([mine])
    for name in [name for name in sys.modules if name.partition(".")[0] == "idea"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", sorted(COUNT))
def test_a_change_in_what_it_is_made_of_is_noticed(name, idea, tmp_path):
    before = idea()
    assert idea() == before
    (tmp_path / name).write_text(f"{FILES[name]}\n# another word\n")
    assert idea() == before
    (tmp_path / name).write_text(f"{FILES[name]}\nword = 1\n")
    assert idea() != before
    (tmp_path / name).write_text(FILES[name])
    assert idea() == before


@pytest.mark.parametrize("name", sorted(set(FILES) - COUNT - {"idea/deep/__init__.py"}))
def test_a_change_elsewhere_is_not(name, idea, tmp_path):
    before = idea()
    (tmp_path / name).write_text(f"{FILES[name]}\nword = 1\n")
    assert idea() == before


def test_data_that_comes_later_is_noticed(idea, tmp_path):
    before = idea()
    (tmp_path / "idea" / "further.toml").write_text("x = 1")
    assert idea() != before


def test_a_new_import_is_followed(idea, tmp_path):
    near = tmp_path / "idea" / "near.py"
    near.write_text("import idea.stranger\n")
    before = idea()
    (tmp_path / "idea" / "stranger.py").write_text("changed = True\n")
    assert idea() != before


def test_what_is_installed_has_a_version_of_its_own(tmp_path, monkeypatch):
    """So it is left out, where a project imports it."""
    site = tmp_path / "lib" / "site-packages"
    site.mkdir(parents=True)
    (site / "installed_one.py").write_text("x = 1\n")
    (tmp_path / "own_one.py").write_text("import installed_one, json\nclass Own: pass\n")
    for folder in (tmp_path, site):
        monkeypatch.syspath_prepend(folder)
    own = importlib.import_module("own_one").Own
    before = digest_of_classes([own])
    (site / "installed_one.py").write_text("x = 2\n")
    assert digest_of_classes([own]) == before
    for name in ("own_one", "installed_one"):
        del sys.modules[name]


OWN = """
from dataclasses import dataclass
from compactlab import Strategy

@dataclass(frozen=True)
class Mine(Strategy):
    def compact(self, view, host):
        return view.{}
"""


def _of(file: Path) -> str:
    return digest_of_classes([find_class(f"{file}:Mine")])


def test_a_file_that_is_named_by_its_path_is_followed_too(tmp_path):
    file = tmp_path / "mine.py"
    digests = []
    for word in ("one", "another", "one"):
        file.write_text(OWN.format(word))
        digests.append(_of(file))
    assert digests[0] == digests[2] != digests[1]


def test_where_a_file_lies_does_not_matter(tmp_path):
    """Another machine has other folders, and the same store."""
    files = [tmp_path / folder / "mine.py" for folder in ("here", "there")]
    for file in files:
        file.parent.mkdir()
        file.write_text(OWN.format("one"))
    assert _of(files[0]) == _of(files[1])


def test_a_file_of_data_counts_where_it_is_named(tmp_path):
    file, data = tmp_path / "mine.py", tmp_path / "weights.toml"
    (tmp_path / "other.toml").write_text("w = 1")
    digests = []
    for word, weight in (
        ("one", 1),
        ("one", 2),
        ('two("weights.toml")', 1),
        ('two("weights.toml")', 2),
    ):
        file.write_text(OWN.format(word))
        data.write_text(f"w = {weight}")
        digests.append(_of(file))
    assert digests[0] == digests[1]
    assert digests[2] != digests[3]
    data.write_text("# heavy\nw=2")
    assert _of(file) == digests[3]


def test_who_finds_strategies_by_name_may_be_any_of_them(tmp_path):
    file = tmp_path / "mine.py"
    for word, named in (("one", False), ("f(compactlab.find_strategy('keep_all'))", True)):
        file.write_text(OWN.format(word))
        assert ("compactlab.strategies.controls" in _reached(find_class(f"{file}:Mine"))) is named
    for name in ("compactlab import find_strategy", "compactlab.strategies import KeepAll"):
        file.write_text(f"from {name}\n{OWN.format('one')}")
        assert "compactlab.strategies.controls" in _reached(find_class(f"{file}:Mine"))


# --------------------------------------------------------------------------- what counts in a file

PLAIN = """
def f(a: int, b="x") -> str:
    return g(a, {'k': 1.5, **b}, f"{a}!")
"""
SAME = {
    "a comment": "# a word\n" + PLAIN.replace(":\n", ":  # another\n    # and one\n", 1),
    "docstrings": f'"""A module."""\n{PLAIN}'.replace("str:\n", 'str:\n    """It does."""\n'),
    "a word on a value": f'{PLAIN}\n"""What it is for."""\n',
    "layout": PLAIN.replace(", ", ",\n      ").replace("(a", "( a"),
    "quotes": PLAIN.replace('"x"', "'x'").replace("'k'", '"""k"""'),
    "line ends": PLAIN.replace("\n", "\r\n"),
    "what only a type checker sees": "if TYPE_CHECKING:\n    import numpy\n" + PLAIN,
    "a number otherwise": PLAIN.replace("1.5", "15e-1"),
    "an assigned docstring": f"{PLAIN}f.__doc__ = 'It does.'\n",
}
OTHER = {
    "a number": PLAIN.replace("1.5", "1.6"),
    "its type": PLAIN.replace("1.5", "'1.5'"),
    "a text": PLAIN.replace("'k'", "'l'"),
    "a name": PLAIN.replace("g(", "h("),
    "a default": PLAIN.replace('="x"', ""),
    "a type": PLAIN.replace("int", "str"),
    "an empty text": PLAIN.replace("**b}", "**b, '': ''}"),
    "order": PLAIN.replace("a, {'k': 1.5, **b}", "{**b, 'k': 1.5}, a"),
    "a formatted text": PLAIN.replace("{a}!", "{a!r}!"),
    "a docstring that is read": f"{PLAIN}print(f.__doc__)\n",
    "that docstring": f'"""A prompt."""\n{PLAIN}print(__doc__)\n',
}


def _said(folder: Path, source: str) -> str:
    file = folder / "source.py"
    file.write_bytes(source.encode())
    return digest_of_file(file)


@pytest.mark.parametrize("kind", SAME)
def test_what_says_nothing_is_not_noticed(kind, tmp_path):
    assert SAME[kind] != PLAIN
    assert _said(tmp_path, SAME[kind]) == _said(tmp_path, PLAIN)


def test_what_says_something_is(tmp_path):
    digests = {kind: _said(tmp_path, source) for kind, source in {"": PLAIN, **OTHER}.items()}
    assert len(set(digests.values())) == len(OTHER) + 1


def test_what_cannot_be_parsed_is_taken_as_it_is(tmp_path):
    wrong = ("def", "x = '\0'", "(" * 9_000, "x = " + "-" * 9_000 + "1")
    assert len({_said(tmp_path, source) for source in wrong}) == len(wrong)
    data = tmp_path / "data.toml"
    digests = set()
    for text in ("a = ", "a = [", "a = 1"):
        data.write_text(text)
        digests.add(digest_of_file(data))
    assert len(digests) == 3


@given(st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_any_other_constant_or_operator_is_noticed_and_no_other_layout(draw):
    path = draw.choice(sorted(Path(code.__file__).parents[1].rglob("*.py")))
    tree = ast.parse(path.read_bytes())
    with TemporaryDirectory() as folder:
        before = _said(Path(folder), path.read_text("utf-8"))
        assert _said(Path(folder), ast.unparse(tree)) == before
        places = [node for node in ast.walk(tree) if _changed(node)]
        if places:
            _change(draw.choice(places))
            assert _said(Path(folder), ast.unparse(tree)) != before


def _changed(node: ast.AST) -> bool:
    number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return number or isinstance(node, ast.Compare | ast.BinOp | ast.keyword)


def _change(node: ast.AST) -> None:
    match node:
        case ast.Constant():
            node.value = node.value + 1  # type: ignore[operator]
        case ast.Compare(ops=[*ops]):
            node.ops = [ast.Lt() if not isinstance(ops[0], ast.Lt) else ast.GtE(), *ops[1:]]
        case ast.BinOp():
            node.op = ast.Sub() if not isinstance(node.op, ast.Sub) else ast.Add()
        case ast.keyword(arg=str(name)):
            node.arg = f"{name}_too"
        case ast.keyword():
            node.value = ast.Name("other")


# Whatever newer versions write into a tree, or left out of it: texts with formats within formats,
# parameters of types, positions only, matching, and letters that others did not know.
TRICKY = r"""
@d(x=1)
async def f(a, /, b: list[int] | None = None, *c, k=..., **e):
    async with g(a) as h, b:
        yield f"{a!r:>{b}} {c:.2f}" "and" f'{h["x"]}' u"\u00e9\ud800\U0001fae8"
class C(B, metaclass=M):
    x: int = 1; y: str
    def __init__(self): global z; z = -1j, 1_000, b"\xff", 1e400, None, (), [], {**x}, {1}
    match = lambda *, a: (yield)
match x:
    case {"a": [1, *_], **rest} | C(y=None) if rest: pass
    case _: x[1:, ::2] @= ~y
try: del x, y
except* E as e: raise A from e
"""


def test_versions_of_python_agree(tmp_path):
    """A store's bytes are the same under all of them; each that runs the tests sees this digest."""
    assert _said(tmp_path, TRICKY) == "635f06d048a57a4f"


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_so_do_those_that_are_there(version):
    told = (
        "from compactlab.sim.store.code import *; print(*map(digest_of_folder, ('sim', 'reports')))"
    )
    try:
        done = subprocess.run(
            [f"python{version}", "-c", told],
            env=os.environ | {"PYTHONPATH": str(Path(code.__file__).parents[2])},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"no Python {version} here")
    assert done.stdout.split() == [digest_of_folder("sim"), digest_of_folder("reports")]


def test_built_in_strategies_have_code_of_their_own():
    """The engine's is left out: it has a digest for itself."""
    digests = [digest_of_classes([cls]) for cls in (KeepAll, SlidingWindow, AutoCompact)]
    assert len(set(digests)) == 3
    assert digest_of_classes([SlidingWindow, KeepAll]) == digest_of_classes(
        [KeepAll, SlidingWindow]
    )
    for cls in (KeepAll, AutoCompact):
        reached = _reached(cls)
        assert cls.__module__ in reached
        assert not reached & code.reached([code.ENGINE]).keys()
    assert "compactlab.strategies.mechanisms" in " ".join(_reached(AutoCompact))


def _reached(cls: type) -> set[str]:
    """The modules whose files are read for a digest."""
    return set(code.reached([cls.__module__], without=code.reached([code.ENGINE])))


def test_a_class_that_is_in_no_file_goes_by_its_name():
    made = type("Made", (), {"__module__": "nowhere"})
    other = type("Made", (), {"__module__": "elsewhere"})
    assert digest_of_classes([made]) == digest_of_classes([made]) != digest_of_classes([other])


def test_folders_of_the_package_have_digests():
    digests = {name: digest_of_folder(name) for name in ("sim", "scenarios", "strategies")}
    assert len(set(digests.values())) == 3
    assert all(len(digest) == 16 for digest in digests.values())
