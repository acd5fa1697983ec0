"""Ids come from strangers' file names and errors quote strangers' lines: nothing of them acts."""

import csv
import json
import re
import shlex
from io import StringIO
from itertools import chain
from typing import Any

import pytest

from compactlab.reports.page.page import command, render
from compactlab.reports.render.text import clean, code, harmless
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from tests.hostile import inert
from tests.reports.conftest import Make, Store

HOSTILE = [
    "<script>alert(1)</script>",
    "</title></style><img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<!-- --><metadata>",
    '" onmouseover="alert(1)',
    "javascript:alert(1)",
    "{{7*7}}{% raw %}${7*7}",
    "$x^2$ & \\frac{1}{2} $",
    'a d="1.23456" style="font-family: x; fill: #0072b2" xlink:href="x"',
    "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "\u202egnp.exe\u2066\u200f\ufeff",
    "nul\x00 bell\x07 new\nline\r\ttab \ufffe \ud800",
    "pipe | pipe \\| `tick` ``",
    "[click](http://evil.example) ![x](https://evil.example/x.png) @all #1",
    "=cmd|' /C calc'!A0",
    "漢字 العربية 🙂 é",
    "x" * 300,
    "",
]


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def hostile(request: pytest.FixtureRequest) -> str:
    text: str = request.param
    return text


@pytest.fixture
def everywhere(hostile: str, make: Make, fail: Make, store: Store) -> Results:
    """A store with a hostile text wherever a text can stand."""
    other = make("keep_all()", conversation="one", model=hostile or "m")
    return store(*spread(hostile, make, fail), other, **manifest(hostile))


def spread(text: str, make: Make, fail: Make) -> list[Run]:
    return [
        make("keep_all()", conversation=text),
        make(text or "x()", conversation=text, need=0.5, cut=[2]),
        fail("keep_some()", text, error=text),
        Run(text, "", "", "", 0, 0, status="unreadable", error=text),
    ]


def manifest(text: str) -> dict[str, Any]:
    return {
        "strategies": {text: text},
        "summarizer": text,
        "breaks": {text: {text: text}},
        "models": [text],
        "prices": text,
        "sources": [text, f"{text})-0"],
    }


def test_the_page_is_inert(make, fail, store):
    wide = [make(text or "x()", need=n / 20, model="x", cut=[2]) for n, text in enumerate(HOSTILE)]
    deep = chain.from_iterable(spread(text, make, fail) for text in HOSTILE)
    page = render(store(*wide, *deep, **manifest("".join(HOSTILE))), "html")
    shown = inert(page)
    assert all(clean(text) in shown for text in HOSTILE)
    page.encode()
    assert "Content-Security-Policy" in page
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)


def test_the_page_shows_the_text_itself(make, store):
    shown = inert(render(store(make("keep_all()", conversation="<b>$x$ & {{1}}</b>")), "html"))
    assert "<b>$x$ & {{1}}</b>" in shown


@pytest.mark.parametrize("terminal", [False, True])
def test_the_terminal_obeys_nobody(everywhere, terminal, monkeypatch):
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    text = render(everywhere, "table")
    text.encode()
    colourless = re.sub(r"\x1b\[[\d;]*m", "", text) if terminal else text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200f\u202e\u2066]", colourless)


def test_what_is_copied_into_a_shell_runs_nothing_of_a_store(make, store):
    text = "x; reboot $(reboot)"
    named = {"models": [text], "tables": [text], "summarizers": [text], "metrics": [text]}
    told = command(store(make(text), sources=[f"{text}(a=1)-0"], loop=text, window=text, **named))
    assert [word for word in shlex.split(told) if "reboot" in word] == [f"{text}(a=1)", *[text] * 7]


def test_markdown_keeps_foreign_text_in_code(everywhere):
    text = render(everywhere, "md")
    text.encode()
    outside = re.sub(r"`[^`\n]*`", "", text)
    assert not re.search(r"<[a-zA-Z/!]|\]\(|://|@|\x1b", outside)
    for table in re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_a_cell_of_a_spreadsheet_is_no_formula(everywhere):
    text = render(everywhere, "csv")
    text.encode()
    for row in csv.reader(StringIO(text)):
        assert not any(cell[:1] in tuple("=+@\t\r") for cell in row)
        assert not any(cell.startswith("-") and not is_number(cell) for cell in row)


def is_number(cell: str) -> bool:
    return re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell) is not None


def test_json_keeps_texts_exactly(everywhere):
    text = render(everywhere, "json")
    assert text.isascii()
    runs = json.loads(text)["runs"]
    assert runs[0]["conversation"] == everywhere.runs[0].conversation
    assert runs[-2]["error"] == everywhere.runs[-2].error


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("plain", "plain"),
        ("=1+1", "'=1+1"),
        ("  @SUM(A1)", "'  @SUM(A1)"),
        ("a;=1+1", "a;'=1+1"),
        ("\uff1d1", "'\uff1d1"),
        ("a=1", "a=1"),
    ],
)
def test_a_formula_gets_an_apostrophe(text, held):
    assert harmless(text) == held


def test_code_is_one_span():
    assert code("a`b|c") == "`a\N{MODIFIER LETTER GRAVE ACCENT}b\\|c`"
    assert code("") == ""
